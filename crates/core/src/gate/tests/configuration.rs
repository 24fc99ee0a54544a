//! ConfigMaps and Secrets: they are held with the pods that use them, and released with them.

use crate::event::{Answer, Refusal};
use crate::freeze::Mode;
use crate::grant::GrantEnd;
use crate::hold::Scope;
use crate::object::{HeldBy, Kind};

use super::node::Node;
use super::words::*;

fn settings() -> Object {
    config_map("robot", "settings")
}

fn cam() -> Object {
    pod("robot", "cam").using([&settings()]).annotated()
}

fn nav() -> Object {
    pod("robot", "nav").using([&settings()])
}

#[test]
fn configuration_that_no_annotated_pod_uses_passes() {
    let mut node = Node::new();
    assert_eq!(node.sees(&settings()).admitted(), [start(&settings())]);
    assert_eq!(node.sees(&settings().revision("b")).admitted(), [update(&settings().revision("b"))]);
    assert_eq!(node.loses(&settings()).admitted(), [stop(&settings().revision("b"))]);
}

#[test]
fn configuration_is_held_with_the_annotated_pod_that_uses_it() {
    let mut node = Node::running([&settings(), &cam()]);
    assert_eq!(node.sees(&settings().revision("b")).admitted(), NOTHING);
    assert_eq!(node.holds_back(), [(settings().key, HeldBy::Annotation)]);
    assert_eq!(node.loses(&settings()).admitted(), NOTHING);
}

#[test]
fn configuration_alone_can_be_released() {
    let mut node = Node::running([&settings(), &cam()]);
    node.sees(&settings().revision("b"));
    assert_eq!(node.asks(&pilot(), release_pod(&cam())).admitted(), [update(&settings().revision("b"))]);
    assert_eq!(node.ready(&settings().revision("b")).closed(), [(cam().workload(), GrantEnd::Settled)]);
    assert_eq!(node.sees(&settings().revision("c")).admitted(), NOTHING);
}

#[test]
fn configuration_is_recreated_in_place() {
    let mut node = Node::running([&settings()]);
    let again = settings().uid("again");
    assert_eq!(node.sees(&again).admitted(), [update(&again)]);
}

#[test]
fn a_release_lets_the_configuration_through_before_the_pod() {
    let mut node = Node::running([&settings(), &cam()]);
    node.sees_all([&cam().revision("b"), &settings().revision("b")]);
    let told = node.asks(&pilot(), release_pod(&cam()));
    assert_eq!(told.admitted(), [update(&settings().revision("b")), update(&cam().revision("b"))]);
}

#[test]
fn configuration_of_two_workloads_is_held_when_one_of_them_is_annotated() {
    let mut node = Node::running([&settings(), &cam(), &nav()]);
    assert_eq!(node.sees(&settings().revision("b")).admitted(), NOTHING);
    assert_eq!(node.asks(&pilot(), release_pod(&cam())).admitted(), [update(&settings().revision("b"))]);
}

#[test]
fn configuration_of_two_annotated_workloads_needs_a_release_of_both() {
    let nav = nav().annotated();
    let mut node = Node::running([&settings(), &cam(), &nav]);
    node.sees(&settings().revision("b"));
    assert_eq!(node.asks(&pilot(), release_pod(&nav)).admitted(), NOTHING);
    assert_eq!(node.asks(&pilot(), release_pod(&cam())).admitted(), [update(&settings().revision("b"))]);
    let closed = node.ready(&settings().revision("b")).closed();
    assert_eq!(closed, [(cam().workload(), GrantEnd::Settled), (nav.workload(), GrantEnd::Settled)]);
}

#[test]
fn a_release_of_the_node_releases_configuration_with_its_users() {
    let mut node = Node::running([&settings(), &cam(), &nav()]);
    node.sees(&settings().revision("b"));
    let told = node.asks(&pilot(), RELEASE_ALL);
    let workloads = vec![cam().workload(), nav().workload()];
    assert_eq!(told.answer(), Answer::Released { workloads, held: vec![] });
    assert_eq!(told.admitted(), [update(&settings().revision("b"))]);
}

