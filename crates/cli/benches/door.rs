//! What the kubelet door costs: the same requests through it and past it, in turns, in one run. `cargo xtask bench door` runs
//! this.
//!
//! The agent is the program as it is shipped, in front of a real kube-apiserver. The kubelet is a client that asks as one
//! does: 110 pods are watched, and 300 ConfigMaps one by one.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::needless_pass_by_value,
    reason = "a measurement that fails says where"
)]

use std::cell::Cell;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use futures::future::join_all;
use http::Request;
use http_body_util::BodyExt;
use safepoint_relay::{Body, Kubeconfig, Upstream, empty};
use safepoint_testkit::{Guest, Options, World, WorldOptions};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio_util::sync::CancellationToken;

const PODS: usize = 110;
const WATCHES: usize = 300;
const REQUESTS: usize = 3000;
const BLOCK: usize = 100;
const RELEASES: usize = 30;
const PORT: u16 = 10443;

fn main() {
    // `cargo test --benches` calls this as well.
    if !std::env::args().any(|argument| argument == "--bench") {
        println!("run `cargo xtask bench door`");
        return;
    }
    let control = Options { durable: true, ..Options::default() };
    let world = World::start(&WorldOptions { control, ..WorldOptions::default() }).unwrap();
    world.apply(include_str!("../../../deploy/crds/nodegates.safepoint.dev.yaml")).unwrap();
    world.apply(include_str!("../../../deploy/agent/rbac.yaml")).unwrap();
    fill(&world);
    let agent = start(&world);
    world.wait("the door is open", || agent.log().contains("uplink").then_some(())).unwrap();
    world.in_namespace(|| {
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        runtime.block_on(measure(&world, &agent));
    });
}

/// The node, its pods and what they read.
fn fill(world: &World) {
    let mut objects = vec![json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": world.node()}})];
    for number in 0..WATCHES {
        objects.push(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": format!("map-{number}"), "namespace": "default"},
            "data": {"area": "x".repeat(200)}}));
    }
    for number in 0..PODS {
        let volumes: Vec<Value> = (0..WATCHES)
            .filter(|map| map % PODS == number)
            .map(|map| json!({"name": format!("v{map}"), "configMap": {"name": format!("map-{map}")}}))
            .collect();
        objects.push(pod(world, &format!("pod-{number}"), &volumes, json!({})));
    }
    world.run(&["wait", "--for=create", "--timeout=60s", "-n", "default", "serviceaccount/default"]).unwrap();
    for chunk in objects.chunks(100) {
        world.apply(&json!({"apiVersion": "v1", "kind": "List", "items": chunk}).to_string()).unwrap();
    }
}

fn pod(world: &World, name: &str, volumes: &[Value], annotations: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"nodeName": world.node(), "automountServiceAccountToken": false, "volumes": volumes,
            "containers": [{"name": "main", "image": "app:v1"}]}})
}

fn start(world: &World) -> Guest {
    let program = std::env::var_os("SAFEPOINT_AGENT").expect("`cargo xtask bench door` names the program");
    let folder = world.folder().join("agent");
    fs::create_dir_all(&folder).unwrap();
    let agent = world.guest("agent", program, |command| {
        command
            .args(["--door", "kubelet", "--trust-clock", "--node-name", world.node()])
            .arg("--kubeconfig")
            .arg(world.direct_kubeconfig())
            .arg("--data")
            .arg(&folder)
            .arg(format!("--door-listen=127.0.0.1:{PORT}"))
            .env("SAFEPOINT_LOG", "info");
    });
    agent.unwrap()
}

