//! Static pods: they come from manifests on this machine, which are never stale, and are named by the hash of their
//! file.

use crate::event::{Answer, Ask, Event};
use crate::freeze::Mode;
use crate::grant::GrantEnd;
use crate::hold::Scope;
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

/// A manifest is swapped in one go: all its versions have one uid, and a swap is an update.
fn nginx(revision: &str) -> Object {
    static_pod("edge", "nginx").revision(revision)
}

/// The door was told `instead_of`, and this is in place.
fn found(instead_of: Option<&str>, object: &Object, why: &str) -> Event {
    let (key, version) = (object.key.clone(), Box::new(object.version.clone()));
    Event::Found { key, instead_of: instead_of.map(Into::into), version, why: why.into() }
}

#[test]
fn a_manifest_that_was_put_there_by_somebody_else_counts_as_applied_also_on_a_frozen_node() {
    let mut node = Node::running([&nginx("a")]);
    node.asks(&pilot(), freeze("takeoff"));
    let told = node.step(found(Some("a"), &nginx("b"), "somebody has changed it"));
    assert_eq!((told.admitted(), node.holds_back()), (vec![], vec![]));
    assert_eq!(node.log().last().copied(), Some("static pod edge/nginx is found at revision b"));
    node.ready(&nginx("b"));
    assert_eq!(node.step(found(Some("b"), &nginx("b"), "again")).0, []);
}

#[test]
fn what_failed_is_not_wanted_any_more_and_what_is_newer_still_is() {
    let mut node = Node::running([&nginx("a")]);
    assert_eq!(node.sees(&nginx("b")).admitted(), [update(&nginx("b"))]);
    assert_eq!(node.step(found(Some("b"), &nginx("a"), "b crashes")).admitted(), NOTHING);
    assert_eq!(node.ready(&nginx("a")).admitted(), NOTHING);
    assert_eq!(node.holds_back(), []);
    // The door speaks of something that is no longer so.
    assert_eq!(node.step(found(Some("b"), &nginx("x"), "late")).0, []);
    // The same again is a new try.
    assert_eq!(node.sees(&nginx("b")).admitted(), [update(&nginx("b"))]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.sees(&nginx("c"));
    assert_eq!(node.step(found(Some("b"), &nginx("a"), "b crashes")).admitted(), NOTHING);
    node.ready(&nginx("a"));
    assert_eq!(node.asks(&pilot(), Ask::Drop { id: "mission".into() }).admitted(), [update(&nginx("c"))]);
}

/// A newer manifest may be admitted while the door finds out that the older one is no good.
#[test]
fn what_was_admitted_meanwhile_is_not_what_failed() {
    let mut node = Node::running([&nginx("a")]);
    node.sees(&nginx("b"));
    node.sees(&nginx("c"));
    assert_eq!(node.step(found(Some("b"), &nginx("a"), "b crashes")).0, []);
    node.ready(&nginx("c"));
    assert_eq!(node.step(found(Some("c"), &nginx("a"), "c crashes")).admitted(), NOTHING);
    assert_eq!(node.runs(), ["nginx"]);
}

/// A freeze that waits for a swap must not keep the door from going back.
#[test]
fn a_swap_that_went_back_lets_the_freeze_that_waits_for_it_pass() {
    let mut node = Node::running([&nginx("a")]);
    node.sees(&nginx("b"));
    node.asks(&pilot(), freeze_within(A_MINUTE, "takeoff"));
    assert_eq!(node.mode(), Mode::Freezing);
    node.step(found(Some("b"), &nginx("a"), "b crashes"));
    node.ready(&nginx("a"));
    assert_eq!((node.mode(), node.holds_back()), (Mode::Frozen, vec![]));
}

#[test]
fn a_staged_manifest_waits_for_its_release_and_arms_nothing_else() {
    let mut node = Node::running([&nginx("a")]);
    assert_eq!(node.sees(&nginx("b").annotated()).admitted(), NOTHING);
    assert_eq!(node.holds_back(), [(nginx("b").key, HeldBy::Annotation)]);
    // A newer one that the cluster brings is not held because the older one was.
    assert_eq!(node.sees(&nginx("c")).admitted(), [update(&nginx("c"))]);
    node.ready(&nginx("c"));
    node.sees(&nginx("d").annotated());
    let told = node.asks(&pilot(), release_pod(&nginx("d")));
    assert_eq!(told.admitted(), [update(&nginx("d"))]);
    assert_eq!(node.ready(&nginx("d")).closed(), [(nginx("d").workload(), GrantEnd::Settled)]);
    // In place it is a manifest like any other.
    node.sees(&nginx("d"));
    assert_eq!(node.sees(&nginx("e")).admitted(), [update(&nginx("e"))]);
}

#[test]
fn a_released_manifest_that_failed_closes_its_release() {
    let mut node = Node::running([&nginx("a")]);
    node.sees(&nginx("b").annotated());
    node.asks(&pilot(), release_pod(&nginx("b")));
    node.step(found(Some("b"), &nginx("a"), "b crashes"));
    assert_eq!(node.ready(&nginx("a")).closed(), [(nginx("a").workload(), GrantEnd::Settled)]);
}

#[test]
fn a_manifest_that_is_found_first_does_not_keep_a_kubelets_pods_from_being_adopted() {
    let mut node = Node::new();
    node.step(found(None, &nginx("a"), "it was there"));
    let told = node.step(Event::Adopted(vec![(cam().key, cam().version)]));
    assert_eq!(told.admitted(), NOTHING);
    assert_eq!(node.sees(&cam()).admitted(), NOTHING);
    assert_eq!(node.runs(), ["cam", "nginx"]);
}
