//! The freeze: a barrier from the first instant, then frozen, and what may still happen behind it.

use crate::event::{Answer, Ask, Effect, Refusal, RequestId};
use crate::freeze::{Blocker, BlockerReason, Mode, Subject};
use crate::object::{Health, HeldBy};
use crate::time::Span;

use super::node::Node;
use super::words::*;

fn cam() -> Object {
    pod("robot", "cam")
}

fn nav() -> Object {
    pod("robot", "nav")
}

fn starting(object: &Object) -> Vec<Blocker> {
    vec![blocker(BlockerReason::PodUnsettled, Subject::Object(object.key.clone()), "is starting")]
}

fn refused(blockers: Vec<Blocker>, barrier_kept: bool) -> Answer {
    Answer::Refused(Refusal::Unsettled { blockers, barrier_kept })
}

/// A node on which one pod is ready and another has just been let through.
fn busy_node() -> Node {
    let mut node = Node::running([&nav()]);
    assert_eq!(node.sees(&cam()).admitted(), [start(&cam())]);
    node
}

#[test]
fn a_freeze_waits_until_the_node_is_settled() {
    let mut node = busy_node();
    let told = node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    assert_eq!(told.0, [Effect::ModeIs(Mode::Freezing)]);
    node.after(Span::from_secs(30));
    let told = node.ready(&cam());
    let since = node.gate.phase().unwrap().since();
    assert_eq!(
        told.0,
        [Effect::Answer(RequestId(1), Answer::Frozen { since }), Effect::ModeIs(Mode::Frozen)]
    );
    assert_eq!(since.age, node.gate.age());
}

#[test]
fn nothing_new_passes_the_barrier() {
    let mut node = busy_node();
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    let told = node.sees_all([&nav().revision("b"), &pod("shop", "till"), &config_map("robot", "settings")]);
    assert_eq!(told.admitted(), NOTHING);
    assert!(node.holds_back().iter().all(|(_, by)| *by == HeldBy::Node));
}

#[test]
fn a_freeze_that_is_not_settled_in_time_is_refused_and_the_barrier_falls() {
    let mut node = busy_node();
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    node.sees(&nav().revision("b"));
    let told = node.after(A_MINUTE);
    assert_eq!(told.answer(), refused(starting(&cam()), false));
    assert_eq!(told.admitted(), [update(&nav().revision("b"))]);
    assert_eq!((node.mode(), node.hold("takeoff")), (Mode::Open, None));
}

#[test]
fn a_freeze_that_is_refused_at_once_leaves_nothing_behind() {
    let mut node = busy_node();
    let (slots, wake) = (node.gate.slots().clone(), node.gate.wake_after());
    let told = node.asks(&pilot(), freeze("takeoff"));
    assert_eq!(told.0, [Effect::Answer(RequestId(1), refused(starting(&cam()), false))]);
    assert_eq!((node.gate.slots(), node.gate.wake_after()), (&slots, wake));
    assert_eq!((node.mode(), node.gate.holds().len(), node.records.holds.len()), (Mode::Open, 0, 0));
    assert_eq!(node.sees(&nav().revision("b")).admitted(), [update(&nav().revision("b"))]);
}

#[test]
fn a_kept_barrier_stays_up_after_a_refusal_and_is_acknowledged_later() {
    let mut node = busy_node();
    node.asks(&pilot(), keeping_the_barrier(freeze_within(A_MINUTE, "takeoff")));
    assert_eq!(node.after(A_MINUTE).answer(), refused(starting(&cam()), true));
    assert_eq!(node.sees(&nav().revision("b")).admitted(), NOTHING);
    assert_eq!(node.mode(), Mode::Freezing);
    assert_eq!(node.ready(&cam()).0, [Effect::ModeIs(Mode::Frozen)]);
    let since = node.gate.phase().unwrap().since();
    assert_eq!(node.asks(&pilot(), freeze("takeoff")).answer(), Answer::Frozen { since });
}

#[test]
fn a_barrier_survives_a_crash_and_is_met_or_falls_as_before() {
    let mut node = busy_node();
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    node.crashes();
    node.ready(&nav());
    assert_eq!(node.sees(&nav().revision("b")).admitted(), NOTHING);
    assert_eq!(node.after(A_MINUTE).admitted(), [update(&nav().revision("b"))]);
    assert_eq!(node.mode(), Mode::Open);
}

#[test]
fn an_open_release_finishes_behind_the_barrier() {
    let [was, next, last] = [web("a", 1), web("b", 1), web("a", 2)].map(Object::annotated);
    let mut node = Node::running([&was, &last]);
    node.sees_all([&next, &was.clone().deleting()]);
    node.asks(&pilot(), release_pod(&was));
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    assert_eq!(node.ended(&was).admitted(), [start(&next)]);
    node.ready(&next);
    // The follow-up wave of the same rollout is part of it.
    let follow_up = web("b", 2).annotated();
    assert_eq!(node.sees_all([&follow_up, &last.clone().deleting()]).admitted(), [stop(&last)]);
    assert_eq!(node.ended(&last).admitted(), [start(&follow_up)]);
    assert_eq!(node.sees(&web("c", 1).annotated()).admitted(), NOTHING);
    assert!(matches!(node.ready(&follow_up).answer(), Answer::Frozen { .. }));
}

