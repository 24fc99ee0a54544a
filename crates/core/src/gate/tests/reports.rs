//! What the doors report counts for exactly the version that it is about: news of an earlier one comes too late.

use crate::event::Answer;
use crate::freeze::{BlockerReason, Mode, Subject};
use crate::grant::GrantEnd;
use crate::object::{Applied, Health, Stage};

use super::node::Node;
use super::words::*;

fn cam() -> Object {
    pod("robot", "cam")
}

fn settings() -> Object {
    config_map("robot", "settings")
}

fn health(node: &Node, object: &Object) -> Health {
    match node.gate.slots()[&object.key].applied {
        Some(Applied { stage: Stage::Delivered(health), .. }) => health,
        _ => panic!("{} does not run", object.key),
    }
}

/// The gate let an update in place through and waited for the pod to be ready. The kubelet had not acted yet and said
/// once more that the *old* container was ready; the node was called frozen, and then the container was restarted. A
/// report names the version that it is about, and one about an earlier version is dropped.
#[test]
fn a_report_about_the_version_before_does_not_acknowledge_a_freeze() {
    let newer = cam().revision("b");
    let mut node = Node::running([&cam()]);
    assert_eq!(node.sees(&newer).admitted(), [update(&newer)]);
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    assert_eq!(node.ready(&cam()).0, []);
    assert_eq!((health(&node, &cam()), node.mode()), (Health::Starting, Mode::Freezing));
    assert!(matches!(node.ready(&newer).answer(), Answer::Frozen { .. }));
}

#[test]
fn a_report_about_the_version_before_does_not_close_a_release() {
    let cam = cam().annotated();
    let newer = cam.clone().revision("b");
    let mut node = Node::running([&cam]);
    node.sees(&newer);
    node.asks(&pilot(), release_pod(&cam));
    assert_eq!(node.ready(&cam).closed(), []);
    assert_eq!(node.gate.grants().len(), 1);
    assert_eq!(node.ready(&newer).closed(), [(cam.workload(), GrantEnd::Settled)]);
}

#[test]
fn a_report_about_the_configuration_before_does_not_acknowledge_a_freeze() {
    let newer = settings().revision("b");
    let mut node = Node::running([&settings(), &cam().using([&settings()])]);
    assert_eq!(node.sees(&newer).admitted(), [update(&newer)]);
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    assert_eq!(node.ready(&settings()).0, []);
    assert!(matches!(node.ready(&newer).answer(), Answer::Frozen { .. }));
}

#[test]
fn a_report_about_the_configuration_before_does_not_close_a_release() {
    let cam = cam().using([&settings()]).annotated();
    let newer = settings().revision("b");
    let mut node = Node::running([&settings(), &cam]);
    node.sees(&newer);
    node.asks(&pilot(), release_pod(&cam));
    assert_eq!(node.ready(&settings()).closed(), []);
    assert_eq!(node.ready(&newer).closed(), [(cam.workload(), GrantEnd::Settled)]);
}

#[test]
fn a_report_about_a_version_that_is_still_held_says_nothing_of_what_runs() {
    let cam = cam().annotated();
    let mut node = Node::running([&cam]);
    node.sees(&cam.clone().revision("b"));
    node.reports(&cam.clone().revision("b"), Health::Unready);
    assert_eq!(health(&node, &cam), Health::Ready);
    node.reports(&cam, Health::Unready);
    assert_eq!(health(&node, &cam), Health::Unready);
}

#[test]
fn a_report_about_a_pod_that_is_ending_does_not_settle_it() {
    let mut node = Node::running([&cam()]);
    node.sees(&cam().deleting());
    node.ready(&cam());
    let ending = blocker(BlockerReason::ReplacementPending, Subject::Object(cam().key), "is ending");
    assert_eq!(node.gate.blockers(), [ending]);
}

#[test]
fn a_report_about_something_that_does_not_run_here_changes_nothing() {
    let mut node = Node::running([&cam()]);
    let before = node.gate.clone();
    for stranger in [cam().uid("another"), pod("robot", "nav"), settings()] {
        assert_eq!(node.ready(&stranger).0, []);
        assert_eq!(node.ended(&stranger).0, []);
    }
    assert_eq!(node.gate, before);
}

#[test]
fn a_report_after_a_crash_counts_for_the_version_on_record() {
    let newer = cam().revision("b");
    let mut node = Node::running([&cam()]);
    node.sees(&newer);
    node.crashes();
    node.ready(&cam());
    assert_eq!(health(&node, &cam()), Health::Unknown);
    node.ready(&newer);
    assert_eq!(health(&node, &cam()), Health::Ready);
}
