//! Time: what is counted when the agent restarts, when the machine is off, and when somebody sets the clock.

use crate::event::{Alarm, Ask, Effect};
use crate::freeze::Mode;
use crate::hold::{OnExpiry, Scope};
use crate::time::{Age, Span};

use super::node::Node;
use super::words::*;

const A_YEAR: i64 = 365 * 86_400_000;
const AN_HOUR: Span = Span::from_mins(60);
const TEN_SECONDS: Span = Span::from_secs(10);

fn cam() -> Object {
    pod("robot", "cam")
}

/// A node whose hold has been overridden for an hour.
fn overridden_node() -> Node {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.asks_overriding(&admin(), because("fire", AN_HOUR), let_go("mission"));
    node
}

fn in_force(node: &Node) -> bool {
    node.hold("mission").unwrap().in_force()
}

/// A time server that was wrong by a year set the clock, and the driver believed it. Nothing happened until the machine
/// was switched off and on: then a year had passed at once, and the freeze was over in flight.
#[test]
fn a_year_that_the_wall_clock_jumped_is_not_counted_after_a_reboot() {
    for jump in [A_YEAR, -A_YEAR] {
        let mut node = Node::running([&cam()]);
        node.asks(&pilot(), freeze_for(Span::from_mins(600), OnExpiry::ThawIfSafe, "takeoff"));
        node.after(Span::from_secs(5));
        node.jumps(jump);
        node.ticks();
        node.is_off_for(Span::from_secs(30));
        assert_eq!(node.ticks().0, []);
        assert_eq!((node.mode(), node.gate.age()), (Mode::Frozen, Age(5000)));
    }
}

#[test]
fn a_jump_is_on_record_with_the_event_that_showed_it() {
    let mut node = Node::new();
    node.ticks();
    assert_eq!(node.written, []);
    node.jumps(A_YEAR);
    node.ticks();
    let clock = node.records.node.as_ref().unwrap().clock;
    assert!(!clock.last().trusted);
}

#[test]
fn time_without_the_agent_is_counted_by_the_machine() {
    let mut node = Node::new();
    node.trusts_its_clock(false);
    node.asks(&pilot(), hold_for(AN_HOUR, OnExpiry::Stay, "mission"));
    node.has_no_agent_for(Span(AN_HOUR.0 - 1));
    assert_eq!(node.ticks().alarms(), []);
    node.has_no_agent_for(Span(1));
    assert_eq!(node.ticks().alarms(), [Alarm::Orphaned("mission".into())]);
}

#[test]
fn a_wall_clock_that_is_set_while_the_agent_is_away_changes_nothing() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), freeze_for(AN_HOUR, OnExpiry::ThawIfSafe, "takeoff"));
    node.jumps(A_YEAR);
    node.has_no_agent_for(A_MINUTE);
    assert_eq!(node.ticks().0, []);
    assert_eq!((node.mode(), node.gate.age()), (Mode::Frozen, Age(A_MINUTE.0)));
}

/// The age was written only with other rows. On a quiet machine with a lease of an hour that lost its power every fifty
/// minutes the lease never ended; so it was with an override, and with a release that nobody used up.
#[test]
fn the_driver_is_woken_to_save_the_age_while_anything_is_counted_down() {
    let mut leased = Node::new();
    leased.asks(&pilot(), hold_for(AN_HOUR, OnExpiry::Stay, "mission"));
    let mut released = Node::running([&web("a", 1).annotated()]);
    released.sees(&web("a", 1).annotated().deleting());
    released.asks(&pilot(), release_pod(&web("a", 1)));
    for mut node in [leased, overridden_node(), released] {
        assert_eq!(node.gate.wake_after(), Some(TEN_SECONDS));
        node.after(Span::from_secs(55));
        let saved = node.records.node.as_ref().unwrap().clock.age();
        assert_eq!(saved, Age(50_000));
    }
}

