//! A link on which every request takes a second and a half, and a hold of ten minutes, in virtual time.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that fails says where, and is supervised by nobody"
)]

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use axum::body::Body;
use http_body_util::BodyExt;
use safepoint_agent::{Agent, Answering, BoxError, Clock, Cluster, Options};
use safepoint_apiserver::{Api, User};
use safepoint_core::{Now, Span, Timestamp};
use safepoint_supervisor::{Config, Supervisor};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

const NODE: &str = "rover-7";
const SLOW: Duration = Duration::from_millis(1500);
const STEP: Duration = Duration::from_millis(100);

/// The clock of the test: it goes when the test says so.
struct Virtual(Instant);

impl Clock for Virtual {
    fn now(&self) -> Now {
        let since = u64::try_from(self.0.elapsed().as_millis()).unwrap();
        let wall = Timestamp(1_794_700_800_000 + i64::try_from(since).unwrap());
        Now { monotonic: Span(since), boot: 1, wall, trusted: true }
    }
}

/// What goes over the link.
#[derive(Default)]
struct Traffic {
    /// How often the cluster was told that the pod is held or no longer held.
    written: AtomicU64,
    /// What the cluster has to answer now.
    asked: AtomicU64,
}

fn slow(router: axum::Router, traffic: Arc<Traffic>) -> Cluster {
    Cluster::new(move |request: http::Request<http_body_util::Full<bytes::Bytes>>| -> Answering {
        let (router, traffic) = (router.clone(), Arc::clone(&traffic));
        Box::pin(async move {
            tokio::time::sleep(SLOW).await;
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            if parts.uri.path().ends_with("/pods/rover/status")
                && String::from_utf8_lossy(&body).contains("HeldUpgrade")
            {
                traffic.written.fetch_add(1, Ordering::SeqCst);
            }
            traffic.asked.fetch_add(1, Ordering::SeqCst);
            let answer = router.oneshot(http::Request::from_parts(parts, Body::from(body))).await;
            traffic.asked.fetch_sub(1, Ordering::SeqCst);
            Ok(answer?.map(|body| body.map_err(BoxError::from).boxed_unsync()))
        })
    })
}

async fn call(admin: &axum::Router, method: &str, path: &str, kind: &str, body: Value) -> Value {
    let body = if body.is_null() { Vec::new() } else { serde_json::to_vec(&body).unwrap() };
    let request = http::Request::builder().method(method).uri(path).header("content-type", kind);
    let answer = admin.clone().oneshot(request.body(Body::from(body)).unwrap()).await.unwrap();
    assert!(answer.status().is_success(), "{}", answer.status());
    serde_json::from_slice(&answer.into_body().collect().await.unwrap().to_bytes()).unwrap()
}

/// Virtual time, which passes in small steps, each of them when the work of the one before is done. Disks and threads know
/// nothing of it: on a busy machine minutes of it would pass while one write waits for its turn.
struct Time {
    traffic: Arc<Traffic>,
    socket: PathBuf,
}

impl Time {
    async fn pass(&self, time: Duration) {
        let mut passed = Duration::ZERO;
        while passed < time {
            tokio::time::advance(STEP).await;
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
            while self.traffic.asked.load(Ordering::SeqCst) > 0 {
                tokio::task::yield_now().await;
            }
            self.gate_answers().await;
            passed += STEP;
        }
    }

    /// Whether the gate is there. What was brought to it before is done when it answers.
    async fn gate_answers(&self) -> bool {
        let Ok(mut stream) = UnixStream::connect(&self.socket).await else { return false };
        let request = b"GET /v1/status HTTP/1.1\r\nhost: agent\r\nconnection: close\r\n\r\n";
        let mut answer = Vec::new();
        stream.write_all(request).await.is_ok()
            && stream.read_to_end(&mut answer).await.is_ok()
            && answer.starts_with(b"HTTP/1.1 200")
    }
}

#[tokio::test(start_paused = true)]
async fn a_hold_of_ten_minutes_over_a_slow_link_is_written_once_and_its_end_once() {
    // As long as a thread is at work the clock does not run ahead by itself.
    let (finish, finished) = std::sync::mpsc::channel::<()>();
    let working = tokio::task::spawn_blocking(move || finished.recv().is_err());

    let folder = tempfile::tempdir().unwrap();
    let api = Api::open(safepoint_apiserver::Options::new(folder.path().join("api"))).await.unwrap();
    let admin = api.router(User::admin());
    let traffic = Arc::new(Traffic::default());
    let cluster = slow(api.router(User::of_node(NODE)), Arc::clone(&traffic));
    let mut options = Options::new(NODE, folder.path().join("node"), cluster, vec!["false".into()]);
    options.clock = Arc::new(Virtual(Instant::now()));
    let time = Time { traffic: Arc::clone(&traffic), socket: options.socket.clone() };
    let (builder, registered) = Agent::new(options).register(Supervisor::builder(Config::default()));
    let supervisor = builder.build().unwrap();
    registered.supervised_by(supervisor.handle());
    let stop = CancellationToken::new();
    let mut modules = tokio::task::JoinSet::new();
    modules.spawn(supervisor.run(stop.clone()));
    while !time.gate_answers().await {
        tokio::task::yield_now().await;
    }

    let pods = "/api/v1/namespaces/default/pods";
    let pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "rover", "annotations": {"edge.kubeedge.io/hold-upgrade": "true"}},
        "spec": {"nodeName": NODE, "containers": [{"name": "main", "image": "rover:v1", "command": ["sleep", "600"]}]}});
    call(&admin, "POST", pods, "application/json", pod).await;
    let held = async || {
        let pod = call(&admin, "GET", &format!("{pods}/rover"), "application/json", Value::Null).await;
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.into_iter().find(|one| one["type"] == "HeldUpgrade")
    };
    while held().await.is_none() {
        time.pass(STEP).await;
    }
    let first = held().await.unwrap();
    assert_eq!((&first["status"], &first["reason"]), (&json!("True"), &json!("UpdateHoldActive")));
    assert_eq!(first["message"], "Pod upgrade is currently held at the edge.");

    // Ten minutes, in which the pod is touched again and again by somebody else.
    for minute in 0..10 {
        let note = json!({"metadata": {"labels": {"minute": minute.to_string()}}});
        call(&admin, "PATCH", &format!("{pods}/rover"), "application/merge-patch+json", note).await;
        time.pass(Duration::from_secs(60)).await;
    }
    assert_eq!(traffic.written.load(Ordering::SeqCst), 1);
    assert_eq!(held().await.unwrap(), first, "and its transition time has not moved");

    // The annotation is taken off: the hold ends, and that is written once.
    let off = json!({"metadata": {"annotations": {"edge.kubeedge.io/hold-upgrade": null}}});
    call(&admin, "PATCH", &format!("{pods}/rover"), "application/merge-patch+json", off).await;
    while held().await.is_some_and(|condition| condition["status"] == "True") {
        time.pass(STEP).await;
    }
    time.pass(Duration::from_secs(60)).await;
    assert_eq!(traffic.written.load(Ordering::SeqCst), 2);
    assert_eq!(held().await.unwrap()["reason"], "Released");

    stop.cancel();
    time.pass(Duration::from_secs(5)).await;
    drop(finish);
    assert!(working.await.unwrap());
}
