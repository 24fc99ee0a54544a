//! A pod that is gone from the cluster and kept running takes room that the scheduler gives to others.

use crate::event::Event;
use crate::object::{HeldBy, Needs};

use super::node::Node;
use super::words::*;

const CPU: &str = "cpu";

fn held() -> Object {
    pod("robot", "arm").annotated().needing(CPU, 600)
}

fn other(amount: u64) -> Object {
    pod("robot", "nav").needing(CPU, amount)
}

/// A node of one core on which a held pod runs that the cluster has no object for any more.
fn crowded() -> Node {
    let mut node = Node::running([&held()]);
    node.step(Event::RoomReported(Needs::from([(CPU.into(), 1000)])));
    assert_eq!(node.loses(&held()).admitted(), NOTHING);
    node
}

#[test]
fn what_does_not_fit_beside_a_kept_pod_waits_for_its_end() {
    let mut node = crowded();
    assert_eq!(node.sees(&other(500)).admitted(), NOTHING);
    assert_eq!(node.holds_back()[1], (other(500).key, HeldBy::Predecessor));
    node.asks(&pilot(), release_pod(&held()));
    assert_eq!(node.ended(&held()).admitted(), [start(&other(500))]);
}

#[test]
fn what_fits_beside_a_kept_pod_starts() {
    assert_eq!(crowded().sees(&other(400)).admitted(), [start(&other(400))]);
}

#[test]
fn a_start_that_waits_for_room_says_so() {
    let mut node = crowded();
    node.sees(&other(500));
    assert!(node.why(&other(500)).contains("a pod that is gone from the cluster is kept in its place"));
}

#[test]
fn room_that_the_machine_gains_is_used() {
    let mut node = crowded();
    node.sees(&other(500));
    let more = node.step(Event::RoomReported(Needs::from([(CPU.into(), 2000)])));
    assert_eq!(more.admitted(), [start(&other(500))]);
}

#[test]
fn room_that_another_pod_leaves_is_used() {
    let mut node = crowded();
    let small = pod("robot", "log").needing(CPU, 300);
    node.sees(&small);
    assert_eq!(node.sees(&other(400)).admitted(), NOTHING);
    node.loses(&small);
    assert_eq!(node.ended(&small).admitted(), [start(&other(400))]);
}

#[test]
fn of_a_port_of_the_host_there_is_one() {
    let mut node = Node::running([&held().needing("port/TCP/80", 1)]);
    node.loses(&held());
    let other = other(0).needing("port/TCP/80", 1);
    assert_eq!(node.sees(&other).admitted(), NOTHING);
    assert_eq!(node.sees(&other.needing("port/TCP/81", 1).uid("again")).admitted().len(), 1);
}

#[test]
fn where_nothing_is_kept_the_scheduler_is_believed() {
    let mut node = Node::running([&held()]);
    node.step(Event::RoomReported(Needs::from([(CPU.into(), 1000)])));
    assert_eq!(node.sees(&other(500)).admitted(), [start(&other(500))]);
}

#[test]
fn where_the_room_is_not_known_the_scheduler_is_believed() {
    let mut node = Node::running([&held()]);
    node.loses(&held());
    assert_eq!(node.sees(&other(500)).admitted(), [start(&other(500))]);
}
