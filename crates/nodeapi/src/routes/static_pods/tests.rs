//! Static pods over a real gate.

use std::time::Duration;

use axum::http::Method;
use safepoint_core::{Ask, Scope};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::caller::Peer;
use crate::node::Node;
use crate::routes::router;
use crate::testing::{TestNode, call, guest, rights, root, static_pod};

const NGINX: &str = "/v1/static-pods/edge/nginx";

fn node() -> TestNode {
    TestNode::running([&static_pod("edge", "nginx")])
}

async fn ask(node: &TestNode, method: Method, path: &str, body: Value) -> (u16, Value) {
    let router = router(node.clone(), rights(), CancellationToken::new());
    let reply = call(&router, root(), method, path, &body.to_string()).await;
    (reply.code.as_u16(), reply.json())
}

async fn put(node: &TestNode, revision: &str, mode: &str) -> (u16, Value) {
    ask(node, Method::PUT, NGINX, json!({"manifest": revision, "mode": mode})).await
}

async fn hold(node: &TestNode) {
    let Peer::Known(known) = root() else { unreachable!() };
    let ask = Ask::Hold { id: "mission".into(), reason: "flying".into(), scope: Scope::Node, lease: None };
    node.ask(known.caller(None), None, ask).await.unwrap();
}

async fn freeze(node: &TestNode) {
    let (code, _) = ask(node, Method::POST, "/v1/freeze", json!({"reason": "flying"})).await;
    assert_eq!(code, 201);
}

fn running(node: &TestNode) -> String {
    let key = static_pod("edge", "nginx").key;
    node.gate(|gate| gate.slots()[&key].applied.as_ref().unwrap().version.revision.to_string())
}

#[tokio::test]
async fn a_manifest_that_may_pass_passes_and_one_that_is_laid_ready_waits_for_its_owner() {
    let node = node();
    let (code, state) = put(&node, "b", "Upgrade").await;
    assert_eq!((code, &state["phase"], running(&node).as_str()), (202, &json!("Upgrading"), "b"));
    node.ready(&static_pod("edge", "nginx").revision("b"));
    let (code, state) = put(&node, "c", "Stage").await;
    assert_eq!((code, &state["phase"], running(&node).as_str()), (202, &json!("Held"), "b"));
    assert!(state["why"].as_str().unwrap().contains("static pod edge/nginx"), "{state}");
    let (code, state) = ask(&node, Method::POST, &format!("{NGINX}/upgrade"), json!({})).await;
    assert_eq!((code, &state["phase"], running(&node).as_str()), (202, &json!("Upgrading"), "c"));
    // Asked again while it is under way, it is under way.
    assert_eq!(ask(&node, Method::POST, &format!("{NGINX}/upgrade"), json!({})).await.0, 202);
    node.ready(&static_pod("edge", "nginx").revision("c"));
    let (code, refused) = ask(&node, Method::POST, &format!("{NGINX}/upgrade"), json!({})).await;
    assert_eq!((code, &refused["reason"]), (409, &json!("NothingStaged")));
}

#[tokio::test]
async fn what_is_frozen_or_held_is_refused_with_the_reason_and_leaves_nothing_behind() {
    for (freezes, reason) in [(true, "Frozen"), (false, "Held")] {
        let node = node();
        match freezes {
            true => freeze(&node).await,
            false => hold(&node).await,
        }
        put(&node, "b", "Stage").await;
        let (code, refused) = ask(&node, Method::POST, &format!("{NGINX}/upgrade"), json!({})).await;
        assert_eq!((code, &refused["reason"]), (409, &json!(reason)), "{refused}");
        assert_eq!(node.gate(|gate| gate.pending().count()), 1, "what is staged stays");
        for (method, path) in
            [(Method::POST, format!("{NGINX}/rollback")), (Method::DELETE, NGINX.to_owned())]
        {
            let (code, refused) = ask(&node, method, &path, json!({})).await;
            assert_eq!((code, &refused["reason"]), (409, &json!(reason)), "{refused}");
            assert_eq!(node.gate(|gate| gate.pending().count()), 0, "{path}");
        }
        // What may wait, waits.
        let (code, state) = ask(&node, Method::DELETE, NGINX, json!({"mayWait": true})).await;
        assert_eq!((code, &state["phase"]), (202, &json!("Held")));
        let (code, state) = ask(&node, Method::DELETE, &format!("{NGINX}/next"), json!({})).await;
        assert_eq!((code, &state["phase"]), (200, &json!("Settled")));
        assert_eq!(running(&node), "a");
    }
}

