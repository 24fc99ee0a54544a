//! Statuses as kubelets write them.

use serde_json::{Value, json};

use crate::outcome::Cause;
use crate::verify::PodSeen;

fn pod(status: &Value) -> PodSeen {
    let annotations = json!({"openyurt.io/static-pod-hash": "abc"});
    PodSeen::of_pod(&json!({"metadata": {"uid": "u1", "annotations": annotations}, "status": status}))
}

#[test]
fn a_ready_pod_is_ready() {
    let seen = pod(&json!({
        "phase": "Running",
        "conditions": [{"type": "Initialized", "status": "True"}, {"type": "Ready", "status": "True"}],
        "containerStatuses": [{"name": "main", "ready": true, "restartCount": 2, "state": {"running": {}}}],
        "initContainerStatuses": [{"name": "first", "ready": true, "restartCount": 1, "state": {"terminated": {"exitCode": 0}}}],
    }));
    assert!(seen.ready && seen.failure.is_none());
    assert_eq!((seen.uid.as_str(), seen.revision.as_deref(), seen.restarts), ("u1", Some("abc"), 3));
}

#[test]
fn a_crash_loop_is_a_failure_although_the_phase_is_running() {
    let waiting = json!({"reason": "CrashLoopBackOff", "message": "back-off 10s"});
    let seen = pod(&json!({
        "phase": "Running",
        "containerStatuses": [{"name": "main", "ready": false, "restartCount": 1, "state": {"waiting": waiting}}],
    }));
    let failure = seen.failure.unwrap();
    assert_eq!(failure.cause, Cause::CrashLoop);
    assert_eq!(failure.detail, "container main: CrashLoopBackOff back-off 10s");
}

#[test]
fn images_and_configurations_that_are_missing_are_told_apart() {
    let of = |reason: &str| {
        let state = json!({"waiting": {"reason": reason}});
        pod(&json!({"containerStatuses": [{"name": "main", "state": state}]})).failure.map(|it| it.cause)
    };
    assert_eq!(of("ErrImageNeverPull"), Some(Cause::ImageUnavailable));
    assert_eq!(of("ImagePullBackOff"), Some(Cause::ImageUnavailable));
    assert_eq!(of("CreateContainerConfigError"), Some(Cause::CannotStart));
    assert_eq!(of("ContainerCreating"), None);
    assert_eq!(of("PodInitializing"), None);
}

#[test]
fn a_pod_that_the_kubelet_refuses_has_ended() {
    let seen = pod(&json!({"phase": "Failed", "reason": "NodePorts", "message": "no free ports"}));
    let failure = seen.failure.unwrap();
    assert_eq!(
        (failure.cause, failure.detail.as_str()),
        (Cause::Ended, "the pod has ended: NodePorts no free ports")
    );
}

#[test]
fn what_is_not_known_yet_is_neither_ready_nor_bad() {
    let seen = pod(&json!({"phase": "Pending"}));
    assert!(!seen.ready && seen.failure.is_none());
    assert_eq!(seen.note, "its phase is Pending");
    assert_eq!(PodSeen::of_pod(&json!({})).uid, "");
}
