//! What the planner sees.

#![allow(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]

use kube::runtime::watcher::Event;
use safepoint_core::rollout::Work;
use serde_json::{Value, json};

use super::super::slim::{SlimNode, SlimPod};
use super::super::task::{Making, program};
use super::super::wanted::tests::spec;
use super::*;

const NOW: Timestamp = Timestamp(1_794_700_800_000);

struct Scene {
    nodes: Nodes,
    pods: Pods,
    wanted: Wanted,
    view: View,
    started: Started,
    leaving: bool,
    /// What the gates of all nodes say.
    gate: Option<Arc<NodeGateStatus>>,
}

fn scene(strategy: Value) -> Scene {
    let wanted = Wanted::read(&spec(|spec| spec["upgradeStrategy"] = strategy)).unwrap();
    Scene {
        nodes: Nodes::default(),
        pods: Pods::default(),
        wanted,
        view: View::default(),
        started: Started::default(),
        leaving: false,
        gate: None,
    }
}

impl Scene {
    fn node(&mut self, name: &str, labels: Value) {
        let node = json!({"metadata": {"name": name, "labels": labels}, "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let node: SlimNode = serde_json::from_value(node).unwrap();
        self.nodes.take(Event::Apply(node));
        self.view.touch(&name.into());
    }

    fn mirror(&mut self, static_pod: &str, node: &str, annotations: Value) {
        let mut pod = json!({"metadata": {"name": format!("{static_pod}-{node}"), "uid": "m", "annotations": {"kubernetes.io/config.mirror": "h"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": "n"}]},
            "spec": {"nodeName": node}});
        pod["metadata"]["annotations"]
            .as_object_mut()
            .unwrap()
            .extend(annotations.as_object().unwrap().clone());
        let pod: SlimPod = serde_json::from_value(pod).unwrap();
        self.pods.take(Event::Apply(pod), NOW);
        self.view.touch(&node.into());
    }

    fn task(&mut self, node: &str, kind: Kind, status: Value) {
        let making = Making {
            namespace: "edge",
            object: ("proxy", "u1"),
            static_pod: "proxy",
            manifest: "proxy",
            node,
            kind,
            revision: "r2",
            attempt: 1,
            key: "k",
            sum: "5e11",
            program: program(),
        };
        let mut pod = serde_json::to_value(making.pod()).unwrap();
        pod["status"] = status;
        self.pods.take(Event::Apply(serde_json::from_value(pod).unwrap()), NOW);
        self.view.touch(&node.into());
    }

    fn seen(&mut self) -> Vec<Seen> {
        let gate = self.gate.clone();
        let gates = |_: &str| gate.clone();
        let whose = Whose { namespace: "edge", uid: "u1", wanted: &self.wanted, leaving: self.leaving };
        let sight = Sight { nodes: &self.nodes, pods: &self.pods, gates: &gates, now: NOW };
        let mut seen = self.view.refresh(whose, &sight, &mut self.started).to_vec();
        seen.sort_by(|one, other| one.node.cmp(&other.node));
        seen
    }
}

#[test]
fn only_nodes_with_the_static_pod_belong_to_it_unless_others_are_picked() {
    let mut scene = scene(json!({}));
    for node in ["a", "b", "c"] {
        scene.node(node, json!({}));
    }
    scene.mirror("proxy", "a", json!({}));
    scene.mirror("proxy-b", "c", json!({}));
    let seen = scene.seen();
    assert_eq!(seen.iter().map(|seen| &*seen.node).collect::<Vec<_>>(), ["a"]);
    assert_eq!(seen[0].wanted, Wish::IfPresent);
}

#[test]
fn a_node_that_joins_and_is_picked_gets_it_and_only_what_was_brought_is_taken_away() {
    let install = json!({"install": {"nodeSelector": {"zone": "x"}, "unselected": "Remove"}});
    let mut scene = scene(install);
    assert!(scene.seen().is_empty());
    scene.node("joins", json!({"zone": "x"}));
    scene.node("brought", json!({"zone": "y"}));
    scene.node("own", json!({"zone": "y"}));
    scene.mirror("proxy", "brought", json!({"safepoint.dev/static-pod-installed": "true"}));
    scene.mirror("proxy", "own", json!({}));
    let wishes: Vec<_> = scene.seen().into_iter().map(|seen| (seen.node.to_string(), seen.wanted)).collect();
    let expected = [("brought", Wish::No), ("joins", Wish::Yes), ("own", Wish::IfPresent)];
    assert_eq!(wishes, expected.map(|(node, wish)| (node.to_owned(), wish)));
    scene.node("joins", json!({"zone": "y"}));
    assert_eq!(scene.seen().len(), 2, "it has nothing to do with it any more");
    scene.leaving = true;
    scene.view.touch_all();
    assert_eq!(scene.seen().iter().map(|seen| &*seen.node).collect::<Vec<_>>(), ["brought"]);
}

#[test]
fn a_node_that_is_not_there_is_away() {
    let mut scene = scene(json!({}));
    scene.mirror("proxy", "ghost", json!({}));
    assert_eq!(scene.seen()[0].presence, Presence::Away { since: Timestamp(0) });
}

#[test]
fn staging_is_no_work_and_what_it_did_is_known_where_there_is_no_pod_to_write_it_on() {
    let mut scene = scene(json!({"type": "OTA", "install": {"nodeSelector": {}}}));
    scene.node("a", json!({}));
    scene.task("a", Kind::Stage, json!({"phase": "Succeeded"}));
    let seen = scene.seen().remove(0);
    assert!(seen.tasks.is_empty());
    assert_eq!(seen.staged, Some(Revision::from("r2")));
    scene.mirror("proxy", "a", json!({}));
    assert_eq!(scene.seen()[0].staged, None);
    scene.mirror("proxy", "a", json!({"safepoint.dev/static-pod-staged": "r3"}));
    assert_eq!(scene.seen()[0].staged, Some(Revision::from("r3")));
}

#[test]
fn a_task_that_was_not_let_is_a_hold_and_not_a_task() {
    let mut scene = scene(json!({}));
    scene.node("a", json!({}));
    scene.mirror("proxy", "a", json!({}));
    let words = json!({"code": "Held", "message": "jane holds it"}).to_string();
    let status = json!({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3, "message": words}}}]});
    scene.task("a", Kind::Work(Work::Upgrade), status);
    let seen = scene.seen().remove(0);
    assert!(seen.tasks.is_empty());
    assert_eq!(seen.gate, Gate::Held { by: "the node (jane holds it)".into() });
}

