//! The calls of other systems' clients, by curl, on a real agent. Every row of their tables is tested in `safepoint-nodeapi`;
//! here it is shown that the ports are those of an agent, and do what they say to processes.

use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value, json};

use super::manifests::{POD, revision, static_pod, until_mirrored};
use super::ordered;
use super::world::{World, held};

struct Ports {
    kubeedge: String,
    yurthub: String,
    horizon: String,
}

/// A node that answers all three. Ports are free when they are chosen, and hardly taken in the moment after.
async fn node() -> (World, Ports) {
    let free = || TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().to_string();
    let ports = Ports { kubeedge: free(), yurthub: free(), horizon: free() };
    let mut world = World::without_agent().await;
    for (name, address) in
        [("kubeedge", &ports.kubeedge), ("yurthub", &ports.yurthub), ("horizon", &ports.horizon)]
    {
        world.extra.extend(["--compat".to_owned(), format!("{name}={address}")]);
    }
    world.start_agent();
    world
        .until("the ports answer", async |world| {
            let modules = world.local("GET", "/v1/modules", None).await.1;
            let ready = |name: &str| {
                modules["items"]
                    .as_array()
                    .is_some_and(|all| all.iter().any(|one| one["name"] == name && one["state"] == "Ready"))
            };
            ["compat-kubeedge", "compat-yurthub", "compat-horizon"].into_iter().all(ready).then_some(())
        })
        .await;
    (world, ports)
}

/// The code and the body.
fn curl(arguments: &[&str]) -> (u16, String) {
    let output = Command::new("curl").args(["-s", "-w", "\n%{http_code}"]).args(arguments).output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (body, code) = text.rsplit_once('\n').unwrap();
    (code.parse().unwrap(), body.to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn kubeedge_clients_release_a_held_pod() {
    let (world, ports) = node().await;
    let uid = world.pod("rover", held()).await;
    world.pod("free", json!({})).await;
    for name in ["rover", "free"] {
        world.until_ready(name).await;
    }
    let before = world.run_of(&uid);
    let pods = format!("http://{}/api/v1/pods/unhold-upgrade", ports.kubeedge);
    let post = |url: &str, body: &str| curl(&["-X", "POST", "-d", body, url]);
    assert_eq!(post(&pods, "rover"), (400, "invalid format, expected <namespace>/<name>\n".into()));
    assert_eq!(post(&pods, "default/free"), (400, "pod is not marked with hold-upgrade annotation\n".into()));
    assert_eq!(post(&pods, "default/rover"), (400, "pod is not in pending phase\n".into()));
    assert_eq!(post(&pods, "default/nobody"), (404, "pod not found: pods \"nobody\" not found\n".into()));
    let nodes = format!("http://{}/api/v1/nodes/unhold-upgrade", ports.kubeedge);
    assert_eq!(post(&nodes, " "), (400, "node name required in body\n".into()));
    assert_eq!(post(&nodes, "other"), (404, "node not found: nodes \"other\" not found\n".into()));

    world.push("rover", "rover:v2").await;
    world.until_held("rover").await;
    assert_eq!(post(&pods, "default/rover\n"), (200, String::new()));
    let second =
        world.until("it runs anew", async |world| world.run(&uid).filter(|run| *run != before)).await;
    world.until_ready("rover").await;

    world.push("rover", "rover:v3").await;
    world.until_held("rover").await;
    assert_eq!(post(&nodes, "rover-7"), (200, String::new()));
    world.until("it runs anew", async |world| world.run(&uid).filter(|run| *run != second)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn yurthub_clients_upgrade_a_static_pod_to_what_the_cluster_wants() {
    let (world, ports) = node().await;
    let first = revision(&world, "one", "exec sleep 600");
    let (done, said) = static_pod(&world, &["install", POD, "-f", &first]);
    assert!(done, "{said}");
    let (before, _) = until_mirrored(&world, None).await;
    let upgrade =
        format!("http://{}/openyurt.io/v1/namespaces/default/pods/nav-rover-7/upgrade", ports.yurthub);
    let (code, said) = curl(&["-X", "POST", &upgrade]);
    assert_eq!(code, 403);
    assert!(said.contains("no StaticPod of the cluster is about it"), "{said}");

    let objects = "/apis/safepoint.dev/v1alpha1/namespaces/default/staticpods";
    world.create(objects, ordered::object("exec sleep 700")).await;
    assert_eq!(curl(&["-X", "POST", &upgrade]), (200, "Start updating pod default/nav-rover-7".into()));
    until_mirrored(&world, Some(&before)).await;
    let (_, pods) = curl(&[&format!("http://{}/pods", ports.yurthub)]);
    let pods: Value = serde_json::from_str(&pods).unwrap();
    assert_eq!(pods["items"][0]["spec"]["containers"][0]["command"][2], "exec sleep 700", "{pods}");
}

#[tokio::test(flavor = "multi_thread")]
async fn yurthub_clients_list_the_pods_and_upgrade_one() {
    let (world, ports) = node().await;
    let owner = json!({"apiVersion": "apps/v1", "kind": "DaemonSet", "name": "rover", "uid": "d-1", "controller": true});
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "rover", "annotations": held(), "ownerReferences": [owner]},
        "spec": {"nodeName": "rover-7", "containers": [{"name": "main", "image": "rover:v1", "command": ["sleep", "600"]}]}});
    let uid = world.create(super::world::PODS, pod).await["metadata"]["uid"].as_str().unwrap().to_owned();
    world.until_ready("rover").await;
    let before = world.run_of(&uid);
    let (code, pods) = curl(&[&format!("http://{}/pods", ports.yurthub)]);
    let pods: Value = serde_json::from_str(&pods).unwrap();
    assert_eq!(
        (code, &pods["kind"], &pods["items"][0]["metadata"]["name"]),
        (200, &json!("PodList"), &json!("rover"))
    );
    assert_eq!(pods["items"][0]["status"]["phase"], "Running");

    world.push("rover", "rover:v2").await;
    world.until_held("rover").await;
    let upgrade = format!("http://{}/openyurt.io/v1/namespaces/default/pods/rover/upgrade", ports.yurthub);
    let (code, said) = curl(&["-X", "POST", &upgrade]);
    assert_eq!((code, said.as_str()), (200, "Start updating pod default/rover"));
    world.until("it runs anew", async |world| world.run(&uid).filter(|run| *run != before)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn horizon_clients_freeze_and_unfreeze_the_node() {
    let (world, ports) = node().await;
    let uid = world.pod("rover", json!({})).await;
    world.until_ready("rover").await;
    let before = world.run_of(&uid);
    let state = format!("http://{}/node/configstate", ports.horizon);
    let put = |body: &str| curl(&["-X", "PUT", "-H", "content-type: application/json", "-d", body, &state]);
    let read = |(code, body): (u16, String)| {
        (code, serde_json::from_str::<Value>(&body).unwrap_or_default()["state"].clone())
    };
    assert_eq!(read(curl(&[&state])), (200, json!("configured")));
    assert_eq!(read(put(r#"{"state":"changefreeze"}"#)), (201, json!("changefreeze")));
    world.push("rover", "rover:v2").await;
    world.until_held("rover").await;
    assert!(before.is_alive());
    assert_eq!(read(curl(&[&state])), (200, json!("changefreeze")));
    assert_eq!(read(put(r#"{"state":"configured"}"#)), (201, json!("configured")));
    world.until("the update passes", async |world| world.run(&uid).filter(|run| *run != before)).await;
}
