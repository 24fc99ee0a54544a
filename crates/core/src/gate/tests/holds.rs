//! Holds that a program or a person takes: what they cover, how they add up, and who may take them away.

use crate::event::{Answer, Effect, Refusal};
use crate::hold::Scope;
use crate::object::{Health, HeldBy, Key, Kind};

use super::node::Node;
use super::words::*;

/// One pod of the StatefulSet `shop/db`.
fn db(ordinal: u32) -> Object {
    pod("shop", &format!("db-{ordinal}")).of(&stateful_set("shop", "db", ordinal))
}

#[test]
fn a_hold_on_a_pod_keeps_back_its_changes_and_no_others() {
    let (cam, nav) = (pod("robot", "cam"), pod("robot", "nav"));
    let mut node = Node::running([&cam, &nav]);
    assert_eq!(node.asks(&pilot(), hold("mission", this_pod(&cam))).answer(), holding());
    let told = node.sees_all([&cam.clone().revision("b"), &nav.clone().revision("b")]);
    assert_eq!(told.admitted(), [update(&nav.revision("b"))]);
    assert_eq!(node.holds_back(), [(cam.key, HeldBy::Holder)]);
}

#[test]
fn a_hold_on_a_pod_covers_whoever_bears_its_name() {
    let cam = pod("robot", "cam");
    let mut node = Node::running([&cam]);
    node.asks(&pilot(), hold("mission", this_pod(&cam)));
    assert_eq!(node.sees(&cam.clone().uid("another")).admitted(), NOTHING);
    assert_eq!(node.sees(&static_pod("robot", "cam").uid("manifest")).admitted(), NOTHING);
    assert_eq!(node.sees(&pod("garage", "cam")).admitted(), [start(&pod("garage", "cam"))]);
}

#[test]
fn a_hold_on_a_pod_covers_the_configuration_that_it_uses() {
    let (settings, key) = (config_map("robot", "settings"), secret("robot", "key"));
    let cam = pod("robot", "cam").using([&settings, &key]);
    let mut node = Node::running([&settings, &key, &cam]);
    node.asks(&pilot(), hold("mission", this_pod(&cam)));
    let told = node.sees_all([&settings.clone().revision("b"), &key.clone().revision("b")]);
    assert_eq!(told.admitted(), NOTHING);
    let told = node.asks(&pilot(), let_go("mission"));
    assert_eq!(told.admitted(), [update(&settings.revision("b")), update(&key.revision("b"))]);
}

#[test]
fn a_hold_on_a_workload_covers_pods_that_nobody_has_seen_before() {
    let old = web("a", 1);
    let mut node = Node::running([&old]);
    node.asks(&pilot(), hold("mission", Scope::Workload(deployment("shop", "web"))));
    assert_eq!(node.sees_all([&web("b", 1), &old.clone().deleting()]).admitted(), NOTHING);
    assert_eq!(node.runs(), ["web-a-1"]);
    assert_eq!(node.sees(&pod("shop", "till")).admitted(), [start(&pod("shop", "till"))]);
}

/// A person says "hold the database". The scope was compared letter by letter with workloads that all have an ordinal,
/// so it covered none of them, and the holder was told that the hold stood.
#[test]
fn a_hold_on_a_stateful_set_covers_all_its_ordinals() {
    let settings = config_map("shop", "settings");
    let [zero, one] = [0, 1].map(|ordinal| db(ordinal).using([&settings]));
    let mut node = Node::running([&settings, &zero, &one]);
    node.asks(&pilot(), hold("mission", Scope::Workload(all_of(&zero.workload()))));
    let told = node.sees_all([&zero.clone().deleting(), &one.revision("b"), &settings.revision("b"), &db(2)]);
    assert_eq!(told.admitted(), NOTHING);
    assert_eq!(node.holds_back().len(), 4);
}

