//! When a freeze is acknowledged, and what stands against it: every blocker is named, with a code that stays.

use crate::event::{Answer, Refusal};
use crate::freeze::{Blocker, BlockerReason, Mode, Subject};
use crate::gate::Config;
use crate::object::{Health, Key};
use crate::time::Span;

use super::node::Node;
use super::words::*;

fn about(reason: BlockerReason, object: &Object, message: &str) -> Blocker {
    blocker(reason, Subject::Object(object.key.clone()), message)
}

fn refused<const N: usize>(blockers: [Blocker; N]) -> Answer {
    Answer::Refused(Refusal::Unsettled { blockers: blockers.into(), barrier_kept: false })
}

/// Asks for a freeze that must be answered at once.
fn answer(node: &mut Node) -> Answer {
    node.asks(&pilot(), freeze("takeoff")).answer()
}

#[test]
fn a_settled_node_is_frozen_at_once() {
    let mut node = Node::running([&pod("robot", "cam")]);
    node.after(A_MINUTE);
    let answer = answer(&mut node);
    let since = node.hold("takeoff").unwrap().since;
    assert_eq!(answer, Answer::Frozen { since });
    assert_eq!((since.age, node.mode()), (node.gate.age(), Mode::Frozen));
}

#[test]
fn a_node_on_which_everything_has_finished_is_settled() {
    let job = pod("robot", "calibrate");
    let mut node = Node::new();
    node.sees(&job);
    node.reports(&job, Health::Finished);
    answer(&mut node);
    assert_eq!(node.mode(), Mode::Frozen);
}

#[test]
fn a_pod_that_is_not_ready_blocks() {
    use BlockerReason::{PodUnsettled, PullInProgress};
    for (health, reason, message) in [
        (Health::Starting, PodUnsettled, "is starting"),
        (Health::Unready, PodUnsettled, "is not ready"),
        (Health::Pulling, PullInProgress, "is pulling its image"),
    ] {
        let cam = pod("robot", "cam");
        let mut node = Node::new();
        node.sees(&cam);
        node.reports(&cam, health);
        assert_eq!(answer(&mut node), refused([about(reason, &cam, message)]));
    }
}

#[test]
fn a_pod_that_nobody_has_reported_since_a_crash_blocks() {
    let cam = pod("robot", "cam");
    let mut node = Node::running([&cam]);
    node.crashes();
    let silent = about(BlockerReason::PodUnsettled, &cam, "has not been reported since the agent started");
    assert_eq!(answer(&mut node), refused([silent]));
    node.ready(&cam);
    answer(&mut node);
    assert_eq!(node.mode(), Mode::Frozen);
}

#[test]
fn configuration_that_has_not_reached_its_pods_blocks() {
    let settings = config_map("robot", "settings");
    let mut node = Node::new();
    node.sees(&settings);
    let pending = about(BlockerReason::ConfigPending, &settings, "has not reached its pods yet");
    assert_eq!(answer(&mut node), refused([pending]));
    node.ready(&settings);
    answer(&mut node);
    assert_eq!(node.mode(), Mode::Frozen);
}

#[test]
fn a_pod_that_is_ending_blocks_and_so_does_its_missing_successor() {
    let lidar = daemon_set("robot", "lidar");
    let was = pod("robot", "lidar-1").of(&lidar);
    let mut node = Node::running([&was]);
    node.sees(&was.clone().deleting());
    let ending = about(BlockerReason::ReplacementPending, &was, "is ending");
    let message = "was stopped and its successor is not here yet";
    let missing = blocker(BlockerReason::ReplacementPending, Subject::Workload(lidar), message);
    assert_eq!(answer(&mut node), refused([ending, missing.clone()]));
    node.ended(&was);
    assert_eq!(answer(&mut node), refused([missing]));
}

#[test]
fn a_successor_that_never_comes_is_waited_for_a_minute() {
    let was = pod("robot", "lidar-1").of(&daemon_set("robot", "lidar"));
    let mut node = Node::running([&was]);
    node.sees(&was.clone().deleting());
    node.ended(&was);
    node.asks(&pilot(), freeze_within(Span::from_mins(5), "takeoff"));
    assert_eq!(node.after(Span(A_MINUTE.0 - 1)).answers(), []);
    assert!(matches!(node.after(Span(1)).answer(), Answer::Frozen { .. }));
}

