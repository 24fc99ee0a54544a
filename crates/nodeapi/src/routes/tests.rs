//! Every row of the native API, over a real gate.

use axum::http::{Method, StatusCode};
use futures::FutureExt;
use safepoint_core::{Ask, Config, Event, Mode, Span, WorkloadKind};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{router, table};
use crate::caller::Peer;
use crate::testing::{Object, Reply, TestNode, call, guest, pod, pod_of, rights, root, static_pod};

struct Api {
    node: TestNode,
    router: axum::Router,
}

impl Api {
    fn of(node: TestNode) -> Self {
        let router = router(node.clone(), rights(), CancellationToken::new());
        Self { node, router }
    }

    fn new() -> Self {
        Self::of(TestNode::new())
    }

    async fn get(&self, path: &str) -> Reply {
        call(&self.router, guest(), Method::GET, path, "").await
    }

    async fn ask(&self, method: Method, path: &str, body: Value) -> Reply {
        call(&self.router, root(), method, path, &body.to_string()).await
    }

    /// The code and the reason of a refusal.
    async fn refused(&self, method: Method, path: &str, body: Value) -> (u16, String) {
        let reply = self.ask(method, path, body).await;
        let failure = reply.json();
        assert_eq!(failure["code"], reply.code.as_u16(), "the body says the same as the head");
        assert!(failure["message"].as_str().is_some_and(|message| message.len() > 10), "{failure}");
        (reply.code.as_u16(), failure["reason"].as_str().unwrap().to_owned())
    }
}

fn refusal(code: u16, reason: &str) -> (u16, String) {
    (code, reason.to_owned())
}

fn cam() -> Object {
    pod("robot", "cam").annotated()
}

/// A node on which an annotated pod waits for its update.
fn held() -> TestNode {
    let node = TestNode::running([&cam()]);
    node.sees([&cam().revision("b")]);
    node
}

fn hold_all() -> Value {
    json!({ "id": "mission", "reason": "flying", "scope": { "kind": "Namespace", "namespace": "robot" } })
}

#[tokio::test]
async fn the_status_shows_the_node_and_its_gate_as_one() {
    let api = Api::of(held());
    let status = api.get("/v1/status").await.json();
    assert_eq!(
        (&status["node"], &status["state"], &status["pods"]),
        (&json!("rover-7"), &json!("Open"), &json!(1))
    );
    assert_eq!((&status["heldCount"], &status["uplink"]["connected"]), (&json!(1), &json!(true)));
    assert_eq!(status["modules"][0]["name"], "uplink");
    assert_eq!(status["observedGeneration"], 3, "what only the agent knows is there too");
    assert_eq!(status["agentVersion"], env!("CARGO_PKG_VERSION"));
}

#[tokio::test]
async fn changes_and_why_say_the_same_sentence() {
    let api = Api::of(held());
    let changes = api.get("/v1/changes").await.json();
    let why = api.get("/v1/why/robot/cam").await.json();
    assert_eq!(why["verdict"], "Held");
    assert_eq!(why["sentence"], changes["items"][0]["why"]);
    let unknown = api.get("/v1/why/robot/nobody").await;
    assert_eq!((unknown.code, &unknown.json()["reason"]), (StatusCode::NOT_FOUND, &json!("NotFound")));
}

#[tokio::test]
async fn a_hold_is_taken_renewed_and_dropped() {
    let api = Api::new();
    let body = json!({
        "id": "mission", "holder": "flight-control", "reason": "flying",
        "scope": { "kind": "Selector", "selector": "app=nav" }, "lease": { "for": "30s" },
    });
    let taken = api.ask(Method::POST, "/v1/holds", body).await;
    assert_eq!(taken.code, StatusCode::CREATED);
    assert_eq!(taken.json()["hold"]["holder"], "flight-control (uid 0)");
    assert_eq!(taken.json()["hold"]["expires"], "2026-11-15T08:00:30Z");
    api.node.after(Span::from_secs(20));
    let renewed =
        api.ask(Method::PUT, "/v1/holds/mission", json!({ "holder": "flight-control", "for": "1m" })).await;
    assert_eq!((renewed.code, &renewed.json()["expires"]), (StatusCode::OK, &json!("2026-11-15T08:01:20Z")));
    assert_eq!(api.get("/v1/holds").await.json()["items"][0]["id"], "mission");
    let dropped = call(&api.router, root(), Method::DELETE, "/v1/holds/mission", "").await;
    assert_eq!((dropped.code, dropped.json()), (StatusCode::OK, json!({ "id": "mission" })));
    assert_eq!(api.get("/v1/holds").await.json()["items"], json!([]));
    assert_eq!(api.node.callers()[0], "flight-control (uid 0, pid 4242)");
}