#[test]
fn what_lies_ready_for_an_owner_is_a_hold_only_where_the_pod_says_that_its_changes_wait() {
    let mut scene = scene(json!({}));
    scene.gate = Some(Arc::new(
        serde_json::from_value(json!({"state": "Open", "held": [{"kind": "StaticPod", "namespace": "edge",
            "name": "proxy", "change": "Update", "since": "1970-01-01T00:00:00Z", "why": "w",
            "heldBy": ["edge.kubeedge.io/hold-upgrade"]}]}))
        .unwrap(),
    ));
    for (node, annotation, expected) in
        [("a", "false", Gate::Open), ("b", "true", Gate::Held { by: "edge.kubeedge.io/hold-upgrade".into() })]
    {
        scene.node(node, json!({}));
        scene.mirror("proxy", node, json!({"edge.kubeedge.io/hold-upgrade": annotation}));
        let seen = scene.seen().into_iter().find(|seen| &*seen.node == node).unwrap();
        assert_eq!(seen.gate, expected, "{annotation}");
    }
}

/// What is kept up to date node by node is what would be found by looking at everything.
#[test]
fn nothing_is_missed_by_looking_only_at_what_has_changed() {
    let mut scene = scene(json!({"install": {"nodeSelector": {"zone": "x"}, "unselected": "Remove"}}));
    // The same numbers each time: a run that fails can be looked at.
    let mut state: u32 = 7;
    let mut number = |below: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 16) % below
    };
    for step in 0..2_000_u64 {
        let node = format!("n{}", number(12));
        match number(6) {
            0 => scene.node(&node, json!({"zone": if number(2) == 0 { "x" } else { "y" }})),
            1 => scene.mirror(
                "proxy",
                &node,
                json!({"openyurt.io/static-pod-hash": format!("r{}", number(3))}),
            ),
            2 => scene.mirror("proxy", &node, json!({"safepoint.dev/static-pod-installed": "true"})),
            3 => {
                let phase = ["Pending", "Running", "Succeeded"][number(3) as usize];
                scene.task(&node, Kind::Work(Work::Upgrade), json!({"phase": phase}));
            }
            4 => {
                let pod: SlimPod =
                    serde_json::from_value(json!({"metadata": {"name": format!("proxy-{node}"),
                    "resourceVersion": step.to_string()}}))
                    .unwrap();
                scene.pods.take(Event::Delete(pod), NOW);
                scene.view.touch(&node.as_str().into());
            }
            _ => {
                let task = safepoint_core::rollout::Task {
                    name: format!("task-{step}").into(),
                    work: Work::Upgrade,
                    revision: "r2".into(),
                    attempt: 1,
                    phase: safepoint_core::rollout::Phase::Waiting,
                    removing: false,
                };
                scene.started.note(&node.as_str().into(), task, Some(step + u64::from(number(40))));
                scene.view.started(&node.as_str().into());
            }
        }
        let (kept, before) = (scene.seen(), scene.started.clone());
        let view = std::mem::take(&mut scene.view);
        let anew = scene.seen();
        assert_eq!(kept, anew, "step {step}");
        (scene.view, scene.started) = (view, before);
    }
}
