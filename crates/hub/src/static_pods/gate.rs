//! What a node's gate says about one static pod. Pure.

use jiff::Timestamp;
use safepoint_api::names::kubeedge::HOLD_UPGRADE;
use safepoint_api::node_gate::{GateState, HeldChange, NodeGateStatus, ScopeKind};
use safepoint_core::rollout::Gate;
use serde_json::json;

use crate::pod::Pod;
use crate::source::covers;

/// Which static pod on which node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct About<'a> {
    pub(crate) namespace: &'a str,
    pub(crate) static_pod: &'a str,
    pub(crate) node: &'a str,
    /// The labels of its template.
    pub(crate) labels: Option<&'a std::collections::BTreeMap<String, String>>,
    /// The static pod says of itself, as it runs or as it shall, that its changes wait for a release.
    pub(crate) annotated: bool,
    /// The node's owner decides: that something waits there is how it should be.
    pub(crate) owner_decides: bool,
}

/// Reads the gate. A node that has said nothing has no agent, as far as anybody knows.
pub(crate) fn gate(status: Option<&NodeGateStatus>, about: &About<'_>, now: Timestamp) -> Gate {
    let Some(status) = status else { return Gate::Unknown };
    match status.state {
        None => return Gate::Unknown,
        Some(GateState::Frozen) => return Gate::Frozen,
        Some(GateState::Freezing) => return Gate::Freezing,
        Some(GateState::Open | GateState::Thawing) => {}
    }
    let in_force =
        status.holds.iter().filter(|hold| hold.suspended_until.as_ref().is_none_or(|until| until.0 <= now));
    let mut pod = None;
    for hold in in_force {
        // Most nodes have no holds at all: only where there is one does anybody ask what it covers.
        let pod = pod.get_or_insert_with(|| as_pod(about));
        if hold.scope.kind == ScopeKind::Node || covers(&hold.scope, pod) {
            return Gate::Held { by: hold.holder.as_str().into() };
        }
    }
    let mirror = || format!("{}-{}", about.static_pod, about.node);
    let held = status.held.iter().find(|held| {
        held.kind == "StaticPod"
            && held.namespace == about.namespace
            && (held.name == about.static_pod || held.name == mirror())
            && !is_staged(held, about)
    });
    match held.filter(|_| !about.owner_decides) {
        Some(held) => Gate::Held {
            by: if held.held_by.is_empty() { "the node".into() } else { held.held_by.join(", ").into() },
        },
        None => Gate::Open,
    }
}

/// Whether a change waits because it was laid ready for the node's owner and for no other reason. An agent holds it as if it
/// were annotated; what a task brings is not held by that and takes its place.
fn is_staged(held: &HeldChange, about: &About<'_>) -> bool {
    !about.annotated && !held.held_by.is_empty() && held.held_by.iter().all(|by| by == HOLD_UPGRADE)
}

/// The static pod as its node's API would show it.
fn as_pod(about: &About<'_>) -> Pod {
    let pod = json!({"metadata": {
            "name": format!("{}-{}", about.static_pod, about.node), "labels": about.labels,
            "ownerReferences": [{"kind": "Node", "name": about.node, "uid": "", "controller": true}]},
        "spec": {"nodeName": about.node}});
    Pod::read(about.namespace, &pod)
}

#[cfg(test)]
#[allow(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::Value;

    use super::*;

    fn read(status: Value, owner_decides: bool) -> Gate {
        read_of(status, owner_decides, false)
    }

    fn read_of(status: Value, owner_decides: bool, annotated: bool) -> Gate {
        let status: NodeGateStatus = serde_json::from_value(status).unwrap();
        let labels = BTreeMap::from([("app".to_owned(), "proxy".to_owned())]);
        let about = About {
            namespace: "edge",
            static_pod: "proxy",
            node: "n1",
            labels: Some(&labels),
            annotated,
            owner_decides,
        };
        gate(Some(&status), &about, Timestamp::UNIX_EPOCH)
    }

    fn hold(scope: Value) -> Value {
        json!({"state": "Open", "holds": [{"id": "h", "holder": "jane", "origin": "Local", "reason": "r", "scope": scope,
            "since": "1970-01-01T00:00:00Z"}]})
    }

    #[test]
    fn a_node_that_said_nothing_keeps_nothing_back() {
        assert_eq!(read(json!({}), false), Gate::Unknown);
        assert_eq!(read(json!({"state": "Open"}), false), Gate::Open);
        assert_eq!(read(json!({"state": "Thawing"}), false), Gate::Open);
        assert_eq!(read(json!({"state": "Frozen"}), false), Gate::Frozen);
        assert_eq!(read(json!({"state": "Freezing"}), false), Gate::Freezing);
    }

    #[test]
    fn a_hold_counts_if_it_covers_the_static_pod() {
        let held = Gate::Held { by: "jane".into() };
        for scope in [
            json!({"kind": "Node"}),
            json!({"kind": "Namespace", "namespace": "edge"}),
            json!({"kind": "Selector", "selector": "app=proxy"}),
            json!({"kind": "Workload", "workload": {"kind": "StaticPod", "namespace": "edge", "name": "proxy"}}),
            json!({"kind": "Pod", "pod": {"namespace": "edge", "name": "proxy-n1"}}),
        ] {
            assert_eq!(read(hold(scope.clone()), false), held, "{scope}");
        }
        for scope in [
            json!({"kind": "Namespace", "namespace": "shop"}),
            json!({"kind": "Selector", "selector": "app=web"}),
            json!({"kind": "Pod", "pod": {"namespace": "edge", "name": "proxy-n2"}}),
        ] {
            assert_eq!(read(hold(scope.clone()), false), Gate::Open, "{scope}");
        }
    }

    #[test]
    fn an_upgrade_that_the_node_keeps_back_is_held_unless_its_owner_is_to_decide() {
        let status = json!({"state": "Open", "held": [{"kind": "StaticPod", "namespace": "edge", "name": "proxy", "change": "Update",
            "since": "1970-01-01T00:00:00Z", "why": "w", "heldBy": ["h1"]}]});
        assert_eq!(read(status.clone(), false), Gate::Held { by: "h1".into() });
        assert_eq!(read(status, true), Gate::Open);
    }

    /// What was staged while owners decided kept the cluster from ever reaching the node after it was to decide itself.
    #[test]
    fn what_only_lies_ready_for_the_owner_holds_nobody_and_a_pod_that_is_annotated_holds() {
        let held = |by: Value| {
            json!({"state": "Open", "held": [{"kind": "StaticPod", "namespace": "edge", "name": "proxy", "change": "Update",
                "since": "1970-01-01T00:00:00Z", "why": "w", "heldBy": by}]})
        };
        let staged = held(json!([HOLD_UPGRADE]));
        assert_eq!(read(staged.clone(), false), Gate::Open);
        assert_eq!(read_of(staged, false, true), Gate::Held { by: HOLD_UPGRADE.into() });
        let both = held(json!(["h1", HOLD_UPGRADE]));
        assert_eq!(read(both, false), Gate::Held { by: format!("h1, {HOLD_UPGRADE}").into() });
        assert_eq!(read(held(json!([])), false), Gate::Held { by: "the node".into() });
    }
}
