//! What is shown of a gate.

use futures::FutureExt;
use safepoint_api::local::Verdict;
use safepoint_api::names::kubeedge::HOLD_UPGRADE;
use safepoint_api::names::safepoint::refusal;
use safepoint_api::node_gate::{
    Change, GateState, HeldChange, NodeGateStatus, OnExpiry, Origin, ScopeKind, limits,
};
use safepoint_core::{Ask, BlockerReason, LeaseAsk, Released, Scope, Span, WorkloadKind};

use super::*;
use crate::caller::Peer;
use crate::node::Node as _;
use crate::testing::{MORNING, ROVER, TestNode, config_map, pod, pod_of, root, static_pod};

fn rfc3339(time: &k8s_openapi::apimachinery::pkg::apis::meta::v1::Time) -> String {
    time.0.to_string()
}

/// Asks as root and expects an answer at once.
fn ask(node: &TestNode, ask: Ask) -> safepoint_core::Answer {
    let Peer::Known(known) = root() else { unreachable!() };
    node.ask(known.caller(Some("flight-control")), None, ask).now_or_never().unwrap().unwrap()
}

fn hold_node(node: &TestNode) {
    let lease = LeaseAsk { length: Span::from_mins(30), on_expiry: safepoint_core::OnExpiry::ThawIfSafe };
    let scope = Scope::Namespace("robot".into());
    ask(node, Ask::Hold { id: "mission".into(), reason: "flying".into(), scope, lease: Some(lease) });
}

fn freeze(node: &TestNode) {
    let reason = "crane lift".into();
    ask(
        node,
        Ask::Freeze { id: "lift".into(), reason, lease: None, settle: Span::ZERO, keep_barrier: false },
    );
}

#[test]
fn a_hold_is_shown_with_its_end_by_the_wall_clock() {
    let node = TestNode::new();
    hold_node(&node);
    node.after(Span::from_mins(10));
    let holds = node.gate(holds).items;
    let hold = &holds[0];
    assert_eq!((&*hold.id, &*hold.holder, &*hold.reason), ("mission", "flight-control (uid 0)", "flying"));
    assert_eq!((hold.origin, hold.scope.kind), (Origin::Local, ScopeKind::Namespace));
    assert_eq!(rfc3339(&hold.since), "2026-11-15T08:00:00Z");
    assert_eq!(hold.expires.as_ref().map(rfc3339).as_deref(), Some("2026-11-15T08:30:00Z"));
    assert_eq!(hold.on_expiry, Some(OnExpiry::ThawIfSafe));
    assert!(!hold.orphaned);
}

#[test]
fn a_held_update_is_shown_with_everything_that_keeps_it_back() {
    let cam = pod("robot", "cam").annotated();
    let node = TestNode::running([&cam]);
    hold_node(&node);
    node.sees([&cam.clone().revision("b")]);
    node.after(Span::from_mins(12));
    let changes = node.gate(held_changes);
    assert_eq!(changes.len(), 1);
    let change = &changes[0];
    assert_eq!((&*change.kind, &*change.namespace, &*change.name), ("Pod", "robot", "cam"));
    assert_eq!(change.change, Change::Update);
    assert_eq!((change.from_revision.as_deref(), change.to_revision.as_deref()), (Some("a"), Some("b")));
    assert_eq!(change.held_by, ["mission", HOLD_UPGRADE]);
    assert_eq!(rfc3339(&change.since), "2026-11-15T08:00:00Z");
    let why = node.gate(|gate| why(gate, ROVER, "robot", "cam")).unwrap();
    assert_eq!(why.verdict, Verdict::Held);
    assert_eq!(why.sentence, change.why, "there is one sentence");
    assert_eq!(why.holds[0].id, "mission");
    assert_eq!(why.until.len(), 2);
    assert_eq!(why.change.as_ref(), Some(change));
}

#[test]
fn what_is_only_taken_away_is_wanted_at_no_revision() {
    let cam = pod("robot", "cam").annotated();
    let node = TestNode::running([&cam]);
    node.sees([&cam.clone().deleting()]);
    let change = &node.gate(held_changes)[0];
    assert_eq!((change.change, change.to_revision.as_deref()), (Change::Stop, None));
}

