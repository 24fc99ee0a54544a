//! Names are reused and uids are not: what was superseded or deleted while it was held never starts.

use crate::event::{Ask, Effect};
use crate::freeze::Mode;
use crate::hold::Scope;
use crate::object::{ChangeKind, Health, Slot};
use crate::text::Uid;

use super::node::Node;
use super::words::*;

fn cam(uid: &str) -> Object {
    pod("robot", "cam").annotated().uid(uid)
}

/// The one pod of a StatefulSet, of the revision that is called like its uid and born in the order of the alphabet.
fn db(uid: &str) -> Object {
    let revision = pod("shop", "db-0").of(&stateful_set("shop", "db", 0)).uid(uid).revision(uid);
    revision.born(i64::from(uid.as_bytes()[0]))
}

#[test]
fn a_superseded_pod_never_starts() {
    let mut node = Node::new();
    node.sees(&cam("one"));
    node.sees(&cam("two"));
    // A stale list, over the watch or complete, shows the one that was there before.
    node.sees(&cam("one"));
    node.lists([&cam("one")]);
    node.crashes();
    node.lists([&cam("one")]);
    assert_eq!(node.asks(&pilot(), release_pod(&cam("one"))).admitted(), [start(&cam("two"))]);
}

#[test]
fn a_held_pod_that_is_deleted_never_starts_and_is_discarded() {
    let mut node = Node::new();
    node.sees(&cam("one"));
    assert_eq!(node.sees(&cam("one").deleting()).discarded(), [Uid::from("one")]);
    assert_eq!(node.gate.slots().len(), 0);
    assert_eq!(node.sees(&cam("one").not_annotated()).admitted(), NOTHING);
}

#[test]
fn a_discard_is_repeated_for_as_long_as_the_pod_is_seen() {
    let mut node = Node::new();
    node.sees(&cam("one"));
    node.sees(&cam("one").deleting());
    node.crashes();
    let again = [Effect::Discard { key: cam("one").key, uid: "one".into() }];
    assert_eq!(node.sees(&cam("one").deleting()).0, again);
    assert_eq!(node.lists([&cam("one").deleting()]).0, again);
}

#[test]
fn a_pod_that_was_never_seen_alive_is_discarded_too() {
    let mut node = Node::new();
    let told = node.sees(&cam("one").not_annotated().deleting());
    assert_eq!((told.discarded(), told.admitted()), (vec![Uid::from("one")], vec![]));
}

#[test]
fn a_held_pod_that_is_gone_never_starts() {
    let mut node = Node::new();
    node.sees(&cam("one"));
    node.loses(&cam("one"));
    assert_eq!(node.gate.slots().len(), 0);
    assert_eq!(node.sees(&cam("one").not_annotated()).admitted(), NOTHING);
}

#[test]
fn a_held_successor_that_is_deleted_leaves_the_end_of_the_running_pod_pending() {
    let mut node = Node::running([&cam("one")]);
    node.sees(&cam("two"));
    assert_eq!(node.sees(&cam("two").deleting()).discarded(), [Uid::from("two")]);
    assert_eq!(node.runs(), ["one"]);
    assert_eq!(node.asks(&pilot(), release_pod(&cam("one"))).admitted(), [stop(&cam("one"))]);
}

#[test]
fn a_pod_that_is_gone_but_held_runs_on_and_stops_with_a_release() {
    let mut node = Node::running([&cam("one")]);
    assert_eq!(node.loses(&cam("one")).admitted(), NOTHING);
    node.crashes();
    assert_eq!(node.lists([]).admitted(), NOTHING);
    assert_eq!(node.runs(), ["one"]);
    assert_eq!(node.asks(&pilot(), release_pod(&cam("one"))).admitted(), [stop(&cam("one"))]);
}

