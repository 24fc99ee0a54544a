//! Configuration that arrives after the pod that needs it: a pod that was let through gets what it waits for, and no
//! more.

use crate::event::Answer;
use crate::grant::GrantEnd;
use crate::hold::Scope;
use crate::object::{Health, HeldBy};

use super::node::Node;
use super::words::*;

fn settings() -> Object {
    config_map("robot", "settings-2")
}

fn was() -> Object {
    pod("robot", "lidar-1").of(&daemon_set("robot", "lidar"))
}

/// The successor, which cannot start without its new configuration.
fn next() -> Object {
    pod("robot", "lidar-2").of(&daemon_set("robot", "lidar")).revision("b").born(2).using([&settings()])
}

/// A node on which the old pod has ended behind a barrier that stays, so that its successor is owed.
fn freezing_node() -> Node {
    let mut node = Node::running([&was()]);
    node.sees(&was().deleting());
    node.asks(&pilot(), keeping_the_barrier(freeze_within(A_MINUTE, "takeoff")));
    node.ended(&was());
    node
}

/// A released upgrade came with a ConfigMap of its own, which the watch happened to deliver after the pod. It was not
/// pending when the release was given, so it was held, and the pod waited for it until the release was over.
#[test]
fn new_configuration_that_comes_after_its_released_pod_passes() {
    let [was, next] = [was(), next()].map(Object::annotated);
    let mut node = Node::running([&was]);
    node.sees(&was.clone().deleting());
    node.asks(&pilot(), release_pod(&was));
    node.ended(&was);
    assert_eq!(node.sees(&next).admitted(), [start(&next)]);
    assert_eq!(node.sees(&settings()).admitted(), [start(&settings())]);
    node.ready(&settings());
    assert_eq!(node.ready(&next).closed(), [(next.workload(), GrantEnd::Settled)]);
}

#[test]
fn new_configuration_that_comes_after_an_allowed_first_install_passes() {
    let next = next().annotated().first_install_allowed();
    let mut node = Node::new();
    assert_eq!(node.sees(&next).admitted(), [start(&next)]);
    assert_eq!(node.sees(&settings()).admitted(), [start(&settings())]);
}

/// Behind a barrier the successor of a stopped pod passes, but its new ConfigMap did not: the pod could not start, the
/// node did not settle, and the barrier that should have held the ConfigMap only for a moment held it for ever.
#[test]
fn new_configuration_of_an_owed_start_passes_the_barrier_after_its_pod() {
    let mut node = freezing_node();
    assert_eq!(node.sees(&next()).admitted(), [start(&next())]);
    assert_eq!(node.sees(&settings()).admitted(), [start(&settings())]);
    node.ready(&settings());
    assert!(matches!(node.ready(&next()).answer(), Answer::Frozen { .. }));
}

#[test]
fn new_configuration_of_an_owed_start_passes_the_barrier_before_its_pod() {
    let mut node = freezing_node();
    assert_eq!(node.sees(&settings()).admitted(), NOTHING);
    assert_eq!(node.sees(&next()).admitted(), [start(&next()), start(&settings())]);
    node.ready(&settings());
    assert!(matches!(node.ready(&next()).answer(), Answer::Frozen { .. }));
}

#[test]
fn new_configuration_that_nothing_waits_for_does_not_pass_the_barrier() {
    let mut node = freezing_node();
    node.sees(&next());
    assert_eq!(node.sees(&config_map("robot", "other")).admitted(), NOTHING);
}

#[test]
fn an_update_of_configuration_that_comes_after_its_released_pod_is_held() {
    let [was, next] = [was(), next()].map(|pod| pod.annotated().using([&settings()]));
    let mut node = Node::running([&settings(), &was]);
    node.sees(&was.clone().deleting());
    node.asks(&pilot(), release_pod(&was));
    node.ended(&was);
    assert_eq!(node.sees(&next).admitted(), [start(&next)]);
    assert_eq!(node.sees(&settings().revision("b")).admitted(), NOTHING);
    assert_eq!(node.holds_back(), [(settings().key, HeldBy::Annotation)]);
}

