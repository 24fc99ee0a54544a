//! Which node a pod goes to. Pure.

use std::sync::Arc;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::ResourceExt;

/// As many as the kubelet takes, where a node does not say.
const PODS: u32 = 110;

/// Why a pod has no node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Unplaced {
    nodes: usize,
    not_ready: usize,
    not_selected: usize,
    full: usize,
}

impl std::fmt::Display for Unplaced {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "0/{} nodes are available", self.nodes)?;
        let reasons = [
            (self.not_ready, "not ready or cordoned"),
            (self.not_selected, "not selected by the pod's nodeSelector"),
            (self.full, "full"),
        ];
        for (index, (count, reason)) in reasons.iter().filter(|(count, _)| *count > 0).enumerate() {
            write!(f, "{}{count} {reason}", if index == 0 { ": " } else { ", " })?;
        }
        Ok(())
    }
}

/// Whether a pod waits for somebody to place it, and for us.
pub(super) fn needs_a_node(pod: &Pod) -> bool {
    let Some(spec) = &pod.spec else { return false };
    let ours =
        spec.scheduler_name.as_deref().is_none_or(|name| name.is_empty() || name == "default-scheduler");
    let gated = spec.scheduling_gates.as_ref().is_some_and(|gates| !gates.is_empty());
    spec.node_name.as_deref().unwrap_or_default().is_empty()
        && ours
        && !gated
        && pod.metadata.deletion_timestamp.is_none()
}

/// The node for a pod, given how many pods each node has.
pub(super) fn choose(pod: &Pod, nodes: &[Arc<Node>], placed: &[(String, u32)]) -> Result<String, Unplaced> {
    let mut unplaced = Unplaced { nodes: nodes.len(), not_ready: 0, not_selected: 0, full: 0 };
    let mut best: Option<(u32, String)> = None;
    for node in nodes {
        let name = node.name_any();
        let count = placed.iter().find(|(placed, _)| *placed == name).map_or(0, |(_, count)| *count);
        if !is_ready(node) {
            unplaced.not_ready += 1;
        } else if !is_selected(pod, node) {
            unplaced.not_selected += 1;
        } else if count >= room(node) {
            unplaced.full += 1;
        } else if best.as_ref().is_none_or(|best| (count, &name) < (best.0, &best.1)) {
            best = Some((count, name));
        }
    }
    best.map(|(_, name)| name).ok_or(unplaced)
}

fn is_ready(node: &Node) -> bool {
    let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let ready =
        conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let cordoned = node.spec.as_ref().is_some_and(|spec| spec.unschedulable == Some(true));
    ready && !cordoned
}

fn is_selected(pod: &Pod, node: &Node) -> bool {
    let selector = pod.spec.iter().flat_map(|spec| spec.node_selector.iter().flatten());
    selector.into_iter().all(|(key, value)| node.labels().get(key) == Some(value))
}

fn room(node: &Node) -> u32 {
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    allocatable.and_then(|all| all.get("pods")?.0.parse().ok()).unwrap_or(PODS)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn node(name: &str, ready: &str, extra: &Value) -> Arc<Node> {
        let mut node = json!({"metadata": {"name": name, "labels": {"zone": name}}, "spec": {},
            "status": {"conditions": [{"type": "Ready", "status": ready}], "allocatable": {"pods": "2"}}});
        if let Some(extra) = extra.as_object() {
            node.as_object_mut().unwrap().extend(extra.clone());
        }
        Arc::new(serde_json::from_value(node).unwrap())
    }

    fn pod(spec: &Value) -> Pod {
        serde_json::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap()
    }

    fn counts(counts: &[(&str, u32)]) -> Vec<(String, u32)> {
        counts.iter().map(|(name, count)| ((*name).to_owned(), *count)).collect()
    }

    #[test]
    fn a_pod_goes_to_the_ready_node_with_the_fewest_pods() {
        let nodes =
            [node("a", "True", &json!({})), node("b", "True", &json!({})), node("c", "False", &json!({}))];
        let any = pod(&json!({"containers": []}));
        assert_eq!(choose(&any, &nodes, &counts(&[("a", 1), ("b", 0)])), Ok("b".into()));
        assert_eq!(choose(&any, &nodes, &counts(&[("a", 0), ("b", 0)])), Ok("a".into()));
    }

    #[test]
    fn a_pod_that_cannot_be_placed_says_why() {
        let nodes = [
            node("a", "False", &json!({})),
            node("b", "True", &json!({"spec": {"unschedulable": true}})),
            node("c", "True", &json!({})),
            node("d", "True", &json!({})),
        ];
        let picky = pod(&json!({"containers": [], "nodeSelector": {"zone": "c"}}));
        let why = choose(&picky, &nodes, &counts(&[("c", 2)])).unwrap_err().to_string();
        let expected = "0/4 nodes are available: 2 not ready or cordoned, 1 not selected by the pod's nodeSelector, 1 full";
        assert_eq!(why, expected);
    }

    #[test]
    fn only_pods_that_wait_for_us_are_placed() {
        assert!(needs_a_node(&pod(&json!({"containers": []}))));
        for spec in [
            json!({"containers": [], "nodeName": "a"}),
            json!({"containers": [], "schedulerName": "other"}),
            json!({"containers": [], "schedulingGates": [{"name": "x"}]}),
        ] {
            assert!(!needs_a_node(&pod(&spec)));
        }
    }
}
