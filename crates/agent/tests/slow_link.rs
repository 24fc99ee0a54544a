//! A link on which every request takes a second and a half, and a hold of ten minutes, in virtual time.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    reason = "a test that fails says where, and is supervised by nobody"
)]

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

/// How often the cluster was told that the pod is held or no longer held.
#[derive(Default)]
struct Written(AtomicU64);

fn slow(router: axum::Router, written: Arc<Written>) -> Cluster {
    Cluster::new(move |request: http::Request<http_body_util::Full<bytes::Bytes>>| -> Answering {
        let (router, written) = (router.clone(), Arc::clone(&written));
        Box::pin(async move {
            tokio::time::sleep(SLOW).await;
            let (parts, body) = request.into_parts();
            let body = body.collect().await?.to_bytes();
            if parts.uri.path().ends_with("/pods/rover/status")
                && String::from_utf8_lossy(&body).contains("HeldUpgrade")
            {
                written.0.fetch_add(1, Ordering::SeqCst);
            }
            let answer = router.oneshot(http::Request::from_parts(parts, Body::from(body))).await?;
            Ok(answer.map(|body| body.map_err(BoxError::from).boxed_unsync()))
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

/// Lets virtual time pass in small steps, and real work keep up with it.
async fn pass(time: Duration) {
    let mut passed = Duration::ZERO;
    while passed < time {
        tokio::time::advance(STEP).await;
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        passed += STEP;
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
    let written = Arc::new(Written::default());
    let cluster = slow(api.router(User::of_node(NODE)), Arc::clone(&written));
    let mut options = Options::new(NODE, folder.path().join("node"), cluster, vec!["false".into()]);
    options.clock = Arc::new(Virtual(Instant::now()));
    let (builder, registered) = Agent::new(options).register(Supervisor::builder(Config::default()));
    let supervisor = builder.build().unwrap();
    registered.supervised_by(supervisor.handle());
    let stop = CancellationToken::new();
    let mut modules = tokio::task::JoinSet::new();
    modules.spawn(supervisor.run(stop.clone()));

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
        pass(STEP).await;
    }
    let first = held().await.unwrap();
    assert_eq!((&first["status"], &first["reason"]), (&json!("True"), &json!("UpdateHoldActive")));
    assert_eq!(first["message"], "Pod upgrade is currently held at the edge.");

    // Ten minutes, in which the pod is touched again and again by somebody else.
    for minute in 0..10 {
        let note = json!({"metadata": {"labels": {"minute": minute.to_string()}}});
        call(&admin, "PATCH", &format!("{pods}/rover"), "application/merge-patch+json", note).await;
        pass(Duration::from_secs(60)).await;
    }
    assert_eq!(written.0.load(Ordering::SeqCst), 1);
    assert_eq!(held().await.unwrap(), first, "and its transition time has not moved");

    // The annotation is taken off: the hold ends, and that is written once.
    let off = json!({"metadata": {"annotations": {"edge.kubeedge.io/hold-upgrade": null}}});
    call(&admin, "PATCH", &format!("{pods}/rover"), "application/merge-patch+json", off).await;
    while held().await.is_some_and(|condition| condition["status"] == "True") {
        pass(STEP).await;
    }
    pass(Duration::from_secs(60)).await;
    assert_eq!(written.0.load(Ordering::SeqCst), 2);
    assert_eq!(held().await.unwrap()["reason"], "Released");

    stop.cancel();
    pass(Duration::from_secs(5)).await;
    drop(finish);
    assert!(working.await.unwrap());
}
