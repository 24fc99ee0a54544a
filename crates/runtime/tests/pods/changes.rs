//! A pod that changes in place: only what changed is touched.

use serde_json::json;

use crate::machine::{Machine, Pod, container};

fn two(uid: &str) -> Pod {
    let sleep = |name: &str| json!({"name": name, "image": "v1", "command": ["sleep", "1000"]});
    Pod::of(
        uid,
        json!({"containers": [sleep("changes"), sleep("stays")], "terminationGracePeriodSeconds": 30}),
    )
}

#[tokio::test]
async fn only_the_container_that_changed_is_started_anew() {
    let mut machine = Machine::new();
    machine.want(&two("nav"));
    machine.until_ready("nav").await;
    let (old, stays) = (machine.pid("nav", "changes"), machine.pid("nav", "stays"));
    let mut newer = two("nav").newer();
    newer.manifest["spec"]["containers"][0]["image"] = json!("v2");
    machine.want(&newer);
    // As long as the old one runs, it is what is shown.
    let report = machine.until("nav", |report| report.version == "2").await;
    if container(&report, "changes")["restartCount"] == 0 {
        assert_eq!(container(&report, "changes")["image"], "v1");
    }
    let report = machine
        .until("nav", |report| {
            container(report, "changes")["restartCount"] == 1 && container(report, "changes")["ready"] == true
        })
        .await;
    assert_eq!(report.version, "2");
    assert_eq!(container(&report, "changes")["lastState"]["terminated"]["exitCode"], 143);
    assert_eq!(container(&report, "changes")["image"], "v2");
    assert_eq!(container(&report, "stays")["restartCount"], 0);
    assert_ne!(machine.pid("nav", "changes"), old);
    assert_eq!(machine.pid("nav", "stays"), stays);
    // Nor does a restart of the user find a difference.
    let mut machine = machine.reopen().await;
    let new = machine.until_ready("nav").await;
    machine.want(&newer);
    let mut third = newer.clone().newer();
    third.manifest["metadata"]["labels"] = json!({"a": "b"});
    third.manifest["spec"]["containers"][0]["resources"] = json!({"limits": {"cpu": "1"}});
    machine.want(&third);
    let report = machine.until("nav", |report| report.version == "3").await;
    assert_eq!(report.status["containerStatuses"], new.status["containerStatuses"]);
    assert_eq!(machine.pid("nav", "stays"), stays);
}

#[tokio::test]
async fn a_container_of_a_pod_that_is_never_restarted_is_changed_all_the_same() {
    let mut machine = Machine::new();
    let never = two("nav").with("restartPolicy", json!("Never"));
    machine.want(&never);
    machine.until_ready("nav").await;
    let mut newer = never.newer();
    newer.manifest["spec"]["containers"][0]["image"] = json!("v2");
    machine.want(&newer);
    machine
        .until("nav", |report| {
            container(report, "changes")["restartCount"] == 1 && container(report, "changes")["ready"] == true
        })
        .await;
}

#[tokio::test]
async fn wanting_the_same_again_reports_nothing_and_touches_nobody() {
    let mut machine = Machine::new();
    machine.want(&two("nav"));
    machine.until_ready("nav").await;
    let pids = machine.runtime.pids();
    for _ in 0..3 {
        machine.want(&two("nav"));
    }
    machine.want(&two("nav").newer());
    let n_before = machine.history.len();
    machine.until("nav", |report| report.version == "2").await;
    assert_eq!(machine.history.len(), n_before + 1);
    assert_eq!(machine.runtime.pids(), pids);
}

#[tokio::test]
async fn readiness_gates_are_read_from_the_manifest() {
    let mut machine = Machine::new();
    let gated = two("nav").with("readinessGates", json!([{"conditionType": "example.com/go"}]));
    machine.want(&gated);
    let report = machine
        .until("nav", |report| {
            container(report, "stays")["ready"] == true && container(report, "changes")["ready"] == true
        })
        .await;
    assert_eq!(crate::machine::condition(&report, "ContainersReady"), "True");
    assert_eq!(crate::machine::condition(&report, "Ready"), "False");
    let mut open = gated.newer();
    open.manifest["status"] = json!({"conditions": [{"type": "example.com/go", "status": "True"}]});
    machine.want(&open);
    let report = machine.until_ready("nav").await;
    assert_eq!(crate::machine::condition(&report, "example.com/go"), "absent");
}
