//! A rolling restart behind a real nginx, under load, with real containers that end the moment they are told to.
//!
//! The controller that keeps nginx in step is the example of the SDK, as it is. `kubectl rollout restart` is all that a person does.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use k8s_openapi::api::core::v1::Pod;
use kube::api::Api;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use safepoint_sdk::cooperation::{Employer, Frame};
use safepoint_testkit::{Guest, World, WorldOptions};
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use super::hub;
use traffic::{Answers, Load, UPSTREAM};

#[path = "../../../sdk/tests/lifecycle/follower.rs"]
mod follower;
#[path = "../../../sdk/tests/lifecycle/traffic.rs"]
mod traffic;
#[path = "../../../sdk/examples/nginx_upstream/upstream.rs"]
mod upstream;

/// The port of the pods.
const PORT: u16 = 8080;
/// So many answers are waited for where something is to be seen by those who ask.
const SOME: usize = 200;

/// Three pods whose containers end at once: the first process ends, and takes the server with it in the middle of a word.
fn deployment(name: &str, labels: Value, annotations: Value) -> Value {
    const SERVE: &str =
        "trap 'exit 0' TERM; mkdir -p /www; echo $HOSTNAME >/www/index.html; httpd -f -p 8080 -h /www & wait";
    let mut all = json!({"app": name});
    all.as_object_mut().unwrap().extend(labels.as_object().unwrap().clone());
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "replicas": 3,
            "selector": {"matchLabels": {"app": name}},
            "strategy": {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}},
            "template": {
                "metadata": {"labels": all, "annotations": annotations},
                "spec": {
                    "terminationGracePeriodSeconds": 5,
                    "containers": [{"name": "main", "image": "app:v1", "imagePullPolicy": "Never",
                        "command": ["sh", "-c", SERVE],
                        "readinessProbe": {"tcpSocket": {"port": PORT}, "periodSeconds": 1}}],
                },
            },
        },
    })
}

struct Nginx {
    folder: PathBuf,
    address: SocketAddr,
    guest: Guest,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        // Asked to end, it takes its workers with it. They do not carry the world's mark: nginx writes their names over it.
        let _ = self.guest.stop();
    }
}

/// An nginx in the network of the world, in a folder of its own.
fn with_nginx(world: &World, port: u16) -> Nginx {
    let programs = ["/usr/sbin/nginx", "/usr/local/sbin/nginx", "/usr/bin/nginx"];
    let program = programs.into_iter().find(|program| Path::new(program).exists());
    let program =
        program.expect("nginx is there: `cargo xtask test` installs it, or install the package nginx");
    let folder = world.folder().join(format!("nginx-{port}"));
    fs::create_dir_all(&folder).unwrap();
    let address = SocketAddr::from(([127, 0, 0, 1], port));
    fs::write(folder.join("nginx.conf"), traffic::configuration(address)).unwrap();
    fs::write(folder.join("upstream.conf"), format!("upstream {UPSTREAM} {{ server 127.0.0.1:1 down; }}\n"))
        .unwrap();
    let guest = world.guest(&format!("nginx-{port}"), program, |command| {
        command.arg("-p").arg(&folder).arg("-c").arg(folder.join("nginx.conf"));
    });
    world.wait("nginx has started", || fs::read_to_string(folder.join("nginx.pid")).ok()).unwrap();
    Nginx { folder, address, guest: guest.unwrap() }
}

