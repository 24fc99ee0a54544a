//! The thaw: list everything anew, let only the newest through, and say when it is over.

use crate::event::{Alarm, Answer, Ask, Effect, Reading, Refusal, RequestId};
use crate::freeze::{Mode, Thaw};
use crate::gate::Config;
use crate::hold::OnExpiry;
use crate::object::{Health, HeldBy, Kind};
use crate::time::Span;

use super::node::{Node, node_with_an_update};
use super::words::*;

fn cam() -> Object {
    pod("robot", "cam")
}

fn nav() -> Object {
    pod("robot", "nav")
}

/// A node with two pods that its pilot has frozen.
fn frozen_node() -> Node {
    let mut node = Node::running([&cam(), &nav()]);
    assert!(matches!(node.asks(&pilot(), freeze("takeoff")).answer(), Answer::Frozen { .. }));
    node
}

#[test]
fn a_thaw_asks_for_a_list_and_lets_nothing_pass_before_it() {
    let mut node = frozen_node();
    node.sees(&cam().revision("b"));
    let told = node.asks(&pilot(), Ask::Thaw);
    assert!(told.0.contains(&Effect::Relist));
    assert_eq!((told.answer(), told.admitted(), node.mode()), (Answer::Thawing, vec![], Mode::Thawing));
    assert_eq!(node.sees(&nav().revision("b")).admitted(), NOTHING);
}

#[test]
fn a_thaw_waits_for_a_complete_list_of_all_three_kinds() {
    let mut node = frozen_node();
    let newer = cam().revision("b");
    node.asks(&pilot(), Ask::Thaw);
    assert_eq!(node.lists_all_of(Kind::Pod, [&newer, &nav()]).admitted(), NOTHING);
    assert_eq!(node.lists_all_of(Kind::Secret, []).admitted(), NOTHING);
    assert_eq!(node.lists_all_of(Kind::ConfigMap, []).admitted(), [update(&newer)]);
}

#[test]
fn only_the_newest_of_all_that_was_pushed_is_applied() {
    let mut node = frozen_node();
    for revision in ["b", "c", "d"] {
        node.sees(&cam().revision(revision));
    }
    node.asks(&pilot(), Ask::Thaw);
    assert_eq!(node.lists([&cam().revision("e"), &nav()]).admitted(), [update(&cam().revision("e"))]);
}

#[test]
fn what_was_pushed_and_taken_back_is_never_applied() {
    let mut node = frozen_node();
    node.sees_all([&cam().revision("b"), &pod("shop", "till")]);
    node.asks(&pilot(), Ask::Thaw);
    let told = node.lists([&cam(), &nav()]);
    assert_eq!((told.admitted(), node.mode()), (vec![], Mode::Open));
}

#[test]
fn a_thaw_is_over_when_what_it_let_through_has_settled() {
    let mut node = frozen_node();
    node.asks(&pilot(), Ask::Thaw);
    node.lists([&cam().revision("b"), &nav().revision("b")]);
    assert_eq!(node.ready(&cam().revision("b")).0, []);
    assert_eq!(node.mode(), Mode::Thawing);
    assert_eq!(node.ready(&nav().revision("b")).0, [Effect::ModeIs(Mode::Open)]);
}

#[test]
fn a_pod_that_the_thaw_has_not_touched_does_not_keep_it_open() {
    let mut node = frozen_node();
    node.reports(&nav(), Health::Unready);
    node.asks(&pilot(), Ask::Thaw);
    node.lists([&cam().revision("b"), &nav()]);
    assert_eq!(node.ready(&cam().revision("b")).0, [Effect::ModeIs(Mode::Open)]);
}

#[test]
fn a_thaw_waits_for_the_start_that_follows_an_end() {
    let next = cam().uid("next");
    let mut node = frozen_node();
    node.asks(&pilot(), Ask::Thaw);
    assert_eq!(node.lists([&next, &nav()]).admitted(), [stop(&cam())]);
    node.ended(&cam());
    assert_eq!(node.mode(), Mode::Thawing);
    assert_eq!(node.ready(&next).0, [Effect::ModeIs(Mode::Open)]);
}

#[test]
fn a_thaw_with_nothing_to_catch_up_on_is_over_with_the_list() {
    let mut node = frozen_node();
    node.asks(&pilot(), Ask::Thaw);
    assert_eq!(node.lists([&cam(), &nav()]).0, [Effect::ModeIs(Mode::Open)]);
}

#[test]
fn a_thaw_leaves_what_the_annotation_holds() {
    let cam = cam().annotated();
    let mut node = Node::running([&cam]);
    node.asks(&pilot(), freeze("takeoff"));
    node.sees(&cam.clone().revision("b"));
    assert_eq!(node.holds_back(), [(cam.key.clone(), HeldBy::Node)]);
    node.asks(&pilot(), Ask::Thaw);
    let told = node.lists([&cam.clone().revision("b")]);
    assert_eq!(told.0, [Effect::Held { key: cam.key, by: HeldBy::Annotation }, Effect::ModeIs(Mode::Open)]);
}

