//! What the gate says when it is asked why: the data, and the one sentence that everybody reads.

use crate::event::{Alarm, Ask};
use crate::explain::{Ending, Explanation, HeldByHolder, ReleaseWould, Why};
use crate::freeze::{BlockerReason, Subject};
use crate::gate::Cause;
use crate::hold::{OnExpiry, Scope};
use crate::object::ChangeKind;
use crate::time::{Age, Span, Stamp};

use super::node::{MORNING, Node};
use super::words::*;

/// What every sentence here has in the middle: each change is asked about twelve minutes after it came.
const HELD: &str = "has been held for 12m (since 2026-11-15T08:00:00Z) because";

fn cam() -> Object {
    pod("robot", "cam")
}

/// What is said of an object after twelve minutes.
fn later(node: &mut Node, object: &Object) -> String {
    node.after(Span::from_mins(12));
    node.ticks();
    node.why(object)
}

#[test]
fn what_is_unknown_settled_or_in_flight_is_said_in_a_word() {
    let mut node = Node::new();
    assert_eq!(node.why(&cam()), "nothing of that name is known on this node");
    node.sees(&cam());
    assert_eq!(node.why(&cam()), "nothing is held; pod robot/cam is starting");
    node.ready(&cam());
    assert_eq!(node.why(&cam()), "what runs is what is wanted");
}

#[test]
fn an_end_that_was_let_through_is_not_held_but_under_way() {
    let mut node = Node::running([&cam()]);
    node.sees(&cam().uid("next"));
    let ending = blocker(BlockerReason::ReplacementPending, Subject::Object(cam().key), "is ending");
    assert_eq!(node.gate.explain(&cam().key), Why::Unsettled(ending));
    assert_eq!(node.why(&cam()), "nothing is held; pod robot/cam is ending");
}

#[test]
fn an_annotated_update_says_so() {
    let mut node = Node::running([&cam().annotated()]);
    node.sees(&cam().annotated().revision("b"));
    let sentence = format!(
        "the update of pod robot/cam to revision b {HELD} pod robot/cam is annotated to hold its upgrades; it passes \
         when pod robot/cam is released; a release of pod robot/cam lets this one change through"
    );
    assert_eq!(later(&mut node, &cam()), sentence);
}

#[test]
fn the_whole_explanation_is_data() {
    let cam = cam().annotated();
    let mut node = Node::running([&cam]);
    node.sees(&cam.clone().revision("b"));
    later(&mut node, &cam);
    let expected = Explanation {
        key: cam.key.clone(),
        change: ChangeKind::Update,
        replaced: false,
        from: Some("a".into()),
        to: Some("b".into()),
        since: Stamp { age: Age(0), at: MORNING },
        for_long: Span::from_mins(12),
        causes: vec![Cause::Annotated(cam.workload())],
        holders: vec![],
        release: ReleaseWould::Open { workloads: vec![cam.workload()], changes: 1 },
        endings: vec![Ending::Release(cam.workload())],
    };
    assert_eq!(node.explains(&cam), expected);
}

#[test]
fn an_annotated_start_says_so() {
    let mut node = Node::new();
    node.sees(&cam().annotated());
    let sentence = format!(
        "the start of pod robot/cam at revision a {HELD} pod robot/cam is annotated to hold its upgrades; it passes \
         when pod robot/cam is released; a release of pod robot/cam lets this one change through"
    );
    assert_eq!(later(&mut node, &cam()), sentence);
}

#[test]
fn an_annotated_end_says_so() {
    let mut node = Node::running([&cam().annotated()]);
    node.loses(&cam());
    let sentence = format!(
        "the end of pod robot/cam {HELD} pod robot/cam is annotated to hold its upgrades; it passes when pod robot/cam \
         is released; a release of pod robot/cam lets this one change through"
    );
    assert_eq!(later(&mut node, &cam()), sentence);
}

