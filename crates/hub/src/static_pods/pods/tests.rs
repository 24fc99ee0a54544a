//! The tables of pods.

use safepoint_core::rollout::Work;
use serde_json::{Value, json};

use super::super::task::{Kind, Making, program};
use super::*;

const NOW: Timestamp = Timestamp(1_794_700_800_000);

fn task(object: (&str, &str), node: &str, version: u64) -> SlimPod {
    let making = Making {
        namespace: "edge",
        object,
        static_pod: object.0,
        manifest: "m",
        node,
        kind: Kind::Work(Work::Upgrade),
        revision: "r1",
        attempt: 1,
        key: "manifest.yaml",
        sum: "5e11",
        program: program(),
    };
    let mut pod = serde_json::to_value(making.pod()).unwrap();
    pod["metadata"]["uid"] = json!(format!("t-{version}"));
    pod["metadata"]["resourceVersion"] = json!(version.to_string());
    serde_json::from_value(pod).unwrap()
}

fn mirror(static_pod: &str, node: &str, revision: &str, version: u64) -> SlimPod {
    let pod: Value = json!({"metadata": {"name": format!("{static_pod}-{node}"), "uid": format!("m-{version}"),
            "resourceVersion": version.to_string(),
            "annotations": {"kubernetes.io/config.mirror": "h", "openyurt.io/static-pod-hash": revision},
            "ownerReferences": [{"apiVersion": "v1", "kind": "Node", "name": node, "uid": "n"}]},
        "spec": {"nodeName": node}});
    serde_json::from_value(pod).unwrap()
}

/// OpenYurt's defect 3: set `a` claimed the workers of `ab` and of `a-b`.
#[test]
fn a_task_belongs_to_the_object_whose_uid_it_names() {
    let mut pods = Pods::default();
    for (object, version) in [(("a", "u1"), 1), (("ab", "u2"), 2), (("a-b", "u3"), 3)] {
        let touched = pods.take(Event::Apply(task(object, "n1", version)), NOW);
        assert_eq!(touched, [Touched::Owner { uid: object.1.into(), node: "n1".into() }]);
    }
    for uid in ["u1", "u2", "u3"] {
        assert_eq!(pods.tasks(uid, "n1").len(), 1);
    }
    assert_eq!(pods.version(), 3);
}

#[test]
fn only_what_has_changed_touches_anybody_and_a_list_forgets_what_is_gone() {
    let mut pods = Pods::default();
    assert_eq!(pods.take(Event::Apply(mirror("a", "n1", "r1", 1)), NOW).len(), 1);
    let same = SlimPod {
        metadata: ObjectMeta { uid: Some("m-1".into()), ..mirror("a", "n1", "r1", 2).metadata },
        ..mirror("a", "n1", "r1", 2)
    };
    assert!(pods.take(Event::Apply(same), NOW).is_empty());
    assert_eq!(pods.take(Event::Apply(mirror("a", "n1", "r2", 3)), NOW).len(), 1);
    pods.take(Event::Apply(task(("a", "u1"), "n1", 4)), NOW);
    assert!(!pods.complete);
    pods.take(Event::Init, NOW);
    assert!(pods.take(Event::InitApply(mirror("b", "n1", "r2", 5)), NOW).len() == 1);
    assert_eq!((pods.version(), pods.lists()), (4, 0), "something older may still come");
    let gone = pods.take(Event::InitDone, NOW);
    assert_eq!((pods.version(), pods.lists()), (5, 1));
    assert_eq!(gone.len(), 2);
    assert!(pods.complete && pods.tasks("u1", "n1").is_empty() && pods.mirror("a", "n1").is_none());
    assert!(pods.mirror("b", "n1").is_some());
}

