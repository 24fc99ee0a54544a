//! Passes over one StaticPod, with nothing but what was seen.

#![allow(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]

use kube::runtime::watcher::Event;
use safepoint_api::static_pod::NodeUpgradeState;
use serde_json::{Value, json};

use super::super::nodes::Nodes;
use super::super::slim::{SlimNode, SlimPod};
use super::super::task::program;
use super::*;

const NOW: Timestamp = Timestamp(1_794_700_800_000);

/// A cluster of a few nodes, and a StaticPod that has its finalizer and the ConfigMap of its revision.
struct Scene {
    set: Set,
    object: Value,
    nodes: Nodes,
    pods: Pods,
    maps: Maps,
    now: Timestamp,
    version: u64,
}

impl Scene {
    fn new(nodes: &[&str], strategy: Value) -> Self {
        let object = json!({"metadata": {"name": "proxy", "namespace": "edge", "uid": "u1", "generation": 1,
                "finalizers": [FINALIZER]},
            "spec": {"staticPodName": "proxy", "staticPodManifest": "proxy", "upgradeStrategy": strategy,
                "template": {"spec": {"containers": [{"name": "main", "image": "proxy:1"}]}}}});
        let mut scene = Self {
            set: Set::new(&serde_json::from_value(object.clone()).unwrap()),
            object,
            nodes: Nodes::default(),
            pods: Pods::default(),
            maps: Maps::new(),
            now: NOW,
            version: 10,
        };
        let revision = scene.set.wanted.as_ref().unwrap().revision().clone();
        scene.maps.insert(revision, MapFacts { name: "m".into(), uid: "mu".into(), wanted_at: NOW });
        for node in nodes {
            scene.node(node, "True");
            scene.mirror(node, "old", "True");
        }
        scene
    }

    fn revision(&self) -> String {
        self.set.wanted.as_ref().unwrap().revision().to_string()
    }

    fn node(&mut self, node: &str, ready: &str) {
        let object = json!({"metadata": {"name": node}, "status": {"conditions": [{"type": "Ready", "status": ready,
            "lastTransitionTime": "2026-11-14T00:00:00Z"}]}});
        let object: SlimNode = serde_json::from_value(object).unwrap();
        for node in self.nodes.take(Event::Apply(object)) {
            self.set.touch(&node);
        }
    }

    fn pod(&mut self, mut pod: Value) {
        self.version += 1;
        pod["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let pod: SlimPod = serde_json::from_value(pod).unwrap();
        let node = Text::from(pod.spec.node_name.as_deref().unwrap());
        self.pods.take(Event::Apply(pod), self.now);
        self.set.touch(&node);
    }

    fn mirror(&mut self, node: &str, revision: &str, ready: &str) {
        self.pod(json!({"metadata": {"name": format!("proxy-{node}"), "uid": format!("mirror-{node}"),
                "annotations": {"kubernetes.io/config.mirror": "h", "openyurt.io/static-pod-hash": revision},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": "n"}]},
            "spec": {"nodeName": node},
            "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": ready,
                "lastTransitionTime": "2026-11-14T00:00:00Z"}]}}));
    }

    /// A mirror pod of the wanted revision that the hub has brought.
    fn installed(&mut self, node: &str) {
        let revision = self.revision();
        self.pod(json!({"metadata": {"name": format!("proxy-{node}"), "uid": format!("mirror-{node}"),
                "annotations": {"kubernetes.io/config.mirror": "h", "openyurt.io/static-pod-hash": revision,
                    "safepoint.dev/static-pod-installed": "true"},
                "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": "n"}]},
            "spec": {"nodeName": node},
            "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-14T00:00:00Z"}]}}));
    }

    /// A task that a pass has started, with this status.
    fn task(&mut self, start: &Start, status: Value) {
        let mut pod = serde_json::to_value(pod_of(start)).unwrap();
        pod["metadata"]["uid"] = json!(format!("task-{}", start.node));
        pod["status"] = status;
        self.pod(pod);
    }

    fn pass(&mut self) -> Acts {
        let gates = |_: &str| None;
        let sight = Sight { nodes: &self.nodes, pods: &self.pods, gates: &gates, now: self.now };
        self.set.pass(&Cluster { sight, maps: &self.maps, rival: None, program: program() })
    }

    fn done(&mut self, done: Vec<Done>) -> bool {
        self.set.done(done, Some(&mut self.pods), &mut self.maps, self.now)
    }

    fn change(&mut self, spec: Value) {
        for (field, value) in spec.as_object().unwrap() {
            self.object["spec"][field] = value.clone();
        }
        let generation = self.object["metadata"]["generation"].as_i64().unwrap() + 1;
        self.object["metadata"]["generation"] = json!(generation);
        self.update();
    }

    fn update(&mut self) {
        self.set.update(&serde_json::from_value(self.object.clone()).unwrap());
    }

    fn delete(&mut self) {
        self.object["metadata"]["deletionTimestamp"] = json!("2026-11-15T00:00:00Z");
        self.update();
    }
}