#[test]
fn a_thaw_goes_on_after_a_crash() {
    let mut node = frozen_node();
    node.asks(&pilot(), Ask::Thaw);
    node.crashes();
    assert_eq!(node.sees(&cam().revision("b")).admitted(), NOTHING);
    node.lists_all_of(Kind::Pod, [&cam().revision("b"), &nav()]);
    node.crashes();
    assert_eq!(node.lists_all_of(Kind::Secret, []).admitted(), NOTHING);
    assert_eq!(node.lists_all_of(Kind::ConfigMap, []).admitted(), [update(&cam().revision("b"))]);
}

#[test]
fn the_node_thaws_when_the_last_freeze_is_dropped() {
    let mut node = frozen_node();
    node.asks(&local("gripper"), freeze("grip"));
    assert_eq!(node.asks(&pilot(), let_go("takeoff")).answer(), Answer::Dropped { until: None });
    assert_eq!(node.mode(), Mode::Frozen);
    let told = node.asks(&local("gripper"), let_go("grip"));
    assert!(told.0.contains(&Effect::Relist));
    assert_eq!(node.mode(), Mode::Thawing);
}

#[test]
fn a_thaw_ends_every_freeze_of_its_side_and_names_those_of_the_other() {
    let mut node = frozen_node();
    node.asks(&local("gripper"), freeze("grip"));
    node.asks(&admin(), freeze("audit"));
    assert_eq!(node.asks(&pilot(), Ask::Thaw).answer(), Answer::StillFrozen { by: ids(["audit"]) });
    assert_eq!(node.mode(), Mode::Frozen);
    assert_eq!(node.gate.holds().keys().cloned().collect::<Vec<_>>(), ids(["audit"]));
}

#[test]
fn a_node_may_be_frozen_again_while_it_thaws() {
    let mut node = frozen_node();
    node.sees(&cam().revision("b"));
    node.asks(&pilot(), Ask::Thaw);
    assert!(matches!(node.asks(&pilot(), freeze("again")).answer(), Answer::Frozen { .. }));
    assert_eq!(node.lists([&cam().revision("b"), &nav()]).admitted(), NOTHING);
    assert!(node.asks(&pilot(), Ask::Thaw).0.contains(&Effect::Relist));
    assert_eq!(node.lists([&cam().revision("c"), &nav()]).admitted(), [update(&cam().revision("c"))]);
}

#[test]
fn a_freeze_refused_while_the_node_thaws_does_not_shorten_the_thaw() {
    let mut node = frozen_node();
    node.sees(&cam().revision("b"));
    node.asks(&pilot(), Ask::Thaw);
    node.crashes();
    let told = node.asks(&pilot(), freeze("again"));
    assert_eq!((told.admitted(), node.mode()), (vec![], Mode::Thawing));
    assert_eq!(node.gate.thaw, Some(Thaw::Resyncing([Kind::Pod, Kind::ConfigMap, Kind::Secret].into())));
}

#[test]
fn a_freeze_with_a_lease_that_ends_by_itself_thaws_the_node() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), freeze_for(Span::from_mins(30), OnExpiry::ThawIfSafe, "takeoff"));
    let told = node.after(Span::from_mins(30));
    assert_eq!(told.0, [Effect::Relist, Effect::ModeIs(Mode::Thawing)]);
}

#[test]
fn a_freeze_whose_lease_is_up_stays_while_it_is_not_safe() {
    let config = Config { signals: vec!["landed".into()], ..Config::default() };
    let mut node = Node::with(config).also_running([&cam()]);
    node.asks(&pilot(), freeze_for(Span::from_mins(30), OnExpiry::ThawIfSafe, "takeoff"));
    assert_eq!(node.after(Span::from_mins(30)).0, [Effect::Alarm(Alarm::Orphaned("takeoff".into()))]);
    assert_eq!(node.mode(), Mode::Frozen);
    node.reads("landed", Reading::Safe);
    assert_eq!(node.mode(), Mode::Thawing);
}

#[test]
fn a_barrier_that_falls_needs_no_list() {
    let mut node = Node::running([&nav()]);
    node.sees(&cam());
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    node.sees(&nav().revision("b"));
    let told = node.asks(&pilot(), Ask::Thaw);
    assert!(!told.0.contains(&Effect::Relist));
    assert_eq!((told.admitted(), node.mode()), (vec![update(&nav().revision("b"))], Mode::Open));
}

#[test]
fn a_thaw_of_a_node_that_is_not_frozen_changes_nothing() {
    let mut node = Node::running([&nav()]);
    let before = node.gate.clone();
    assert_eq!(node.asks(&pilot(), Ask::Thaw).0, [Effect::Answer(RequestId(1), Answer::Thawing)]);
    assert_eq!(node.gate, before);
}

#[test]
fn a_thaw_of_one_freeze_leaves_the_others_standing() {
    let mut node = node_with_an_update();
    node.asks(&pilot(), freeze("takeoff"));
    node.asks(&pilot(), freeze("survey"));
    let only = |id: &str| Ask::ThawOnly([id.into()].into());
    assert_eq!(node.asks(&pilot(), only("landing")).answer(), Answer::Refused(Refusal::NotFound));
    assert_eq!(node.asks(&pilot(), only("takeoff")).answer(), Answer::StillFrozen { by: ids(["survey"]) });
    assert_eq!(node.asks(&pilot(), only("survey")).answer(), Answer::Thawing);
}
