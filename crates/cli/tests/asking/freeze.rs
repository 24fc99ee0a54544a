//! The whole node.

use rustix::process::Signal;
use safepoint_core::{Ask, Health};

use crate::node::{Agent, Object, TestNode, pod};
use crate::support::rover;

/// A pod has been let through and is not ready yet.
pub(crate) fn half_done() -> (Agent, Object) {
    let cam = pod("cam", "robot", "cam-1");
    let node = TestNode::new();
    node.sees([&cam]);
    node.reports(&cam, Health::Starting);
    (Agent::serving(node), cam)
}

fn until_it_waits(agent: &Agent) {
    while agent.node.waiting() == 0 {
        std::thread::yield_now();
    }
}

#[test]
fn a_settled_node_is_frozen_at_once_and_thawed() {
    let agent = rover();
    let frozen = agent.says(&["node", "freeze", "--reason", "lift", "--id", "lift"]).done();
    assert_eq!(frozen, "frozen as lift\n");
    assert!(agent.says(&["status"]).done().contains("Frozen for "));
    let thawed = agent.says(&["node", "unfreeze"]).done();
    assert!(thawed.starts_with("thawing") || thawed.starts_with("open"), "{thawed}");
    assert!(agent.node.holds().is_empty());
}

#[test]
fn a_freeze_needs_no_reason_in_a_hurry() {
    let agent = rover();
    agent.says(&["node", "freeze"]).done();
    let holds = agent.says(&["holds", "-o", "json"]).json();
    assert_eq!(holds["items"][0]["reason"], "frozen by hand, no reason given");
}

#[test]
fn a_refusal_names_every_blocker() {
    let agent = half_done().0;
    let refused = agent.says(&["node", "freeze", "--reason", "lift"]).failed(3);
    assert!(refused.contains("the node did not settle in time"), "{refused}");
    assert!(refused.contains("OBJECT") && refused.contains("pod robot/cam-1"), "{refused}");
    assert!(agent.node.holds().is_empty());
    let kept = agent.says(&["node", "freeze", "--reason", "lift", "--hold-barrier"]).failed(3);
    assert!(kept.contains("the barrier stays up"), "{kept}");
    assert_eq!(agent.node.holds().len(), 1);
}

#[test]
fn a_freeze_waits_for_the_node_to_settle() {
    let (agent, cam) = half_done();
    let freezing = agent.starts_command(&["node", "freeze", "--when-settled", "-o", "json"]);
    until_it_waits(&agent);
    agent.node.ready(&cam);
    let said = freezing.ends();
    assert_eq!(said.code, Some(0), "{said:?}");
    let state: serde_json::Value = serde_json::from_str(&said.out).unwrap();
    assert_eq!(state["state"], "Frozen");
}

#[test]
fn a_freeze_that_takes_long_says_what_it_waits_for() {
    let (agent, cam) = half_done();
    let mut freezing = agent.starts_command(&["node", "freeze", "--deadline", "10m"]);
    let said = freezing.error_line();
    assert!(said.starts_with("waiting: ") && said.contains("robot/cam-1"), "{said}");
    agent.node.ready(&cam);
    assert_eq!(freezing.ends().code, Some(0));
}

#[test]
fn a_freeze_that_is_interrupted_is_taken_back() {
    let agent = half_done().0;
    let freezing = agent.starts_command(&["node", "freeze", "--deadline", "10m"]);
    until_it_waits(&agent);
    freezing.signal(Signal::INT);
    let said = freezing.ends();
    assert_eq!(said.code, Some(1), "{said:?}");
    assert!(said.err.contains("taken back"), "{said:?}");
    assert!(agent.node.holds().is_empty());
}

#[test]
fn what_the_cluster_has_frozen_is_not_thawed_here_without_an_override() {
    let agent = rover();
    let span = safepoint_core::Span::ZERO;
    let (id, reason) = ("lift".into(), "crane".into());
    agent.node.ordered(Ask::Freeze { id, reason, lease: None, settle: span, keep_barrier: false });
    assert!(agent.says(&["node", "unfreeze"]).failed(3).contains("the cluster holds it"));
    agent.says(&["node", "unfreeze", "--override", "it blocks an exit", "--for", "5m"]).done();
}
