//! A release that overrides: for one workload, for its own length, and every hold that it opens is named.

use crate::event::{Alarm, Answer, Refusal};
use crate::grant::GrantEnd;
use crate::hold::Scope;
use crate::object::HeldBy;
use crate::time::{Age, Span};

use super::node::Node;
use super::words::*;

const FIVE_SECONDS: Span = Span::from_secs(5);

fn cam() -> Object {
    pod("robot", "cam").annotated()
}

/// A node of two pods that its pilot holds, of which one is to be replaced, until the admin overrides that for five
/// seconds.
fn overridden_node() -> Node {
    let mut node = Node::running([&web("a", 1), &web("a", 2)]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.sees_all([&web("b", 1), &web("a", 1).deleting()]);
    let told = node.asks_overriding(&admin(), because("recall", FIVE_SECONDS), release_pod(&web("a", 1)));
    assert_eq!(told.admitted(), [stop(&web("a", 1))]);
    node
}

/// The length of the override was asked for and then not used: a release that was to override for five seconds stayed
/// open for the ten minutes that every release has.
#[test]
fn a_release_that_overrides_for_five_seconds_is_over_after_five_seconds() {
    let mut node = overridden_node();
    assert_eq!(node.ended(&web("a", 1)).admitted(), [start(&web("b", 1))]);
    node.ready(&web("b", 1));
    assert_eq!(node.after(Span(FIVE_SECONDS.0 - 1)).0, []);
    let told = node.after(Span(1));
    assert_eq!(told.alarms(), [Alarm::ReleaseExpired(web("a", 1).workload())]);
    assert_eq!(told.closed(), [(web("a", 1).workload(), GrantEnd::Expired)]);
    assert_eq!(node.sees_all([&web("b", 2), &web("a", 2).deleting()]).admitted(), NOTHING);
    assert_eq!(node.runs(), ["web-a-2", "web-b-1"]);
}

#[test]
fn a_start_that_comes_after_the_override_is_held_by_the_holder_again() {
    let mut node = overridden_node();
    node.after(Span::from_mins(5));
    assert_eq!(node.ended(&web("a", 1)).admitted(), NOTHING);
    assert_eq!(node.holds_back(), [(web("b", 1).key, HeldBy::Holder)]);
    assert_eq!(node.asks(&pilot(), let_go("mission")).admitted(), [start(&web("b", 1))]);
}

#[test]
fn an_override_does_not_last_longer_than_any_release() {
    let mut node = Node::running([&cam()]);
    node.sees(&cam().revision("b"));
    node.asks_overriding(&admin(), because("recall", Span::from_mins(60 * 24)), release_pod(&cam()));
    assert_eq!(node.gate.grants()[&cam().workload()].closes, Age(Span::from_mins(10).0));
}

#[test]
fn a_release_that_overrides_alarms_for_every_hold_that_it_opens() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.asks(&local("gripper"), hold("grip", Scope::Namespace("robot".into())));
    node.asks(&local("till"), hold("sale", Scope::Namespace("shop".into())));
    node.sees(&cam().revision("b"));
    let before = node.audit.len();
    let told = node.asks_overriding(&admin(), because("recall", A_MINUTE), release_pod(&cam()));
    assert_eq!(told.alarms(), ["grip", "mission"].map(|id| Alarm::Overridden(id.into())));
    let lines = [
        "pod robot/cam released",
        "hold grip overridden for the release of pod robot/cam",
        "hold mission overridden for the release of pod robot/cam",
    ];
    assert_eq!(node.log()[before..], lines);
    for line in &node.audit[before..] {
        assert_eq!((&line.by, line.why.as_deref()), (&Some(admin()), Some("recall")));
    }
}

#[test]
fn a_release_that_has_nothing_to_override_alarms_nobody() {
    let mut node = Node::running([&cam()]);
    node.sees(&cam().revision("b"));
    let told = node.asks_overriding(&admin(), because("recall", A_MINUTE), release_pod(&cam()));
    assert_eq!((told.alarms(), told.admitted()), (vec![], vec![update(&cam().revision("b"))]));
}

#[test]
fn a_hold_that_was_opened_for_one_workload_stands_for_all_others() {
    let nav = pod("robot", "nav");
    let mut node = Node::running([&cam(), &nav]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.sees_all([&cam().revision("b"), &nav.clone().revision("b")]);
    let told = node.asks_overriding(&admin(), because("recall", A_MINUTE), release_pod(&cam()));
    assert_eq!(told.admitted(), [update(&cam().revision("b"))]);
    assert_eq!(node.holds_back(), [(nav.key, HeldBy::Holder)]);
    assert!(node.hold("mission").unwrap().in_force());
}

#[test]
fn a_release_that_overrides_opens_no_frozen_node() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), freeze("takeoff"));
    node.sees(&cam().revision("b"));
    let told = node.asks_overriding(&admin(), because("recall", A_MINUTE), release_pod(&cam()));
    assert_eq!(told.answer(), Answer::Refused(Refusal::Frozen { by: ids(["takeoff"]) }));
}

#[test]
fn an_override_opens_what_a_plain_release_left_held() {
    let mut node = Node::running([&web("a", 1).annotated(), &web("a", 2).annotated()]);
    node.sees_all([&web("b", 1).annotated(), &web("a", 1).annotated().deleting()]);
    node.asks(&pilot(), release_pod(&web("a", 1)));
    node.asks(&pilot(), hold("mission", Scope::Node));
    assert_eq!(node.ended(&web("a", 1)).admitted(), NOTHING);
    let told = node.asks_overriding(&admin(), because("recall", A_MINUTE), release_pod(&web("b", 1)));
    assert_eq!(
        (told.alarms(), told.admitted()),
        (vec![Alarm::Overridden("mission".into())], vec![start(&web("b", 1))])
    );
}
