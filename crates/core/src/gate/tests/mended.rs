//! Mistakes that a review of the gate found, one test each: what went wrong, and what is guaranteed now.

use super::node::Node;
use super::words::*;
use crate::event::{Answer, Ask, Event};
use crate::freeze::Mode;
use crate::hold::{OnExpiry, Scope};
use crate::object::{Health, HeldBy};
use crate::time::{Span, Timestamp};

/// Time passes, and nobody tells the gate.
fn passes(node: &mut Node, millis: u64) {
    node.now.monotonic = Span(node.now.monotonic.0 + millis);
    node.now.wall = Timestamp(node.now.wall.0 + i64::try_from(millis).unwrap());
}

/// An annotated pod with an update that is held, on a node whose freeze an override has put out of force.
fn after_override() -> (Node, Object) {
    let cam = pod("robot", "cam").annotated();
    let mut node = Node::running([&cam]);
    node.asks(&pilot(), freeze("takeoff"));
    node.asks_overriding(&admin(), because("fire", A_MINUTE), Ask::Thaw);
    node.lists([&cam]);
    node.sees(&cam.clone().revision("b"));
    (node, cam)
}

/// Requests were judged before deadlines: a release passed in the very step that put the freeze back in force.
#[test]
fn a_release_in_the_step_in_which_an_override_ends_is_refused() {
    let (mut node, cam) = after_override();
    passes(&mut node, 3_600_000);
    assert_eq!(node.asks(&admin(), release_pod(&cam)).admitted(), NOTHING);
}

/// The same, when nobody knows how long the machine was off: the override is over before anything is judged.
#[test]
fn a_release_as_the_first_event_after_an_uncounted_reboot_is_refused() {
    let (mut node, cam) = after_override();
    node.trusts_its_clock(false);
    node.is_off_for(Span::from_mins(60));
    assert_eq!(node.asks(&admin(), release_pod(&cam)).admitted(), NOTHING);
}

/// A late list that showed the running pod again buried the younger one for good.
#[test]
fn a_late_list_of_what_runs_does_not_bury_its_successor() {
    let a = pod("shop", "db-0").of(&stateful_set("shop", "db", 0)).born(1);
    let b = a.clone().uid("b").revision("b").born(2);
    let mut node = Node::running([&a]);
    node.asks(&pilot(), hold("m", Scope::Node));
    node.sees(&b);
    node.lists([&a.clone().deleting()]);
    node.lists([&b]);
    node.asks(&pilot(), let_go("m"));
    assert_eq!(node.ended(&a).admitted(), [start(&b)]);
}

/// Of a Deployment that was stopped as a whole, one pod came back and the others were held.
#[test]
fn all_replicas_that_a_release_stopped_start_again_after_its_deadline() {
    let old = [1, 2, 3].map(|n| web("a", n).annotated());
    let new = [1, 2, 3].map(|n| web("b", n).annotated());
    let mut node = Node::running(old.each_ref());
    let dying = old.clone().map(Object::deleting);
    node.sees_all(dying.each_ref());
    node.asks(&pilot(), release(&deployment("shop", "web")));
    for o in &old {
        node.ended(o);
    }
    node.after(Span::from_mins(11));
    assert_eq!(node.lists(new.each_ref()).admitted(), new.each_ref().map(start));
}

/// A pod that took longer to end than its release lasted was stopped, and its successor was held.
#[test]
fn a_static_pod_that_ends_slowly_is_not_left_stopped() {
    let a = static_pod("k", "etcd").uid("ha").annotated();
    let b = a.clone().uid("hb").revision("b");
    let mut node = Node::running([&a]);
    node.sees(&b);
    node.asks(&pilot(), release_pod(&a));
    node.after(Span::from_mins(11));
    assert_eq!(node.ended(&a).admitted(), [start(&b)]);
}

