//! Every row of KubeEdge's table, over a real gate.

use axum::Router;
use axum::http::{Method, StatusCode};
use safepoint_core::{Ask, Scope, Span, WorkloadKind};

use crate::caller::{Credentials, Peer};
use crate::compat::{Compat, router};
use crate::node::Node;
use crate::testing::{Object, Reply, TestNode, call, guest, pod, pod_of, rights, root, static_pod};

const POD: &str = "/api/v1/pods/unhold-upgrade";
const NODE: &str = "/api/v1/nodes/unhold-upgrade";

fn serve(node: &TestNode) -> Router {
    router(Compat::KubeEdge, node.clone(), rights())
}

async fn post(node: &TestNode, path: &str, body: &str) -> Reply {
    call(&serve(node), root(), Method::POST, path, body).await
}

async fn told(node: &TestNode, path: &str, body: &str) -> (u16, String) {
    let reply = post(node, path, body).await;
    if reply.code != StatusCode::OK {
        assert_eq!(reply.header("content-type"), Some("text/plain; charset=utf-8"));
    }
    (reply.code.as_u16(), reply.text)
}

fn says(code: u16, text: &str) -> (u16, String) {
    (code, text.to_owned())
}

fn cam() -> Object {
    pod("robot", "cam").annotated()
}

/// A pod that waits to start, as KubeEdge knows it.
fn waits_to_start() -> TestNode {
    let node = TestNode::new();
    node.sees([&cam()]);
    node
}

/// A running pod whose update waits.
fn waits_to_change() -> TestNode {
    let node = TestNode::running([&cam()]);
    node.sees([&cam().revision("b")]);
    node
}

async fn hold(node: &TestNode) {
    let Peer::Known(known) = root() else { unreachable!() };
    let scope = Scope::Namespace("robot".into());
    let ask = Ask::Hold { id: "mission".into(), reason: "flying".into(), scope, lease: None };
    node.ask(known.caller(None), None, ask).await.unwrap();
}

async fn freeze(node: &TestNode) {
    let Peer::Known(known) = root() else { unreachable!() };
    let (id, reason) = ("lift".into(), "crane".into());
    let ask = Ask::Freeze { id, reason, lease: None, settle: Span::ZERO, keep_barrier: false };
    node.ask(known.caller(None), None, ask).await.unwrap();
}

#[tokio::test]
async fn a_pod_that_waits_to_start_is_released_with_an_empty_body_and_named_in_a_header() {
    let reply = post(&waits_to_start(), POD, "robot/cam").await;
    assert_eq!((reply.code, &*reply.text), (StatusCode::OK, ""));
    assert_eq!(reply.header("x-safepoint-released"), Some("pod robot/cam"));
}

#[tokio::test]
async fn a_running_pod_whose_update_waits_is_released_too() {
    let node = waits_to_change();
    assert_eq!(told(&node, POD, "robot/cam").await, says(200, ""));
    assert_eq!(node.gate(|gate| gate.pending().count()), 0);
}

#[tokio::test]
async fn the_old_pod_of_a_rollout_names_the_workload_as_well_as_the_new_one() {
    let old = pod_of(WorkloadKind::Deployment, "web", "shop", "web-1");
    let new = pod_of(WorkloadKind::Deployment, "web", "shop", "web-2").annotated().revision("b");
    let node = TestNode::running([&old]);
    node.sees([&new]);
    let reply = post(&node, POD, "shop/web-1").await;
    assert_eq!(reply.header("x-safepoint-released"), Some("deployment shop/web"));
}

#[tokio::test]
async fn a_line_break_at_the_end_is_no_part_of_the_name() {
    assert_eq!(told(&waits_to_start(), POD, "robot/cam\n").await, says(200, ""));
}

#[tokio::test]
async fn the_path_may_name_a_namespace_which_does_not_count() {
    let path = "/api/v1/namespaces/elsewhere/pods/unhold-upgrade";
    assert_eq!(told(&waits_to_start(), path, "robot/cam").await, says(200, ""));
}

#[tokio::test]
async fn every_mistake_has_kubeedges_code_and_text() {
    let node = waits_to_start();
    let format = "invalid format, expected <namespace>/<name>\n";
    assert_eq!(told(&node, POD, "cam").await, says(400, format));
    assert_eq!(told(&node, POD, "").await, says(400, format));
    assert_eq!(told(&node, POD, "robot/x").await, says(404, "pod not found: pods \"x\" not found\n"));
    assert_eq!(told(&node, NODE, " \n").await, says(400, "node name required in body\n"));
    assert_eq!(told(&node, NODE, "r2d2").await, says(404, "node not found: nodes \"r2d2\" not found\n"));
    let other = "unsupported resource for unhold-upgrade\n";
    assert_eq!(told(&node, "/api/v1/secrets/unhold-upgrade", "x").await, says(400, other));
    assert_eq!(told(&node, "/apis/apps/v1/deployments/unhold-upgrade", "x").await, says(400, other));
    let unmarked = TestNode::running([&pod("robot", "cam")]);
    assert_eq!(
        told(&unmarked, POD, "robot/cam").await,
        says(400, "pod is not marked with hold-upgrade annotation\n")
    );
    let settled = TestNode::running([&cam()]);
    assert_eq!(told(&settled, POD, "robot/cam").await, says(400, "pod is not in pending phase\n"));
    let huge = "x".repeat(70_000);
    assert_eq!(told(&node, POD, &huge).await, says(500, "http: request body too large\n"));
}

