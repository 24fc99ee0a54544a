//! Overrides: one side puts the other's hold out of force, on record, for a stated time, and it comes back by itself.

use crate::event::{Alarm, Answer, Ask, Effect, Refusal, RequestId};
use crate::freeze::Mode;
use crate::hold::{Scope, Suspension};
use crate::object::Health;
use crate::record::Record;
use crate::time::{Age, Span};

use super::node::Node;
use super::words::*;

fn cam() -> Object {
    pod("robot", "cam")
}

const AN_HOUR: Span = Span::from_mins(60);

/// A node that its pilot had frozen, until the admin overrode that for an hour.
fn overridden_node() -> Node {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), freeze("takeoff"));
    node.asks_overriding(&admin(), because("fire", AN_HOUR), Ask::Thaw);
    node.lists([&cam()]);
    assert_eq!(node.mode(), Mode::Open);
    node
}

#[test]
fn an_override_thaws_the_node_and_alarms() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), freeze("takeoff"));
    let told = node.asks_overriding(&admin(), because("fire", AN_HOUR), Ask::Thaw);
    assert_eq!(
        told.0,
        [
            Effect::Alarm(Alarm::Overridden("takeoff".into())),
            Effect::Relist,
            Effect::Answer(RequestId(2), Answer::Thawing),
            Effect::ModeIs(Mode::Thawing),
        ]
    );
}

#[test]
fn an_override_is_on_record_before_it_acts() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), freeze("takeoff"));
    node.asks_overriding(&admin(), because("fire", AN_HOUR), Ask::Thaw);
    let audit = node.written.iter().find_map(|record| match record {
        Record::Audit(line) => Some((line.by.clone(), line.what.to_string(), line.why.as_deref())),
        _ => None,
    });
    let what = "hold takeoff of flight-control overridden for 1h".to_string();
    assert_eq!(audit, Some((Some(admin()), what, Some("fire"))));
    let suspended = Suspension { until: Age(AN_HOUR.0), by: admin(), reason: "fire".into() };
    assert_eq!(node.hold("takeoff").unwrap().suspended, Some(suspended));
    assert!(
        node.written
            .iter()
            .any(|record| matches!(record, Record::Hold(id, Some(_)) if id.as_str() == "takeoff"))
    );
}

#[test]
fn changes_pass_while_a_hold_is_overridden_and_are_held_again_afterwards() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.sees(&cam().revision("b"));
    let told = node.asks_overriding(&admin(), because("fire", AN_HOUR), let_go("mission"));
    assert_eq!(told.answer(), Answer::Dropped { until: Some(Age(AN_HOUR.0)) });
    assert_eq!(told.alarms(), [Alarm::Overridden("mission".into())]);
    assert_eq!(told.admitted(), [update(&cam().revision("b"))]);
    node.after(AN_HOUR);
    assert_eq!(node.sees(&cam().revision("c")).admitted(), NOTHING);
    assert_eq!(node.hold("mission").unwrap().suspended, None);
}

#[test]
fn an_overridden_freeze_comes_back_and_is_frozen_at_once_where_nothing_is_in_flight() {
    let mut node = overridden_node();
    assert_eq!(node.after(Span(AN_HOUR.0 - 1)).0, []);
    assert_eq!(node.after(Span(1)).0, [Effect::ModeIs(Mode::Frozen)]);
    assert_eq!(*node.log().last().unwrap(), "the node is frozen by takeoff");
}

#[test]
fn an_overridden_freeze_comes_back_as_a_barrier_that_stays_until_the_node_is_settled() {
    let mut node = overridden_node();
    node.reports(&cam(), Health::Unready);
    node.after(AN_HOUR);
    assert_eq!(node.mode(), Mode::Freezing);
    assert_eq!(node.sees(&cam().revision("b")).admitted(), NOTHING);
    node.after(AN_HOUR);
    assert_eq!(node.mode(), Mode::Freezing);
    node.ready(&cam());
    assert_eq!(node.mode(), Mode::Frozen);
}

#[test]
fn an_override_survives_a_crash_and_ends_when_it_would_have_ended() {
    let mut node = overridden_node();
    node.crashes();
    node.ready(&cam());
    assert_eq!(node.sees(&cam().revision("b")).admitted(), [update(&cam().revision("b"))]);
    node.ready(&cam().revision("b"));
    node.after(Span(AN_HOUR.0 - 1));
    assert_eq!(node.mode(), Mode::Open);
    node.after(Span(1));
    assert_eq!(node.mode(), Mode::Frozen);
}

