//! Holds that were taken for a time: a dead holder never opens the gate, and neither does a clock.

use crate::event::{Alarm, Answer, Ask, Reading, Refusal};
use crate::gate::Config;
use crate::hold::{OnExpiry, Scope};
use crate::object::HeldBy;
use crate::time::Span;

use super::node::Node;
use super::words::*;

const HALF_AN_HOUR: Span = Span::from_mins(30);
const A_YEAR: i64 = 365 * 86_400_000;

/// A node with an update that waits for a hold of half an hour, and that asks `landed` before it believes a lease.
fn node_that_asks_whether_it_has_landed() -> Node {
    let config = Config { signals: vec!["landed".into()], ..Config::default() };
    let mut node = Node::with(config).also_running([&pod("robot", "cam")]);
    node.asks(&pilot(), hold_for(HALF_AN_HOUR, OnExpiry::ThawIfSafe, "mission"));
    assert_eq!(node.sees(&cam()).admitted(), NOTHING);
    node
}

/// The update that waits.
fn cam() -> Object {
    pod("robot", "cam").revision("b")
}

fn is_orphaned(node: &Node) -> bool {
    node.hold("mission").is_some_and(|hold| hold.orphaned.is_some())
}

#[test]
fn a_lease_that_is_up_leaves_its_hold_orphaned_and_alarms_once() {
    let mut node = Node::new();
    node.asks(&pilot(), hold_for(HALF_AN_HOUR, OnExpiry::Stay, "mission"));
    assert_eq!(node.after(Span(HALF_AN_HOUR.0 - 1)).alarms(), []);
    assert_eq!(node.after(Span(1)).alarms(), [Alarm::Orphaned("mission".into())]);
    assert!(is_orphaned(&node));
    assert_eq!(node.after(HALF_AN_HOUR).alarms(), []);
    assert_eq!(node.ticks().alarms(), []);
    assert_eq!(node.sees(&cam()).admitted(), NOTHING);
}

#[test]
fn an_orphaned_hold_alarms_once_even_across_a_crash() {
    let mut node = Node::new();
    node.asks(&pilot(), hold_for(HALF_AN_HOUR, OnExpiry::Stay, "mission"));
    node.after(HALF_AN_HOUR);
    node.crashes();
    assert_eq!(node.ticks().alarms(), []);
    assert!(is_orphaned(&node));
}

#[test]
fn a_lease_that_ends_by_itself_ends_where_no_signal_is_configured() {
    let mut node = Node::running([&pod("robot", "cam")]);
    node.asks(&pilot(), hold_for(HALF_AN_HOUR, OnExpiry::ThawIfSafe, "mission"));
    node.sees(&cam());
    let told = node.after(HALF_AN_HOUR);
    assert_eq!((told.admitted(), told.alarms()), (vec![update(&cam())], vec![]));
    assert_eq!(node.hold("mission"), None);
}

#[test]
fn a_lease_that_ends_by_itself_ends_when_every_signal_says_safe() {
    let mut node = node_that_asks_whether_it_has_landed();
    node.after(Span(HALF_AN_HOUR.0 - 1000));
    assert_eq!(node.reads("landed", Reading::Safe).admitted(), NOTHING);
    assert_eq!(node.after(Span(1000)).admitted(), [update(&cam())]);
}

#[test]
fn anything_but_safe_keeps_the_hold() {
    for reading in [None, Some(Reading::Unsafe), Some(Reading::Unknown)] {
        let mut node = node_that_asks_whether_it_has_landed();
        reading.map(|reading| node.reads("landed", reading));
        node.reads("doors-closed", Reading::Safe);
        let told = node.after(HALF_AN_HOUR);
        assert_eq!(told.admitted(), NOTHING, "{reading:?}");
        assert_eq!(told.alarms(), [Alarm::Orphaned("mission".into())], "{reading:?}");
        assert!(is_orphaned(&node), "{reading:?}");
    }
}

#[test]
fn a_reading_that_is_too_old_is_not_safe() {
    let mut node = node_that_asks_whether_it_has_landed();
    node.after(Span(HALF_AN_HOUR.0 - 10_001));
    node.reads("landed", Reading::Safe);
    assert_eq!(node.after(Span(10_001)).alarms(), [Alarm::Orphaned("mission".into())]);
}

#[test]
fn a_reading_does_not_survive_a_crash() {
    let mut node = node_that_asks_whether_it_has_landed();
    node.after(Span(HALF_AN_HOUR.0 - 1));
    node.reads("landed", Reading::Safe);
    node.crashes();
    assert_eq!(node.after(Span(1)).alarms(), [Alarm::Orphaned("mission".into())]);
}

#[test]
fn an_orphaned_hold_that_may_end_by_itself_ends_when_it_becomes_safe() {
    let mut node = node_that_asks_whether_it_has_landed();
    node.after(HALF_AN_HOUR);
    assert_eq!(node.reads("landed", Reading::Unsafe).admitted(), NOTHING);
    let told = node.reads("landed", Reading::Safe);
    assert_eq!((told.admitted(), told.alarms()), (vec![update(&cam())], vec![]));
}

#[test]
fn an_orphaned_hold_that_must_stay_stays_however_safe_it_is() {
    let config = Config { signals: vec!["landed".into()], ..Config::default() };
    let mut node = Node::with(config).also_running([&pod("robot", "cam")]);
    node.asks(&pilot(), hold_for(HALF_AN_HOUR, OnExpiry::Stay, "mission"));
    node.sees(&cam());
    node.after(HALF_AN_HOUR);
    assert_eq!(node.reads("landed", Reading::Safe).admitted(), NOTHING);
}