/// Who called themselves safepoint could give the freeze of a sealed gate a lease, and it ran out.
#[test]
fn nobody_takes_the_seal_over_by_its_name() {
    let mut node = Node::sealed();
    node.asks(&local("safepoint"), freeze_for(A_MINUTE, OnExpiry::ThawIfSafe, "unreadable-record"));
    node.after(A_MINUTE);
    assert_eq!(node.lists([&pod("a", "b")]).admitted(), NOTHING);
}

/// An order that a sealed gate had refused was obeyed when it was delivered again after the thaw.
#[test]
fn an_order_that_was_refused_by_a_sealed_gate_stays_refused() {
    let cam = pod("robot", "cam").annotated();
    let mut node = Node::sealed();
    node.is_ordered(&admin(), order("1"), release_pod(&cam));
    node.step(Event::Adopted(vec![(cam.key.clone(), cam.version.clone())]));
    node.asks(&pilot(), Ask::Thaw);
    node.lists([&cam.clone().revision("b")]);
    assert_eq!(node.is_ordered(&admin(), order("1"), release_pod(&cam)).answer(), Answer::DecidedBefore);
}

/// A clock that went back a year was trusted again a moment later; the reboot that set it right counted a year.
#[test]
fn a_clock_that_went_back_and_came_right_after_a_reboot_thaws_nothing() {
    let mut node = Node::new();
    node.asks(&pilot(), freeze_for(Span::from_mins(600), OnExpiry::ThawIfSafe, "f"));
    node.jumps(-365 * 86_400_000);
    node.ticks();
    node.after(A_MINUTE);
    node.jumps(365 * 86_400_000);
    node.is_off_for(A_MINUTE);
    node.ticks();
    assert_eq!(node.mode(), Mode::Frozen);
}

/// Nobody looked at a grant again whose ConfigMap settled after the last pod that used it had ended.
#[test]
fn a_grant_closes_when_its_configuration_settles_after_its_last_user() {
    let s = config_map("robot", "s");
    let cam = pod("robot", "cam").using([&s]).annotated();
    let mut node = Node::running([&s, &cam]);
    node.sees_all([&s.clone().revision("b"), &cam.clone().deleting()]);
    node.asks(&pilot(), release_pod(&cam));
    node.ended(&cam);
    assert_eq!(node.ready(&s.revision("b")).closed().len(), 1);
}

/// Restarts every nine seconds kept the age from ever being saved.
#[test]
fn an_agent_that_restarts_often_still_saves_its_age() {
    let mut node = Node::new();
    node.asks(&pilot(), hold_for(Span::from_mins(10), OnExpiry::Stay, "m"));
    for _ in 0..5 {
        node.after(Span(9_000));
        node.crashes();
        node.ticks();
    }
    let saved = node.records.node.as_ref().unwrap().clock.age();
    assert!(node.gate.age().since(saved) < Span::from_secs(10));
}

/// When the gate stopped waiting for a successor behind a barrier, what it said about it was not brought up to date.
#[test]
fn a_start_that_is_no_longer_owed_is_held_by_the_barrier() {
    let l = daemon_set("robot", "lidar");
    let was = pod("robot", "l-1").of(&l);
    let next = pod("robot", "l-2").of(&l).revision("b").annotated();
    let mut node = Node::running([&was, &pod("x", "y")]);
    node.sees(&was.clone().deleting());
    node.reports(&pod("x", "y"), Health::Unready);
    node.asks(&pilot(), keeping_the_barrier(freeze("f")));
    node.ended(&was);
    node.sees(&next);
    node.after(Span::from_mins(2));
    assert_eq!(node.holds_back(), [(next.key, HeldBy::Node)]);
}

/// A pod that waited for the room of another was said to replace it.
#[test]
fn a_start_that_waits_for_another_workload_is_not_said_to_replace_it() {
    let (nav, till) = (pod("robot", "nav"), pod("shop", "till"));
    let mut node = Node::running([&nav]);
    node.loses(&nav);
    node.sees(&till);
    assert!(!node.why(&till).contains("what it replaces"), "{}", node.why(&till));
}