#[test]
fn configuration_belongs_to_the_one_workload_that_uses_it_and_to_none_of_several() {
    let map = config_map("robot", "route");
    let (cam, nav) = (pod("robot", "cam").annotated().uses(&[&map]), pod("robot", "nav").uses(&[&map]));
    let node = TestNode::running([&map, &cam]);
    node.sees([&map.clone().revision("b")]);
    let change = node.gate(held_changes).remove(0);
    assert_eq!((&*change.kind, change.change), ("ConfigMap", Change::Config));
    assert_eq!(change.workload.unwrap().name, "cam");
    let node = TestNode::running([&map, &cam, &nav]);
    node.sees([&map.clone().revision("b")]);
    assert_eq!(node.gate(held_changes)[0].workload, None);
}

#[test]
fn a_static_pod_is_found_by_its_own_name_and_by_that_of_its_mirror() {
    let etcd = static_pod("kube-system", "etcd");
    let node = TestNode::running([&etcd]);
    for name in ["etcd", "etcd-rover-7"] {
        let found = node.gate(|gate| find_pod(gate, ROVER, "kube-system", name));
        assert_eq!(found, Some(etcd.key.clone()), "{name}");
    }
    assert_eq!(node.gate(|gate| find_pod(gate, ROVER, "kube-system", "rover-7")), None);
    assert_eq!(node.gate(|gate| why(gate, ROVER, "kube-system", "etcd")).unwrap().verdict, Verdict::Settled);
    assert!(node.gate(|gate| why(gate, ROVER, "default", "etcd")).is_none());
}

#[test]
fn a_frozen_node_names_its_oldest_holder_and_an_open_one_names_nobody() {
    let node = TestNode::new();
    let open = node.gate(gate_status);
    assert_eq!((open.state, open.holder, open.since), (Some(GateState::Open), None, None));
    assert_eq!((&*open.conditions[0].status, &*open.conditions[0].reason), ("False", "Open"));
    freeze(&node);
    let frozen = node.gate(gate_status);
    assert_eq!(frozen.state, Some(GateState::Frozen));
    assert_eq!(frozen.holder.as_deref(), Some("flight-control (uid 0)"));
    assert_eq!(frozen.reason.as_deref(), Some("crane lift"));
    assert_eq!((&*frozen.conditions[0].status, &*frozen.conditions[0].reason), ("True", "Frozen"));
    assert_eq!(
        frozen.conditions[0].message,
        "the node is frozen by flight-control (uid 0) (lift): crane lift"
    );
}

#[test]
fn a_barrier_shows_what_it_waits_for() {
    let node = TestNode::new();
    node.sees([&pod("robot", "cam")]);
    let settle = Span::from_mins(1);
    node.ordered(Ask::Freeze {
        id: "lift".into(),
        reason: "lift".into(),
        lease: None,
        settle,
        keep_barrier: true,
    });
    let state = node.gate(|gate| freeze_state(gate, Some(&"lift".into())));
    assert_eq!((state.state, state.id.as_deref()), (GateState::Freezing, Some("lift")));
    assert_eq!(state.blockers[0].reason, refusal::POD_UNSETTLED);
    assert_eq!(state.blockers[0].message, "pod robot/cam is starting");
    assert_eq!(state.blockers[0].object.as_ref().unwrap().kind, "Pod");
    assert_eq!(state.holds[0].origin, Origin::Remote);
}

#[test]
fn the_gates_codes_are_those_of_the_wire() {
    for (reason, word) in [
        (BlockerReason::NotReady, refusal::NOT_READY),
        (BlockerReason::UpgradeInProgress, refusal::UPGRADE_IN_PROGRESS),
        (BlockerReason::ReplacementPending, refusal::REPLACEMENT_PENDING),
        (BlockerReason::PodUnsettled, refusal::POD_UNSETTLED),
        (BlockerReason::PullInProgress, refusal::PULL_IN_PROGRESS),
        (BlockerReason::ConfigPending, refusal::CONFIG_PENDING),
        (BlockerReason::DisruptionInProgress, refusal::DISRUPTION_IN_PROGRESS),
    ] {
        let part = safepoint_core::Subject::Part("journal".into());
        let shown =
            blocker(&safepoint_core::Blocker { reason, subject: part, message: "is not ready".into() });
        assert_eq!(shown.reason, word);
        assert_eq!(shown.object.unwrap().kind, "Part");
    }
}

