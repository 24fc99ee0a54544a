//! Static pods: they come from manifests on this machine, which are never stale, and are named by the hash of their
//! file.

use crate::event::{Answer, Ask};
use crate::grant::GrantEnd;
use crate::object::{HeldBy, Kind};
use crate::time::Span;

use super::node::Node;
use super::words::*;

/// What the manifest of a version says; the uid is the hash of the file.
fn etcd(revision: &str) -> Object {
    static_pod("kube-system", "etcd").uid(&format!("hash-{revision}")).revision(revision)
}

fn cam() -> Object {
    pod("robot", "cam").annotated()
}

/// A node that has been thawed and cannot reach the cluster.
fn offline_node() -> Node {
    let mut node = Node::running([&etcd("a"), &cam()]);
    node.sees(&cam().revision("b"));
    node.asks(&pilot(), freeze("takeoff"));
    assert_eq!(node.asks(&pilot(), Ask::Thaw).answer(), Answer::Thawing);
    node
}

/// After a thaw nothing passed before the cluster had listed everything, not even what the cluster has no part in: a
/// machine that was offline could not upgrade its own static pods.
#[test]
fn a_static_pod_does_not_wait_for_the_list_of_the_cluster() {
    let mut node = offline_node();
    assert_eq!(node.sees(&etcd("b")).admitted(), [stop(&etcd("a"))]);
    assert_eq!(node.ended(&etcd("a")).admitted(), [start(&etcd("b"))]);
    assert_eq!(node.sees(&pod("shop", "till")).admitted(), NOTHING);
}

#[test]
fn a_static_pod_is_held_by_a_freeze_like_any_other() {
    let mut node = Node::running([&etcd("a")]);
    node.asks(&pilot(), freeze("takeoff"));
    assert_eq!(node.sees(&etcd("b")).admitted(), NOTHING);
    assert_eq!(node.holds_back(), [(etcd("b").key, HeldBy::Node)]);
    assert_eq!(node.asks(&pilot(), Ask::Thaw).admitted(), [stop(&etcd("a"))]);
}

/// The uid of a static pod is the hash of its manifest, so the way back to an earlier manifest brings an earlier uid
/// back. It had been buried with its first end, and after a rollback nothing ran.
#[test]
fn going_back_to_an_earlier_manifest_starts_it_again() {
    let mut node = Node::running([&etcd("a")]);
    for (from, to) in [("a", "b"), ("b", "a"), ("a", "b")] {
        assert_eq!(node.sees(&etcd(to)).admitted(), [stop(&etcd(from))]);
        assert_eq!(node.ended(&etcd(from)).admitted(), [start(&etcd(to))]);
        node.ready(&etcd(to));
        node.crashes();
    }
    assert_eq!(node.records.buried.len(), 0);
}

#[test]
fn a_manifest_that_is_taken_away_and_put_back_starts_again() {
    let mut node = Node::running([&etcd("a")]);
    assert_eq!(node.lists_all_of(Kind::StaticPod, []).admitted(), [stop(&etcd("a"))]);
    node.ended(&etcd("a"));
    assert_eq!(node.lists_all_of(Kind::StaticPod, [&etcd("a")]).admitted(), [start(&etcd("a"))]);
}

#[test]
fn a_manifest_that_was_held_and_replaced_may_come_back() {
    let armed = |revision| etcd(revision).annotated();
    let mut node = Node::running([&armed("a")]);
    node.sees(&armed("b"));
    node.sees(&armed("c"));
    assert_eq!(node.sees(&armed("b")).admitted(), NOTHING);
    node.asks(&pilot(), release_pod(&armed("a")));
    assert_eq!(node.ended(&armed("a")).admitted(), [start(&armed("b"))]);
    assert_eq!(node.ready(&armed("b")).closed(), [(armed("a").workload(), GrantEnd::Settled)]);
}

#[test]
fn the_list_of_the_cluster_takes_no_static_pod_away() {
    let mut node = Node::running([&etcd("a"), &pod("shop", "till")]);
    assert_eq!(node.lists([]).admitted(), [stop(&pod("shop", "till"))]);
    assert_eq!(node.runs(), ["till", "hash-a"]);
}

/// A release that was given while the node waited for the cluster counted from when it was given. An hour later the
/// cluster was back, the release had been over for fifty minutes, and nobody had had a chance to use it.
#[test]
fn a_release_given_while_the_cluster_is_out_of_reach_counts_from_its_return() {
    let newer = cam().revision("b");
    let mut node = offline_node();
    let told = node.asks(&pilot(), release_pod(&cam()));
    let answer = Answer::Released { workloads: vec![cam().workload()], held: vec![] };
    assert_eq!((told.answer(), told.admitted()), (answer, vec![]));
    assert_eq!(node.after(Span::from_mins(60)).0, []);
    node.crashes();
    assert_eq!(node.lists([&newer]).admitted(), [update(&newer)]);
    assert_eq!(node.after(Span(Span::from_mins(10).0 - 1)).0, []);
    assert_eq!(node.ready(&newer).closed(), [(cam().workload(), GrantEnd::Settled)]);
}

#[test]
fn a_release_given_while_the_cluster_is_out_of_reach_is_over_ten_minutes_after_its_return() {
    let mut node = offline_node();
    node.asks(&pilot(), release_pod(&cam()));
    node.after(Span::from_mins(60));
    node.lists([&cam().revision("b")]);
    assert_eq!(node.after(Span::from_mins(10)).closed(), [(cam().workload(), GrantEnd::Expired)]);
}

#[test]
fn a_release_given_while_the_cluster_is_out_of_reach_does_not_cover_what_is_newer_than_it() {
    let mut node = offline_node();
    node.asks(&pilot(), release_pod(&cam()));
    node.after(Span::from_mins(60));
    let told = node.lists([&cam().revision("c")]);
    assert_eq!((told.admitted(), told.closed()), (vec![], vec![(cam().workload(), GrantEnd::Settled)]));
}
