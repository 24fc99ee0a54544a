//! What the writer makes of answers, and of none.

use std::io;
use std::sync::Arc;

use http::{Method, Request, Response};
use kube::client::Body;
use safepoint_core::rollout::{Phase, Task, Work};

use super::super::task::{Kind, program};
use super::super::wanted::Wanted;
use super::super::wanted::tests::spec;
use super::*;

/// What an API server says to a request; nothing, where nobody answers.
type Says = fn(&Method) -> Option<(u16, Value)>;

fn start() -> Start {
    let wanted = Arc::new(Wanted::read(&spec(|_| {})).unwrap());
    let task = Task {
        name: "t".into(),
        work: Work::Upgrade,
        revision: wanted.revision().clone(),
        attempt: 1,
        phase: Phase::Waiting,
        removing: false,
    };
    Start {
        node: "n1".into(),
        kind: Kind::Work(Work::Upgrade),
        attempt: 1,
        key: words::KEY_MANIFEST,
        sum: "5e11".into(),
        wanted,
        program: Arc::clone(program()),
        task: Some(task),
    }
}

/// Carries out what is to be done at a server that says this.
async fn done(acts: Acts, says: Says) -> Vec<Done> {
    let service = move |request: Request<Body>| async move {
        let Some((code, body)) = says(request.method()) else {
            return Err(io::Error::from(io::ErrorKind::ConnectionRefused));
        };
        let body = Body::from(body.to_string().into_bytes());
        Ok(Response::builder().status(code).body(body).expect("it is one"))
    };
    let client = Client::new(tower::service_fn(service), "default");
    let clock = Clock::of(|| jiff::Timestamp::UNIX_EPOCH);
    let facts = Facts::default();
    let accounts = Mutex::new(HashSet::from(["edge".into()]));
    let writer = Writer { client: &client, clock: &clock, facts: &facts, accounts };
    let object = Object { namespace: "edge".into(), name: "proxy".into(), uid: "u1".into() };
    writer.carry_out(&object, acts).await
}

fn refusal(code: u16) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "message": "no",
        "reason": if code == 409 { "AlreadyExists" } else { "NotFound" }})
}

fn ours() -> Value {
    json!({"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1", "metadata": {"name": "t", "namespace": "edge",
        "uid": "t1", "resourceVersion": "7", "ownerReferences": [super::super::owner("proxy", "u1")]}})
}

#[tokio::test]
async fn a_start_without_an_answer_comes_back_to_be_asked_again() {
    let starting = || Acts { start: vec![start()], ..Acts::default() };
    let silent = done(starting(), |_| None).await;
    assert!(matches!(&silent[..], [Done::Unanswered(start)] if &*start.node == "n1"), "{silent:?}");
    // It had been made all the same: made again, it finds itself, in the version that it has.
    let found = done(starting(), |method| {
        Some(if *method == Method::POST { (409, refusal(409)) } else { (200, ours()) })
    })
    .await;
    let version = |pod: &Pod| pod.metadata.resource_version.clone();
    assert!(
        matches!(&found[..], [Done::Started { pod: Some(pod), task: Some(_), .. }] if version(pod).as_deref() == Some("7")),
        "{found:?}"
    );
    // And where nobody says whether it is the one, nobody knows still.
    let half = done(starting(), |method| (*method == Method::POST).then(|| (409, refusal(409)))).await;
    assert!(matches!(&half[..], [Done::Unanswered(_)]), "{half:?}");
}

#[tokio::test]
async fn a_task_that_is_only_looked_for_is_not_made() {
    let looking = || Acts { find: vec![start()], ..Acts::default() };
    let none = done(looking(), |method| {
        assert_eq!(*method, Method::GET);
        Some((404, refusal(404)))
    })
    .await;
    assert!(matches!(&none[..], [Done::NotStarted { task: Some(_), .. }]), "{none:?}");
    let there = done(looking(), |_| Some((200, ours()))).await;
    assert!(matches!(&there[..], [Done::Started { pod: Some(_), .. }]), "{there:?}");
    let silent = done(looking(), |_| None).await;
    assert!(matches!(&silent[..], [Done::Unanswered(_)]), "{silent:?}");
}