#[test]
fn configuration_is_free_when_its_annotated_user_is_gone() {
    let mut node = Node::running([&settings(), &cam()]);
    node.sees(&settings().revision("b"));
    assert_eq!(node.ended(&cam()).admitted(), [update(&settings().revision("b"))]);
}

#[test]
fn configuration_is_held_again_when_a_pod_that_uses_it_is_armed() {
    let mut node = Node::running([&settings(), &nav()]);
    node.sees(&nav().annotated());
    assert_eq!(node.sees(&settings().revision("b")).admitted(), NOTHING);
    assert_eq!(node.sees(&nav()).admitted(), [update(&settings().revision("b"))]);
}

#[test]
fn configuration_that_goes_back_to_what_runs_is_no_longer_held() {
    let mut node = Node::running([&settings(), &cam()]);
    node.sees(&settings().revision("b"));
    node.sees(&settings());
    assert_eq!(node.holds_back(), []);
    let nothing = Answer::Refused(Refusal::NothingPending);
    assert_eq!(node.asks(&pilot(), release_pod(&cam())).answer(), nothing);
}

#[test]
fn a_release_whose_configuration_moved_on_closes() {
    let nav = nav().annotated();
    let mut node = Node::running([&settings(), &cam(), &nav]);
    node.sees(&settings().revision("b"));
    node.asks(&pilot(), release_pod(&cam()));
    let told = node.sees(&settings().revision("c"));
    assert_eq!((told.admitted(), told.closed()), (vec![], vec![(cam().workload(), GrantEnd::Settled)]));
}

#[test]
fn a_release_that_overrides_opens_a_hold_on_the_configurations_namespace() {
    let mut node = Node::running([&settings(), &cam()]);
    node.asks(&pilot(), hold("mission", Scope::Namespace("robot".into())));
    node.sees(&settings().revision("b"));
    let held = Answer::Refused(Refusal::HeldBy { by: ids(["mission"]) });
    assert_eq!(node.asks(&pilot(), release_pod(&cam())).answer(), held);
    let told = node.asks_overriding(&pilot(), because("recall", A_MINUTE), release_pod(&cam()));
    assert_eq!(told.admitted(), [update(&settings().revision("b"))]);
}

#[test]
fn a_list_of_one_kind_takes_nothing_of_another_away() {
    let key = secret("robot", "key");
    let mut node = Node::running([&settings(), &key, &nav()]);
    assert_eq!(node.lists_all_of(Kind::ConfigMap, []).admitted(), [stop(&settings())]);
    assert_eq!(node.lists_all_of(Kind::Secret, [&key]).0, []);
    assert_eq!(node.runs(), ["nav"]);
}

#[test]
fn a_freeze_waits_until_configuration_that_goes_has_been_taken_from_its_pods() {
    let mut node = Node::running([&settings(), &nav()]);
    assert_eq!(node.loses(&settings()).admitted(), [stop(&settings())]);
    node.asks(&pilot(), freeze_within(A_MINUTE, "mission"));
    assert_eq!(node.mode(), Mode::Freezing);
    node.ended(&settings());
    assert_eq!(node.mode(), Mode::Frozen);
}

#[test]
fn configuration_that_comes_back_while_it_goes_is_given_again_at_once() {
    let mut node = Node::running([&settings(), &nav()]);
    node.loses(&settings());
    assert_eq!(node.sees(&settings()).admitted(), [start(&settings())]);
}

#[test]
fn word_that_configuration_is_gone_comes_too_late_once_it_is_given_again() {
    let mut node = Node::running([&settings(), &nav()]);
    node.loses(&settings());
    node.sees(&settings());
    assert_eq!(node.ended(&settings()).0, []);
}

#[test]
fn configuration_that_comes_back_while_it_goes_is_held_like_any_other_change() {
    let mut node = Node::running([&settings(), &nav()]);
    node.loses(&settings());
    node.asks(&pilot(), hold("mission", Scope::Namespace("robot".into())));
    assert_eq!(node.sees(&settings()).admitted(), NOTHING);
    assert_eq!(node.ended(&settings()).admitted(), NOTHING);
    let told = node.asks(&pilot(), let_go("mission"));
    assert_eq!(told.admitted(), [start(&settings())]);
}
