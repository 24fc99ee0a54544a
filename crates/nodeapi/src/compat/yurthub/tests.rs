//! Every row of YurtHub's table, over a real gate.

use axum::Router;
use axum::http::{Method, StatusCode};
use safepoint_core::{Ask, Scope, WorkloadKind};
use serde_json::json;

use crate::caller::Peer;
use crate::compat::{Compat, router};
use crate::node::Node;
use crate::testing::{Object, Reply, TestNode, call, guest, pod, pod_of, rights, root, static_pod};

fn serve(node: &TestNode) -> Router {
    router(Compat::YurtHub, node.clone(), rights())
}

async fn get(node: &TestNode, path: &str) -> Reply {
    call(&serve(node), guest(), Method::GET, path, "").await
}

async fn upgrade(node: &TestNode, namespace: &str, pod: &str) -> (u16, String) {
    let path = format!("/openyurt.io/v1/namespaces/{namespace}/pods/{pod}/upgrade");
    let reply = call(&serve(node), root(), Method::POST, &path, "").await;
    let label = if reply.code == StatusCode::OK { "application/json" } else { "text/plain; charset=utf-8" };
    assert_eq!(reply.header("content-type"), Some(label));
    (reply.code.as_u16(), reply.text)
}

fn says(code: u16, text: &str) -> (u16, String) {
    (code, text.to_owned())
}

fn lidar() -> Object {
    pod_of(WorkloadKind::DaemonSet, "lidar", "robot", "lidar-1").annotated()
}

/// A DaemonSet's pod whose replacement waits: the controller has deleted it and it runs on.
fn waits() -> TestNode {
    let node = TestNode::running([&lidar()]);
    node.sees([&lidar().deleting()]);
    node
}

#[tokio::test]
async fn the_pods_are_a_list_of_kubernetes_also_where_there_are_none() {
    let list = get(&waits(), "/pods").await.json();
    assert_eq!((&list["kind"], &list["apiVersion"]), (&json!("PodList"), &json!("v1")));
    assert_eq!(list["items"][0]["metadata"]["name"], "lidar-1");
    assert_eq!(get(&TestNode::new(), "/pods").await.json()["items"], json!([]));
    let broken = TestNode::new();
    broken.breaks();
    let reply = get(&broken, "/pods").await;
    assert_eq!((reply.code.as_u16(), &*reply.text), (500, "Get pod list failed"));
}

#[tokio::test]
async fn a_daemon_sets_pod_and_a_static_pod_are_upgraded_connected_or_not() {
    for connected in [true, false] {
        let node = waits();
        let etcd = static_pod("kube-system", "etcd").annotated();
        node.sees([&etcd]);
        if !connected {
            node.loses_the_cluster();
        }
        assert_eq!(upgrade(&node, "robot", "lidar-1").await, says(200, "Start updating pod robot/lidar-1"));
        let mirror = upgrade(&node, "kube-system", "etcd-rover-7").await;
        assert_eq!(mirror, says(200, "Start updating pod kube-system/etcd-rover-7"));
        assert_eq!(node.gate(|gate| gate.grants().len()), 2);
    }
}

#[tokio::test]
async fn every_check_has_yurthubs_code_and_text() {
    let node = waits();
    assert_eq!(upgrade(&node, "robot", "x").await, says(500, "Get pod failed, pods \"x\" not found"));
    let settled = TestNode::running([&lidar()]);
    assert_eq!(
        upgrade(&settled, "robot", "lidar-1").await,
        says(403, "Pre check update pod failed, robot/lidar-1: no newer version waits for it")
    );
    settled.loses_the_cluster();
    assert_eq!(
        upgrade(&settled, "robot", "lidar-1").await,
        says(503, "OTA upgrade is not allowed when node is disconnected to cloud")
    );
    let bare = TestNode::new();
    bare.sees([&pod("robot", "cam").annotated()]);
    assert_eq!(upgrade(&bare, "robot", "cam").await, says(400, "Pod has no owner references"));
    for (kind, owner) in [
        (WorkloadKind::Deployment, "ReplicaSet"),
        (WorkloadKind::ReplicaSet, "ReplicaSet"),
        (WorkloadKind::StatefulSet, "StatefulSet"),
        (WorkloadKind::Job, "Job"),
        (WorkloadKind::Other("CollaSet".into()), "CollaSet"),
    ] {
        let node = TestNode::new();
        node.sees([&pod_of(kind, "web", "shop", "web-1").annotated()]);
        let text = format!("Not support ota upgrade pod type {owner}");
        assert_eq!(upgrade(&node, "shop", "web-1").await, says(400, &text));
    }
}