#[test]
fn a_task_that_was_made_is_known_before_the_watch_tells_and_not_after_it_has_gone() {
    let mut pods = Pods::default();
    let made = |version| TaskFacts::read(&task(("a", "u1"), "n1", version), NOW).unwrap();
    pods.add(&"u1".into(), &"n1".into(), made(7));
    assert_eq!(pods.tasks("u1", "n1").len(), 1);
    pods.take(Event::Apply(task(("a", "u1"), "n1", 7)), NOW);
    assert_eq!(pods.tasks("u1", "n1").len(), 1);
    pods.take(Event::Delete(task(("a", "u1"), "n1", 8)), NOW);
    pods.add(&"u1".into(), &"n1".into(), made(7));
    assert!(pods.tasks("u1", "n1").is_empty(), "it has come and gone");
}

#[test]
fn what_was_just_written_is_known_of_the_object_it_was_written_on() {
    let mut pods = Pods::default();
    pods.take(Event::Apply(mirror("a", "n1", "r1", 1)), NOW);
    pods.marked("a", "n1", "another", Some(Revision::from("r2")));
    assert_eq!(pods.mirror("a", "n1").unwrap().marked, None);
    pods.marked("a", "n1", "m-1", Some(Revision::from("r2")));
    pods.staged("a", "n1", "m-1", Revision::from("r2"));
    let mirror = pods.mirror("a", "n1").unwrap();
    assert_eq!((mirror.marked.as_ref(), mirror.staged.as_ref()), (Some(&"r2".into()), Some(&"r2".into())));
}

/// A node whose clock is behind: its pod had been ready for long enough, and its failure was long ago, as soon as they were seen.
#[test]
fn what_just_happened_is_not_long_ago_whatever_a_nodes_clock_says() {
    let ready = |version: u64| {
        let mut pod = mirror("a", "n1", "r1", version);
        pod.metadata.uid = Some("m".into());
        pod.status.conditions = serde_json::from_value(json!([{"type": "Ready", "status": "True",
            "lastTransitionTime": "2026-11-14T00:00:00Z"}]))
        .unwrap();
        pod
    };
    let ended = |version: u64| {
        let mut pod = task(("a", "u1"), "n1", version);
        pod.metadata.uid = Some("t".into());
        pod.status =
            serde_json::from_value(json!({"phase": "Failed", "containerStatuses": [{"state": {"terminated":
            {"exitCode": 1, "finishedAt": "2026-11-14T00:00:00Z"}}}]}))
            .unwrap();
        pod
    };
    let since = |pods: &Pods| match pods.mirror("a", "n1").unwrap().pod {
        safepoint_core::rollout::Pod::Present { ready, .. } => ready.unwrap(),
        safepoint_core::rollout::Pod::Absent => panic!("it is there"),
    };
    let failed = |pods: &Pods| pods.tasks("u1", "n1")[0].failure().unwrap().at;
    let said = Timestamp(NOW.0 - 86_400_000);
    let later = Timestamp(NOW.0 + 60_000);

    let mut listed = Pods::default();
    listed.take(Event::Init, NOW);
    listed.take(Event::InitApply(ready(1)), NOW);
    listed.take(Event::InitApply(ended(2)), NOW);
    listed.take(Event::InitDone, NOW);
    assert_eq!(
        (since(&listed), failed(&listed)),
        (said, said),
        "a list shows what may have been so for long"
    );
    assert!(listed.take(Event::Apply(ready(3)), later).is_empty(), "and nothing has happened since");

    let mut watched = Pods::default();
    watched.take(Event::Init, NOW);
    watched.take(Event::InitDone, NOW);
    watched.take(Event::Apply(mirror("a", "n1", "r1", 1)), NOW);
    watched.take(Event::Apply(ready(2)), NOW);
    watched.take(Event::Apply(ended(3)), NOW);
    assert_eq!((since(&watched), failed(&watched)), (NOW, NOW));
    assert!(watched.take(Event::Apply(ready(4)), later).is_empty());
    watched.take(Event::Apply(ended(5)), later);
    assert_eq!(
        (since(&watched), failed(&watched)),
        (NOW, NOW),
        "it is seen again, and has not happened again"
    );
}
