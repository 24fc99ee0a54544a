//! The frame: what it calls, in which order, and what it leaves alone.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::DeleteParams;
use safepoint_sdk::cooperation::{BoxError, Cooperation, Employer, Frame, Member};
use safepoint_sdk::operation::{Operation, Operations};
use serde_json::{Value, json};
use tokio::sync::watch;

use crate::cluster::{Cluster, IN_SERVICE, until};

/// A switchboard that writes down what it is asked.
#[derive(Clone, Default)]
pub(crate) struct Board(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// The pods for which it is on, by employer, name and uid. It outlives every frame.
    on: Mutex<BTreeSet<(String, String, String)>>,
    calls: Mutex<Vec<String>>,
    /// `turn_off` fails.
    stuck: AtomicBool,
    /// How many calls there are now, and were at most.
    now: AtomicUsize,
    most: AtomicUsize,
    /// Counts two places of each call: it has begun, and it is done and about to return.
    places: watch::Sender<usize>,
}

pub(crate) fn front() -> Employer {
    Employer::new("board", "Board", "default", "front").selecting([("app", "web")])
}

impl Board {
    pub(crate) fn on(&self) -> Vec<String> {
        self.0.on.lock().unwrap().iter().map(|(_, name, _)| name.clone()).collect()
    }

    fn calls(&self) -> Vec<String> {
        self.0.calls.lock().unwrap().clone()
    }

    fn stuck(&self, stuck: bool) {
        self.0.stuck.store(stuck, Ordering::SeqCst);
    }

    fn place(&self) {
        self.0.places.send_modify(|places| *places += 1);
    }