/// The pod of a task.
fn pod_of(start: &Start) -> k8s_openapi::api::core::v1::Pod {
    start.making("edge", ("proxy", "u1")).pod()
}

fn ended(code: &str, exit: i32, at: Timestamp) -> Value {
    let words = json!({"code": code, "message": "m"}).to_string();
    let state = json!({"terminated": {"exitCode": exit, "message": words, "finishedAt": stamp(at)}});
    json!({"phase": if exit == 0 { "Succeeded" } else { "Failed" }, "containerStatuses": [{"state": state}]})
}

#[test]
fn nothing_is_started_before_the_finalizer_and_the_manifest_are_there() {
    let mut scene = Scene::new(&["a"], json!({"maxUnavailable": 1}));
    scene.maps.clear();
    scene.object["metadata"]["finalizers"] = json!([]);
    scene.update();
    let acts = scene.pass();
    assert!(acts.hold && acts.make.is_some() && acts.start.is_empty());
}

#[test]
fn a_start_is_counted_before_it_is_seen_and_given_up_when_it_is_refused() {
    let mut scene = Scene::new(&["a", "b"], json!({"maxUnavailable": 1}));
    let mut acts = scene.pass();
    assert_eq!(acts.start.len(), 1);
    assert!(scene.pass().start.is_empty(), "its place is taken");
    let start = acts.start.remove(0);
    let again = scene.done(vec![Done::NotStarted { node: start.node.clone(), task: start.task.clone() }]);
    assert!(again);
    assert_eq!(scene.pass().start.len(), 1, "it was never there");
    // One that was made and has gone again, both unseen.
    let mut pod = Box::new(pod_of(&start));
    pod.metadata.resource_version = Some("11".into());
    scene.done(vec![Done::Started { node: start.node.clone(), task: start.task, pod: Some(pod) }]);
    scene.mirror("b", "old", "True");
    assert_eq!(scene.pass().start.len(), 1, "the watch has passed it");
}

#[test]
fn a_complete_list_shows_whatever_became_of_a_start_without_an_answer() {
    let mut scene = Scene::new(&["a"], json!({"maxUnavailable": 1}));
    let start = scene.pass().start.remove(0);
    let name = start.task.as_ref().unwrap().name.clone();
    scene.done(vec![Done::Unanswered(start)]);
    scene.pods.take(Event::Init, NOW);
    scene.mirror("a", "old", "True");
    scene.pods.take(Event::InitDone, NOW);
    let acts = scene.pass();
    assert_eq!(acts.start.len(), 1, "it is planned anew, and not asked for beside that");
    assert_eq!(acts.start[0].task.as_ref().unwrap().name, name);
}

/// A connection that was refused left a start of which nobody knew whether it was made. The watch went on from where it was and
/// had nothing to tell, so the node kept the only place in the window until the hub was started anew.
#[test]
fn a_start_without_an_answer_is_made_again_until_it_is_answered() {
    let mut scene = Scene::new(&["a", "b"], json!({"maxUnavailable": 1}));
    let mut start = scene.pass().start.remove(0);
    let name = start.task.as_ref().unwrap().name.clone();
    for _ in 0..2 {
        assert!(scene.done(vec![Done::Unanswered(start)]), "it is tried again");
        let mut acts = scene.pass();
        assert_eq!((acts.start.len(), acts.find.len()), (1, 0), "its place is taken all the while");
        start = acts.start.remove(0);
        assert_eq!(start.task.as_ref().unwrap().name, name);
    }
    let mut pod = Box::new(pod_of(&start));
    pod.metadata.resource_version = Some("5".into());
    scene.done(vec![Done::Started { node: start.node, task: start.task, pod: Some(pod) }]);
    scene.mirror("b", "old", "True");
    let again = scene.pass().start;
    assert_eq!(
        (again.len(), &*again[0].node),
        (1, "a"),
        "it was there and is gone, as the watch must have told"
    );
}

