//! What somebody is told who wants a pod to end, when the API server does not do what it should.

use std::convert::Infallible;

use http::{Method, Response};
use kube::client::Body;
use kube::runtime::watcher::Event;
use safepoint_api::NodeGate;
use safepoint_api::node_gate::{GateState, NodeGateSpec, NodeGateStatus};

use super::*;
use crate::lifecycle::{Check, Evict, Features};
use crate::source::{Source, Surplus, Wishes};
use crate::webhook::Hook;

/// What becomes of a write.
#[derive(Clone, Copy)]
enum Writes {
    Fail,
    Hang,
}

fn pod() -> Value {
    json!({"metadata": {"namespace": "shop", "name": "web", "uid": "u1", "resourceVersion": "1",
            "labels": {"kusionstack.io/control": "true"}},
        "spec": {"nodeName": "rover-7", "readinessGates": [{"conditionType": "pod.kusionstack.io/service-ready"}]},
        "status": {"phase": "Running", "startTime": "2026-11-15T12:00:00Z"}})
}

/// An API server that has the pod, and cannot be written.
fn client(writes: Writes) -> Client {
    let service = move |request: http::Request<Body>| async move {
        let (code, body) = match (request.method() == Method::GET, writes) {
            (true, _) => (200, pod()),
            (false, Writes::Fail) => (
                500,
                json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": 500,
                    "message": "the store is away", "reason": "InternalError"}),
            ),
            (false, Writes::Hang) => match std::future::pending::<Infallible>().await {},
        };
        let body = Body::from(body.to_string().into_bytes());
        Ok::<_, Infallible>(Response::builder().status(code).body(body).expect("it is one"))
    };
    Client::new(tower::service_fn(service), "default")
}

fn deletions(writes: Writes, frozen: bool) -> Arc<Deletions> {
    let seen = Arc::new(Seen::default());
    if frozen {
        let mut gate = NodeGate::new("rover-7", NodeGateSpec::default());
        gate.status = Some(NodeGateStatus { state: Some(GateState::Frozen), ..NodeGateStatus::default() });
        seen.gates().take(Event::Apply(gate));
    }
    let namespace = "safepoint-system".to_owned();
    let surplus = Arc::new(Surplus::new(client(writes)));
    Arc::new(Deletions { client: client(writes), seen, surplus, clock: Clock::wall(), namespace })
}

fn hooks(deletions: &Arc<Deletions>) -> [Box<dyn Hook>; 3] {
    let source = Source {
        deletions: Arc::clone(deletions),
        grace_delete: true,
        seen: Arc::clone(&deletions.seen),
        wishes: Arc::new(Wishes::new()),
        clock: deletions.clock.clone(),
        namespace: deletions.namespace.clone(),
    };
    let check = Check { features: Features { grace_delete: true }, deletions: Arc::clone(deletions) };
    [Box::new(check), Box::new(Evict { deletions: Arc::clone(deletions) }), Box::new(source)]
}

fn request(how: How, dry_run: bool, namespace: &str) -> Request {
    let mut request = match how {
        How::Delete => json!({"operation": "DELETE", "oldObject": pod()}),
        How::Eviction => json!({"operation": "CREATE", "subResource": "eviction", "object": {}}),
    };
    request["name"] = json!("web");
    request["namespace"] = json!(namespace);
    request["dryRun"] = json!(dry_run);
    request["userInfo"] = json!({"username": "jane"});
    serde_json::from_value(request).expect("it is one")
}

async fn refused(hook: &dyn Hook, how: How, dry_run: bool) -> Denial {
    match hook.review(&request(how, dry_run, "shop")).await {
        Answer::Deny(denial) => *denial,
        other => panic!("{} lets it pass: {other:?}", hook.entry().name),
    }
}

#[tokio::test]
async fn every_webhook_refuses_what_is_held_by_itself() {
    let deletions = deletions(Writes::Hang, true);
    let [check, evict, source] = hooks(&deletions);
    for (hook, how, code) in [
        (&check, How::Delete, 409),
        (&evict, How::Eviction, 429),
        (&source, How::Delete, 409),
        (&source, How::Eviction, 429),
    ] {
        let denial = refused(&**hook, how, true).await;
        assert_eq!(denial.code, code);
        assert!(denial.message.contains("node rover-7 is frozen"), "{}", denial.message);
        assert!(denial.message.contains("goes through its lifecycle"), "{}", denial.message);
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_noted_does_not_pass() {
    for writes in [Writes::Fail, Writes::Hang] {
        for frozen in [false, true] {
            let deletions = deletions(writes, frozen);
            let [check, evict, source] = hooks(&deletions);
            let begun = Instant::now();
            let denial = refused(&*check, How::Delete, false).await;
            assert_eq!((denial.code, denial.reason), (503, "ServiceUnavailable"));
            assert!(denial.message.contains("could not be noted"), "{}", denial.message);
            // Drain tries again after this one and after no other.
            let denial = refused(&*evict, How::Eviction, false).await;
            assert_eq!((denial.code, denial.reason), (429, "TooManyRequests"));
            assert!(denial.message.contains("could not be noted"), "{}", denial.message);
            if frozen {
                assert_eq!(refused(&*source, How::Delete, false).await.code, 503);
                assert_eq!(refused(&*source, How::Eviction, false).await.code, 429);
            }
            // The clock of the test moves only while nothing else can: each has waited for its own deadline at the most.
            assert!(begun.elapsed() <= 4 * crate::webhook::NOTING + std::time::Duration::from_millis(10));
        }
    }
}

#[tokio::test]
async fn nothing_is_held_in_the_hubs_own_namespace() {
    let deletions = deletions(Writes::Hang, true);
    assert!(deletions.is_held("shop", &pod()));
    assert!(!deletions.is_held("safepoint-system", &pod()));
}