#[test]
fn an_update_of_configuration_does_not_pass_the_barrier_with_a_pod_that_starts() {
    let mut node = Node::running([&settings(), &was()]);
    node.sees(&was().deleting());
    node.asks(&pilot(), keeping_the_barrier(freeze_within(A_MINUTE, "takeoff")));
    node.ended(&was());
    assert_eq!(node.sees_all([&next(), &settings().revision("b")]).admitted(), [start(&next())]);
    assert_eq!(node.holds_back(), [(settings().key, HeldBy::Node)]);
}

/// A pod that was merely not ready, or that nobody had reported since the agent was restarted, counted as one that
/// waits to start. An optional ConfigMap that somebody made then reached a running pod that was held.
#[test]
fn new_configuration_of_a_pod_that_runs_is_held_however_that_pod_is() {
    let cam = pod("robot", "cam").annotated().using([&settings()]);
    for health in [Health::Ready, Health::Unready, Health::Finished] {
        let mut node = Node::running([&cam]);
        node.reports(&cam, health);
        assert_eq!(node.sees(&settings()).admitted(), NOTHING, "{health:?}");
    }
    let mut node = Node::running([&cam]);
    node.crashes();
    assert_eq!(node.sees(&settings()).admitted(), NOTHING);
    node.ready(&cam);
    assert_eq!(node.asks(&pilot(), release_pod(&cam)).admitted(), [start(&settings())]);
}

/// A pod that is updated in place, or whose image cannot be pulled again, is on its way as well, and has run before.
#[test]
fn new_configuration_of_a_pod_that_begins_anew_is_held() {
    let cam = pod("robot", "cam").annotated().using([&settings()]);
    let mut node = Node::running([&cam]);
    let next = cam.clone().revision("b");
    node.sees(&next);
    assert_eq!(node.asks(&pilot(), release_pod(&cam)).admitted(), [update(&next)]);
    assert_eq!(node.sees(&settings()).admitted(), NOTHING);
    node.crashes();
    for health in [Health::Starting, Health::Pulling] {
        assert_eq!(node.reports(&next, health).admitted(), NOTHING, "{health:?}");
    }
}

#[test]
fn new_configuration_of_a_pod_that_is_not_ready_does_not_pass_the_barrier() {
    let cam = pod("robot", "cam").using([&settings()]);
    let mut node = Node::running([&cam]);
    node.reports(&cam, Health::Unready);
    node.asks(&pilot(), keeping_the_barrier(freeze("takeoff")));
    assert_eq!(node.sees(&settings()).admitted(), NOTHING);
}

#[test]
fn a_hold_on_a_pod_that_starts_does_not_keep_it_from_its_configuration() {
    let mut node = Node::new();
    node.sees(&next());
    node.asks(&pilot(), hold("mission", this_pod(&next())));
    assert_eq!(node.sees(&settings()).admitted(), [start(&settings())]);
    // One that covers the configuration itself does.
    node.asks(&pilot(), hold("robots", Scope::Namespace("robot".into())));
    assert_eq!(node.sees(&config_map("robot", "other")).admitted(), NOTHING);
}

#[test]
fn a_pod_that_waits_for_its_configuration_gets_it_after_a_restart_of_the_agent() {
    let [was, next] = [was(), next()].map(Object::annotated);
    let mut node = Node::running([&was]);
    node.sees(&was.clone().deleting());
    node.asks(&pilot(), release_pod(&was));
    node.ended(&was);
    node.sees(&next);
    node.crashes();
    assert_eq!(node.sees(&settings()).admitted(), NOTHING);
    assert_eq!(node.reports(&next, Health::Starting).admitted(), [start(&settings())]);
}