#[test]
fn a_pod_that_is_gone_while_the_node_is_held_stops_when_the_hold_is_dropped() {
    let till = pod("shop", "till");
    let mut node = Node::running([&till]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.loses(&till);
    assert_eq!(node.runs(), ["till"]);
    assert_eq!(node.asks(&pilot(), let_go("mission")).admitted(), [stop(&till)]);
}

#[test]
fn of_a_thousand_pods_under_one_name_only_the_newest_starts() {
    let mut node = Node::new();
    for number in 1..=1000 {
        assert_eq!(node.sees(&cam(&number.to_string())).admitted(), NOTHING);
    }
    let newest = cam("1000");
    assert_eq!(node.asks(&pilot(), release_pod(&newest)).admitted(), [start(&newest)]);
    for number in 1..1000 {
        assert_eq!(node.sees(&cam(&number.to_string())).0, []);
    }
    assert_eq!(node.runs(), ["1000"]);
}

#[test]
fn what_is_remembered_of_the_past_is_bounded() {
    let mut node = Node::new();
    for number in 0..1100 {
        let name = format!("cam-{number}");
        let one = pod("robot", &name).annotated().first_install_allowed();
        node.sees(&one);
        node.ended(&one);
    }
    assert_eq!((node.records.buried.len(), node.records.installed.len()), (1024, 1024));
    assert_eq!((node.records.slots.len(), node.gate.slots().len()), (0, 0));
}

#[test]
fn a_pod_that_has_ended_does_not_come_back_from_a_stale_list() {
    let till = pod("shop", "till");
    let mut node = Node::running([&till]);
    node.ended(&till);
    assert_eq!(node.lists([&till]).admitted(), NOTHING);
    assert_eq!(node.sees(&till.clone().uid("again")).admitted(), [start(&till.uid("again"))]);
}

#[test]
fn late_news_of_a_predecessor_is_not_news_of_its_successor() {
    let (was, next) = (pod("shop", "till"), pod("shop", "till").uid("next"));
    let mut node = Node::running([&was]);
    node.sees(&next);
    node.ended(&was);
    let started: Slot = node.gate.slots()[&next.key].clone();
    node.reports(&was, Health::Ready);
    node.ended(&was);
    node.loses(&was);
    assert_eq!(node.gate.slots()[&next.key], started);
}

#[test]
fn a_pod_that_is_being_recreated_over_and_over_is_started_once_after_a_thaw() {
    let till = |uid: &str| pod("shop", "till").uid(uid);
    let mut node = Node::running([&till("0")]);
    node.asks(&pilot(), freeze("takeoff"));
    for uid in ["1", "2", "3"] {
        node.sees(&till(uid));
    }
    node.asks(&pilot(), Ask::Thaw);
    assert_eq!(node.lists([&till("4")]).admitted(), [stop(&till("0"))]);
    assert_eq!(node.ended(&till("0")).admitted(), [start(&till("4"))]);
    node.ready(&till("4"));
    assert_eq!(node.mode(), Mode::Open);
}

/// The name `db-0` was seen with a newer pod that was already being deleted. That one was discarded, but the one that
/// had been wanted before stayed wanted, although the cluster had long deleted it, and was started after the thaw.
#[test]
fn what_was_wanted_before_a_pod_that_is_seen_dying_never_starts() {
    let [a, b, c] = ["a", "b", "c"].map(db);
    let mut node = Node::running([&a]);
    node.asks(&pilot(), freeze("takeoff"));
    node.sees(&b);
    node.asks(&pilot(), Ask::Thaw);
    let told = node.lists([&c.clone().deleting()]);
    assert_eq!((told.discarded(), told.admitted()), (vec![Uid::from("c")], vec![stop(&a)]));
    assert_eq!(node.ended(&a).admitted(), NOTHING);
    node.crashes();
    assert_eq!(node.lists([&b]).admitted(), NOTHING);
    let d = db("d");
    assert_eq!(node.lists([&d]).admitted(), [start(&d)]);
}

#[test]
fn a_running_pod_ends_when_its_name_is_seen_with_one_that_is_dying() {
    let [a, c] = ["a", "c"].map(db);
    let mut node = Node::running([&a]);
    let told = node.lists([&c.clone().deleting()]);
    assert_eq!((told.discarded(), told.admitted()), (vec![Uid::from("c")], vec![stop(&a)]));

    // The same for one that the annotation holds: its end is pending, and passes with a release.
    let a = a.annotated();
    let mut node = Node::running([&a]);
    assert_eq!(node.lists([&c.clone().deleting()]).admitted(), NOTHING);
    assert_eq!(node.gate.slots()[&a.key].pending(a.key.kind), Some(ChangeKind::Stop));
    node.loses(&c);
    assert_eq!(node.asks(&pilot(), release_pod(&a)).admitted(), [stop(&a)]);
}

#[test]
fn a_late_list_with_an_older_pod_that_is_dying_leaves_the_younger_one_wanted() {
    let [old, young] = ["a", "c"].map(db);
    let mut node = Node::new();
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.sees(&young);
    assert_eq!(node.lists([&old.deleting()]).discarded(), [Uid::from("a")]);
    assert_eq!(node.asks(&pilot(), let_go("mission")).admitted(), [start(&young)]);
}
