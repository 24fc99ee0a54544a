//! What a release is bound to, and when it is over: lost pods, finished pods and pods that nobody replaces.

use crate::event::Answer;
use crate::grant::{GrantEnd, Target};
use crate::object::{Health, HeldBy};
use crate::time::Span;
use crate::workload::Workload;

use super::node::Node;
use super::words::*;

fn shop() -> Workload {
    deployment("shop", "web")
}

fn old(number: usize) -> Object {
    web("a", number).annotated()
}

fn new(number: usize) -> Object {
    web("b", number).annotated()
}

/// Another pod of the old revision, younger than all of the new one: its ReplicaSet has replaced one that was lost.
fn recreated(number: usize) -> Object {
    old(number).born(9)
}

fn released(workload: &Workload) -> Answer {
    Answer::Released { workloads: vec![workload.clone()], held: vec![] }
}

/// The youngest pending pod was taken for the newest revision. After an eviction the old ReplicaSet had made one more
/// old pod, younger than the new ones, and the release was bound to the revision that was to be replaced.
#[test]
fn a_lost_pod_that_was_recreated_is_not_what_is_released() {
    let mut node = Node::running([&old(1), &old(2)]);
    node.sees(&new(1));
    node.sees_all([&old(1).deleting(), &recreated(3)]);
    assert_eq!(node.asks(&pilot(), release(&shop())).admitted(), [stop(&old(1))]);
    assert_eq!(node.gate.grants()[&shop()].target, Target::Revision("b".into()));
    assert_eq!(node.ended(&old(1)).admitted(), [start(&new(1))]);
    assert_eq!(node.holds_back(), [(recreated(3).key, HeldBy::Annotation)]);
}

/// The same pod, seen after the release, counted as a newer revision, and the rest of the rollout was held back for it.
#[test]
fn a_lost_pod_that_is_recreated_does_not_stand_in_the_way_of_the_rollout() {
    let mut node = Node::running([&old(1), &old(2)]);
    node.sees_all([&new(1), &old(1).deleting()]);
    node.asks(&pilot(), release(&shop()));
    node.ended(&old(1));
    node.ready(&new(1));
    assert_eq!(node.sees(&recreated(3)).admitted(), NOTHING);
    assert!(!node.gate.grants()[&shop()].superseded);
    assert_eq!(node.sees_all([&new(2), &old(2).deleting()]).admitted(), [stop(&old(2))]);
    assert_eq!(node.ended(&old(2)).admitted(), [start(&new(2))]);
}

#[test]
fn where_nothing_else_is_pending_a_lost_pod_that_was_recreated_is_released() {
    let mut node = Node::running([&old(1), &old(2)]);
    node.ended(&old(1));
    assert_eq!(node.sees(&recreated(3)).admitted(), NOTHING);
    assert_eq!(node.asks(&pilot(), release(&shop())).admitted(), [start(&recreated(3))]);
    assert_eq!(node.ready(&recreated(3)).closed(), [(shop(), GrantEnd::Settled)]);
}

/// An evicted pod stays on the node's books as finished. It counted as an old pod that still runs, so the release
/// stayed open until its deadline, raised an alarm, and stood against every freeze until then.
#[test]
fn an_old_pod_that_has_finished_does_not_keep_a_release_open() {
    let mut node = Node::running([&old(1), &old(2)]);
    node.reports(&old(2), Health::Finished);
    node.sees_all([&new(1), &old(1).deleting()]);
    node.asks(&pilot(), release(&shop()));
    node.ended(&old(1));
    assert_eq!(node.ready(&new(1)).closed(), [(shop(), GrantEnd::Settled)]);
    assert!(matches!(node.asks(&pilot(), freeze("takeoff")).answer(), Answer::Frozen { .. }));
}

#[test]
fn an_old_pod_that_finishes_closes_the_release_it_was_the_last_of() {
    let mut node = Node::running([&old(1), &old(2)]);
    node.sees_all([&new(1), &old(1).deleting()]);
    node.asks(&pilot(), release(&shop()));
    node.ended(&old(1));
    assert_eq!(node.ready(&new(1)).closed(), []);
    assert_eq!(node.reports(&old(2), Health::Finished).closed(), [(shop(), GrantEnd::Settled)]);
}

/// Nobody replaces a bare pod. The release of its deletion waited for a successor all the same, for ten minutes, and
/// ended with an alarm.
#[test]
fn the_end_of_a_bare_pod_is_all_that_its_release_was_for() {
    let cam = pod("robot", "cam").annotated();
    let mut node = Node::running([&cam]);
    node.sees(&cam.clone().deleting());
    assert_eq!(node.asks(&pilot(), release_pod(&cam)).admitted(), [stop(&cam)]);
    assert_eq!(node.ended(&cam).closed(), [(cam.workload(), GrantEnd::Settled)]);
    assert_eq!(node.after(Span::from_mins(20)).alarms(), []);
    assert!(matches!(node.asks(&pilot(), freeze("takeoff")).answer(), Answer::Frozen { .. }));
}