#[test]
fn a_start_without_an_answer_is_not_made_again_once_the_watch_tells_of_it() {
    let mut scene = Scene::new(&["a"], json!({"maxUnavailable": 1}));
    let start = scene.pass().start.remove(0);
    scene.task(&start, json!({"phase": "Pending"}));
    scene.done(vec![Done::Unanswered(start)]);
    let acts = scene.pass();
    assert!(acts.start.is_empty() && acts.find.is_empty());
}

/// The same with a newer template: the node waited for the removal of a task that was never there.
#[test]
fn a_start_without_an_answer_that_is_not_wanted_any_more_is_only_looked_for() {
    let mut scene = Scene::new(&["a"], json!({"maxUnavailable": 1}));
    let start = scene.pass().start.remove(0);
    scene.done(vec![Done::Unanswered(start)]);
    scene.change(json!({"paused": true}));
    let mut acts = scene.pass();
    assert_eq!((acts.start.len(), acts.find.len()), (0, 1), "a pause starts nothing");
    let start = acts.find.remove(0);
    scene.done(vec![Done::NotStarted { node: start.node, task: start.task }]);
    assert!(scene.pass().find.is_empty());
    scene.change(json!({"paused": false}));
    assert_eq!(scene.pass().start.len(), 1);
}

#[test]
fn a_node_that_does_not_let_a_task_is_put_off_and_asked_again_later() {
    let mut scene = Scene::new(&["a"], json!({"maxUnavailable": 1}));
    let start = scene.pass().start.remove(0);
    scene.task(&start, ended("Held", 3, NOW));
    let acts = scene.pass();
    assert!(acts.start.is_empty() && acts.remove.is_empty());
    let status = acts.status.unwrap();
    assert_eq!((status.deferred_number, status.failed_number), (1, 0));
    assert_eq!(status.nodes[0].state, NodeUpgradeState::Deferred);
    assert_eq!(status.nodes[0].message.as_deref(), Some("the node (m) holds the static pod"));
    assert_eq!(scene.set.again, Some(Timestamp(NOW.0 + PUT_OFF_MILLIS)));
    scene.now = Timestamp(NOW.0 + PUT_OFF_MILLIS);
    let acts = scene.pass();
    assert_eq!(acts.remove.len(), 1);
    assert!(acts.start.is_empty(), "not before it is gone");
    scene.done(vec![Done::Removed { node: "a".into(), uid: acts.remove[0].uid.clone() }]);
    assert!(scene.pass().remove.is_empty(), "it is told once");
}

/// OpenYurt's defect 1: a newer template has to get past what has failed.
#[test]
fn a_newer_template_supersedes_a_task_that_has_failed() {
    let mut scene = Scene::new(&["a"], json!({"maxUnavailable": 1, "retry": {"limit": 0}}));
    let start = scene.pass().start.remove(0);
    scene.task(&start, ended("RolledBack", 4, Timestamp(NOW.0 - 600_000)));
    let status = scene.pass().status.unwrap();
    assert_eq!(status.failed_number, 1);
    assert!(
        status
            .conditions
            .iter()
            .any(|it| it.type_ == "Failed" && it.status == "True" && it.reason == "NodesFailed")
    );
    scene.change(json!({"template": {"spec": {"containers": [{"name": "main", "image": "proxy:2"}]}}}));
    let acts = scene.pass();
    assert!(acts.make.is_some(), "its manifest first");
    let revision = Revision::from(scene.revision());
    let map = MapFacts { name: "m2".into(), uid: "mu2".into(), wanted_at: NOW };
    scene.done(vec![Done::Made(revision.clone(), map)]);
    let acts = scene.pass();
    assert_eq!(acts.start.len(), 1);
    assert_eq!(acts.start[0].task.as_ref().unwrap().revision, revision);
    assert_eq!(acts.remove.len(), 1);
}

