//! Whoever dies, and in whichever state: what is held stays as it is.

use std::time::Duration;

use safepoint_testkit::{Part, WorldOptions};
use serde_json::{Value, json};

use super::node::{Node, Running, bare_pod, held};

const PODS: [&str; 5] = ["reader", "leaving", "forced", "changing", "plain"];

/// A node on which a start, an end, an end that was forced, a change in place and a change of configuration are held.
fn full_of_holds() -> Node {
    let node = Node::new();
    let maps = |area: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "maps", "namespace": "default"}, "data": {"area": area}});
    node.apply(&maps("1"));
    let mut reader = bare_pod("reader", "v1", held());
    reader["spec"]["containers"][0]["volumeMounts"] = json!([{"name": "maps", "mountPath": "/etc/maps"}]);
    reader["spec"]["volumes"] = json!([{"name": "maps", "configMap": {"name": "maps"}}]);
    node.apply(&reader);
    for name in &PODS[1..] {
        node.apply(&bare_pod(name, "v1", held()));
    }
    for name in PODS {
        node.wait_ready(name, 1);
    }
    node.apply(&bare_pod("coming", "v1", json!({"edge.kubeedge.io/hold-upgrade": "true"})));
    node.apply(&maps("2"));
    node.kubectl(&["delete", "pod", "leaving", "--wait=false"]);
    node.kubectl(&["delete", "pod", "forced", "--force", "--grace-period=0"]);
    node.kubectl(&["set", "image", "pod/changing", "main=app:v2"]);
    for name in ["coming", "maps", "leaving", "forced", "changing"] {
        node.wait_held(name);
    }
    node
}

/// Everything that runs, and what the reader sees.
type Scene = (Running, Vec<u8>);

fn scene(node: &Node) -> Scene {
    let running = node.running("");
    let reader = running.iter().find(|((pod, _), _)| pod == "reader").unwrap().1.0.clone();
    (running, node.world.exec_read(&reader, "/etc/maps/area").unwrap())
}

fn assert_unchanged(node: &Node, before: &Scene, when: &str) {
    let now = scene(node);
    assert_eq!(now, *before, "{when}, where the runtime has {:#?}", node.world.containers());
}

#[test]
fn nothing_changes_whoever_is_restarted_and_all_of_it_is_released_correctly_afterwards() {
    let mut node = full_of_holds();
    let before = scene(&node);
    let held_before = sorted(node.held());

    node.restart_agent();
    node.world.stop_kubelet().unwrap();
    node.start_kubelet();
    node.world.wait_node_ready().unwrap();
    node.wait_kubelet_has(&PODS);
    assert_unchanged(&node, &before, "after the agent and the kubelet were restarted");

    // The kubelet comes up first, and finds nobody.
    node.world.kill_kubelet().unwrap();
    node.agent.kill();
    node.start_kubelet();
    node.agent.start_again().unwrap();
    node.wait_for_agent();
    node.world.wait_node_ready().unwrap();
    node.wait_kubelet_has(&PODS);
    assert_unchanged(&node, &before, "after the kubelet came up without the agent");

    node.world.control_plane_mut().stop(Part::ApiServer).unwrap();
    node.wait("the agent knows", || (node.status()["uplink"]["connected"] == false).then_some(()));
    node.restart_agent();
    assert_eq!(sorted(node.held()), held_before, "without the cluster");
    node.world.control_plane_mut().start_again(Part::ApiServer).unwrap();
    node.wait("the cluster is back", || (node.status()["uplink"]["connected"] == true).then_some(()));

    // A server that hangs is worse than none.
    node.world.control_plane_mut().pause(Part::ApiServer).unwrap();
    node.wait("the agent knows", || (node.status()["uplink"]["connected"] == false).then_some(()));
    node.world.control_plane_mut().resume(Part::ApiServer).unwrap();
    node.wait("the cluster is back", || (node.status()["uplink"]["connected"] == true).then_some(()));
    node.world.wait_node_ready().unwrap();
    node.wait_kubelet_has(&PODS);
    assert_unchanged(&node, &before, "after the cluster was away, and hung");
    assert_eq!(sorted(node.held()), held_before);
    assert_eq!(node.kubectl(&["exec", "plain", "--", "cat", "/image"]).trim(), "v1");

    node.safepoint(&["release", "--all"]);
    node.wait_ready("coming", 1);
    node.wait_images("changing", 1, "v2");
    node.wait("what left is gone", || {
        (node.running("leaving").is_empty() && node.running("forced").is_empty()).then_some(())
    });
    node.wait("the file is the newest", || (scene(&node).1 == b"2").then_some(()));
    let plain =
        |running: &Running| running.iter().find(|((pod, _), _)| pod == "plain").map(|it| it.1.clone());
    assert_eq!(plain(&scene(&node).0), plain(&before.0), "the one that nobody changed");
}

#[test]
fn a_node_that_was_given_up_while_frozen_loses_nothing_when_it_is_back() {
    let mut node =
        Node::with(&WorldOptions { grace: Some(Duration::from_secs(5)), ..WorldOptions::default() });
    let mut pod = bare_pod("rover", "v1", json!({}));
    let tolerates =
        |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 1});
    pod["spec"]["tolerations"] =
        json!([tolerates("node.kubernetes.io/unreachable"), tolerates("node.kubernetes.io/not-ready")]);
    node.apply(&pod);
    node.wait_ready("rover", 1);
    node.safepoint(&["node", "freeze", "--reason", "in flight", "--when-settled"]);
    node.wait("kubectl describes the gate with what was put on record", || {
        let text = node.kubectl(&["describe", "nodegate", "node"]);
        text.lines().any(|line| line.contains("Recorded") && line.ends_with(": in flight")).then_some(())
    });
    let before = node.running("rover");
    // Where every node is away, the cluster blames itself and gives up nobody.
    let other = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "other"}});
    node.apply(&other);
    node.agent.kill();
    node.wait("the cluster gives it up", || {
        let now = json!({"status": {"conditions": [{"type": "Ready", "status": "True", "lastHeartbeatTime": now()}]}});
        node.kubectl(&["patch", "node", "other", "--subresource=status", "-p", &now.to_string()]);
        let pod: Value = node.world.json(&["get", "pod", "rover"]).ok()?;
        pod["metadata"]["deletionTimestamp"].is_string().then_some(())
    });
    node.agent.start_again().unwrap();
    node.wait_for_agent();
    node.world.wait_node_ready().unwrap();
    node.wait_held("rover");
    assert_eq!(node.running("rover"), before);
    node.safepoint(&["node", "unfreeze"]);
    node.wait("it ends now", || node.running("rover").is_empty().then_some(()));
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

/// As the API writes it.
fn now() -> String {
    let output = std::process::Command::new("date").args(["-u", "+%Y-%m-%dT%H:%M:%SZ"]).output().unwrap();
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
