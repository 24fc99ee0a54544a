//! What the relay costs: memory for each open watch, time added to a request, and the processor while nothing happens.
//! A measurement and no test, so it runs only when asked for:
//!
//! ```sh
//! cargo test --release -p safepoint-relay --test relay -- --ignored --nocapture the_price
//! ```

use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};
use std::time::Duration;

use futures::future::join_all;
use http::{Request, Response};
use hyper::body::Incoming;
use safepoint_relay::{
    Client as Expected, Kubeconfig, Listener, Source, Upstream, empty, full, loopback_certificate, pass,
};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::kubernetes::Cluster;
use crate::support::pki::{NODE, NODES};
use crate::support::{Authority, Client, Server, Version, pipe, rest, soon};

/// Where the relay of the measurement finds its files.
const FOLDER: &str = "SAFEPOINT_RELAY_MEASURED";
const WATCHES: usize = 300;
const REQUESTS: usize = 1000;

struct Relay {
    child: Child,
    address: std::net::SocketAddr,
    authority: String,
    /// Kept open: the harness of the other process writes to it now and then.
    _output: BufReader<ChildStdout>,
}

impl Relay {
    fn start(folder: &Path) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["--ignored", "--exact", "--nocapture", "cost::the_relay_that_is_measured"])
            .env(FOLDER, folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut lines = output.by_ref().lines().map(Result::unwrap);
        let line = lines.find_map(|line| line.strip_prefix("door ").map(str::to_owned));
        let authority = std::fs::read_to_string(folder.join("door-ca.crt")).unwrap();
        Self { child, address: line.unwrap().parse().unwrap(), authority, _output: output }
    }

    /// KiB that belong to the process alone or in part.
    fn memory(&self) -> i64 {
        let text = std::fs::read_to_string(format!("/proc/{}/smaps_rollup", self.child.id())).unwrap();
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).unwrap();
        line.split_whitespace().next().unwrap().parse().unwrap()
    }

    /// How long it has computed.
    fn spent(&self) -> Duration {
        let tasks = std::fs::read_dir(format!("/proc/{}/task", self.child.id())).unwrap();
        let nanoseconds = tasks.map(|task| {
            let text = std::fs::read_to_string(task.unwrap().path().join("schedstat")).unwrap();
            text.split(' ').next().unwrap().parse::<u64>().unwrap()
        });
        Duration::from_nanos(nanoseconds.sum())
    }
}

impl Drop for Relay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "the other half of the measurement"]
async fn the_relay_that_is_measured() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else { return };
    let config = Kubeconfig::read(&folder.join("kubeconfig")).unwrap();
    let upstream = Upstream::new(&config, &[]).unwrap();
    let made = loopback_certificate(&["127.0.0.1"]).unwrap();
    std::fs::write(folder.join("door-ca.crt"), made.authority).unwrap();
    let (certificate, key) =
        (Source::Bytes(made.certificate.into_bytes()), Source::Bytes(made.key.into_bytes()));
    let authority = config.authority().unwrap().clone();
    let client = Expected { authority, name: NODE.to_owned(), group: NODES.to_owned() };
    let any = "127.0.0.1:0".parse().unwrap();
    let listener = Listener::bind(any, certificate, key, client).await.unwrap();
    println!("\ndoor {}", listener.local_addr());
    std::io::stdout().flush().unwrap();
    let stop = CancellationToken::new();
    let running = upstream.clone();
    let answer = move |request, _| {
        let upstream = upstream.clone();
        async move { pass(&upstream, request).await }
    };
    tokio::join!(running.run(stop.clone()), listener.serve(answer, stop));
}

async fn watch(client: &Client, count: usize) -> Vec<Response<Incoming>> {
    let begin = |number| {
        let mut sender = client.sender();
        let uri = format!("https://{}/watch/{number}", client.address());
        let request = Request::get(uri)
            .header("accept", "application/vnd.kubernetes.protobuf;stream=watch,application/json")
            .header("user-agent", "kubelet/v1.36.4 (linux/amd64) kubernetes/abcdef0")
            .body(empty())
            .unwrap();
        async move { sender.send_request(request).await.unwrap() }
    };
    soon(join_all((0..count).map(begin))).await
}

