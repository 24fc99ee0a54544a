//! Ends before starts: what waits for which end, where there are many replicas and where there is only one.

use crate::event::{Answer, Effect};
use crate::freeze::Mode;
use crate::hold::Scope;
use crate::object::HeldBy;
use crate::time::Span;

use super::node::Node;
use super::words::*;

fn till() -> Object {
    pod("shop", "till")
}

/// One pod was on its way out when the barrier went up, and the end of another came behind it and was held. The
/// successor of the first waited for that held end, the held end for the freeze, and the freeze for the successor: for
/// ever.
#[test]
fn a_held_end_does_not_keep_a_freeze_from_being_reached() {
    let [p1, p2, n1] = [web("a", 1), web("a", 2), web("a", 3)];
    let mut node = Node::running([&p1, &p2]);
    assert_eq!(node.sees(&p1.clone().deleting()).admitted(), [stop(&p1)]);
    node.asks(&pilot(), keeping_the_barrier(freeze_within(Span::from_secs(30), "takeoff")));
    assert_eq!(node.sees(&p2.clone().deleting()).admitted(), NOTHING);
    assert_eq!(node.ended(&p1).admitted(), NOTHING);
    assert_eq!(node.sees(&n1).admitted(), [start(&n1)]);
    assert!(matches!(node.ready(&n1).answer(), Answer::Frozen { .. }));
    assert_eq!(node.runs(), ["web-a-2", "web-a-3"]);
}

#[test]
fn a_held_end_does_not_keep_a_successor_back_that_was_there_before_the_other_ended() {
    let [p1, p2, n1] = [web("a", 1), web("a", 2), web("a", 3)];
    let mut node = Node::running([&p1, &p2]);
    node.sees(&p1.clone().deleting());
    node.asks(&pilot(), keeping_the_barrier(freeze_within(Span::from_secs(30), "takeoff")));
    assert_eq!(node.sees_all([&p2.deleting(), &n1]).admitted(), NOTHING);
    assert_eq!(node.ended(&p1).admitted(), [start(&n1)]);
    node.ready(&n1);
    assert_eq!(node.mode(), Mode::Frozen);
}

/// A hold on one replica by its name kept every other replica from starting, and then the node from ever being frozen.
#[test]
fn a_hold_on_one_replica_of_eight_keeps_none_of_the_others_back() {
    let pods: [Object; 8] = std::array::from_fn(|index| web("a", index + 1));
    let mut node = Node::running(pods.each_ref());
    node.asks(&pilot(), hold("mission", this_pod(&pods[0])));
    assert_eq!(node.sees(&pods[0].clone().deleting()).admitted(), NOTHING);
    assert_eq!(node.sees(&pods[1].clone().deleting()).admitted(), [stop(&pods[1])]);
    let new: [Object; 4] = std::array::from_fn(|index| web("b", index + 1));
    assert_eq!(node.sees_all(new.each_ref()).admitted(), NOTHING);
    assert_eq!(node.ended(&pods[1]).admitted(), new.each_ref().map(start));
    for pod in &new {
        node.ready(pod);
    }
    assert!(matches!(node.asks(&pilot(), freeze("takeoff")).answer(), Answer::Frozen { .. }));
    assert_eq!(node.runs().len(), 11);
}

#[test]
fn a_hold_on_one_replica_does_not_stand_against_a_freeze_days_later() {
    let [p1, p2] = [web("a", 1), web("a", 2)];
    let mut node = Node::running([&p1, &p2]);
    node.asks(&pilot(), hold("mission", this_pod(&p2)));
    node.sees(&p1.clone().deleting());
    node.ended(&p1);
    node.sees(&p2.deleting());
    node.after(Span::from_mins(60 * 48));
    assert!(matches!(node.asks(&pilot(), freeze("takeoff")).answer(), Answer::Frozen { .. }));
}

#[test]
fn a_daemon_set_waits_even_for_an_end_that_is_held() {
    let lidar = daemon_set("robot", "lidar");
    let [was, next] = ["lidar-1", "lidar-2"].map(|name| pod("robot", name).of(&lidar));
    let mut node = Node::running([&was]);
    node.asks(&pilot(), hold("mission", this_pod(&was)));
    assert_eq!(node.sees_all([&was.clone().deleting(), &next]).admitted(), NOTHING);
    assert_eq!(
        node.holds_back(),
        [(was.key.clone(), HeldBy::Holder), (next.key.clone(), HeldBy::Predecessor)]
    );
    assert_eq!(node.asks(&pilot(), let_go("mission")).admitted(), [stop(&was)]);
    assert_eq!(node.ended(&was).admitted(), [start(&next)]);
}

#[test]
fn an_ordinal_of_a_stateful_set_waits_even_for_an_end_that_is_held() {
    let was = pod("shop", "db-0").of(&stateful_set("shop", "db", 0));
    let next = was.clone().uid("next").revision("b");
    let mut node = Node::running([&was]);
    node.asks(&pilot(), hold("mission", this_pod(&was)));
    node.sees(&was.clone().deleting());
    assert_eq!(node.sees(&next).admitted(), NOTHING);
    assert_eq!(node.runs(), ["db-0"]);
    node.asks(&pilot(), let_go("mission"));
    assert_eq!(node.ended(&was).admitted(), [start(&next)]);
}

/// A pod that is gone from the API makes room that the scheduler gives to anybody. A pod of another workload was
/// started into that room while the old one was still ending, and its kubelet rejected it for good.
#[test]
fn a_start_waits_for_the_end_of_a_pod_of_another_workload_that_is_gone_from_the_cluster() {
    let lidar = pod("robot", "lidar-1").of(&daemon_set("robot", "lidar"));
    let mut node = Node::running([&lidar]);
    node.asks(&pilot(), hold("mission", Scope::Node));
    node.loses(&lidar);
    node.sees(&till());
    assert_eq!(node.asks(&pilot(), let_go("mission")).admitted(), [stop(&lidar)]);
    assert_eq!(node.holds_back(), [(till().key, HeldBy::Predecessor)]);
    node.crashes();
    assert_eq!(
        node.ended(&lidar).0,
        [Effect::Admit(start(&till())), Effect::NoLongerHeld { key: till().key }]
    );
}

#[test]
fn a_start_does_not_wait_for_a_pod_of_another_workload_that_the_cluster_still_counts() {
    let lidar = pod("robot", "lidar-1").of(&daemon_set("robot", "lidar"));
    let mut node = Node::running([&lidar]);
    assert_eq!(node.sees(&lidar.clone().deleting()).admitted(), [stop(&lidar)]);
    assert_eq!(node.sees(&till()).admitted(), [start(&till())]);
}

#[test]
fn a_start_does_not_wait_for_an_end_that_is_held_of_another_workload() {
    let cam = pod("robot", "cam").annotated();
    let mut node = Node::running([&cam]);
    node.loses(&cam);
    assert_eq!(node.sees(&till()).admitted(), [start(&till())]);
}

#[test]
fn configuration_and_changes_in_place_wait_for_no_end() {
    let (settings, nav) = (config_map("robot", "settings"), pod("robot", "nav"));
    let mut node = Node::running([&nav, &till()]);
    assert_eq!(node.loses(&nav).admitted(), [stop(&nav)]);
    let newer = till().revision("b");
    assert_eq!(node.sees_all([&settings, &newer]).admitted(), [start(&settings), update(&newer)]);
}