#[test]
fn a_hold_on_one_ordinal_leaves_the_others_alone() {
    let mut node = Node::running([&db(0), &db(1)]);
    node.asks(&pilot(), hold("mission", Scope::Workload(db(0).workload())));
    let (zero, one) = (db(0).revision("b"), db(1).revision("b"));
    assert_eq!(node.sees_all([&zero, &one]).admitted(), [update(&one)]);
}

#[test]
fn a_hold_on_a_namespace_covers_everything_in_it() {
    let mut node = Node::new();
    node.asks(&pilot(), hold("mission", Scope::Namespace("robot".into())));
    assert_eq!(node.sees_all([&config_map("robot", "unused"), &pod("robot", "cam")]).admitted(), NOTHING);
    assert_eq!(node.sees(&pod("shop", "till")).admitted(), [start(&pod("shop", "till"))]);
}

#[test]
fn a_pod_does_not_slip_out_of_a_selector_by_changing_its_labels() {
    let cam = pod("robot", "cam").labelled("app", "cam");
    let mut node = Node::running([&cam]);
    node.asks(&pilot(), hold("mission", labelled("app", "cam")));
    assert_eq!(node.sees(&cam.clone().labelled("app", "harmless")).admitted(), NOTHING);
    assert_eq!(node.sees(&cam.labelled("app", "harmless").deleting()).admitted(), NOTHING);
}

#[test]
fn a_pod_that_would_come_under_a_selector_is_held() {
    let till = pod("shop", "till");
    let mut node = Node::running([&till]);
    node.asks(&pilot(), hold("mission", labelled("app", "cam")));
    assert_eq!(node.sees(&till.clone().labelled("app", "cam")).admitted(), NOTHING);
    assert_eq!(
        node.sees(&till.clone().labelled("app", "till")).admitted(),
        [update(&till.labelled("app", "till"))]
    );
}

#[test]
fn a_selector_in_one_namespace_leaves_the_others_alone() {
    let Scope::Selector { selector, .. } = labelled("app", "cam") else { unreachable!("a selector") };
    let mut node = Node::new();
    node.asks(&pilot(), hold("mission", Scope::Selector { namespace: Some("robot".into()), selector }));
    let there = pod("garage", "cam").labelled("app", "cam");
    assert_eq!(
        node.sees_all([&pod("robot", "cam").labelled("app", "cam"), &there]).admitted(),
        [start(&there)]
    );
}

