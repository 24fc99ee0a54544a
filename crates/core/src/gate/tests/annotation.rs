//! The hold annotation: what it keeps back, where it may stand, and that putting it on is not itself a change.

use crate::object::{ChangeKind, HeldBy, Slot};

use super::node::Node;
use super::words::*;

fn slot<'a>(node: &'a Node, object: &Object) -> &'a Slot {
    &node.gate.slots()[&object.key]
}

#[test]
fn a_pod_without_the_annotation_comes_changes_and_goes() {
    let cam = pod("robot", "cam");
    let mut node = Node::new();
    assert_eq!(node.sees(&cam).admitted(), [start(&cam)]);
    let newer = cam.revision("b");
    assert_eq!(node.sees(&newer).admitted(), [update(&newer)]);
    assert_eq!(node.sees(&newer.clone().deleting()).admitted(), [stop(&newer)]);
    assert_eq!(node.ended(&newer).0, []);
    assert_eq!(node.gate.slots().len(), 0);
}

#[test]
fn an_update_in_place_is_held() {
    let cam = pod("robot", "cam").annotated();
    let mut node = Node::running([&cam]);
    assert_eq!(node.sees(&cam.clone().revision("b")).admitted(), NOTHING);
    assert_eq!(slot(&node, &cam).pending(cam.key.kind), Some(ChangeKind::Update));
    assert_eq!(node.holds_back(), [(cam.key, HeldBy::Annotation)]);
}

#[test]
fn a_stop_is_held() {
    let cam = pod("robot", "cam").annotated();
    let mut node = Node::running([&cam]);
    assert_eq!(node.sees(&cam.clone().deleting()).admitted(), NOTHING);
    assert_eq!(node.runs(), ["cam"]);
}

#[test]
fn a_replacement_under_the_same_name_is_held() {
    let cam = pod("robot", "cam").annotated();
    let mut node = Node::running([&cam]);
    assert_eq!(node.sees(&cam.clone().uid("second").revision("b")).admitted(), NOTHING);
    assert_eq!(slot(&node, &cam).pending(cam.key.kind), Some(ChangeKind::Stop));
    assert_eq!(node.runs(), ["cam"]);
}

#[test]
fn a_static_pod_is_held_like_any_other() {
    let etcd = static_pod("kube-system", "etcd").annotated();
    let mut node = Node::running([&etcd]);
    assert_eq!(node.sees(&etcd.revision("b")).admitted(), NOTHING);
}

#[test]
fn the_annotation_on_the_running_pod_alone_holds() {
    let cam = pod("robot", "cam").annotated();
    let mut node = Node::running([&cam]);
    let bare = cam.clone().not_annotated();
    assert_eq!(node.sees(&bare.clone().revision("b")).admitted(), NOTHING);
    assert_eq!(node.sees(&bare.uid("second").revision("b")).admitted(), NOTHING);
}

#[test]
fn the_annotation_on_the_wanted_pod_alone_holds() {
    let cam = pod("robot", "cam");
    let mut node = Node::running([&cam]);
    assert_eq!(node.sees(&cam.clone().annotated().uid("second").revision("b")).admitted(), NOTHING);
    let nav = pod("robot", "nav");
    let mut node = Node::running([&nav]);
    assert_eq!(node.sees(&nav.annotated().revision("b")).admitted(), NOTHING);
}

#[test]
fn one_annotated_running_pod_arms_its_whole_workload() {
    let (armed, other) = (web("a", 1).annotated(), web("a", 2));
    let mut node = Node::running([&armed, &other]);
    assert_eq!(node.sees_all([&web("b", 1), &other.deleting()]).admitted(), NOTHING);
    assert_eq!(node.runs(), ["web-a-1", "web-a-2"]);
}

#[test]
fn putting_the_annotation_on_is_not_a_change() {
    let cam = pod("robot", "cam");
    let mut node = Node::running([&cam]);
    assert_eq!(node.sees(&cam.clone().annotated()).0, []);
    assert_eq!(slot(&node, &cam).pending(cam.key.kind), None);
    assert_eq!(node.sees(&cam.revision("b")).admitted(), NOTHING);
}

#[test]
fn a_pod_that_was_armed_stays_armed_when_it_is_gone_from_the_cluster() {
    let cam = pod("robot", "cam");
    let mut node = Node::running([&cam]);
    node.sees(&cam.clone().annotated());
    node.crashes();
    assert_eq!(node.loses(&cam).admitted(), NOTHING);
    assert_eq!(node.runs(), ["cam"]);
}

#[test]
fn taking_the_annotation_off_and_nothing_else_lets_what_comes_next_pass() {
    let cam = pod("robot", "cam").annotated();
    let mut node = Node::running([&cam]);
    let bare = cam.not_annotated();
    assert_eq!(node.sees(&bare).0, []);
    assert_eq!(node.sees(&bare.clone().revision("b")).admitted(), [update(&bare.revision("b"))]);
}

#[test]
fn taking_the_annotation_off_lets_what_was_held_pass() {
    let cam = pod("robot", "cam").annotated();
    let mut node = Node::running([&cam]);
    let newer = cam.revision("b");
    node.sees(&newer);
    assert_eq!(node.sees(&newer.clone().not_annotated()).admitted(), [update(&newer)]);
}

#[test]
fn taking_the_annotation_off_together_with_another_change_lets_nothing_pass() {
    let cam = pod("robot", "cam").annotated();
    let mut node = Node::running([&cam]);
    assert_eq!(node.sees(&cam.clone().not_annotated().revision("b")).admitted(), NOTHING);
    let mut node = Node::running([&cam]);
    assert_eq!(node.sees(&cam.not_annotated().deleting()).admitted(), NOTHING);
}

/// The first sighting was held, because the annotation went together with another change. The second, a relist that
/// said the very same, was compared with the first and found to differ in nothing: the change passed without any
/// release. What was in doubt once stays in doubt until somebody releases it.
#[test]
fn seeing_the_same_again_does_not_lift_a_doubt() {
    let cam = pod("robot", "cam").annotated();
    let bare = cam.clone().not_annotated();
    for doubtful in [bare.clone().revision("b"), bare.clone().deleting(), bare.clone().uid("second")] {
        let mut node = Node::running([&cam]);
        assert_eq!(node.sees(&doubtful).admitted(), NOTHING);
        assert_eq!(node.sees(&doubtful).admitted(), NOTHING);
        assert_eq!(node.lists([&doubtful]).admitted(), NOTHING);
        node.crashes();
        assert_eq!(node.lists([&doubtful]).admitted(), NOTHING);
        assert_eq!(node.holds_back(), [(cam.key.clone(), HeldBy::Annotation)]);
        assert_ne!(node.asks(&pilot(), release_pod(&cam)).admitted(), NOTHING);
    }
}

#[test]
fn a_doubt_outlives_the_change_that_raised_it() {
    let cam = pod("robot", "cam").annotated();
    let bare = cam.clone().not_annotated();
    let mut node = Node::running([&cam]);
    node.sees(&bare.clone().revision("b"));
    node.sees(&bare);
    assert_eq!(node.holds_back(), []);
    assert_eq!(node.sees(&bare.clone().revision("c")).admitted(), NOTHING);
    // Put on and taken off again, and nothing else: that is unmistakable.
    node.sees(&cam);
    assert_eq!(node.sees(&bare).0, []);
    assert_eq!(node.sees(&bare.clone().revision("d")).admitted(), [update(&bare.revision("d"))]);
}