async fn client(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

fn pods(world: &World, app: &str) -> Vec<Value> {
    let pods = world.json(&["get", "pods", "--selector", &format!("app={app}")]).unwrap();
    pods["items"].as_array().cloned().unwrap_or_default()
}

fn names(pods: &[Value]) -> Vec<String> {
    pods.iter().map(|pod| pod["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

/// Waits until exactly these pods are listed.
fn wait_listed(world: &World, nginx: &Nginx, names: &[String]) {
    let listed = world.wait("the pods are listed", || {
        let list = fs::read_to_string(nginx.folder.join("upstream.conf")).ok()?;
        let all = names.iter().all(|name| list.contains(&format!("/{name}/")));
        (all && list.matches("max_fails").count() == names.len()).then_some(())
    });
    listed.unwrap_or_else(|error| {
        let list = fs::read_to_string(nginx.folder.join("upstream.conf"));
        let pods = world.run(&["get", "pods", "-o", "yaml"]).unwrap_or_default();
        panic!("{error:#}\n{list:?}\n{pods}")
    });
}

/// Restarts the Deployment while somebody asks all the time, and says what came of it.
fn restart(world: &World, runtime: &Runtime, nginx: &Nginx, app: &str) -> Answers {
    world.run(&["rollout", "status", &format!("deployment/{app}"), "--timeout=120s"]).unwrap();
    let old = names(&pods(world, app));
    wait_listed(world, nginx, &old);
    let load = runtime.block_on(async { Load::on(nginx.address) });
    let answered = || {
        let before = load.good();
        world.wait("some answers", || (load.good() >= before + SOME).then_some(())).unwrap();
    };
    answered();
    world.run(&["rollout", "restart", &format!("deployment/{app}")]).unwrap();
    let new = world.wait("all pods are others", || {
        let now = names(&pods(world, app));
        (now.len() == 3 && !now.iter().any(|name| old.contains(name))).then_some(now)
    });
    let new = new.unwrap_or_else(|error| {
        let pods = world.run(&["describe", "pods"]).unwrap_or_default();
        panic!("{error:#}\n{pods}")
    });
    world.run(&["rollout", "status", &format!("deployment/{app}"), "--timeout=120s"]).unwrap();
    wait_listed(world, nginx, &new);
    answered();
    let answers = runtime.block_on(load.stop());
    for pod in old.iter().chain(&new) {
        assert!(answers.good.contains_key(&format!("{pod}\n")), "{pod} was never asked: {answers:#?}");
    }
    answers
}

#[test]
fn a_rolling_restart_behind_nginx_fails_no_request_and_without_the_controller_some() {
    let mut world = World::start(&WorldOptions::default()).unwrap();
    let kubeconfig = world.direct_kubeconfig().to_owned();
    world.start_kubelet(&kubeconfig).unwrap();
    world.wait_node_ready().unwrap();
    let _hub = hub::with_lifecycle(&world);
    // Its threads are in the network of the world, and so is what they connect to.
    let runtime = world
        .in_namespace(|| tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build());
    let runtime = runtime.unwrap();
    let client = runtime.block_on(async {
        let kubeconfig = world.control_plane().kubeconfig_path().to_owned();
        tokio::spawn(async move { client(&kubeconfig).await }).await.unwrap()
    });

    // First without: pods that take no part, and somebody who lists those that are ready.
    let nginx = with_nginx(&world, 8001);
    let employer =
        Employer::new("nginx-upstream", "Upstream", "default", UPSTREAM).selecting([("app", "plain")]);
    let list = upstream::Nginx::new(&nginx.folder, UPSTREAM, PORT).unwrap();
    let api: Api<Pod> = Api::default_namespaced(client.clone());
    let following = runtime.spawn(follower::follow(list, employer, api, "app=plain"));
    world.apply(&deployment("plain", json!({}), json!({})).to_string()).unwrap();
    let answers = restart(&world, &runtime, &nginx, "plain");
    println!(
        "without the controller: {} good, {} bad",
        answers.good.values().sum::<usize>(),
        answers.bad.len()
    );
    assert!(!answers.bad.is_empty(), "nothing failed, so what follows shows nothing: {answers:#?}");
    following.abort();
    world.run(&["delete", "deployment", "plain"]).unwrap();

    // Then with it: the same pods, a label, and the declaration that the controller has to come first.
    let nginx = with_nginx(&world, 8002);
    let employer =
        Employer::new("nginx-upstream", "Upstream", "default", UPSTREAM).selecting([("app", "web")]);
    let (key, value) = employer.declaration();
    let list = upstream::Nginx::new(&nginx.folder, UPSTREAM, PORT).unwrap();
    let frame = Frame::new(client, list).employer(employer).namespace("default");
    let cooperating = runtime.spawn(async move { frame.run(std::future::pending()).await });
    let web = deployment("web", json!({"kusionstack.io/control": "true"}), json!({key: value}));
    world.apply(&web.to_string()).unwrap();
    let answers = restart(&world, &runtime, &nginx, "web");
    println!("with the controller: {} good, {} bad", answers.good.values().sum::<usize>(), answers.bad.len());
    let said = fs::read_to_string(nginx.folder.join("error.log")).unwrap_or_default();
    assert!(answers.bad.is_empty(), "{answers:#?}\n{said}");
    cooperating.abort();
    // Outside of the world's network nothing is left to be waited for.
    runtime.shutdown_background();
}