/// The cluster marks the mirror pod before it has brought the manifest; a static pod that is settled is not marked.
#[tokio::test]
async fn a_static_pod_without_anything_to_upgrade_to_has_yurthubs_text() {
    let etcd = static_pod("kube-system", "etcd");
    let node = TestNode::running([&etcd]);
    assert_eq!(
        upgrade(&node, "kube-system", "etcd-rover-7").await,
        says(403, "Pre check update pod failed, kube-system/etcd-rover-7: nothing waits for it on this node")
    );
    node.marks("etcd-rover-7");
    assert_eq!(
        upgrade(&node, "kube-system", "etcd-rover-7").await,
        says(403, "Configmap for static pod does not exist: nothing waits for it on this node")
    );
    node.loses_the_cluster();
    assert_eq!(
        upgrade(&node, "kube-system", "etcd-rover-7").await,
        says(503, "OTA upgrade is not allowed when node is disconnected to cloud")
    );
}

#[tokio::test]
async fn a_pod_that_is_ending_is_not_upgraded_again() {
    let node = waits();
    upgrade(&node, "robot", "lidar-1").await;
    assert_eq!(
        upgrade(&node, "robot", "lidar-1").await,
        says(403, "Pre check update pod failed, robot/lidar-1: the pod is ending already")
    );
}

#[tokio::test]
async fn what_a_holder_holds_fails_the_check_with_the_reason() {
    let node = waits();
    let Peer::Known(known) = root() else { unreachable!() };
    let scope = Scope::Namespace("robot".into());
    let ask = Ask::Hold { id: "mission".into(), reason: "flying".into(), scope, lease: None };
    node.ask(known.caller(None), None, ask).await.unwrap();
    let (code, text) = upgrade(&node, "robot", "lidar-1").await;
    assert_eq!(code, 403);
    assert!(
        text.starts_with("Pre check update pod failed, robot/lidar-1: it is held by root (uid 0) (mission)"),
        "{text}"
    );
}

#[tokio::test]
async fn a_pull_ahead_is_not_pretended() {
    let path = "/openyurt.io/v1/namespaces/robot/pods/lidar-1/imagepull";
    let reply = call(&serve(&waits()), root(), Method::POST, path, "").await;
    assert_eq!(reply.code, StatusCode::NOT_IMPLEMENTED);
    assert!(reply.text.contains("nothing was requested"), "{}", reply.text);
    let nobody = call(&serve(&TestNode::new()), root(), Method::POST, path, "").await;
    assert_eq!((nobody.code.as_u16(), &*nobody.text), (500, "Get pod failed, pods \"lidar-1\" not found"));
    let token =
        call(&serve(&TestNode::new()), root(), Method::POST, "/v1/token", r#"{"jointoken":"x"}"#).await;
    assert_eq!(token.code, StatusCode::NOT_IMPLEMENTED);
}

#[tokio::test]
async fn probes_say_ok_or_why_not() {
    let node = TestNode::new();
    for path in ["/v1/healthz", "/v1/readyz"] {
        let reply = get(&node, path).await;
        assert_eq!((reply.code, &*reply.text), (StatusCode::OK, "OK"));
    }
    node.breaks();
    let reply = get(&node, "/v1/readyz").await;
    assert_eq!((reply.code.as_u16(), &*reply.text), (500, "uplink waits for the cluster"));
    assert_eq!(get(&node, "/metrics").await.text, "safepoint_held_changes 0\n");
}

#[tokio::test]
async fn who_may_not_and_what_is_not_there() {
    let node = waits();
    for path in ["upgrade", "imagepull"] {
        let path = format!("/openyurt.io/v1/namespaces/robot/pods/lidar-1/{path}");
        let reply = call(&serve(&node), guest(), Method::POST, &path, "").await;
        assert_eq!(reply.code, StatusCode::FORBIDDEN);
        let wrong = call(&serve(&node), root(), Method::GET, &path, "").await;
        assert_eq!(wrong.code, StatusCode::METHOD_NOT_ALLOWED);
    }
    assert_eq!(get(&node, "/debug/pprof/").await.code, StatusCode::NOT_FOUND);
    assert!(node.callers().is_empty());
}

#[tokio::test]
async fn a_gate_that_cannot_be_asked_fails_as_yurthub_does() {
    let node = waits();
    node.breaks();
    let (code, text) = upgrade(&node, "robot", "lidar-1").await;
    assert_eq!((code, &*text), (500, "Get pod failed, the gate cannot be asked now: it is being restarted"));
}
