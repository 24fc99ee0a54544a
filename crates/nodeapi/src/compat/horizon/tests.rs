//! Every row of Open Horizon's table, over a real gate.

use axum::Router;
use axum::http::{Method, StatusCode};
use safepoint_core::{Ask, Mode, Span};
use serde_json::{Value, json};

use crate::caller::{Credentials, Peer};
use crate::compat::{Compat, router};
use crate::testing::{MORNING, Reply, TestNode, call, guest, pod, rights, root};

const PATH: &str = "/node/configstate";

struct Agent {
    node: TestNode,
    router: Router,
}

impl Agent {
    fn of(node: TestNode) -> Self {
        let router = router(Compat::Horizon, node.clone(), rights());
        Self { node, router }
    }

    async fn get(&self) -> Value {
        let reply = call(&self.router, guest(), Method::GET, PATH, "").await;
        assert_eq!((reply.code, reply.header("content-type")), (StatusCode::OK, Some("application/json")));
        reply.json()
    }

    async fn put(&self, body: &str) -> Reply {
        call(&self.router, root(), Method::PUT, PATH, body).await
    }

    async fn wants(&self, state: &str) -> Reply {
        self.put(&json!({ "state": state }).to_string()).await
    }

    fn mode(&self) -> Mode {
        self.node.gate(safepoint_core::Gate::mode)
    }
}

fn morning(plus: i64) -> i64 {
    MORNING.0 / 1000 + plus
}

#[tokio::test]
async fn a_node_is_configured_until_it_is_frozen_and_again_after() {
    let agent = Agent::of(TestNode::new());
    assert_eq!(agent.get().await, json!({ "state": "configured", "last_update_time": morning(0) }));
    agent.node.after(Span::from_secs(60));
    assert_eq!(agent.get().await["last_update_time"], morning(0), "nothing was updated");
    let frozen = agent.wants("changefreeze").await;
    assert_eq!(frozen.code, StatusCode::CREATED);
    assert_eq!(frozen.json(), json!({ "state": "changefreeze", "last_update_time": morning(60) }));
    assert_eq!(agent.mode(), Mode::Frozen);
    agent.node.after(Span::from_secs(60));
    assert_eq!(agent.get().await, frozen.json());
    let thawed = agent.wants("configured").await;
    assert_eq!(thawed.code, StatusCode::CREATED);
    assert_eq!(thawed.json(), json!({ "state": "configured", "last_update_time": morning(120) }));
    assert_eq!(agent.mode(), Mode::Thawing);
}

#[tokio::test]
async fn it_works_without_the_cluster() {
    let agent = Agent::of(TestNode::new());
    agent.node.loses_the_cluster();
    assert_eq!(agent.wants("changefreeze").await.code, StatusCode::CREATED);
    assert_eq!(agent.wants("configured").await.code, StatusCode::CREATED);
}

#[tokio::test]
async fn asking_for_what_is_so_changes_nothing_and_is_answered_201() {
    let agent = Agent::of(TestNode::new());
    assert_eq!(agent.wants("configured").await.code, StatusCode::CREATED);
    for _ in 0..2 {
        assert_eq!(agent.wants("changefreeze").await.code, StatusCode::CREATED);
    }
    assert_eq!(agent.node.gate(|gate| gate.holds().len()), 1);
}

#[tokio::test]
async fn whoever_may_change_things_ends_every_freeze_of_this_machine() {
    let agent = Agent::of(TestNode::new());
    agent.wants("changefreeze").await;
    let another_name = Credentials { uid: 0, groups: vec![], pid: None, user: None };
    let body = r#"{"state":"configured"}"#;
    let other = call(&agent.router, Peer::Known(another_name), Method::PUT, PATH, body).await;
    assert_eq!(other.code, StatusCode::CREATED);
    assert!(agent.node.gate(|gate| gate.holds().is_empty()));
}

#[tokio::test]
async fn a_node_that_has_not_settled_refuses_with_the_reasons() {
    let agent = Agent::of(TestNode::new());
    agent.node.sees([&pod("robot", "cam")]);
    let refused = agent.wants("changefreeze").await;
    assert_eq!((refused.code, refused.header("retry-after")), (StatusCode::CONFLICT, Some("5")));
    let body = refused.json();
    assert_eq!(body["reason"], "Unsettled");
    assert_eq!(body["reasons"][0]["reason"], "PodUnsettled");
    assert_eq!(body["reasons"][0]["object"]["name"], "cam");
    assert_eq!((agent.mode(), &agent.get().await["state"]), (Mode::Open, &json!("configured")));
}