    async fn call(&self, text: String) {
        let now = self.0.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.0.most.fetch_max(now, Ordering::SeqCst);
        self.0.calls.lock().unwrap().push(text);
        self.place();
        tokio::time::sleep(Duration::from_millis(20)).await;
        self.0.now.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Cooperation for Board {
    async fn turn_on(&self, employer: &Employer, pod: &Pod) -> Result<(), BoxError> {
        self.call(format!("on {}", pod.name_any())).await;
        let who = (employer.to_string(), pod.name_any(), pod.uid().unwrap());
        self.0.on.lock().unwrap().insert(who);
        self.place();
        Ok(())
    }

    async fn turn_off(&self, employer: &Employer, member: &Member) -> Result<(), BoxError> {
        self.call(format!("off {}", member.name)).await;
        if self.0.stuck.load(Ordering::SeqCst) {
            return Err("the board is stuck".into());
        }
        let (employer, uid) = (employer.to_string(), member.uid.clone().unwrap());
        self.0.on.lock().unwrap().remove(&(employer, member.name.clone(), uid));
        self.place();
        Ok(())
    }

    async fn members(&self, employer: &Employer) -> Result<Vec<Member>, BoxError> {
        let on = self.0.on.lock().unwrap().clone();
        let ours = on.into_iter().filter(|(of, _, _)| *of == employer.to_string());
        Ok(ours.map(|(_, name, uid)| Member::named("default", name, Some(uid))).collect())
    }
}

/// A pod's metadata with the declaration, as a template has it.
fn declared() -> Value {
    let (key, value) = front().declaration();
    json!({"annotations": {key: value}})
}

pub(crate) fn frame(cluster: &Cluster, board: &Board) -> Frame<Board> {
    Frame::new(cluster.client.clone(), board.clone())
        .backoff(Duration::from_millis(20), Duration::from_millis(200))
        .namespace("default")
}

async fn run(frame: Frame<Board>) {
    frame.run(std::future::pending()).await.unwrap();
}

fn is_kept(pod: &Pod) -> bool {
    pod.finalizers().iter().any(|finalizer| finalizer == front().finalizer())
}

#[tokio::test]
async fn an_operation_waits_until_the_resource_is_off_and_the_pod_until_it_is_on_again() {
    let mut cluster = Cluster::new().await;
    let board = Board::default();
    cluster.run(run(frame(&cluster, &board).employer(front())));
    let others = ["example.com/first", "example.com/second"];
    let mut metadata = declared();
    metadata["finalizers"] = json!(others);
    cluster.pod("web-0", metadata).await;
    let pod = cluster.until("web-0", "in service", |pod| pod.labels().contains_key(IN_SERVICE)).await;
    assert!(is_kept(&pod), "in service, and not kept");
    assert_eq!(board.on(), ["web-0"]);

    let operations = Operations::new(cluster.client.clone(), Operation::new("patcher", "update")).unwrap();
    board.stuck(true);
    let _ = operations.begin(&pod).await.unwrap();
    until("it was tried more than once", async || {
        (board.calls().iter().filter(|call| *call == "off web-0").count() > 3).then_some(())
    })
    .await;
    let pod = cluster.get("web-0").await;
    assert!(!operations.allow_ops(&pod, Duration::ZERO).is_granted(), "nobody waited for the resource");
    assert!(is_kept(&pod));
    board.stuck(false);
    let pod =
        cluster.until("web-0", "granted", |pod| operations.allow_ops(pod, Duration::ZERO).is_granted()).await;
    assert!(board.on().is_empty() && !is_kept(&pod));
    let _ = operations.finish(&pod).await.unwrap();
    let pod = cluster.until("web-0", "back", |pod| pod.labels().contains_key(IN_SERVICE)).await;
    assert_eq!(board.on(), ["web-0"]);
    assert_eq!(pod.finalizers(), [others[0], others[1], front().finalizer()]);
}

#[tokio::test]
async fn a_frame_that_is_ended_anywhere_is_followed_by_one_that_goes_on() {
    let mut cluster = Cluster::new().await;
    let board = Board::default();
    let operations = Operations::new(cluster.client.clone(), Operation::new("patcher", "update")).unwrap();
    for name in ["web-0", "web-1", "web-2"] {
        cluster.pod(name, declared()).await;
    }
    // Each frame calls once for each of the three, so there are six places. It is ended at every one of them: all calls at once or one
    // after the other, in a call or right after it and before what is written then; in peace, and during an operation.
    for (concurrency, operated) in [(5, false), (1, false), (5, true), (1, true)] {
        if operated {
            let _ = operations.begin(&cluster.get("web-1").await).await.unwrap();
        }
        for place in 1..=6 {
            let mut places = board.0.places.subscribe();
            let end = *places.borrow() + place;
            let task = cluster.run(run(frame(&cluster, &board).employer(front()).concurrency(concurrency)));
            let met = tokio::time::timeout(Duration::from_secs(60), places.wait_for(|met| *met >= end)).await;
            assert!(met.is_ok(), "place {place} was never met");
            drop(met);
            cluster.end(&task).await;
        }
    }
    cluster.run(run(frame(&cluster, &board).employer(front())));
    let pod =
        cluster.until("web-1", "granted", |pod| operations.allow_ops(pod, Duration::ZERO).is_granted()).await;
    let _ = operations.finish(&pod).await.unwrap();
    cluster.in_service(3).await;
    assert_eq!(board.on(), ["web-0", "web-1", "web-2"]);
}

#[tokio::test]
async fn what_is_left_of_pods_that_went_while_nobody_looked_is_switched_off() {
    let mut cluster = Cluster::new().await;
    let board = Board::default();
    let task = cluster.run(run(frame(&cluster, &board).employer(front())));
    for name in ["web-0", "web-1", "web-2"] {
        cluster.pod(name, declared()).await;
    }
    cluster.in_service(3).await;
    cluster.end(&task).await;
    // One goes by force, its finalizer torn off, and another one takes its name. One does not take part any more.
    cluster.edit("web-0", json!({"finalizers": null})).await;
    cluster.delete("web-0").await;
    cluster.gone("web-0").await;
    let new = cluster.pod("web-0", declared()).await;
    cluster.edit("web-1", json!({"labels": {"kusionstack.io/control": null}})).await;
    cluster.edit("web-2", json!({"finalizers": null})).await;
    cluster.delete("web-2").await;
    cluster.gone("web-2").await;

    cluster.run(run(frame(&cluster, &board).employer(front())));
    cluster.until("web-0", "in service", |pod| pod.labels().contains_key(IN_SERVICE)).await;
    cluster.until("web-1", "let go", |pod| !is_kept(pod)).await;
    until("only the new one is on", async || {
        let on = board.0.on.lock().unwrap().clone();
        let only = (front().to_string(), "web-0".to_owned(), new.uid().unwrap());
        (on == BTreeSet::from([only])).then_some(())
    })
    .await;
}

#[tokio::test]
async fn a_pod_that_is_deleted_goes_once_it_is_off_and_one_that_is_not_ready_is_off() {
    let mut cluster = Cluster::new().await;
    let board = Board::default();
    cluster.run(run(frame(&cluster, &board).employer(front())));
    cluster.pod("web-0", declared()).await;
    cluster.pod("web-1", declared()).await;
    cluster.in_service(2).await;
    cluster.delete("web-0").await;
    cluster.gone("web-0").await;
    assert_eq!(board.on(), ["web-1"]);
    let sick = json!({"status": {"conditions": [{"type": "Ready", "status": "False"}]}});
    cluster.edit("web-1", json!({"annotations": {"test/broken": "yes"}})).await;
    let patch = kube::api::Patch::Strategic(sick);
    cluster.pods.patch_status("web-1", &kube::api::PatchParams::default(), &patch).await.unwrap();
    cluster.until("web-1", "let go", |pod| !is_kept(pod)).await;
    assert!(board.on().is_empty());
}

/// Not in the template: the frame declares it, which may be after the pod is called available for the first time.
#[tokio::test]
async fn a_pod_that_declares_nothing_is_declared_and_kept() {
    let mut cluster = Cluster::new().await;
    let board = Board::default();
    cluster.run(run(frame(&cluster, &board).employer(front())));
    cluster.pod("web-0", json!({})).await;
    let pod = cluster.until("web-0", "kept", is_kept).await;
    let (key, value) = front().declaration();
    assert_eq!(pod.annotations()[key], value);
    assert_eq!(board.on(), ["web-0"]);
}

#[tokio::test]
async fn no_more_calls_run_at_once_than_were_asked_for() {
    let mut cluster = Cluster::new().await;
    let board = Board::default();
    for number in 0..12 {
        cluster.pod(&format!("web-{number}"), declared()).await;
    }
    cluster.run(run(frame(&cluster, &board).employer(front()).concurrency(3)));
    cluster.in_service(12).await;
    let most = board.0.most.load(Ordering::SeqCst);
    assert!((2..=3).contains(&most), "{most} at once");
    // In peace, each pod was switched on once.
    let mut calls = board.calls();
    calls.retain(|call| call.starts_with("on"));
    calls.sort();
    let mut once: Vec<String> = (0..12).map(|number| format!("on web-{number}")).collect();
    once.sort();
    assert_eq!(calls, once);
}

#[tokio::test]
async fn an_operation_that_begins_before_the_finalizer_has_come_waits_for_it() {
    let mut cluster = Cluster::new().await;
    let board = Board::default();
    // Declared in the template: nobody has to be there to do it.
    let pod = cluster.pod("web-0", declared()).await;
    let operations = Operations::new(cluster.client.clone(), Operation::new("patcher", "update")).unwrap();
    cluster.until("web-0", "ready", |pod| crate::middle::condition(pod, "Ready") == Some(true)).await;
    let _ = operations.begin(&pod).await.unwrap();
    cluster.run(run(frame(&cluster, &board).employer(front())));
    cluster.until("web-0", "granted", |pod| operations.allow_ops(pod, Duration::ZERO).is_granted()).await;
    assert_eq!(
        board.calls().first().map(String::as_str),
        Some("on web-0"),
        "it acted on a pod half registered"
    );
    assert!(board.on().is_empty());
    let _ = cluster.pods.delete("web-0", &DeleteParams::default()).await.unwrap();
}