#[test]
fn an_override_needs_a_reason_and_a_length() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), freeze("takeoff"));
    let incomplete = Answer::Refused(Refusal::OverrideIncomplete);
    for over in [because("", AN_HOUR), because("  ", AN_HOUR), because("fire", Span::ZERO)] {
        assert_eq!(node.asks_overriding(&admin(), over, Ask::Thaw).answer(), incomplete);
    }
    assert_eq!(node.mode(), Mode::Frozen);
}

#[test]
fn an_overridden_freeze_cannot_be_asked_for_again() {
    let mut node = overridden_node();
    let overridden = Answer::Refused(Refusal::Overridden { until: Age(AN_HOUR.0) });
    assert_eq!(node.asks(&pilot(), freeze("takeoff")).answer(), overridden);
    assert_eq!(node.mode(), Mode::Open);
}

#[test]
fn whoever_waits_for_a_freeze_is_told_that_it_was_overridden() {
    let mut node = Node::new();
    node.sees(&cam());
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    let told = node.asks_overriding(&admin(), because("fire", AN_HOUR), Ask::Thaw);
    let overridden = Answer::Refused(Refusal::Overridden { until: Age(AN_HOUR.0) });
    assert_eq!(told.answers(), [(1, overridden), (2, Answer::Thawing)]);
    assert_eq!(node.mode(), Mode::Open);
}

#[test]
fn an_override_of_ones_own_side_is_an_end() {
    let mut node = Node::new();
    node.asks(&pilot(), hold("mission", Scope::Node));
    let told = node.asks_overriding(&local("operator"), because("fire", AN_HOUR), let_go("mission"));
    assert_eq!((told.answer(), told.alarms()), (Answer::Dropped { until: None }, vec![]));
    assert_eq!((node.hold("mission"), node.audit.last().unwrap().why.as_deref()), (None, Some("fire")));
}

#[test]
fn the_holder_may_still_drop_what_was_overridden() {
    let mut node = overridden_node();
    assert_eq!(node.asks(&pilot(), let_go("takeoff")).answer(), Answer::Dropped { until: None });
    assert_eq!(node.after(AN_HOUR).0, []);
    assert_eq!(node.mode(), Mode::Open);
}

/// The holder thawed its own freeze while it was overridden and was told that the node thaws. Its freeze was still on
/// record, out of force, and an hour later the machine froze in the middle of the work that the thaw was for.
#[test]
fn a_thaw_ends_ones_own_freeze_for_good_even_while_it_is_overridden() {
    let mut node = overridden_node();
    assert_eq!(node.asks(&pilot(), Ask::Thaw).answer(), Answer::Thawing);
    assert_eq!(node.hold("takeoff"), None);
    assert_eq!(node.after(AN_HOUR).0, []);
    assert_eq!(node.mode(), Mode::Open);
}

#[test]
fn a_thaw_from_the_other_side_leaves_an_overridden_freeze_on_record() {
    let mut node = overridden_node();
    assert_eq!(node.asks(&admin(), Ask::Thaw).answer(), Answer::Thawing);
    assert!(node.hold("takeoff").is_some());
    node.after(AN_HOUR);
    assert_eq!(node.mode(), Mode::Frozen);
}

/// A hold that was asked for again took the place of the one that had been overridden, and with it the override went.
/// Only a freeze was refused.
#[test]
fn an_overridden_hold_cannot_be_asked_for_again() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.asks_overriding(&admin(), because("fire", AN_HOUR), let_go("mission"));
    let overridden = Answer::Refused(Refusal::Overridden { until: Age(AN_HOUR.0) });
    assert_eq!(node.asks(&pilot(), hold("mission", Scope::Node)).answer(), overridden);
    assert_eq!(node.sees(&cam().revision("b")).admitted(), [update(&cam().revision("b"))]);
    node.ready(&cam().revision("b"));
    assert_eq!(node.asks(&pilot(), hold("another", Scope::Node)).answer(), holding());
    assert_eq!(node.sees(&cam().revision("c")).admitted(), NOTHING);
}

#[test]
fn the_name_of_an_overridden_hold_is_still_its_holders() {
    let mut node = Node::new();
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.asks_overriding(&admin(), because("fire", AN_HOUR), let_go("mission"));
    let taken = Answer::Refused(Refusal::NameTaken { by: pilot() });
    for caller in [local("gripper"), admin()] {
        assert_eq!(node.asks(&caller, hold("mission", Scope::Node)).answer(), taken);
        assert_eq!(node.asks(&caller, freeze("mission")).answer(), taken);
    }
    assert_eq!(node.asks(&pilot(), freeze("mission")).answer(), taken);
}

#[test]
fn a_hold_whose_override_is_over_may_be_asked_for_again() {
    let mut node = overridden_node();
    node.after(AN_HOUR);
    assert!(matches!(node.asks(&pilot(), freeze("takeoff")).answer(), Answer::Frozen { .. }));
}