/// The middle one of many times.
async fn median(client: &mut Client, path: &str) -> Duration {
    let mut times = Vec::new();
    for _ in 0..REQUESTS {
        let begin = Instant::now();
        rest(client.get(path).await.unwrap().into_body()).await;
        times.push(begin.elapsed());
    }
    times.sort();
    times[REQUESTS / 2]
}

async fn compare(what: &str, direct: &mut Client, through: &mut Client, path: &str) {
    let (mut without, mut with) = (Vec::new(), Vec::new());
    for _ in 0..5 {
        without.push(median(direct, path).await);
        with.push(median(through, path).await);
    }
    without.sort();
    with.sort();
    let ratio = with[2].as_secs_f64() / without[2].as_secs_f64();
    println!("{what}: {:?} directly, {:?} through the relay, {ratio:.2} times", without[2], with[2]);
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "a measurement"]
async fn the_price_of_a_request_to_a_real_server() {
    let cluster = Cluster::new().await;
    let mut direct = cluster.direct(Version::Two).await;
    let mut through = cluster.world.client(Version::Two).await;
    compare("an object of a real server", &mut direct, &mut through, "/api/v1/namespaces/default").await;
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "a measurement"]
async fn the_price() {
    let authority = Authority::new();
    let (keep, mut kept) = tokio::sync::mpsc::unbounded_channel();
    let server = Server::start(&authority, Version::Two, move |request: Request<Incoming>| {
        let (pipe, body) = pipe();
        let is_watch = request.uri().path().starts_with("/watch");
        if is_watch {
            keep.send(pipe).unwrap();
        }
        async move { Response::new(if is_watch { body } else { full(vec![b'x'; 1024]) }) }
    })
    .await;
    let folder = tempfile::tempdir().unwrap();
    let node = authority.node();
    node.write(&folder.path().join("current.pem"));
    std::fs::write(folder.path().join("ca.crt"), authority.pem()).unwrap();
    let text = format!(
        "
current-context: node
contexts: [{{name: node, context: {{cluster: c, user: u}}}}]
clusters: [{{name: c, cluster: {{server: '{}', certificate-authority: ca.crt}}}}]
users: [{{name: u, user: {{client-certificate: current.pem, client-key: current.pem}}}}]
",
        server.uri()
    );
    std::fs::write(folder.path().join("kubeconfig"), text).unwrap();
    let relay = Relay::start(folder.path());

    // As often as a kubelet does it.
    let ping = Duration::from_secs(30);
    let connect =
        |address, authority| Client::connect_with(address, authority, Some(&node), Version::Two, ping);
    let ours = authority.pem();
    let mut direct = connect(server.address, &ours).await.unwrap();
    let mut through = connect(relay.address, &relay.authority).await.unwrap();
    compare("1 KiB of a server in this very process", &mut direct, &mut through, "/object").await;

    println!("memory before any watch: {} KiB", relay.memory());
    let before = relay.memory();
    let mut open = Vec::new();
    for round in 1..=3 {
        open.extend(watch(&through, WATCHES).await);
        let now = relay.memory();
        let each = (now - before) as f64 / open.len() as f64;
        println!("round {round}: {} watches: {now} KiB, {each:.1} KiB each", open.len());
    }
    let mut pipes = Vec::new();
    while let Ok(pipe) = kept.try_recv() {
        pipes.push(pipe);
    }
    for _ in 0..20 {
        for pipe in &pipes {
            pipe.write(vec![b'e'; 2048]).await;
        }
        for answer in &mut open {
            let mut total = 0;
            while total < 2048 {
                total += crate::support::piece(answer.body_mut()).await.len();
            }
        }
    }
    println!("after 20 events of 2 KiB on each: {} KiB", relay.memory());
    let (spent, begin) = (relay.spent(), Instant::now());
    tokio::time::sleep(Duration::from_secs(60)).await;
    let spent = 100.0 * (relay.spent() - spent).as_secs_f64() / begin.elapsed().as_secs_f64();
    println!("idle with {} watches: {spent:.3} % of a core", open.len());
    drop(open);
    drop(pipes);
    tokio::time::sleep(Duration::from_secs(20)).await;
    println!("after all are gone: {} KiB", relay.memory());
}
