//! A release whose time is up: it opens nothing more, and leaves nothing lying that it had stopped.

use crate::event::{Alarm, Answer, Ask};
use crate::freeze::{BlockerReason, Mode, Subject};
use crate::grant::{GrantEnd, Target};
use crate::hold::Scope;
use crate::object::HeldBy;
use crate::time::Span;
use crate::workload::Workload;

use super::node::Node;
use super::words::*;

const TEN_MINUTES: Span = Span::from_mins(10);

fn lidar() -> Workload {
    daemon_set("robot", "lidar")
}

fn was() -> Object {
    pod("robot", "lidar-1").of(&lidar()).annotated()
}

fn next() -> Object {
    pod("robot", "lidar-2").of(&lidar()).annotated().revision("b").born(2)
}

/// A node whose only pod was released and has ended; its successor has not come, and the time of the release is up.
fn stopped_node() -> Node {
    let mut node = Node::running([&was()]);
    node.sees(&was().deleting());
    assert_eq!(node.asks(&pilot(), release(&lidar())).admitted(), [stop(&was())]);
    node.ended(&was());
    let told = node.after(TEN_MINUTES);
    assert_eq!((told.alarms(), told.closed()), (vec![Alarm::ReleaseExpired(lidar())], vec![]));
    node
}

/// The old pod had been given up under a release when the cluster went out of reach. Eleven minutes later it was back
/// with the successor, and that was held: a workload that somebody had released to be upgraded was left stopped, until
/// somebody released it again. An alarm is raised at the deadline, and the start that is missing still passes.
#[test]
fn a_successor_that_comes_after_the_deadline_still_starts() {
    for late in [Span::from_mins(1), Span::from_mins(60 * 48)] {
        let mut node = stopped_node();
        assert_eq!(node.after(late).0, []);
        node.crashes();
        assert_eq!(node.lists([&next()]).admitted(), [start(&next())]);
        assert_eq!(node.ready(&next()).closed(), [(lidar(), GrantEnd::Expired)]);
        assert_eq!(node.gate.grants().len(), 0);
    }
}

#[test]
fn a_successor_that_comes_after_the_deadline_is_held_by_whoever_holds_it() {
    let mut node = stopped_node();
    node.asks(&pilot(), hold("mission", Scope::Workload(lidar())));
    assert_eq!(node.sees(&next()).admitted(), NOTHING);
    assert_eq!(node.asks(&pilot(), let_go("mission")).admitted(), [start(&next())]);
}

#[test]
fn a_release_whose_time_is_up_lets_no_further_pod_go() {
    let mut node = stopped_node();
    node.sees(&next());
    let newest = pod("robot", "lidar-3").of(&lidar()).annotated().revision("c").born(3);
    assert_eq!(node.sees_all([&newest, &next().deleting()]).admitted(), NOTHING);
    assert_eq!(node.runs(), ["lidar-2"]);
    assert_eq!(node.sees(&next().revision("c")).admitted(), NOTHING);
}

#[test]
fn a_release_whose_time_is_up_lets_no_update_through() {
    let settings = config_map("robot", "settings");
    let mut node = stopped_node();
    node.sees(&settings);
    node.ready(&settings);
    assert_eq!(node.sees(&next().using([&settings])).admitted(), [start(&next())]);
    assert_eq!(node.sees(&settings.revision("b")).admitted(), NOTHING);
}

#[test]
fn a_rollout_that_is_half_through_at_its_deadline_is_left_as_it_is() {
    let [a1, a2, b1, b2] = [web("a", 1), web("a", 2), web("b", 1), web("b", 2)].map(Object::annotated);
    let mut node = Node::running([&a1, &a2]);
    node.sees_all([&b1, &a1.clone().deleting()]);
    node.asks(&pilot(), release(&a1.workload()));
    node.ended(&a1);
    node.ready(&b1);
    let told = node.after(TEN_MINUTES);
    assert_eq!(told.alarms(), [Alarm::ReleaseExpired(a1.workload())]);
    assert_eq!(told.closed(), [(a1.workload(), GrantEnd::Expired)]);
    assert_eq!(node.sees_all([&b2, &a2.deleting()]).admitted(), NOTHING);
    assert_eq!(node.runs(), ["web-a-2", "web-b-1"]);
}

