//! The example of each kind: accepted, and read and written without loss.

use std::fmt::Debug;

use safepoint_api::node_gate::{Freeze, GateState, OnExpiry};
use safepoint_api::static_pod::UpgradeStrategy;
use safepoint_api::{NodeGate, PodTransitionRule, StaticPod};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

use crate::support::{broken_rules, example};

/// Reading drops fields that a type does not know, so an equal text also proves that the example has none.
fn assert_round_trip<K: Serialize + DeserializeOwned + PartialEq + Debug>(kind: &str) {
    let written = example(kind);
    let read: K = serde_json::from_value(written.clone()).unwrap();
    assert_eq!(serde_json::to_value(&read).unwrap(), written);
}

#[test]
fn the_examples_are_accepted() {
    for kind in ["NodeGate", "PodTransitionRule", "StaticPod"] {
        let broken = broken_rules(kind, &example(kind), None);
        assert!(broken.is_empty(), "{kind}: {broken:?}");
    }
}

#[test]
fn the_examples_are_read_and_written_without_loss() {
    assert_round_trip::<NodeGate>("NodeGate");
    assert_round_trip::<PodTransitionRule>("PodTransitionRule");
    assert_round_trip::<StaticPod>("StaticPod");
}

#[test]
fn a_bare_freeze_is_read_with_the_safe_choices() {
    let freeze: Freeze = serde_json::from_value(json!({"reason": "crane lift"})).unwrap();
    assert_eq!(freeze, Freeze::new("crane lift"));
    assert!(freeze.hold_barrier, "a refusal must not open the gate of a moving machine");
}

#[test]
fn a_word_for_the_end_of_a_lease_that_an_old_agent_does_not_know_means_stay() {
    assert_eq!(serde_json::from_value::<OnExpiry>(json!("ThawInDaylight")).unwrap(), OnExpiry::Stay);
}

#[test]
fn an_order_that_an_old_agent_does_not_understand_does_not_hide_the_others() {
    let mut gate = example("NodeGate");
    gate["spec"]["orders"][0] = json!({"id": "new", "reboot": {"when": "idle"}});
    let gate: NodeGate = serde_json::from_value(gate).unwrap();
    let [unknown, known] = gate.spec.orders.as_slice() else { panic!("both orders are read") };
    assert!(unknown.release.is_none() && unknown.thaw.is_none());
    assert!(known.thaw.is_some());
}

#[test]
fn a_static_pod_that_says_nothing_about_its_strategy_gets_openyurts_default() {
    let mut pod = example("StaticPod");
    pod["spec"].as_object_mut().unwrap().remove("upgradeStrategy");
    let pod: StaticPod = serde_json::from_value(pod).unwrap();
    assert_eq!(pod.spec.upgrade_strategy, UpgradeStrategy::default());
    assert_eq!(
        serde_json::to_value(UpgradeStrategy::default()).unwrap(),
        json!({"type": "AdvancedRollingUpdate", "maxUnavailable": "10%"})
    );
}

#[test]
fn a_gate_state_is_also_the_reason_of_its_condition() {
    use safepoint_api::names::safepoint::change_freeze;
    for (state, reason) in [
        (GateState::Open, change_freeze::OPEN),
        (GateState::Freezing, change_freeze::FREEZING),
        (GateState::Frozen, change_freeze::FROZEN),
        (GateState::Thawing, change_freeze::THAWING),
    ] {
        assert_eq!(serde_json::to_value(state).unwrap(), reason);
    }
}