#[tokio::test]
async fn a_barrier_is_not_yet_a_freeze() {
    let agent = Agent::of(TestNode::new());
    agent.node.sees([&pod("robot", "cam")]);
    let (id, reason, settle) = ("hub".into(), "audit".into(), Span::from_mins(5));
    agent.node.ordered(Ask::Freeze { id, reason, lease: None, settle, keep_barrier: true });
    assert_eq!((agent.mode(), &agent.get().await["state"]), (Mode::Freezing, &json!("configured")));
}

#[tokio::test]
async fn the_clusters_freeze_is_not_ended_from_here() {
    let agent = Agent::of(TestNode::new());
    let freeze = Ask::Freeze {
        id: "hub".into(),
        reason: "audit".into(),
        lease: None,
        settle: Span::ZERO,
        keep_barrier: true,
    };
    agent.node.ordered(freeze);
    let vetoed = agent.wants("configured").await;
    assert_eq!((vetoed.code, &vetoed.json()["reason"]), (StatusCode::CONFLICT, &json!("Vetoed")));
    assert_eq!(agent.wants("changefreeze").await.code, StatusCode::CREATED);
    let still = agent.wants("configured").await;
    assert_eq!((still.code, &still.json()["holds"]), (StatusCode::CONFLICT, &json!(["hub"])));
}

#[tokio::test]
async fn bad_input_names_the_field() {
    let agent = Agent::of(TestNode::new());
    for (body, input) in [
        ("{", "configstate"),
        ("", "configstate"),
        ("{}", "configstate.state"),
        (r#"{"state":5}"#, "configstate.state"),
        (r#"{"state":null}"#, "configstate.state"),
        (r#"{"state":"frozen"}"#, "configstate.state"),
        (r#"{"state":"configuring"}"#, "configstate.state"),
        (r#"{"state":"unconfiguring"}"#, "configstate.state"),
        (r#"{"state":"unconfigured"}"#, "configstate.state"),
        ("[]", "configstate.state"),
    ] {
        let reply = agent.put(body).await;
        assert_eq!((reply.code, &reply.json()["input"]), (StatusCode::BAD_REQUEST, &json!(input)), "{body}");
        assert!(reply.json()["error"].is_string());
    }
    assert_eq!(agent.put(&" ".repeat(70_000)).await.code, StatusCode::PAYLOAD_TOO_LARGE);
    assert!(agent.node.callers().is_empty());
}

#[tokio::test]
async fn options_name_the_right_verbs_and_other_verbs_are_refused() {
    let agent = Agent::of(TestNode::new());
    let allow = Some("GET, HEAD, PUT, OPTIONS");
    let options = call(&agent.router, guest(), Method::OPTIONS, PATH, "").await;
    assert_eq!((options.code, options.header("allow")), (StatusCode::OK, allow));
    let deleted = call(&agent.router, root(), Method::DELETE, PATH, "").await;
    assert_eq!((deleted.code, deleted.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, allow));
    let other = call(&agent.router, guest(), Method::GET, "/node", "").await;
    assert_eq!(other.code, StatusCode::NOT_FOUND);
}

#[tokio::test]
async fn who_may_not_change_anything_is_told_so_in_json() {
    let agent = Agent::of(TestNode::new());
    for peer in [guest(), Peer::Unknown] {
        let reply = call(&agent.router, peer, Method::PUT, PATH, r#"{"state":"changefreeze"}"#).await;
        assert_eq!(reply.code, StatusCode::FORBIDDEN);
        assert!(reply.json()["error"].as_str().unwrap().contains("may not change anything"));
    }
    assert_eq!(agent.mode(), Mode::Open);
}

#[tokio::test]
async fn a_gate_that_cannot_be_asked_is_a_server_error() {
    let agent = Agent::of(TestNode::new());
    agent.node.breaks();
    let got = call(&agent.router, guest(), Method::GET, PATH, "").await;
    assert_eq!(got.code, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(agent.wants("changefreeze").await.code, StatusCode::SERVICE_UNAVAILABLE);
}