#[test]
fn an_annotated_replacement_says_by_what() {
    let was = pod("shop", "db-0").of(&stateful_set("shop", "db", 0)).annotated();
    let mut node = Node::running([&was]);
    node.sees(&was.clone().uid("next").revision("b"));
    let sentence = format!(
        "the replacement of pod shop/db-0 by revision b {HELD} statefulset shop/db #0 is annotated to hold its \
         upgrades; it passes when statefulset shop/db #0 is released; a release of statefulset shop/db #0 lets this \
         one change through"
    );
    assert_eq!(later(&mut node, &was), sentence);
}

#[test]
fn configuration_says_whose_annotation_holds_it() {
    let settings = config_map("robot", "settings");
    let cam = cam().using([&settings]).annotated();
    let mut node = Node::running([&settings, &cam]);
    node.sees_all([&settings.clone().revision("b"), &cam.revision("b").using([&settings])]);
    let sentence = format!(
        "the update of configmap robot/settings {HELD} pod robot/cam is annotated to hold its upgrades; \
         it passes when pod robot/cam is released; a release of pod robot/cam lets 2 changes through"
    );
    assert_eq!(later(&mut node, &settings), sentence);
}

#[test]
fn a_holder_is_named_with_its_reason() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.sees(&cam().revision("b"));
    let sentence = format!(
        "the update of pod robot/cam to revision b {HELD} it is held by flight-control (mission): \"a mission is \
         flown\"; it passes when hold mission is dropped; a release would be refused until then"
    );
    assert_eq!(later(&mut node, &cam()), sentence);
    let explanation = node.explains(&cam());
    let hold = node.hold("mission").unwrap().clone();
    assert_eq!(explanation.holders, [HeldByHolder { id: "mission".into(), hold }]);
    assert_eq!(explanation.causes, [Cause::Held("mission".into())]);
    assert_eq!(explanation.endings, [Ending::HolderDrops("mission".into(), None)]);
    assert_eq!(explanation.release, ReleaseWould::BeRefused);
}

#[test]
fn a_hold_that_may_end_by_itself_says_so() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), hold_for(Span::from_mins(30), OnExpiry::ThawIfSafe, "mission"));
    node.sees(&cam().revision("b"));
    let sentence = format!(
        "the update of pod robot/cam to revision b {HELD} it is held by flight-control (mission): \"a mission is \
         flown\"; it passes when hold mission is dropped (by itself once the lease is up and it is safe); a release \
         would be refused until then"
    );
    assert_eq!(later(&mut node, &cam()), sentence);
    let ends = Age(Span::from_mins(30).0);
    assert_eq!(node.explains(&cam()).endings, [Ending::HolderDrops("mission".into(), Some(ends))]);
}

#[test]
fn an_orphaned_hold_says_so() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), hold_for(A_MINUTE, OnExpiry::Stay, "mission"));
    node.sees(&cam().revision("b"));
    assert_eq!(node.after(A_MINUTE).alarms(), [Alarm::Orphaned("mission".into())]);
    node.after(Span::from_mins(11));
    node.ticks();
    let sentence = format!(
        "the update of pod robot/cam to revision b {HELD} it is held by flight-control (mission), orphaned: \"a \
         mission is flown\"; it passes when hold mission is dropped; a release would be refused until then"
    );
    assert_eq!(node.why(&cam()), sentence);
}

#[test]
fn a_frozen_node_names_every_freeze() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), freeze("takeoff"));
    node.asks(&admin(), freeze_for(Span::from_mins(30), OnExpiry::ThawIfSafe, "audit"));
    node.sees(&cam().revision("b"));
    let sentence = format!(
        "the update of pod robot/cam to revision b {HELD} the node is kept frozen by admin (audit): \"takeoff\", \
         flight-control (takeoff): \"takeoff\"; it passes when the node is thawed; a release would be refused until \
         then"
    );
    assert_eq!(later(&mut node, &cam()), sentence);
    assert_eq!(node.explains(&cam()).endings, [Ending::Thaw(None)]);
    let named: Vec<_> = node.explains(&cam()).holders.into_iter().map(|holder| holder.id).collect();
    assert_eq!(named, ids(["audit", "takeoff"]));
}

