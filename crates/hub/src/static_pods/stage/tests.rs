//! Staging.

#![allow(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]

use kube::runtime::watcher::Event;
use serde_json::{Value, json};

use super::super::slim::SlimPod;
use super::super::task::{Making, program};
use super::super::wanted::tests::spec;
use super::*;

const NOW: Timestamp = Timestamp(1_794_700_800_000);

fn wanted() -> Wanted {
    let strategy = json!({"type": "OTA", "retry": {"limit": 1, "backoffSeconds": 10}});
    Wanted::read(&spec(|spec| spec["upgradeStrategy"] = strategy)).unwrap()
}

fn task(pods: &mut Pods, node: &str, attempt: u32, revision: &str, status: Value) {
    let making = Making {
        namespace: "edge",
        object: ("proxy", "u1"),
        static_pod: "proxy",
        manifest: "proxy",
        node,
        kind: Kind::Stage,
        revision,
        attempt,
        key: "k",
        sum: "5e11",
        program: program(),
    };
    let mut pod = serde_json::to_value(making.pod()).unwrap();
    pod["status"] = status;
    pods.take(Event::Apply(serde_json::from_value(pod).unwrap()), NOW);
}

fn failed(code: &str, seconds_ago: i64) -> Value {
    let at = super::super::manifest::stamp(Timestamp(NOW.0 - seconds_ago * 1_000));
    let words = json!({"code": code, "message": "m"}).to_string();
    json!({"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 3, "message": words, "finishedAt": at}}}]})
}

fn decided(pods: &Pods, nodes: &[&str]) -> Staging {
    let nodes: Vec<Text> = nodes.iter().map(|node| Text::from(*node)).collect();
    staging(&nodes, "u1", &wanted(), pods, NOW)
}

#[test]
fn not_every_node_stages_at_once() {
    let names: Vec<String> = (0..AT_ONCE + 50).map(|number| format!("n{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let mut pods = Pods::default();
    assert_eq!(decided(&pods, &names).start.len(), AT_ONCE);
    let revision = wanted().revision().to_string();
    task(&mut pods, "n0", 1, &revision, json!({"phase": "Running"}));
    let staging = decided(&pods, &names);
    assert_eq!(staging.start.len(), AT_ONCE - 1);
    assert!(staging.remove.is_empty());
}

#[test]
fn what_has_succeeded_is_written_on_the_pod_and_then_the_task_goes() {
    let (mut pods, revision) = (Pods::default(), wanted().revision().to_string());
    task(&mut pods, "a", 1, &revision, json!({"phase": "Succeeded"}));
    let staging = decided(&pods, &["a"]);
    assert_eq!((staging.note.len(), staging.remove.len(), staging.start.len()), (1, 0, 0));
    let mirror: SlimPod = serde_json::from_value(json!({"metadata": {"name": "proxy-a", "uid": "m",
            "annotations": {"kubernetes.io/config.mirror": "h", "safepoint.dev/static-pod-staged": revision},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "n"}]},
        "spec": {"nodeName": "a"}}))
    .unwrap();
    pods.take(Event::Apply(mirror), NOW);
    let staging = decided(&pods, &[]);
    assert_eq!((staging.note.len(), staging.remove.len()), (0, 1));
}

#[test]
fn what_has_failed_is_tried_again_after_a_while_and_then_now_and_then() {
    let (mut pods, revision) = (Pods::default(), wanted().revision().to_string());
    task(&mut pods, "a", 1, &revision, failed("ImageUnavailable", 4));
    let staging = decided(&pods, &["a"]);
    assert_eq!((staging.start.len(), staging.again), (0, Some(Timestamp(NOW.0 + 6_000))));
    task(&mut pods, "a", 1, &revision, failed("ImageUnavailable", 11));
    assert_eq!(decided(&pods, &["a"]).start, [("a".into(), 2)]);
    // It was given up after the last of a few tries, within minutes and without a word: no owner ever got the upgrade.
    task(&mut pods, "a", 2, &revision, failed("ImageUnavailable", 1_000));
    let staging = decided(&pods, &["a"]);
    assert!(staging.start.is_empty());
    assert_eq!(staging.remove.len(), 1, "the first failure is outdone");
    assert_eq!(staging.again, Some(Timestamp(NOW.0 + 800_000)), "half an hour after it");
    assert_eq!(staging.failed[&Text::from("a")], "attempt 2 to put it ready failed: m");
    task(&mut pods, "a", 2, &revision, failed("ImageUnavailable", 1_800));
    assert_eq!(decided(&pods, &["a"]).start, [("a".into(), 3)]);
}

#[test]
fn a_node_that_does_not_let_it_is_asked_again_after_a_minute() {
    let (mut pods, revision) = (Pods::default(), wanted().revision().to_string());
    task(&mut pods, "a", 1, &revision, failed("Frozen", 59));
    let staging = decided(&pods, &["a"]);
    assert_eq!(
        (staging.remove.len(), staging.start.len(), staging.again),
        (0, 0, Some(Timestamp(NOW.0 + 1_000)))
    );
    task(&mut pods, "a", 1, &revision, failed("Frozen", 60));
    assert_eq!(decided(&pods, &["a"]).remove.len(), 1);
}

#[test]
fn what_nobody_waits_for_any_more_goes_unless_it_runs() {
    let (mut pods, revision) = (Pods::default(), wanted().revision().to_string());
    task(&mut pods, "a", 1, "older", json!({"phase": "Running"}));
    task(&mut pods, "b", 1, "older", json!({"phase": "Pending"}));
    task(&mut pods, "c", 1, &revision, json!({"phase": "Pending"}));
    task(&mut pods, "d", 1, "older", json!({"phase": "Succeeded"}));
    let staging = decided(&pods, &["a"]);
    let mut nodes: Vec<&str> = staging.remove.iter().map(|(node, _)| &**node).collect();
    nodes.sort_unstable();
    assert_eq!(nodes, ["b", "c", "d"]);
}