#[test]
fn the_driver_may_sleep_where_nothing_is_counted_down() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.asks(&pilot(), freeze("takeoff"));
    assert_eq!(node.gate.wake_after(), None);
    node.asks(&local("gripper"), hold_for(A_MINUTE, OnExpiry::Stay, "grip"));
    node.after(A_MINUTE);
    assert_eq!(node.gate.wake_after(), None);
}

#[test]
fn a_power_cut_costs_a_lease_less_than_ten_seconds() {
    let mut node = Node::new();
    node.trusts_its_clock(false);
    node.asks(&pilot(), hold_for(AN_HOUR, OnExpiry::Stay, "mission"));
    for _ in 0..10 {
        node.after(Span::from_secs(359));
        node.is_off_for(AN_HOUR);
    }
    // Ten times nine seconds.
    assert_eq!(node.gate.age(), Age(3_500_000));
    assert_eq!(node.after(Span(99_999)).alarms(), []);
    assert_eq!(node.after(Span(1)).alarms(), [Alarm::Orphaned("mission".into())]);
}

#[test]
fn an_override_survives_a_restart_of_the_agent_and_ends_in_time() {
    let mut node = overridden_node();
    node.trusts_its_clock(false);
    for _ in 0..6 {
        node.after(Span::from_mins(9));
        node.crashes();
        assert!(!in_force(&node));
    }
    assert_eq!(node.sees(&cam().revision("b")).admitted(), [update(&cam().revision("b"))]);
    node.after(Span::from_mins(6));
    assert!(in_force(&node));
}

#[test]
fn an_override_goes_on_across_a_reboot_whose_length_is_known() {
    let mut node = overridden_node();
    node.is_off_for(Span::from_mins(59));
    node.ticks();
    assert!(!in_force(&node));
    node.after(A_MINUTE);
    assert!(in_force(&node));
}

/// On a machine without a clock that can be trusted an override was counted anew after every reboot: where the power
/// was cut more often than the override was long, the hold was never in force again.
#[test]
fn an_override_is_over_after_a_reboot_of_which_nobody_knows_the_length() {
    let mut node = overridden_node();
    node.trusts_its_clock(false);
    node.is_off_for(A_MINUTE);
    assert_eq!(node.sees(&cam().revision("b")).admitted(), NOTHING);
    assert!(in_force(&node));
    assert_eq!(*node.log().last().unwrap(), "the override of hold mission is over");
}

#[test]
fn an_overridden_freeze_is_back_after_a_reboot_of_which_nobody_knows_the_length() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), freeze("takeoff"));
    node.asks_overriding(&admin(), because("fire", AN_HOUR), Ask::Thaw);
    node.lists([&cam()]);
    node.trusts_its_clock(false);
    node.is_off_for(A_MINUTE);
    assert_eq!(node.ticks().0, [Effect::ModeIs(Mode::Freezing)]);
    assert_eq!(node.ready(&cam()).0, [Effect::ModeIs(Mode::Frozen)]);
}

/// The earliest of all deadlines was asked for, also one that had long passed: a barrier that was kept after its
/// refusal hid every later deadline of the node, and the driver slept through the end of the lease.
#[test]
fn a_deadline_that_has_passed_does_not_hide_a_later_one() {
    let mut node = Node::new();
    node.sees(&cam());
    let freeze = keeping_the_barrier(freeze_within(A_MINUTE, "takeoff"));
    node.asks(&pilot(), leased(freeze, Span::from_mins(5), OnExpiry::Stay));
    assert_eq!(node.after(A_MINUTE).answers().len(), 1);
    assert_eq!(node.after(Span::from_mins(4)).alarms(), [Alarm::Orphaned("takeoff".into())]);
}

#[test]
fn the_deadline_of_a_freeze_that_was_overridden_while_it_waited_does_not_hide_the_end_of_the_override() {
    let mut node = Node::new();
    node.sees(&cam());
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    node.asks_overriding(&admin(), because("fire", AN_HOUR), Ask::Thaw);
    assert_eq!(node.after(Span(AN_HOUR.0 - 1)).0, []);
    assert_eq!(node.after(Span(1)).0, [Effect::ModeIs(Mode::Freezing)]);
}