#[test]
fn a_bare_pod_that_was_deleted_has_no_successor_to_wait_for() {
    let cam = pod("robot", "cam");
    let mut node = Node::running([&cam]);
    node.sees(&cam.clone().deleting());
    node.ended(&cam);
    answer(&mut node);
    assert_eq!(node.mode(), Mode::Frozen);
}

#[test]
fn an_open_release_blocks() {
    let was = web("a", 1).annotated();
    let mut node = Node::running([&was, &web("a", 2).annotated()]);
    node.sees_all([&web("b", 1).annotated(), &was.clone().deleting()]);
    node.asks(&pilot(), release_pod(&was));
    node.ended(&was);
    node.ready(&web("b", 1));
    let upgrade = Subject::Workload(deployment("shop", "web"));
    let upgraded = blocker(BlockerReason::ReplacementPending, upgrade, "is being upgraded");
    assert_eq!(answer(&mut node), refused([upgraded]));
}

#[test]
fn a_part_that_has_not_reported_blocks() {
    let config = Config { parts: vec!["kubelet-door".into(), "journal".into()], ..Config::default() };
    let mut node = Node::with(config);
    node.part_reports("journal", &[]);
    let silent = || {
        let part = Subject::Part("kubelet-door".into());
        blocker(BlockerReason::NotReady, part, "has not reported that it is ready")
    };
    assert_eq!(answer(&mut node), refused([silent()]));
    node.part_reports("kubelet-door", &[]);
    answer(&mut node);
    assert_eq!(node.mode(), Mode::Frozen);
}

#[test]
fn whatever_a_part_reports_blocks_until_it_reports_nothing() {
    for reason in
        [BlockerReason::DisruptionInProgress, BlockerReason::UpgradeInProgress, BlockerReason::NotReady]
    {
        let mut node = Node::new();
        let reported = blocker(reason, Subject::Part("host".into()), "will be restarted in a minute");
        node.part_reports("host", std::slice::from_ref(&reported));
        assert_eq!(answer(&mut node), refused([reported]));
        node.part_reports("host", &[]);
        answer(&mut node);
        assert_eq!(node.mode(), Mode::Frozen);
    }
}

#[test]
fn a_refusal_names_every_blocker() {
    let config = Config { parts: vec!["journal".into()], ..Config::default() };
    let (settings, cam, nav) = (config_map("robot", "settings"), pod("robot", "cam"), pod("robot", "nav"));
    let mut node = Node::with(config);
    node.sees_all([&settings, &cam, &nav]);
    node.reports(&nav, Health::Pulling);
    let eviction = Subject::Object(Key::pod("robot", "cam"));
    let eviction = blocker(BlockerReason::DisruptionInProgress, eviction, "will be evicted");
    node.part_reports("host", std::slice::from_ref(&eviction));
    let journal = Subject::Part("journal".into());
    let all = refused([
        blocker(BlockerReason::NotReady, journal, "has not reported that it is ready"),
        about(BlockerReason::PodUnsettled, &cam, "is starting"),
        about(BlockerReason::PullInProgress, &nav, "is pulling its image"),
        about(BlockerReason::ConfigPending, &settings, "has not reached its pods yet"),
        eviction,
    ]);
    assert_eq!(answer(&mut node), all);
}

#[test]
fn a_blocker_reads_as_a_sentence() {
    let cam = pod("robot", "cam");
    let mut node = Node::new();
    node.sees(&cam);
    assert_eq!(node.gate.blockers()[0].to_string(), "pod robot/cam is starting (PodUnsettled)");
}

#[test]
fn what_is_pending_and_held_does_not_stand_against_a_freeze() {
    let cam = pod("robot", "cam").annotated();
    let mut node = Node::running([&cam]);
    node.sees(&cam.revision("b"));
    answer(&mut node);
    assert_eq!(node.mode(), Mode::Frozen);
}