#[test]
fn a_bare_pod_that_is_replaced_under_its_name_settles_with_its_successor() {
    let cam = pod("robot", "cam").annotated();
    let next = cam.clone().uid("next").revision("b").born(2);
    let mut node = Node::running([&cam]);
    node.sees(&next);
    node.asks(&pilot(), release_pod(&cam));
    let told = node.ended(&cam);
    assert_eq!((told.admitted(), told.closed()), (vec![start(&next)], vec![]));
    assert_eq!(node.ready(&next).closed(), [(cam.workload(), GrantEnd::Settled)]);
}

/// Between the end of the old pod and the arrival of the new one the workload has no pod here. A release that was asked
/// for again at that moment, by a script or a second person, was answered that there is no such workload.
#[test]
fn a_release_asked_for_again_between_the_end_and_the_successor_stands() {
    let lidar = daemon_set("robot", "lidar");
    let was = pod("robot", "lidar-1").of(&lidar).annotated();
    let mut node = Node::running([&was]);
    node.sees(&was.clone().deleting());
    node.asks(&pilot(), release(&lidar));
    node.ended(&was);
    node.loses(&was);
    let open = node.gate.grants().clone();
    let over = because("hurry", A_MINUTE);
    assert_eq!(node.asks(&pilot(), release(&lidar)).answer(), released(&lidar));
    assert_eq!(node.asks_overriding(&admin(), over, release(&lidar)).answer(), released(&lidar));
    assert_eq!(node.gate.grants(), &open);
}

/// A relist after an hour offline showed the deletion of an old pod and a still newer revision together. The deletion
/// was decided first, under a release that did not yet know of the newer one, and the old pod was given up for a
/// successor that was held.
#[test]
fn no_old_pod_is_given_up_for_a_newer_revision_that_comes_in_the_same_list() {
    let newest = web("c", 1).annotated();
    let mut node = Node::running([&old(1), &old(2)]);
    node.sees_all([&new(1), &old(1).deleting()]);
    node.asks(&pilot(), release(&shop()));
    node.ended(&old(1));
    node.ready(&new(1));
    let told = node.lists([&old(2).deleting(), &new(1), &newest]);
    assert_eq!(told.admitted(), NOTHING);
    assert_eq!(node.runs(), ["web-a-2", "web-b-1"]);
    assert!(node.gate.grants()[&shop()].superseded);
}

#[test]
fn a_release_of_a_stateful_set_releases_all_its_ordinals() {
    let [zero, one] = [0, 1].map(|ordinal| {
        pod("shop", &format!("db-{ordinal}")).of(&stateful_set("shop", "db", ordinal)).annotated()
    });
    let mut node = Node::running([&zero, &one]);
    node.sees_all([&zero.clone().deleting(), &one.clone().revision("b")]);
    let told = node.asks(&pilot(), release(&all_of(&zero.workload())));
    let workloads = vec![zero.workload(), one.workload()];
    assert_eq!(told.answer(), Answer::Released { workloads, held: vec![] });
    assert_eq!(told.admitted(), [stop(&zero), update(&one.revision("b"))]);
}

#[test]
fn a_release_of_a_stateful_set_says_which_ordinal_stays_held() {
    let [zero, one] = [0, 1].map(|ordinal| {
        pod("shop", &format!("db-{ordinal}")).of(&stateful_set("shop", "db", ordinal)).annotated()
    });
    let mut node = Node::running([&zero, &one]);
    node.asks(&pilot(), hold("mission", this_pod(&zero)));
    node.sees_all([&zero.clone().revision("b"), &one.clone().revision("b")]);
    let told = node.asks(&pilot(), release(&all_of(&zero.workload())));
    let held = vec![(zero.workload(), ids(["mission"]))];
    assert_eq!(told.answer(), Answer::Released { workloads: vec![one.workload()], held });
    assert_eq!(told.admitted(), [update(&one.revision("b"))]);
}

#[test]
fn a_release_of_a_whole_set_covers_the_ordinals_whose_turn_comes_later_on_the_same_revision() {
    let ordinal = |number: u32, revision: &str| {
        let set = stateful_set("shop", "db", number);
        let pod = pod("shop", &format!("db-{number}")).of(&set).annotated();
        pod.revision(revision).uid(&format!("{number}-{revision}"))
    };
    let mut node = Node::running([&ordinal(0, "a"), &ordinal(1, "a")]);
    node.sees(&ordinal(1, "a").deleting());
    let whole = release(&all_of(&stateful_set("shop", "db", 0)));
    assert_eq!(node.asks(&pilot(), whole).admitted(), [stop(&ordinal(1, "a"))]);
    node.ended(&ordinal(1, "a"));
    assert_eq!(node.sees(&ordinal(1, "b")).admitted(), [start(&ordinal(1, "b"))]);
    node.ready(&ordinal(1, "b"));
    assert_eq!(node.sees(&ordinal(0, "a").deleting()).admitted(), [stop(&ordinal(0, "a"))]);
    node.ended(&ordinal(0, "a"));
    assert_eq!(node.sees(&ordinal(0, "c").born(9)).admitted(), NOTHING, "a still newer revision is held");
    assert_eq!(node.sees(&ordinal(0, "b").born(1)).admitted(), [start(&ordinal(0, "b"))]);
    let closed = node.ready(&ordinal(0, "b")).closed();
    assert_eq!(closed, [(stateful_set("shop", "db", 0), GrantEnd::Settled)]);
}