async fn measure(world: &World, agent: &Guest) {
    let direct = Upstream::new(&Kubeconfig::read(world.direct_kubeconfig()).unwrap(), &[]).unwrap();
    let door = Upstream::new(&Kubeconfig::read(&kubeconfig(world)).unwrap(), &[]).unwrap();
    let stop = CancellationToken::new();
    for upstream in [&direct, &door] {
        let (upstream, stop) = (upstream.clone(), stop.clone());
        tokio::spawn(async move { upstream.run(stop).await });
    }
    let pods = format!("/api/v1/pods?fieldSelector=spec.nodeName%3D{}", world.node());
    loop {
        let (code, list) = get(&door, &pods).await;
        let shown = serde_json::from_slice::<Value>(&list).unwrap_or_default();
        if code == 200 && shown["items"].as_array().is_some_and(|items| items.len() == PODS) {
            break;
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    println!("resident memory with {PODS} pods                       {}", resident(agent.pid()));
    let configs = (0..WATCHES).map(|number| {
        format!("/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Dmap-{number}&watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan")
    });
    let open = configs.map(|path| watch(&door, path));
    let mut watches = join_all(open).await;
    for watch in &mut watches {
        watch.frame().await.unwrap().unwrap();
    }
    println!("the same with {WATCHES} watches of ConfigMaps          {}", resident(agent.pid()));

    let path = format!("/api/v1/nodes/{}", world.node());
    let (mut past, mut through) = (Vec::new(), Vec::new());
    for _ in 0..REQUESTS / BLOCK {
        for (upstream, times) in [(&direct, &mut past), (&door, &mut through)] {
            for _ in 0..BLOCK {
                let begun = Instant::now();
                assert_eq!(get(upstream, &path).await.0, 200);
                times.push(begun.elapsed());
            }
        }
    }
    let (past, through) = (sorted(past), sorted(through));
    for (name, share) in [("p50", 0.50), ("p99", 0.99)] {
        let (past, through) = (at(&past, share), at(&through, share));
        let added = through.as_secs_f64() - past.as_secs_f64();
        println!(
            "GET of the Node, {name}: past the door {:.3} ms, through it {:.3} ms, added {:.3} ms",
            ms(past),
            ms(through),
            added * 1e3
        );
    }
    let (past, through) = (throughput(&direct, &path).await, throughput(&door, &path).await);
    println!(
        "GETs by 16 at once: past the door {past:.0} /s, through it {through:.0} /s, ratio {:.2}",
        through / past
    );
    releases(world, &door, &pods).await;
    println!("resident memory at the end                            {}", resident(agent.pid()));
    stop.cancel();
}

/// From a release that is asked for to the event in the kubelet's stream, beside a sync of the same disk.
async fn releases(world: &World, door: &Upstream, pods: &str) {
    let mut stream = watch(door, format!("{pods}&watch=true&sendInitialEvents=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan")).await;
    let mut seen = String::new();
    while !seen.contains("initial-events-end") {
        seen.push_str(&text(&mut stream).await);
    }
    let (mut released, mut synced) = (Vec::new(), Vec::new());
    for number in 0..RELEASES {
        let name = format!("held-{number}");
        world
            .apply(&pod(world, &name, &[], json!({"edge.kubeedge.io/hold-upgrade": "true"})).to_string())
            .unwrap();
        let socket = world.folder().join("agent/agent.sock");
        while !ask(&socket, "GET /v1/changes", "", || {}).await.contains(&name) {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        synced.push(sync(&world.folder().join("synced")));
        let asked = json!({"pod": {"namespace": "default", "name": name}}).to_string();
        let begun = Cell::new(Instant::now());
        let answering = ask(&socket, "POST /v1/releases", &asked, || begun.set(Instant::now()));
        let arriving = async {
            let mut seen = String::new();
            while !seen.contains(&name) {
                seen.push_str(&text(&mut stream).await);
            }
            begun.get().elapsed()
        };
        let (answer, took) = tokio::join!(answering, arriving);
        assert!(answer.contains("held-"), "{answer}");
        released.push(took);
    }
    let (released, synced) = (sorted(released), sorted(synced));
    println!(
        "a release until its event is in the stream: p50 {:.2} ms, p99 {:.2} ms; a sync of the same disk: p50 {:.2} ms, p99 {:.2} ms",
        ms(at(&released, 0.5)),
        ms(at(&released, 0.99)),
        ms(at(&synced, 0.5)),
        ms(at(&synced, 0.99))
    );
}

fn sync(path: &Path) -> Duration {
    use std::io::Write;
    let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
    let begun = Instant::now();
    file.write_all(&[0; 4096]).unwrap();
    file.sync_data().unwrap();
    begun.elapsed()
}

/// Asks the agent over its socket. `begun` is called when the connection is there.
async fn ask(socket: &Path, head: &str, body: &str, begun: impl FnOnce()) -> String {
    let mut stream = UnixStream::connect(socket).await.unwrap();
    let length = body.len();
    let request = format!(
        "{head} HTTP/1.1\r\nhost: agent\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    );
    begun();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

async fn get(upstream: &Upstream, path: &str) -> (u16, Vec<u8>) {
    let answer = upstream.send(request(path)).await.unwrap();
    let code = answer.status().as_u16();
    (code, answer.into_body().collect().await.unwrap().to_bytes().to_vec())
}

async fn watch(upstream: &Upstream, path: String) -> Body {
    let answer = upstream.send(request(&path)).await.unwrap();
    assert_eq!(answer.status(), 200, "{path}");
    answer.into_body()
}

async fn text(stream: &mut Body) -> String {
    let frame = stream.frame().await.unwrap().unwrap();
    String::from_utf8_lossy(&frame.into_data().unwrap_or_default()).into_owned()
}

fn request(path: &str) -> Request<Body> {
    let accept = "application/vnd.kubernetes.protobuf,application/json";
    Request::get(path).header("accept", accept).body(empty()).unwrap()
}

async fn throughput(upstream: &Upstream, path: &str) -> f64 {
    let begun = Instant::now();
    let client = || async {
        for _ in 0..REQUESTS / 16 {
            assert_eq!(get(upstream, path).await.0, 200);
        }
    };
    join_all((0..16).map(|_| client())).await;
    (REQUESTS / 16 * 16) as f64 / begun.elapsed().as_secs_f64()
}

fn kubeconfig(world: &World) -> PathBuf {
    let certificate = world.node_certificate();
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "door",
        "clusters": [{"name": "door", "cluster": {"server": format!("https://127.0.0.1:{PORT}"),
            "certificate-authority": world.folder().join("agent/door-ca.crt")}}],
        "users": [{"name": "node", "user": {"client-certificate": certificate.current, "client-key": certificate.current}}],
        "contexts": [{"name": "door", "context": {"cluster": "door", "user": "node"}}],
    });
    let path = world.folder().join("door.kubeconfig");
    fs::write(&path, config.to_string()).unwrap();
    path
}

fn resident(pid: u32) -> String {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let kib = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.trim().trim_end_matches(" kB").trim().parse::<f64>().ok())
            .unwrap_or_default()
    };
    format!("{:.1} MiB, of it {:.1} MiB anonymous", kib("VmRSS:") / 1024.0, kib("RssAnon:") / 1024.0)
}

fn sorted(mut times: Vec<Duration>) -> Vec<Duration> {
    times.sort();
    times
}

fn at(times: &[Duration], share: f64) -> Duration {
    times[((times.len() - 1) as f64 * share) as usize]
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}