#[test]
fn a_replacement_that_is_half_done_is_finished_behind_the_barrier() {
    let was = pod("shop", "db-0").of(&stateful_set("shop", "db", 0));
    let next = was.clone().uid("db-0-again").revision("b");
    let mut node = Node::running([&was]);
    node.sees(&was.clone().deleting());
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    node.ended(&was);
    assert_eq!(node.sees(&next).admitted(), [start(&next)]);
    assert!(matches!(node.ready(&next).answer(), Answer::Frozen { .. }));
}

#[test]
fn nothing_passes_a_frozen_node() {
    let (settings, key) = (config_map("robot", "settings"), secret("robot", "key"));
    let mut node = Node::running([&nav(), &settings, &key]);
    node.asks(&pilot(), freeze("takeoff"));
    let told = node.lists([&cam(), &settings.revision("b")]);
    assert_eq!(told.admitted(), NOTHING);
    assert_eq!(node.runs(), ["nav"]);
    node.crashes();
    assert_eq!(node.lists([&cam()]).admitted(), NOTHING);
    assert_eq!(node.mode(), Mode::Frozen);
}

#[test]
fn status_and_health_flow_while_the_node_is_frozen() {
    let mut node = Node::running([&nav()]);
    node.asks(&pilot(), freeze("takeoff"));
    assert_eq!(node.reports(&nav(), Health::Unready).0, []);
    assert!(!node.gate.slots()[&nav().key].is_settled());
    assert_eq!(node.ready(&nav()).0, []);
    assert_eq!(node.mode(), Mode::Frozen);
}

#[test]
fn a_pod_that_ends_by_itself_while_frozen_is_not_followed_by_a_new_one() {
    let was = web("a", 1);
    let mut node = Node::running([&was]);
    node.asks(&pilot(), freeze("takeoff"));
    assert_eq!(node.ended(&was).0, []);
    assert_eq!(node.sees(&web("a", 2)).admitted(), NOTHING);
    assert_eq!((node.runs(), node.mode()), (vec![], Mode::Frozen));
}

#[test]
fn a_second_freeze_of_a_frozen_node_is_acknowledged_at_once() {
    let mut node = Node::running([&nav()]);
    let first = node.asks(&pilot(), freeze("takeoff")).answer();
    node.after(A_MINUTE);
    assert_eq!(node.asks(&local("gripper"), freeze("grip")).answer(), first);
}

#[test]
fn a_freeze_asked_for_again_by_its_holder_gives_the_same_answer() {
    let mut node = Node::running([&nav()]);
    let first = node.asks(&pilot(), freeze("takeoff")).answer();
    node.reports(&nav(), Health::Unready);
    assert_eq!(node.asks(&pilot(), freeze("takeoff")).answer(), first);
}

#[test]
fn a_freeze_asked_for_twice_while_it_waits_is_answered_twice() {
    let mut node = busy_node();
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    assert_eq!(node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff")).answers(), []);
    let told = node.ready(&cam());
    let since = node.gate.phase().unwrap().since();
    assert_eq!(told.answers(), [(1, Answer::Frozen { since }), (2, Answer::Frozen { since })]);
}

#[test]
fn a_freeze_that_is_dropped_while_it_waits_is_refused() {
    let mut node = busy_node();
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    let told = node.asks(&pilot(), let_go("takeoff"));
    assert_eq!(told.answers(), [(1, refused(starting(&cam()), false)), (2, Answer::Dropped { until: None })]);
    assert_eq!(node.mode(), Mode::Open);
}

#[test]
fn of_two_freezes_that_wait_the_one_with_more_patience_keeps_the_barrier() {
    let mut node = busy_node();
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    node.asks(&local("gripper"), freeze_within(Span::from_mins(2), "grip"));
    assert_eq!(node.after(A_MINUTE).answers(), [(1, refused(starting(&cam()), false))]);
    assert_eq!(node.mode(), Mode::Freezing);
    assert!(matches!(node.ready(&cam()).answers()[..], [(2, Answer::Frozen { .. })]));
}

#[test]
fn the_log_tells_who_froze_the_node_and_why() {
    let mut node = busy_node();
    node.asks(&pilot(), freeze("takeoff"));
    node.ready(&cam());
    node.asks(&pilot(), freeze("takeoff"));
    node.asks(&pilot(), Ask::Thaw);
    let log = [
        "hold takeoff on the node",
        "freeze takeoff was refused: the node did not settle in time",
        "hold takeoff on the node",
        "the node is frozen by takeoff",
        "freeze takeoff ended",
    ];
    assert_eq!(node.log(), log);
    assert_eq!((&node.audit[3].by, node.audit[3].why.as_deref()), (&Some(pilot()), Some("takeoff")));
}