/// Two pods, of which one was given up for revision `b` and ended just before the time of the release was up. The new
/// pod that was to follow has been taken back.
fn half_stopped_node(settings: &Object) -> Node {
    let [a1, a2, b1] = [web("a", 1), web("a", 2), web("b", 1)].map(|pod| pod.annotated().using([settings]));
    let mut node = Node::running([settings, &a1, &a2, &pod("shop", "till").annotated().using([settings])]);
    node.sees_all([&b1, &a1.clone().deleting(), &settings.clone().revision("b")]);
    assert_eq!(node.asks(&pilot(), release(&a1.workload())).admitted(), [stop(&a1)]);
    node.sees(&b1.deleting());
    node.after(Span(TEN_MINUTES.0 - 1));
    node.ended(&a1);
    let told = node.after(Span(1));
    assert_eq!((told.alarms(), told.closed()), (vec![Alarm::ReleaseExpired(a1.workload())], vec![]));
    node
}

#[test]
fn only_the_start_that_is_missing_passes_after_the_deadline() {
    let [b2, b3] = [web("b", 2), web("b", 3)].map(Object::annotated);
    let mut node = half_stopped_node(&config_map("shop", "settings"));
    assert_eq!(node.sees_all([&b2, &b3]).admitted(), [start(&b2)]);
    assert_eq!(node.ready(&b2).closed(), [(b2.workload(), GrantEnd::Expired)]);
    assert_eq!(node.runs(), ["till", "web-a-2", "web-b-2"]);
}

#[test]
fn no_further_pod_and_no_configuration_passes_while_a_start_is_missing() {
    let settings = config_map("shop", "settings");
    let mut node = half_stopped_node(&settings);
    assert_eq!(node.sees(&web("a", 2).annotated().using([&settings]).deleting()).admitted(), NOTHING);
    // The configuration was part of the release, and waited for a release of its other user.
    assert_eq!(node.asks(&pilot(), release_pod(&pod("shop", "till"))).admitted(), NOTHING);
    assert_eq!(node.gate.grants()[&web("a", 1).workload()].target, Target::Revision("b".into()));
}

#[test]
fn a_release_whose_time_is_up_does_not_stand_against_a_freeze() {
    let mut node = stopped_node();
    assert_eq!(node.gate.blockers(), []);
    assert!(matches!(node.asks(&pilot(), freeze("takeoff")).answer(), Answer::Frozen { .. }));
    assert_eq!(node.sees(&next()).admitted(), NOTHING);
    assert_eq!(node.holds_back(), [(next().key, HeldBy::Node)]);
    node.asks(&pilot(), Ask::Thaw);
    assert_eq!(node.lists([&next()]).admitted(), [start(&next())]);
    assert_eq!(node.ready(&next()).closed(), [(lidar(), GrantEnd::Settled)]);
    assert_eq!(node.mode(), Mode::Open);
}

#[test]
fn a_new_release_takes_the_place_of_one_whose_time_is_up() {
    let mut node = stopped_node();
    node.sees(&next());
    node.ready(&next());
    let newest = next().revision("c");
    node.sees(&newest);
    assert_eq!(node.asks(&pilot(), release(&lidar())).admitted(), [update(&newest)]);
    assert!(!node.gate.grants()[&lidar()].expired);
}

/// A plain hold does not wait for anything. Taken between the stop and the start of a workload it kept it stopped, and
/// its holder was told nothing but that the hold stood. It is told what was in flight.
#[test]
fn a_hold_that_catches_a_workload_half_done_says_so() {
    let [was, next] = [was(), next()].map(Object::not_annotated);
    let mut node = Node::running([&was]);
    node.sees(&was.clone().deleting());
    let ending = blocker(BlockerReason::ReplacementPending, Subject::Object(was.key.clone()), "is ending");
    let message = "was stopped and its successor is not here yet";
    let missing = blocker(BlockerReason::ReplacementPending, Subject::Workload(lidar()), message);
    let in_flight = vec![ending.clone(), missing.clone()];
    for (id, scope) in [
        ("node", Scope::Node),
        ("robots", Scope::Namespace("robot".into())),
        ("lidar", Scope::Workload(lidar())),
    ] {
        let answer = node.asks(&pilot(), hold(id, scope)).answer();
        assert_eq!(answer, Answer::Holding { in_flight: in_flight.clone() });
    }
    let elsewhere = hold("shop", Scope::Namespace("shop".into()));
    assert_eq!(node.asks(&pilot(), elsewhere).answer(), holding());
    assert_eq!(
        node.asks(&pilot(), hold("pod", this_pod(&was))).answer(),
        Answer::Holding { in_flight: vec![ending] }
    );
    node.ended(&was);
    assert_eq!(node.sees(&next).admitted(), NOTHING);
    let answer = node.asks(&pilot(), hold("node", Scope::Node)).answer();
    assert_eq!(answer, Answer::Holding { in_flight: vec![missing] });
}