/// OpenYurt's defect 11 came of one ConfigMap for all revisions; here each has its own, and a file name cannot change.
#[test]
fn the_status_is_written_when_it_differs_and_not_too_often() {
    let mut scene = Scene::new(&["a", "b"], json!({"maxUnavailable": 1}));
    let status = scene.pass().status.unwrap();
    assert_eq!(status.observed_generation, Some(1));
    scene.done(vec![Done::Told(status)]);
    assert!(scene.pass().status.is_none());
    scene.node("b", "False");
    assert!(scene.pass().status.is_none(), "too soon");
    assert_eq!(scene.set.again, Some(Timestamp(NOW.0 + STATUS_MILLIS)));
    scene.now = Timestamp(NOW.0 + STATUS_MILLIS);
    assert_eq!(scene.pass().status.unwrap().deferred_number, 1);
}

#[test]
fn what_cannot_be_started_is_said_in_the_status() {
    let mut scene = Scene::new(&["a"], json!({"maxUnavailable": 1}));
    let start = scene.pass().start.remove(0);
    let text = "cannot start a task: pods is forbidden: violates PodSecurity".to_owned();
    assert!(
        scene
            .done(vec![Done::NotStarted { node: start.node, task: start.task }, Done::Trouble(text.clone())])
    );
    let acts = scene.pass();
    assert!(acts.status.unwrap().conditions[0].message.ends_with(&text));
    assert!(acts.news.iter().any(|news| news.warning && news.text == text));
}

#[test]
fn an_object_that_goes_waits_for_what_runs_and_then_takes_everything_with_it() {
    let mut scene = Scene::new(&["a", "b"], json!({"maxUnavailable": 2}));
    let mut starts = scene.pass().start;
    let (second, first) = (starts.remove(1), starts.remove(0));
    scene.task(&first, json!({"phase": "Running"}));
    scene.task(&second, json!({"phase": "Pending"}));
    scene.delete();
    let acts = scene.pass();
    assert!(!acts.let_go && acts.start.is_empty());
    assert_eq!(acts.remove.len(), 1, "what has not begun goes");
    scene.task(&first, ended("Upgraded", 0, NOW));
    let acts = scene.pass();
    assert!(acts.let_go);
    assert_eq!((acts.forget.len(), acts.remove.len()), (1, 2));
}

#[test]
fn an_object_that_goes_takes_away_what_it_has_installed_only_if_it_says_so() {
    for (unselected, goes) in [("Remove", true), ("Keep", false)] {
        let install = json!({"nodeSelector": {}, "unselected": unselected});
        let mut scene = Scene::new(&["a"], json!({"maxUnavailable": 1, "install": install}));
        scene.installed("a");
        scene.delete();
        let acts = scene.pass();
        assert_eq!(acts.start.len(), usize::from(goes));
        assert_eq!(acts.let_go, !goes);
        if goes {
            assert_eq!(acts.start[0].task.as_ref().unwrap().work, Work::Remove);
            // Its namespace goes too, and takes no task.
            let task = acts.start[0].task.clone();
            scene.done(vec![Done::NotStarted { node: "a".into(), task }, Done::NamespaceEnds]);
            let acts = scene.pass();
            assert!(acts.let_go && acts.start.is_empty());
        }
    }
}