#[test]
fn a_freeze_that_may_end_by_itself_says_so() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), freeze_for(Span::from_mins(30), OnExpiry::ThawIfSafe, "takeoff"));
    node.sees(&cam().revision("b"));
    let sentence = format!(
        "the update of pod robot/cam to revision b {HELD} the node is kept frozen by flight-control (takeoff): \
         \"takeoff\"; it passes when the node is thawed (by itself once the lease is up and it is safe); a release \
         would be refused until then"
    );
    assert_eq!(later(&mut node, &cam()), sentence);
    assert_eq!(node.explains(&cam()).endings, [Ending::Thaw(Some(Age(Span::from_mins(30).0)))]);
}

#[test]
fn a_freezing_node_says_so() {
    let mut node = Node::running([&cam()]);
    node.sees(&pod("robot", "nav"));
    node.asks(&pilot(), freeze_within(Span::from_mins(30), "takeoff"));
    node.sees(&cam().revision("b"));
    let sentence = format!(
        "the update of pod robot/cam to revision b {HELD} the node is being frozen by flight-control (takeoff): \
         \"takeoff\"; it passes when the freeze is over; a release would be refused until then"
    );
    assert_eq!(later(&mut node, &cam()), sentence);
    assert_eq!(node.explains(&cam()).endings, [Ending::BarrierFalls]);
}

#[test]
fn a_node_that_has_thawed_waits_for_a_list() {
    let mut node = Node::running([&cam()]);
    node.asks(&pilot(), freeze("takeoff"));
    node.sees(&cam().revision("b"));
    node.asks(&pilot(), Ask::Thaw);
    let sentence = format!(
        "the update of pod robot/cam to revision b {HELD} the node has thawed and waits for a complete list from the \
         cluster; it passes when the cluster has listed everything"
    );
    assert_eq!(later(&mut node, &cam()), sentence);
    assert_eq!(node.explains(&cam()).release, ReleaseWould::ChangeNothing);
}

#[test]
fn a_start_that_waits_for_an_end_says_so() {
    let mut node = Node::running([&web("a", 1)]);
    node.sees_all([&web("a", 1).deleting(), &web("b", 1)]);
    let sentence = format!(
        "the start of pod shop/web-b-1 at revision b {HELD} what has to end first has not ended yet; it passes when \
         that has ended"
    );
    assert_eq!(later(&mut node, &web("b", 1)), sentence);
    assert_eq!(node.explains(&web("b", 1)).endings, [Ending::PredecessorEnds]);
}

#[test]
fn every_cause_is_named_the_decisive_one_first() {
    let mut node = Node::running([&cam().annotated()]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.asks(&local("gripper"), hold("grip", Scope::Namespace("robot".into())));
    node.asks(&pilot(), freeze("takeoff"));
    node.sees(&cam().annotated().revision("b"));
    let sentence = format!(
        "the update of pod robot/cam to revision b {HELD} the node is kept frozen by flight-control (takeoff): \
         \"takeoff\", it is held by gripper (grip): \"a mission is flown\", it is held by flight-control (mission): \
         \"a mission is flown\" and pod robot/cam is annotated to hold its upgrades; it passes when the node is \
         thawed, hold grip is dropped, hold mission is dropped and pod robot/cam is released; a release would be \
         refused until then"
    );
    assert_eq!(later(&mut node, &cam()), sentence);
}

#[test]
fn how_long_a_change_is_held_is_not_read_from_the_wall_clock() {
    let mut node = Node::running([&cam().annotated()]);
    node.sees(&cam().annotated().revision("b"));
    node.jumps(86_400_000);
    later(&mut node, &cam());
    let explanation = node.explains(&cam());
    assert_eq!((explanation.for_long, explanation.since.at), (Span::from_mins(12), MORNING));
}

#[test]
fn a_change_is_held_since_it_came_whatever_holds_it_now() {
    let mut node = Node::running([&cam().annotated()]);
    node.sees(&cam().annotated().revision("b"));
    node.after(A_MINUTE);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.after(A_MINUTE);
    node.asks(&pilot(), let_go("mission"));
    assert_eq!(node.explains(&cam()).since, Stamp { age: Age(0), at: MORNING });
}