#[test]
fn a_hold_that_is_renewed_in_time_goes_on() {
    let mut node = Node::new();
    node.asks(&pilot(), hold_for(HALF_AN_HOUR, OnExpiry::ThawIfSafe, "mission"));
    node.after(Span::from_mins(29));
    assert_eq!(node.asks(&pilot(), renew("mission")).answer(), Answer::Renewed);
    assert_eq!(node.after(Span::from_mins(29)).0, []);
    assert!(node.hold("mission").is_some());
}

#[test]
fn a_renewal_may_change_the_length() {
    let mut node = Node::new();
    node.asks(&pilot(), hold_for(HALF_AN_HOUR, OnExpiry::Stay, "mission"));
    node.asks(&pilot(), Ask::Renew { id: "mission".into(), length: Some(A_MINUTE) });
    assert_eq!(node.after(A_MINUTE).alarms(), [Alarm::Orphaned("mission".into())]);
}

#[test]
fn a_holder_that_comes_back_takes_its_orphaned_hold_up_again() {
    let mut node = Node::new();
    node.asks(&pilot(), hold_for(HALF_AN_HOUR, OnExpiry::Stay, "mission"));
    node.after(HALF_AN_HOUR);
    assert_eq!(node.asks(&pilot(), renew("mission")).answer(), Answer::Renewed);
    assert!(!is_orphaned(&node));
    assert_eq!(node.after(HALF_AN_HOUR).alarms(), [Alarm::Orphaned("mission".into())]);
}

#[test]
fn nobody_renews_the_hold_of_another() {
    let mut node = Node::new();
    node.asks(&pilot(), hold_for(HALF_AN_HOUR, OnExpiry::Stay, "mission"));
    let taken = Answer::Refused(Refusal::NameTaken { by: pilot() });
    assert_eq!(node.asks(&local("gripper"), renew("mission")).answer(), taken);
    assert_eq!(node.after(HALF_AN_HOUR).alarms(), [Alarm::Orphaned("mission".into())]);
}

#[test]
fn a_lease_of_no_length_is_refused_and_leaves_nothing_behind() {
    let mut node = Node::new();
    let empty = Answer::Refused(Refusal::EmptyLease);
    assert_eq!(node.asks(&pilot(), hold_for(Span::ZERO, OnExpiry::Stay, "mission")).answer(), empty);
    assert_eq!(node.asks(&pilot(), freeze_for(Span::ZERO, OnExpiry::Stay, "takeoff")).answer(), empty);
    node.asks(&pilot(), hold_for(HALF_AN_HOUR, OnExpiry::Stay, "other"));
    let to_nothing = Ask::Renew { id: "other".into(), length: Some(Span::ZERO) };
    assert_eq!(node.asks(&pilot(), to_nothing).answer(), empty);
    assert_eq!(node.gate.holds().keys().cloned().collect::<Vec<_>>(), ids(["other"]));
}

/// A renewal with a length was answered "renewed" for a hold that has no lease, and gave it none: the holder believed
/// in an end that did not exist. It is refused.
#[test]
fn a_hold_without_end_is_not_given_one_by_a_renewal() {
    let mut node = Node::new();
    node.asks(&pilot(), hold("mission", Scope::Node));
    let limited = Ask::Renew { id: "mission".into(), length: Some(A_MINUTE) };
    assert_eq!(node.asks(&pilot(), limited).answer(), Answer::Refused(Refusal::EmptyLease));
    assert_eq!(node.asks(&pilot(), renew("mission")).answer(), Answer::Renewed);
    assert_eq!(node.hold("mission").unwrap().lease, None);
}

#[test]
fn a_hold_without_a_lease_never_ends_by_itself() {
    let mut node = Node::running([&pod("robot", "cam")]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.sees(&cam());
    assert_eq!(node.gate.wake_after(), None);
    assert_eq!(node.after(Span::from_mins(60 * 24 * 365)).0, []);
    assert_eq!(node.holds_back(), [(cam().key, HeldBy::Holder)]);
}

#[test]
fn a_jump_of_the_wall_clock_ends_no_lease_and_starts_none_anew() {
    for jump in [A_YEAR, -A_YEAR] {
        let mut node = Node::running([&pod("robot", "cam")]);
        node.asks(&pilot(), hold_for(HALF_AN_HOUR, OnExpiry::ThawIfSafe, "mission"));
        node.sees(&cam());
        node.jumps(jump);
        assert_eq!(node.ticks().0, []);
        assert_eq!(node.after(Span(HALF_AN_HOUR.0 - 1)).0, []);
        assert_eq!(node.after(Span(1)).admitted(), [update(&cam())]);
    }
}

#[test]
fn time_without_power_counts_when_the_clock_can_be_trusted() {
    let mut node = Node::new();
    node.asks(&pilot(), hold_for(HALF_AN_HOUR, OnExpiry::Stay, "mission"));
    node.is_off_for(HALF_AN_HOUR);
    assert_eq!(node.ticks().alarms(), [Alarm::Orphaned("mission".into())]);
}

#[test]
fn time_without_power_does_not_count_when_the_clock_was_or_is_in_doubt() {
    for (before, afterwards) in [(true, false), (false, true), (false, false)] {
        let mut node = Node::new();
        node.trusts_its_clock(before);
        node.asks(&pilot(), hold_for(HALF_AN_HOUR, OnExpiry::ThawIfSafe, "mission"));
        node.trusts_its_clock(afterwards);
        node.is_off_for(Span::from_mins(60 * 24));
        assert_eq!(node.ticks().0, []);
        node.trusts_its_clock(true);
        assert_eq!(node.after(Span(HALF_AN_HOUR.0 - 1)).0, []);
        assert!(node.hold("mission").is_some(), "{before} {afterwards}");
        node.after(Span(1));
        assert_eq!(node.hold("mission"), None, "{before} {afterwards}");
    }
}