#[test]
fn a_release_under_way_is_shown_until_it_has_run_its_course() {
    let old = pod_of(WorkloadKind::DaemonSet, "lidar", "robot", "lidar-1").annotated();
    let node = TestNode::running([&old]);
    node.sees([&old.clone().deleting()]);
    let what = Released::Pod(old.key.clone());
    ask(&node, Ask::Release { what, revision: None });
    let grant = &node.gate(gate_status).grants[0];
    assert_eq!((&*grant.workload.kind, &*grant.workload.name), ("DaemonSet", "lidar"));
    assert_eq!((grant.revision.as_deref(), &*grant.by), (None, "flight-control (uid 0)"));
    assert_eq!(grant.expires.as_ref().map(rfc3339).as_deref(), Some("2026-11-15T08:10:00Z"));
}

#[test]
fn a_node_gate_gets_no_more_than_it_may_hold() {
    let change = {
        let cam = pod("robot", "cam").annotated();
        let node = TestNode::running([&cam]);
        node.sees([&cam.clone().revision("b")]);
        node.gate(held_changes).remove(0)
    };
    let change = HeldChange { held_by: vec!["x".to_owned(); limits::HOLDS + 1], ..change };
    let node = TestNode::new();
    hold_node(&node);
    let hold = node.gate(holds).items.remove(0);
    let status = limited(NodeGateStatus {
        held_count: 200,
        held: vec![change; 200],
        holds: vec![hold; 100],
        ..NodeGateStatus::default()
    });
    assert_eq!((status.held.len(), status.held_count, status.held_truncated), (limits::HELD, 200, true));
    assert_eq!((status.holds.len(), status.held[0].held_by.len()), (limits::HOLDS, limits::HOLDS));
    assert!(!limited(node.gate(gate_status)).held_truncated);
}

#[test]
fn time_that_passes_is_no_news_and_a_change_is() {
    let cam = pod("robot", "cam").annotated();
    let node = TestNode::running([&cam]);
    hold_node(&node);
    node.sees([&cam.clone().revision("b")]);
    let first = news(None, node.gate(gate_status)).unwrap();
    node.after(Span::from_mins(3));
    let second = node.gate(gate_status);
    assert_ne!(first, second, "the sentence says for how long");
    assert_eq!(news(Some(&first), second), None);
    freeze(&node);
    let third = news(Some(&first), node.gate(gate_status)).unwrap();
    assert_eq!(third.state, Some(GateState::Frozen));
    assert_eq!(rfc3339(&third.conditions[0].last_transition_time), "2026-11-15T08:03:00Z");
}

#[test]
fn a_condition_whose_status_stays_keeps_its_time() {
    let node = TestNode::new();
    let first = news(None, node.gate(gate_status)).unwrap();
    node.after(Span::from_mins(3));
    hold_node(&node);
    let second = news(Some(&first), node.gate(gate_status)).unwrap();
    assert_eq!(second.holds.len(), 1);
    assert_eq!(second.conditions, first.conditions);
}

#[test]
fn a_status_read_back_equals_the_one_that_was_written() {
    let node = TestNode::new();
    hold_node(&node);
    freeze(&node);
    node.after(Span(1234));
    let written = node.gate(|gate| node_status(gate, ROVER, node.uplink(), node.modules()));
    let read = serde_json::from_value(serde_json::to_value(&written).unwrap()).unwrap();
    assert_eq!(written, read);
    assert_eq!(rfc3339(&time(safepoint_core::Timestamp(MORNING.0 + 999))), "2026-11-15T08:00:00Z");
}