#[tokio::test]
async fn a_program_that_was_restarted_renews_its_hold_and_another_user_does_not() {
    let rover = |pid, uid| {
        let known = crate::Credentials { uid, groups: vec![], pid: Some(pid), user: Some("rover".into()) };
        Peer::Known(known)
    };
    // Both may change things here: the agent runs as neither, so let them be root under two names.
    let api = Api::new();
    let mut body = hold_all();
    body["holder"] = "nav".into();
    call(&api.router, rover(1, 0), Method::POST, "/v1/holds", &body.to_string()).await;
    let renewed =
        call(&api.router, rover(2, 0), Method::PUT, "/v1/holds/mission", r#"{"holder":"nav"}"#).await;
    assert_eq!(renewed.code, StatusCode::OK, "{}", renewed.text);
    let other = api.refused(Method::PUT, "/v1/holds/mission", json!({ "holder": "camera" })).await;
    assert_eq!(other, refusal(409, "NameTaken"));
    assert_eq!(api.refused(Method::PUT, "/v1/holds/gone", json!({})).await, refusal(404, "NotFound"));
}

#[tokio::test]
async fn a_hold_without_a_name_gets_a_readable_one_of_its_own() {
    let api = Api::new();
    let body = json!({ "reason": "flying", "scope": { "kind": "Node" } });
    let mut ids = Vec::new();
    for _ in 0..2 {
        let taken = api.ask(Method::POST, "/v1/holds", body.clone()).await.json();
        ids.push(taken["hold"]["id"].as_str().unwrap().to_owned());
    }
    assert!(ids[0].starts_with("hold-root-") && ids[0].len() == "hold-root-00ff00".len(), "{ids:?}");
    assert_ne!(ids[0], ids[1]);
}

#[tokio::test]
async fn a_hold_tells_what_it_caught_half_done() {
    let api = Api::new();
    api.node.sees([&pod("robot", "cam")]);
    let taken = api.ask(Method::POST, "/v1/holds", hold_all()).await.json();
    assert_eq!(taken["inFlight"][0]["reason"], "PodUnsettled");
}

#[tokio::test]
async fn a_settled_node_freezes_at_once_and_thaws_again() {
    let api = Api::new();
    let frozen = api.ask(Method::POST, "/v1/freeze", json!({ "id": "lift", "reason": "crane" })).await;
    assert_eq!(frozen.code, StatusCode::CREATED);
    assert_eq!((&frozen.json()["state"], &frozen.json()["id"]), (&json!("Frozen"), &json!("lift")));
    assert_eq!(api.get("/v1/freeze").await.json()["holds"][0]["id"], "lift");
    let thawed = call(&api.router, root(), Method::DELETE, "/v1/freeze", "").await;
    assert_eq!((thawed.code, &thawed.json()["state"]), (StatusCode::OK, &json!("Thawing")));
}

#[tokio::test]
async fn a_freeze_that_cannot_be_is_refused_with_every_blocker() {
    let api = Api::new();
    api.node.sees([&pod("robot", "cam")]);
    let refused = api.ask(Method::POST, "/v1/freeze", json!({ "reason": "crane" })).await;
    assert_eq!((refused.code, refused.header("retry-after")), (StatusCode::CONFLICT, Some("5")));
    let failure = refused.json();
    assert_eq!((&failure["reason"], &failure["retryAfter"]), (&json!("Unsettled"), &json!(5)));
    assert_eq!(
        failure["blockers"][0]["object"],
        json!({ "kind": "Pod", "namespace": "robot", "name": "cam" })
    );
    assert_eq!(api.node.gate(safepoint_core::Gate::mode), Mode::Open);
    let kept =
        api.ask(Method::POST, "/v1/freeze", json!({ "reason": "crane", "holdBarrier": true })).await.json();
    assert_eq!(kept["barrierKept"], true);
    assert_eq!(api.node.gate(safepoint_core::Gate::mode), Mode::Freezing);
}

#[tokio::test]
async fn a_freeze_waits_for_its_answer_and_a_client_that_goes_away_does_not_take_it_back() {
    let api = Api::new();
    let cam = pod("robot", "cam");
    api.node.sees([&cam]);
    let body = json!({ "id": "lift", "reason": "crane", "deadline": "1m" });
    let waiting = api.ask(Method::POST, "/v1/freeze", body.clone());
    assert!(waiting.now_or_never().is_none(), "the pod is still starting, and the client is gone");
    api.node.ready(&cam);
    assert_eq!(api.node.gate(safepoint_core::Gate::mode), Mode::Frozen);
    let again = api.ask(Method::POST, "/v1/freeze", body).await;
    assert_eq!((again.code, &again.json()["state"]), (StatusCode::CREATED, &json!("Frozen")));
}

#[tokio::test]
async fn a_freeze_that_settles_in_time_is_answered_then() {
    let api = Api::new();
    let cam = pod("robot", "cam");
    api.node.sees([&cam]);
    let body = json!({ "reason": "crane", "deadline": "1m" });
    let settles = async {
        while api.node.waiting() == 0 {
            tokio::task::yield_now().await;
        }
        api.node.ready(&cam);
    };
    let (frozen, ()) = tokio::join!(api.ask(Method::POST, "/v1/freeze", body), settles);
    assert_eq!(frozen.code, StatusCode::CREATED);
}

#[tokio::test]
async fn a_pending_upgrade_is_released_by_pod_workload_or_node() {
    let cam = json!({ "kind": "Pod", "namespace": "robot", "name": "cam" });
    for body in [
        json!({ "pod": { "namespace": "robot", "name": "cam" } }),
        json!({ "workload": cam, "revision": "b" }),
        json!({ "node": true }),
    ] {
        let api = Api::of(held());
        let released = api.ask(Method::POST, "/v1/releases", body).await;
        assert_eq!((released.code, released.json()), (StatusCode::OK, json!({ "workloads": [cam] })));
        assert_eq!(api.get("/v1/changes").await.json(), json!({ "items": [] }));
    }
}

#[tokio::test]
async fn a_release_is_refused_for_each_reason_in_its_own_words() {
    let pod = json!({ "pod": { "namespace": "robot", "name": "cam" } });
    let api = Api::of(held());
    let path = "/v1/releases";
    let other = json!({ "pod": { "namespace": "robot", "name": "cam" }, "revision": "z" });
    assert_eq!(api.refused(Method::POST, path, other).await, refusal(409, "AnotherRevision"));
    let nobody = json!({ "pod": { "namespace": "robot", "name": "nobody" } });
    assert_eq!(api.refused(Method::POST, path, nobody).await, refusal(404, "NotFound"));
    let nothing = json!({ "workload": { "kind": "Job", "namespace": "robot", "name": "x" } });
    assert_eq!(api.refused(Method::POST, path, nothing).await, refusal(404, "NotFound"));

    api.ask(Method::POST, "/v1/holds", hold_all()).await;
    let failure = api.ask(Method::POST, path, pod.clone()).await.json();
    assert_eq!((&failure["reason"], &failure["holds"]), (&json!("Held"), &json!(["mission"])));
    assert!(failure["message"].as_str().unwrap().contains("safepoint unhold mission"), "{failure}");
    let node = api.ask(Method::POST, path, json!({ "node": true })).await.json();
    assert_eq!(node["held"][0]["holds"], json!(["mission"]));
    let over =
        json!({ "pod": pod["pod"], "override": { "reason": "the camera must be mended", "for": "5m" } });
    assert_eq!(api.ask(Method::POST, path, over).await.code, StatusCode::OK);

    let api = Api::of(held());
    api.ask(Method::POST, "/v1/freeze", json!({ "reason": "crane" })).await;
    assert_eq!(api.refused(Method::POST, path, pod.clone()).await, refusal(409, "Frozen"));

    let api = Api::of(TestNode::running([&cam()]));
    assert_eq!(api.refused(Method::POST, path, pod.clone()).await, refusal(409, "NothingHeld"));

    let api = Api::of(TestNode::sealed());
    assert_eq!(api.refused(Method::POST, path, json!({ "node": true })).await, refusal(409, "Sealed"));
    assert_eq!(api.refused(Method::DELETE, "/v1/freeze", json!({})).await, refusal(409, "Sealed"));
}

#[tokio::test]
async fn the_clusters_freeze_is_ended_here_only_by_an_override_and_comes_back() {
    let api = Api::new();
    let settle = Span::ZERO;
    api.node.ordered(Ask::Freeze {
        id: "hub".into(),
        reason: "audit".into(),
        lease: None,
        settle,
        keep_barrier: true,
    });
    assert_eq!(api.refused(Method::DELETE, "/v1/freeze", json!({})).await, refusal(409, "Vetoed"));
    assert_eq!(api.refused(Method::DELETE, "/v1/holds/hub", json!({})).await, refusal(409, "Vetoed"));
    let body = json!({ "override": { "reason": "the crane must move", "for": "5m" } });
    let dropped = api.ask(Method::DELETE, "/v1/holds/hub", body.clone()).await.json();
    assert_eq!(dropped, json!({ "id": "hub", "suspendedUntil": "2026-11-15T08:05:00Z" }));
    let empty = json!({ "override": { "reason": " ", "for": "5m" } });
    assert_eq!(api.refused(Method::DELETE, "/v1/freeze", empty).await, refusal(400, "BadRequest"));
}

#[tokio::test]
async fn a_thaw_shows_who_keeps_the_node_frozen_all_the_same() {
    let api = Api::new();
    let settle = Span::ZERO;
    api.node.ordered(Ask::Freeze {
        id: "hub".into(),
        reason: "audit".into(),
        lease: None,
        settle,
        keep_barrier: true,
    });
    api.ask(Method::POST, "/v1/freeze", json!({ "id": "lift", "reason": "crane" })).await;
    let still = api.ask(Method::DELETE, "/v1/freeze", json!({})).await;
    assert_eq!((still.code, &still.json()["state"]), (StatusCode::OK, &json!("Frozen")));
    assert_eq!(still.json()["holds"][0]["id"], "hub");
}

#[tokio::test]
async fn a_hold_without_a_lease_is_not_given_one_in_passing() {
    let api = Api::new();
    api.ask(Method::POST, "/v1/holds", hold_all()).await;
    let refused = api.refused(Method::PUT, "/v1/holds/mission", json!({ "for": "5m" })).await;
    assert_eq!(refused, refusal(400, "BadRequest"));
}

#[tokio::test]
async fn modules_are_listed_and_started_afresh() {
    let api = Api::new();
    assert_eq!(api.get("/v1/modules").await.json()["items"][0]["state"], "Ready");
    assert_eq!(
        api.ask(Method::POST, "/v1/modules/uplink/restart", json!({})).await.code,
        StatusCode::ACCEPTED
    );
    assert_eq!(api.node.restarted(), ["uplink"]);
    assert_eq!(api.refused(Method::POST, "/v1/modules/x/restart", json!({})).await, refusal(404, "NotFound"));
}

#[tokio::test]
async fn the_log_is_read_on_from_where_one_was() {
    let api = Api::new();
    let page = api.get("/v1/log?after=1&limit=1").await.json();
    assert_eq!(
        (&page["items"][0]["number"], &page["last"], &page["intact"]),
        (&json!(2), &json!(3), &json!(true))
    );
    for bad in ["limit=0", "limit=1001", "limit=x", "after=-1", "since=5"] {
        let reply = api.get(&format!("/v1/log?{bad}")).await;
        assert_eq!(
            (reply.code, &reply.json()["reason"]),
            (StatusCode::BAD_REQUEST, &json!("BadRequest")),
            "{bad}"
        );
    }
}

#[tokio::test]
async fn probes_tell_each_part_and_metrics_are_text() {
    let api = Api::new();
    assert_eq!(api.get("/healthz").await.text, "[+]uplink ok\nok\n");
    assert_eq!(api.get("/readyz").await.code, StatusCode::OK);
    assert!(
        api.get("/metrics").await.header("content-type").unwrap().starts_with("text/plain; version=0.0.4")
    );
    api.node.breaks();
    assert_eq!(api.get("/healthz").await.code, StatusCode::OK);
    let ready = api.get("/readyz").await;
    assert_eq!(ready.code, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(ready.text, "[-]uplink not ready: waits for the cluster\nnot ready\n");
}

#[tokio::test]
async fn a_gate_that_cannot_be_asked_says_so_and_when_to_come_back() {
    let api = Api::new();
    api.node.breaks();
    for (method, path, body) in [
        (Method::GET, "/v1/status", json!({})),
        (Method::POST, "/v1/holds", hold_all()),
        (Method::GET, "/v1/log", json!({})),
        (Method::POST, "/v1/modules/uplink/restart", json!({})),
    ] {
        let reply = api.ask(method, path, body).await;
        assert_eq!((reply.code.as_u16(), reply.header("retry-after")), (503, Some("1")), "{path}");
        assert_eq!(reply.json()["reason"], "Unavailable");
    }
}

#[tokio::test]
async fn what_is_no_request_is_refused_in_the_one_shape() {
    let api = Api::new();
    let bad = |body: &'static str| call(&api.router, root(), Method::POST, "/v1/holds", body);
    for body in [
        "{",
        "[]",
        "",
        r#"{"reason":"x","scope":{"kind":"Node"},"extra":1}"#,
        r#"{"reason":"x","scope":{"kind":"Planet"}}"#,
    ] {
        let reply = bad(body).await;
        assert_eq!((reply.code.as_u16(), &reply.json()["reason"]), (400, &json!("BadRequest")), "{body}");
    }
    let field = bad(r#"{"reason":"x","scope":{"kind":"Node"},"lease":{"for":"soon"}}"#).await.json();
    assert!(field["message"].as_str().unwrap().starts_with("lease.for: cannot read \"soon\""), "{field}");
    assert_eq!(bad("{\"reason\":\"x\",\"scope\":{\"kind\":\"Node\"}} and more").await.code.as_u16(), 400);
    let novel = json!({ "reason": "x".repeat(70_000), "scope": { "kind": "Node" } });
    assert_eq!(api.refused(Method::POST, "/v1/holds", novel).await, refusal(413, "TooLarge"));
    assert_eq!(api.refused(Method::GET, "/v2/status", json!({})).await, refusal(404, "NoSuchPath"));
    assert_eq!(api.refused(Method::GET, "/", json!({})).await, refusal(404, "NoSuchPath"));
    let wrong = api.ask(Method::PATCH, "/v1/holds/x", json!({})).await;
    assert_eq!((wrong.code.as_u16(), &wrong.json()["reason"]), (405, &json!("MethodNotAllowed")));
    assert_eq!(wrong.header("allow"), Some("PUT,DELETE"));
    let encoded = api.get("/v1/why/robot/%FF").await;
    assert_eq!((encoded.code.as_u16(), &encoded.json()["reason"]), (400, &json!("BadRequest")));
}

#[tokio::test]
async fn who_has_no_right_to_change_anything_changes_nothing() {
    for route in table::<TestNode>() {
        let api = Api::of(held());
        api.node.sees([&static_pod("robot", "eye").annotated()]);
        let path = route
            .path
            .replace("{id}", "x")
            .replace("{namespace}/{name}", "robot/eye")
            .replace("{name}", "uplink")
            .replace("{namespace}/{pod}", "robot/cam");
        if path == "/v1/events" {
            continue;
        }
        for peer in [guest(), Peer::Unknown] {
            // A body that could not be read either: who may not is not listened to.
            let reply = call(&api.router, peer, route.method.clone(), &path, "{").await;
            if route.method == Method::GET {
                assert_eq!(reply.code, StatusCode::OK, "{path}");
            } else {
                assert_eq!(reply.code, StatusCode::FORBIDDEN, "{path}");
                assert_eq!(reply.json()["reason"], "Forbidden");
            }
        }
        assert!(api.node.callers().is_empty() && api.node.restarted().is_empty());
    }
}

#[tokio::test]
async fn a_rollout_is_released_by_its_old_pod_or_its_new_one() {
    let old = pod_of(WorkloadKind::Deployment, "web", "shop", "web-1").annotated();
    let new = pod_of(WorkloadKind::Deployment, "web", "shop", "web-2").annotated().revision("b");
    for name in ["web-1", "web-2"] {
        let api = Api::of(TestNode::running([&old]));
        api.node.sees([&new]);
        let released = api
            .ask(Method::POST, "/v1/releases", json!({ "pod": { "namespace": "shop", "name": name } }))
            .await;
        assert_eq!(released.json()["workloads"][0]["name"], "web", "{name}");
    }
}

#[tokio::test]
async fn a_part_that_has_not_reported_stands_against_a_freeze() {
    let api = Api::of(TestNode::with(Config { parts: vec!["journal".into()], ..Config::default() }));
    let failure = api.ask(Method::POST, "/v1/freeze", json!({ "reason": "crane" })).await.json();
    assert_eq!(failure["blockers"][0]["object"], json!({ "kind": "Part", "name": "journal" }));
    api.node.step(Event::PartReported { part: "journal".into(), blockers: vec![] });
    let frozen = api.ask(Method::POST, "/v1/freeze", json!({ "reason": "crane" })).await;
    assert_eq!(frozen.code, StatusCode::CREATED);
}