/// A wish of a client that hung up stayed behind, and the next release of everything let it pass.
#[tokio::test(start_paused = true)]
async fn who_hangs_up_before_the_gate_has_answered_leaves_nothing_behind_either() {
    for (method, path) in [(Method::POST, format!("{NGINX}/rollback")), (Method::DELETE, NGINX.to_owned())] {
        let node = node();
        freeze(&node).await;
        node.is_busy(true);
        let asked = ask(&node, method, &path, json!({}));
        assert!(tokio::time::timeout(Duration::from_secs(1), asked).await.is_err());
        assert_eq!(node.gate(|gate| gate.pending().count()), 1, "it is wished by now: {path}");
        node.is_busy(false);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(node.gate(|gate| gate.pending().count()), 0, "{path}");
    }
}

#[tokio::test]
async fn the_owner_goes_back_and_takes_away() {
    let node = node();
    let (code, history) = ask(&node, Method::GET, &format!("{NGINX}/history"), json!({})).await;
    assert_eq!((code, &history["items"][0]["revision"]), (200, &json!("old")));
    let (code, state) = ask(&node, Method::POST, &format!("{NGINX}/rollback"), json!({})).await;
    assert_eq!((code, &state["phase"], running(&node).as_str()), (202, &json!("Upgrading"), "old"));
    node.ready(&static_pod("edge", "nginx").revision("old"));
    let nothing = json!({"revision": "none"});
    let (code, refused) = ask(&node, Method::POST, &format!("{NGINX}/rollback"), nothing).await;
    assert_eq!((code, &refused["reason"]), (409, &json!("NoHistory")));
    let (code, state) = ask(&node, Method::DELETE, NGINX, json!({})).await;
    assert_eq!((code, &state["phase"]), (202, &json!("Removing")));
    assert_eq!(node.callers(), ["root (uid 0, pid 4242)"; 2], "the audit log knows who released");
}

#[tokio::test]
async fn what_is_not_there_is_404_and_who_may_not_is_403() {
    let node = node();
    for (method, path) in [
        (Method::GET, "/v1/static-pods/edge/none"),
        (Method::POST, "/v1/static-pods/edge/none/upgrade"),
        (Method::DELETE, "/v1/static-pods/edge/none"),
        (Method::DELETE, "/v1/static-pods/edge/none/next"),
    ] {
        assert_eq!(ask(&node, method, path, json!({})).await.0, 404, "{path}");
    }
    let (code, refused) =
        ask(&node, Method::PUT, "/v1/static-pods/edge/none", json!({"manifest": "b"})).await;
    assert_eq!((code, &refused["reason"]), (404, &json!("ManifestMissing")));
    let router = router(node.clone(), rights(), CancellationToken::new());
    for (method, path) in [
        (Method::PUT, NGINX.to_owned()),
        (Method::DELETE, NGINX.to_owned()),
        (Method::POST, format!("{NGINX}/upgrade")),
        (Method::POST, format!("{NGINX}/rollback")),
        (Method::DELETE, format!("{NGINX}/next")),
    ] {
        let reply = call(&router, guest(), method, &path, r#"{"manifest": "b"}"#).await;
        assert_eq!(reply.code.as_u16(), 403, "{path}");
    }
    assert_eq!(call(&router, guest(), Method::GET, "/v1/static-pods", "").await.code.as_u16(), 200);
}