/// A removal that the node did not let was kept for as long as something was left to remove, and was itself what kept the next
/// one from being made: the object never went.
#[test]
fn an_object_that_goes_asks_again_a_node_that_did_not_let_it_remove() {
    let install = json!({"nodeSelector": {}, "unselected": "Remove"});
    let mut scene = Scene::new(&["a"], json!({"maxUnavailable": 1, "install": install}));
    scene.installed("a");
    scene.delete();
    let start = scene.pass().start.remove(0);
    scene.task(&start, ended("Held", 3, NOW));
    let acts = scene.pass();
    assert!(acts.start.is_empty() && acts.remove.is_empty() && !acts.let_go);
    assert_eq!(scene.set.again, Some(Timestamp(NOW.0 + PUT_OFF_MILLIS)));
    scene.now = Timestamp(NOW.0 + PUT_OFF_MILLIS);
    let acts = scene.pass();
    assert_eq!((acts.remove.len(), acts.start.len()), (1, 0), "not before it is gone");
    let mut gone = serde_json::to_value(pod_of(&start)).unwrap();
    gone["metadata"]["resourceVersion"] = json!("90");
    scene.pods.take(Event::Delete(serde_json::from_value(gone).unwrap()), scene.now);
    scene.set.touch(&"a".into());
    assert_eq!(scene.pass().start.len(), 1);
}

/// What could not be put ready was given up without a word.
#[test]
fn a_node_on_which_nothing_can_be_put_ready_says_why() {
    let mut scene = Scene::new(&["a"], json!({"type": "OTA"}));
    let start = scene.pass().start.remove(0);
    scene.task(&start, ended("ImageUnavailable", 3, NOW));
    let status = scene.pass().status.unwrap();
    let message = "its owner decides when it is upgraded; attempt 1 to put it ready failed: m";
    assert_eq!(status.nodes[0].message.as_deref(), Some(message));
}

#[test]
fn a_large_fleet_is_started_bit_by_bit() {
    let names: Vec<String> = (0..3 * AT_ONCE).map(|number| format!("n{number:04}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut scene = Scene::new(&names, json!({"maxUnavailable": 2 * AT_ONCE + 5}));
    for expected in [AT_ONCE, AT_ONCE, 5, 0] {
        assert_eq!(scene.pass().start.len(), expected);
    }
    assert!(!scene.set.dirty);
}

#[test]
fn a_spec_that_cannot_be_carried_out_says_so_and_does_nothing() {
    let mut scene = Scene::new(&["a"], json!({"maxUnavailable": 1}));
    scene.change(json!({"template": {"spec": {"containers": []}}}));
    let acts = scene.pass();
    assert!(acts.start.is_empty() && acts.make.is_none());
    let status = acts.status.unwrap();
    let failed = status.conditions.iter().find(|it| it.type_ == "Failed").unwrap();
    assert_eq!((&*failed.status, &*failed.reason), ("True", "InvalidSpec"));
    assert!(failed.message.contains("spec.template.spec.containers"));
}

/// What a pass costs: a thousand nodes are under way, and a few hundred have changed since the last one.
#[test]
#[ignore = "it measures: run it optimised and by itself, with --nocapture"]
#[expect(clippy::disallowed_methods, reason = "it measures")]
fn what_a_pass_over_ten_thousand_nodes_takes() {
    let names: Vec<String> = (0..10_000).map(|number| format!("node-{number:05}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut scene = Scene::new(&names, json!({"maxUnavailable": "10%"}));
    let mut times = Vec::new();
    let mut running: Vec<Start> = Vec::new();
    for round in 0..100_usize {
        let begun = std::time::Instant::now();
        let acts = scene.pass();
        times.push(begun.elapsed());
        let started = acts.start.iter().map(|start| Done::Started {
            node: start.node.clone(),
            task: start.task.clone(),
            pod: Some(Box::new(pod_of(start))),
        });
        let done = started.chain(acts.status.map(Done::Told)).collect();
        scene.done(done);
        running.extend(acts.start);
        // Those that were started first become ready, the last ones begin.
        let revision = scene.revision();
        for (index, start) in running.iter().enumerate().rev().take(256) {
            if index % 2 == round % 2 {
                scene.task(start, json!({"phase": "Running"}));
            }
        }
        for start in running.drain(..running.len().min(128)).collect::<Vec<_>>() {
            scene.task(&start, ended("Upgraded", 0, scene.now));
            scene.mirror(&start.node, &revision, "True");
        }
        scene.now = Timestamp(scene.now.0 + 400);
    }
    times.remove(0);
    times.sort();
    println!(
        "shortest {:?}, median {:?}, longest {:?}",
        times[0],
        times[times.len() / 2],
        times[times.len() - 1]
    );
}
