//! Task pods, written and read.

#![allow(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]

use safepoint_manifest::{Code, Outcome};
use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp(1_794_700_800_000);

fn making(kind: Kind) -> Making<'static> {
    Making {
        namespace: "kube-system",
        object: ("proxy", "uid-1"),
        static_pod: "kube-proxy",
        manifest: "proxy",
        node: "rover-7",
        kind,
        revision: "bcdfghjklmnp",
        attempt: 2,
        key: words::KEY_MANIFEST,
        sum: "5e11",
        program: program(),
    }
}

/// The pod as a watch shows it, with this status.
fn shown(pod: &Pod, status: Value) -> SlimPod {
    let mut pod = serde_json::to_value(pod).unwrap();
    pod["metadata"]["uid"] = json!("uid-2");
    pod["metadata"]["resourceVersion"] = json!("17");
    pod["status"] = status;
    serde_json::from_value(pod).unwrap()
}

fn read(status: Value) -> TaskFacts {
    TaskFacts::read(&shown(&making(Kind::Work(Work::Upgrade)).pod(), status), NOW).unwrap()
}

#[test]
fn a_task_says_whose_it_is_and_what_for_in_labels_and_owner() {
    for kind in [Kind::Work(Work::Install), Kind::Work(Work::Remove), Kind::Work(Work::Upgrade), Kind::Stage]
    {
        let pod = making(kind).pod();
        let facts = TaskFacts::read(&shown(&pod, json!({})), NOW).unwrap();
        assert_eq!((facts.kind, facts.attempt, facts.standing), (kind, 2, Standing::Waiting));
        assert_eq!(facts.revision.as_str(), "bcdfghjklmnp");
        let owner = &pod.metadata.owner_references.unwrap()[0];
        assert_eq!((&*owner.kind, &*owner.uid, owner.controller), ("StaticPod", "uid-1", Some(true)));
    }
}

#[test]
fn a_task_gets_to_any_node_and_reads_one_config_map() {
    let spec = making(Kind::Work(Work::Upgrade)).pod().spec.unwrap();
    assert_eq!(spec.node_name.as_deref(), Some("rover-7"));
    assert_eq!(spec.tolerations.as_deref().map(<[_]>::len), Some(1));
    assert_eq!(spec.restart_policy.as_deref(), Some("Never"));
    let maps: Vec<_> =
        spec.volumes.iter().flatten().filter_map(|volume| volume.config_map.as_ref()).collect();
    assert_eq!(maps.len(), 1);
    assert_eq!(maps[0].name, "safepoint-static-proxy-bcdfghjklmnp");
    let command = spec.containers[0].command.as_ref().unwrap().join(" ");
    assert_eq!(
        command,
        "safepoint static-pod-upgrade --namespace kube-system --name kube-proxy --manifest proxy --file \
         $(SAFEPOINT_ROOT)/data/manifest.yaml --revision bcdfghjklmnp --sha256 5e11 --host /host --data /var/lib/safepoint --mode upgrade \
         --node rover-7 --termination-log $(SAFEPOINT_ROOT)/dev/termination-log"
    );
}

#[test]
fn a_task_has_begun_when_its_container_has() {
    let waiting = json!({"phase": "Pending", "containerStatuses": [{"state": {"waiting": {"reason": "ImagePullBackOff"}}}]});
    assert_eq!(read(waiting).standing, Standing::Waiting);
    let running =
        json!({"phase": "Pending", "containerStatuses": [{"state": {"running": {"startedAt": null}}}]});
    assert_eq!(read(running).standing, Standing::Running);
    assert_eq!(read(json!({"phase": "Running"})).standing, Standing::Running);
    let ended = read(json!({"phase": "Succeeded", "containerStatuses": [
        {"state": {"terminated": {"exitCode": 0, "finishedAt": "2026-11-14T00:00:00Z"}}}]}));
    assert!(ended.has_succeeded());
    assert!(matches!(ended.planned().unwrap().phase, Phase::Succeeded { at } if at < NOW));
}

#[test]
fn a_task_that_was_not_let_is_no_try() {
    let words = Outcome::new(Code::Busy, "the node is frozen").termination_message();
    let state =
        json!({"terminated": {"exitCode": 3, "message": words, "finishedAt": "2026-11-14T00:00:00Z"}});
    let facts = read(json!({"phase": "Failed", "containerStatuses": [{"state": state}]}));
    assert_eq!(facts.planned(), None);
    assert_eq!(facts.put_off().map(|(why, _)| &**why), Some("the node is frozen"));
}

/// OpenYurt's defects 3 and 16: pods of others are none of ours, and nothing is said about them.
#[test]
fn a_pod_that_only_has_the_name_of_a_task_is_none() {
    let mut pod = shown(&making(Kind::Stage).pod(), json!({}));
    pod.metadata.labels = None;
    assert_eq!(TaskFacts::read(&pod, NOW), None);
}
