//! How a gate begins: from nothing, from what was found running, and from its record.

use crate::event::Event;
use crate::gate::{Config, Gate};
use crate::object::{Applied, ChangeKind, Health, Stage};
use crate::record::Records;
use crate::time::{Now, Span};

use super::node::{MORNING, Node};
use super::words::*;

fn cam() -> Object {
    pod("robot", "cam")
}

fn adopted(object: &Object) -> Event {
    Event::Adopted(vec![(object.key.clone(), object.version.clone())])
}

#[test]
fn a_gate_without_any_record_is_a_new_gate() {
    let now = Now { monotonic: Span(7), boot: 1, wall: MORNING, trusted: true };
    let recovered = Gate::recover(Config::default(), Records::default(), now);
    assert_eq!(recovered, Gate::new(Config::default(), now));
}

#[test]
fn what_was_found_running_is_neither_started_nor_stopped() {
    let mut node = Node::new();
    assert_eq!(node.step(adopted(&cam())).0, []);
    let applied = node.gate.slots()[&cam().key].applied.clone();
    let version = cam().version;
    assert_eq!(applied, Some(Applied { version, stage: Stage::Delivered(Health::Unknown), has_run: true }));
    assert_eq!(node.lists([&cam()]).0, []);
}

#[test]
fn what_was_found_running_may_have_been_seen_before() {
    let mut node = Node::new();
    let annotated = cam().annotated().revision("b");
    node.sees(&annotated);
    assert_eq!(node.step(adopted(&cam())).admitted(), NOTHING);
    assert_eq!(node.gate.slots()[&cam().key].pending(cam().key.kind), Some(ChangeKind::Update));
}

#[test]
fn what_comes_after_something_found_running_is_no_first_install() {
    let mut node = Node::new();
    let was = web("a", 1).annotated().first_install_allowed();
    node.step(adopted(&was));
    node.ended(&was);
    assert_eq!(node.sees(&web("b", 1).annotated().first_install_allowed()).admitted(), NOTHING);
}

#[test]
fn a_gate_that_has_admitted_something_adopts_nothing() {
    let mut node = Node::new();
    node.sees(&cam());
    let before = node.gate.clone();
    assert_eq!(node.step(adopted(&pod("robot", "nav"))).0, []);
    assert_eq!(node.gate, before);
}

#[test]
fn health_is_unknown_after_a_crash() {
    let mut node = Node::running([&cam()]);
    node.crashes();
    let stage = node.gate.slots()[&cam().key].applied.as_ref().unwrap().stage;
    assert_eq!(stage, Stage::Delivered(Health::Unknown));
}

#[test]
fn an_end_that_was_delivered_is_waited_for_after_a_crash() {
    let next = cam().uid("next");
    let mut node = Node::running([&cam()]);
    node.sees(&next);
    node.crashes();
    assert_eq!(node.lists([&next]).admitted(), NOTHING);
    assert_eq!(node.ended(&cam()).admitted(), [start(&next)]);
}