#[tokio::test]
async fn a_release_asked_for_twice_is_given_once_and_answered_twice() {
    let old = pod_of(WorkloadKind::DaemonSet, "lidar", "robot", "lidar-1").annotated();
    let node = TestNode::running([&old]);
    node.sees([&old.clone().deleting()]);
    for _ in 0..2 {
        let reply = post(&node, POD, "robot/lidar-1").await;
        assert_eq!(reply.header("x-safepoint-released"), Some("daemonset robot/lidar"));
    }
    assert_eq!(node.gate(|gate| gate.grants().len()), 1);
}

#[tokio::test]
async fn the_whole_node_is_released_offline_too_and_says_what_it_released() {
    let node = waits_to_change();
    node.sees([&pod("robot", "nav").annotated()]);
    node.loses_the_cluster();
    let reply = post(&node, NODE, "rover-7\n").await;
    assert_eq!((reply.code, &*reply.text), (StatusCode::OK, ""));
    assert_eq!(reply.header("x-safepoint-released"), Some("pod robot/cam, pod robot/nav"));
    let again = post(&TestNode::new(), NODE, "rover-7").await;
    assert_eq!((again.code, again.header("x-safepoint-released")), (StatusCode::OK, None));
}

#[tokio::test]
async fn what_a_holder_holds_is_not_released_and_no_200_says_so() {
    let node = waits_to_change();
    hold(&node).await;
    let (code, text) = told(&node, POD, "robot/cam").await;
    assert_eq!(code, 409);
    assert!(text.contains("mission"), "{text}");
    let (code, text) = told(&node, NODE, "rover-7").await;
    assert_eq!((code, &*text), (409, "nothing was released: pod robot/cam (held by mission)\n"));
    let shop = pod("shop", "till").annotated();
    node.sees([&shop]);
    let reply = post(&node, NODE, "rover-7").await;
    assert_eq!(reply.header("x-safepoint-released"), Some("pod shop/till"));
    assert_eq!(reply.header("x-safepoint-held"), Some("pod robot/cam (held by mission)"));
}

#[tokio::test]
async fn a_frozen_node_releases_nothing() {
    let node = waits_to_change();
    freeze(&node).await;
    for (path, body) in [(POD, "robot/cam"), (NODE, "rover-7")] {
        let (code, text) = told(&node, path, body).await;
        assert_eq!(code, 409);
        assert!(text.starts_with("the node is frozen or being frozen by root (uid 0) (lift)"), "{text}");
    }
}

#[tokio::test]
async fn a_static_pod_is_released_by_the_name_of_its_mirror() {
    let etcd = static_pod("kube-system", "etcd").annotated();
    let node = TestNode::running([&etcd]);
    node.sees([&etcd.clone().revision("b")]);
    assert_eq!(told(&node, POD, "kube-system/etcd-rover-7").await, says(200, ""));
}

#[tokio::test]
async fn who_may_not_change_anything_is_refused_in_plain_text() {
    let node = waits_to_start();
    let stranger = Peer::Known(Credentials { uid: 54321, groups: vec![], pid: None, user: None });
    for peer in [guest(), stranger, Peer::Unknown] {
        let reply = call(&serve(&node), peer, Method::POST, POD, "robot/cam").await;
        assert_eq!(reply.code, StatusCode::FORBIDDEN);
        assert!(reply.text.contains("may not change anything here"), "{}", reply.text);
    }
    assert!(node.callers().is_empty());
}

#[tokio::test]
async fn other_paths_and_methods_are_not_there() {
    let node = waits_to_start();
    let get = call(&serve(&node), root(), Method::GET, POD, "").await;
    assert_eq!((get.code, get.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, Some("POST")));
    assert_eq!(told(&node, "/api/v1/pods", "").await, says(404, "404 page not found\n"));
    assert_eq!(told(&node, "/unhold-upgrade", "").await, says(404, "404 page not found\n"));
}

#[tokio::test]
async fn a_gate_that_cannot_be_asked_is_no_missing_pod() {
    let node = waits_to_start();
    node.breaks();
    assert_eq!(told(&node, POD, "robot/cam").await.0, 503);
    assert_eq!(told(&node, NODE, "rover-7").await.0, 503);
}

#[tokio::test]
async fn a_page_in_a_browser_is_refused_whoever_runs_the_browser() {
    let node = waits_to_start();
    for (name, value) in
        [("origin", "https://evil.example"), ("sec-fetch-site", "cross-site"), ("host", "evil.example:10550")]
    {
        let request = axum::http::Request::builder().method(Method::POST).uri(POD).header(name, value);
        let request = request.body(axum::body::Body::from("robot/cam")).unwrap();
        let reply = crate::testing::send(&serve(&node), root(), request).await;
        assert_eq!(reply.code, StatusCode::FORBIDDEN, "{name}");
    }
}
