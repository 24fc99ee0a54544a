//! Rollouts of annotated workloads: the old containers run, untouched, until the release, and the next revision is held again.

use serde_json::{Value, json};

use super::node::Node;

/// The workloads, by the beginning of their pods' names, with the number of pods.
pub(super) const WORKLOADS: [(&str, usize); 4] = [("camera", 1), ("log", 2), ("arm", 1), ("web", 8)];

/// A workload that is installed at once and whose upgrades are held.
fn workload(kind: &str, name: &str, more: Value, annotations: Value) -> Value {
    let mut spec = json!({
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}, "annotations": annotations},
            "spec": {
                "terminationGracePeriodSeconds": 2,
                "containers": [{"name": "main", "image": "app:v1", "imagePullPolicy": "Never",
                    "resources": {"requests": {"cpu": "10m"}}}],
            },
        },
    });
    spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec})
}

fn all(annotations: &Value) -> [Value; 4] {
    let of = |kind, name, more| workload(kind, name, more, annotations.clone());
    [
        of("DaemonSet", "camera", json!({})),
        of("StatefulSet", "log", json!({"replicas": 2, "serviceName": "log"})),
        of("Deployment", "arm", json!({"replicas": 1, "strategy": {"type": "Recreate"}})),
        of("Deployment", "web", json!({"replicas": 8})),
    ]
}

pub(super) fn install(node: &Node, annotations: &Value) {
    for workload in all(annotations) {
        node.apply(&workload);
    }
    for (name, count) in WORKLOADS {
        node.wait_ready(name, count);
    }
}

/// The workload as kubectl names it.
pub(super) fn named(name: &str) -> String {
    match name {
        "camera" => "daemonset/camera".to_owned(),
        "log" => "statefulset/log".to_owned(),
        name => format!("deployment/{name}"),
    }
}

pub(super) fn upgrade(node: &Node, name: &str, tag: &str) {
    node.kubectl(&["set", "image", &named(name), &format!("main=app:{tag}")]);
}

/// Releases what is held of a workload.
pub(super) fn release(node: &Node, name: &str) {
    match name {
        // A StatefulSet comes one ordinal after the other: the release of the whole covers those that come later.
        "log" => node.safepoint(&["release", "statefulset/log", "-n", "default"]),
        _ => node.safepoint(&["unhold-upgrade", "pod", &held_pod(node, name), "-n", "default"]),
    };
}

/// One of the pods of a workload of which something is held.
fn held_pod(node: &Node, name: &str) -> String {
    node.held().into_iter().find(|held| held.starts_with(name)).unwrap()
}

#[test]
fn annotated_workloads_run_untouched_until_their_release_and_the_next_revision_is_held_again() {
    let node = Node::new();
    install(&node, &json!({"edge.kubeedge.io/hold-upgrade": "true", "safepoint.dev/first-install": "allow"}));
    let before: Vec<_> = WORKLOADS.iter().map(|(name, _)| node.running(name)).collect();
    for (name, _) in WORKLOADS {
        upgrade(&node, name, "v2");
    }
    for (name, _) in WORKLOADS {
        node.wait_held(name);
    }
    for ((name, _), before) in WORKLOADS.iter().zip(&before) {
        assert_eq!(node.running(name), *before, "{name} was touched before its release");
    }
    for (index, (name, count)) in WORKLOADS.into_iter().enumerate() {
        release(&node, name);
        node.wait_images(name, count, "v2");
        node.wait_ready(name, count);
        for ((other, _), before) in WORKLOADS.iter().zip(&before).skip(index + 1) {
            assert_eq!(node.running(other), *before, "{other} was touched by the release of {name}");
        }
    }
    let before: Vec<_> = WORKLOADS.iter().map(|(name, _)| node.running(name)).collect();
    for (name, _) in WORKLOADS {
        upgrade(&node, name, "v3");
        node.wait_held(name);
    }
    for ((name, _), before) in WORKLOADS.iter().zip(&before) {
        assert_eq!(node.running(name), *before, "{name}: the release covered a still newer revision");
    }
}

#[test]
fn a_frozen_node_holds_the_same_without_annotations_and_converges_when_it_is_opened() {
    let node = Node::new();
    install(&node, &json!({}));
    node.safepoint(&["node", "freeze", "--reason", "crane lift", "--when-settled"]);
    let before: Vec<_> = WORKLOADS.iter().map(|(name, _)| node.running(name)).collect();
    for (name, _) in WORKLOADS {
        upgrade(&node, name, "v2");
    }
    for (name, _) in WORKLOADS {
        node.wait_held(name);
    }
    let told = node.kubectl(&["describe", "node", "node"]);
    assert!(told.contains("ChangeFreeze") && told.contains("Frozen"), "{told}");
    for ((name, _), before) in WORKLOADS.iter().zip(&before) {
        assert_eq!(node.running(name), *before, "{name} was touched while frozen");
    }
    node.safepoint(&["node", "unfreeze"]);
    for (name, count) in WORKLOADS {
        node.wait_images(name, count, "v2");
        node.wait_ready(name, count);
    }
}

#[test]
fn a_held_node_lets_one_workload_after_another_through_with_all_their_waves_and_stays_held() {
    let node = Node::new();
    install(&node, &json!({}));
    node.safepoint(&["hold", "--node", "--reason", "crane lift", "--id", "lift"]);
    let before: Vec<_> = WORKLOADS.iter().map(|(name, _)| node.running(name)).collect();
    for (name, _) in WORKLOADS {
        upgrade(&node, name, "v2");
        node.wait_held(name);
    }
    let refused = node.try_safepoint(&["release", "deployment/web", "-n", "default"]);
    assert!(!refused.status.success(), "what a holder holds was released without an override");
    for (index, (name, count)) in WORKLOADS.into_iter().enumerate() {
        let reason = format!("{name} has to be patched");
        node.safepoint(&["release", &named(name), "-n", "default", "--override", &reason]);
        node.wait_images(name, count, "v2");
        node.wait_ready(name, count);
        for ((other, _), before) in WORKLOADS.iter().zip(&before).skip(index + 1) {
            assert_eq!(node.running(other), *before, "{other} was touched by the release of {name}");
        }
    }
    let before = node.running("camera");
    upgrade(&node, "camera", "v3");
    node.wait_held("camera");
    assert_eq!(node.running("camera"), before, "an override opened more than it said");
}