#[test]
fn a_hold_on_the_node_covers_starts_updates_stops_and_configuration() {
    let (settings, cam, nav) = (config_map("robot", "settings"), pod("robot", "cam"), pod("robot", "nav"));
    let mut node = Node::running([&settings, &cam, &nav]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    let (settings, cam) = (settings.revision("b"), cam.revision("b"));
    assert_eq!(node.lists([&settings, &cam, &pod("shop", "till")]).admitted(), NOTHING);
    let told = node.asks(&pilot(), let_go("mission"));
    assert_eq!(told.admitted(), [stop(&nav), update(&settings), update(&cam)]);
    assert_eq!(node.ended(&nav).admitted(), [start(&pod("shop", "till"))]);
}

#[test]
fn a_change_passes_when_the_last_of_several_holds_is_dropped() {
    let cam = pod("robot", "cam");
    let mut node = Node::running([&cam]);
    node.asks(&pilot(), hold("mission", this_pod(&cam)));
    node.asks(&local("gripper"), hold("grip", Scope::Namespace("robot".into())));
    node.sees(&cam.clone().revision("b"));
    assert_eq!(node.asks(&pilot(), let_go("mission")).admitted(), NOTHING);
    assert_eq!(node.asks(&local("gripper"), let_go("grip")).admitted(), [update(&cam.revision("b"))]);
}

#[test]
fn a_hold_taken_again_by_its_holder_is_replaced_and_keeps_its_age() {
    let (cam, nav) = (pod("robot", "cam"), pod("robot", "nav"));
    let mut node = Node::running([&cam, &nav]);
    node.asks(&pilot(), hold("mission", this_pod(&cam)));
    let since = node.hold("mission").unwrap().since;
    node.after(A_MINUTE);
    assert_eq!(node.asks(&pilot(), hold("mission", this_pod(&nav))).answer(), holding());
    assert_eq!(node.hold("mission").unwrap().since, since);
    let told = node.sees_all([&cam.clone().revision("b"), &nav.revision("b")]);
    assert_eq!(told.admitted(), [update(&cam.revision("b"))]);
}

#[test]
fn the_name_of_another_holders_hold_is_taken() {
    let mut node = Node::new();
    node.asks(&pilot(), hold("mission", Scope::Node));
    let before = node.gate.clone();
    let taken = Answer::Refused(Refusal::NameTaken { by: pilot() });
    assert_eq!(node.asks(&local("gripper"), hold("mission", Scope::Namespace("x".into()))).answer(), taken);
    assert_eq!(node.asks(&admin(), freeze("mission")).answer(), taken);
    assert_eq!(node.gate, before);
}

#[test]
fn a_freeze_and_a_hold_do_not_share_a_name() {
    let mut node = Node::new();
    node.asks(&pilot(), hold("mission", Scope::Node));
    let taken = Answer::Refused(Refusal::NameTaken { by: pilot() });
    assert_eq!(node.asks(&pilot(), freeze("mission")).answer(), taken);
}

#[test]
fn a_hold_that_is_not_there_can_be_neither_dropped_nor_renewed() {
    let mut node = Node::new();
    let unknown = Answer::Refused(Refusal::NotFound);
    assert_eq!(node.asks(&pilot(), let_go("mission")).answer(), unknown);
    assert_eq!(node.asks(&pilot(), renew("mission")).answer(), unknown);
}

#[test]
fn an_operator_on_the_machine_may_drop_what_a_dead_program_holds() {
    let mut node = Node::new();
    node.asks(&pilot(), hold("mission", Scope::Node));
    assert_eq!(node.asks(&local("operator"), let_go("mission")).answer(), Answer::Dropped { until: None });
    assert_eq!(node.hold("mission"), None);
    assert_eq!(node.log(), ["hold mission on the node", "hold mission dropped"]);
}

#[test]
fn holds_survive_a_crash() {
    let cam = pod("robot", "cam");
    let mut node = Node::running([&cam]);
    node.asks(&pilot(), hold("mission", this_pod(&cam)));
    node.crashes();
    assert_eq!(node.sees(&cam.clone().revision("b")).admitted(), NOTHING);
    node.crashes();
    assert_eq!(node.asks(&pilot(), let_go("mission")).admitted(), [update(&cam.revision("b"))]);
}

#[test]
fn it_is_told_once_that_a_change_is_held_and_once_that_it_is_not() {
    let (cam, nav) = (pod("robot", "cam"), pod("robot", "nav"));
    let mut node = Node::running([&cam, &nav]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    let held = |key: &Key| Effect::Held { key: key.clone(), by: HeldBy::Holder };
    assert_eq!(node.sees(&cam.clone().revision("b")).0, [held(&cam.key)]);
    assert_eq!(node.sees(&cam.clone().revision("c")).0, []);
    assert_eq!(node.lists_all_of(Kind::Pod, [&cam.clone().revision("c"), &nav]).0, []);
    assert_eq!(node.sees(&cam).0, [Effect::NoLongerHeld { key: cam.key }]);
}

#[test]
fn health_is_reported_while_everything_is_held() {
    let cam = pod("robot", "cam");
    let mut node = Node::running([&cam]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.reports(&cam, Health::Unready);
    assert!(!node.gate.slots()[&cam.key].is_settled());
    node.ready(&cam);
    assert!(node.gate.slots()[&cam.key].is_settled());
}
