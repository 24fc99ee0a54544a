//! The first install of a workload: held like an upgrade, unless its owner lets it pass, and then all of it passes.

use crate::object::HeldBy;

use super::node::Node;
use super::words::*;

fn cam() -> Object {
    pod("robot", "cam").annotated()
}

/// A pod of the Deployment whose owner lets the first install pass.
fn allowed(revision: &str, number: usize) -> Object {
    web(revision, number).annotated().first_install_allowed()
}

#[test]
fn the_first_install_of_an_annotated_pod_is_held() {
    let mut node = Node::new();
    assert_eq!(node.sees(&cam()).admitted(), NOTHING);
    assert_eq!(node.holds_back(), [(cam().key, HeldBy::Annotation)]);
    assert_eq!(node.asks(&pilot(), release_pod(&cam())).admitted(), [start(&cam())]);
}

#[test]
fn the_first_install_passes_where_its_owner_allows_it() {
    let cam = cam().first_install_allowed();
    let mut node = Node::new();
    assert_eq!(node.sees(&cam).admitted(), [start(&cam)]);
}

#[test]
fn what_follows_an_allowed_first_install_is_held_even_after_a_crash() {
    let cam = cam().first_install_allowed();
    let mut node = Node::new();
    node.sees(&cam);
    node.ready(&cam);
    assert_eq!(node.sees(&cam.clone().revision("b")).admitted(), NOTHING);
    node.ended(&cam);
    node.crashes();
    assert_eq!(node.sees(&cam.uid("second").revision("b")).admitted(), NOTHING);
}

/// Only the first pod to be admitted was a first install. Of a Deployment of eight whose owner had allowed it, one pod
/// started and seven were held. All pods of the first revision belong to the first install, whenever they come.
#[test]
fn all_eight_pods_of_an_allowed_first_install_start() {
    let pods: [Object; 8] = std::array::from_fn(|index| allowed("a", index + 1));
    let [first, second, rest @ ..] = pods.each_ref();
    let mut node = Node::new();
    assert_eq!(node.sees(first).admitted(), [start(first)]);
    node.ready(first);
    assert_eq!(node.sees(second).admitted(), [start(second)]);
    node.crashes();
    assert_eq!(node.sees_all(rest).admitted(), rest.map(start));
}

#[test]
fn a_pod_of_the_first_install_that_is_lost_comes_back() {
    let mut node = Node::new();
    node.sees(&allowed("a", 1));
    node.ready(&allowed("a", 1));
    node.ended(&allowed("a", 1));
    assert_eq!(node.sees(&allowed("a", 2)).admitted(), [start(&allowed("a", 2))]);
}

/// Only what the annotation had held and let pass was remembered. A workload that had been running without it was then
/// upgraded to a version that carried the annotation and the permission, and that upgrade passed as a first install.
#[test]
fn the_upgrade_of_something_that_was_not_annotated_is_no_first_install() {
    let mut node = Node::new();
    assert_eq!(node.sees(&web("a", 1)).admitted(), [start(&web("a", 1))]);
    node.ready(&web("a", 1));
    node.sees(&web("a", 1).deleting());
    node.ended(&web("a", 1));
    assert_eq!(node.sees(&allowed("b", 1)).admitted(), NOTHING);
    assert_eq!(node.holds_back(), [(allowed("b", 1).key, HeldBy::Annotation)]);
}

#[test]
fn a_way_back_to_the_first_revision_is_no_first_install() {
    let (first, second) = (allowed("a", 1), allowed("b", 1));
    let mut node = Node::new();
    node.sees(&first);
    node.ready(&first);
    node.sees_all([&second, &first.clone().deleting()]);
    node.asks(&pilot(), release_pod(&first));
    assert_eq!(node.ended(&first).admitted(), [start(&second)]);
    node.ready(&second);
    node.ended(&second);
    node.crashes();
    assert_eq!(node.sees(&allowed("a", 2)).admitted(), NOTHING);
    assert_eq!(node.sees(&allowed("b", 2)).admitted(), NOTHING);
}

#[test]
fn what_was_found_running_is_the_first_install() {
    let mut node = Node::running([&allowed("a", 1)]);
    assert_eq!(node.sees(&allowed("a", 2)).admitted(), [start(&allowed("a", 2))]);
    assert_eq!(node.sees(&allowed("b", 1)).admitted(), NOTHING);
}

#[test]
fn a_first_install_that_is_allowed_is_still_held_by_a_holder() {
    let mut node = Node::new();
    node.asks(&pilot(), hold("mission", this_pod(&allowed("a", 1))));
    assert_eq!(node.sees_all([&allowed("a", 1), &allowed("a", 2)]).admitted(), [start(&allowed("a", 2))]);
    assert_eq!(node.holds_back(), [(allowed("a", 1).key, HeldBy::Holder)]);
}
