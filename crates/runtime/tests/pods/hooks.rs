//! Lifecycle hooks and stop signals.

use std::time::Duration;

use serde_json::json;

use crate::machine::{Machine, container, pod, wait_while};

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_pre_stop_hook_runs_before_the_signal() {
    let mut machine = Machine::new();
    let out = machine.path().join("out");
    let script = format!(
        "trap 'echo term >> {0}; exit 0' TERM; echo up > {0}; while :; do sleep 0.01; done",
        out.display()
    );
    let hook =
        json!({"preStop": {"exec": {"command": ["sh", "-c", format!("echo pre >> {}", out.display())]}}});
    let nav = pod("nav", &script).main("lifecycle", hook);
    machine.want(&nav);
    machine.until_ready("nav").await;
    wait_while(|| !out.exists()).await;
    machine.want(&nav.ending(LONG));
    machine.until_ended("nav").await;
    assert_eq!(std::fs::read_to_string(out).unwrap(), "up\npre\nterm\n");
}

#[tokio::test]
async fn a_pre_stop_hook_that_does_not_end_costs_no_more_than_the_grace_and_a_moment() {
    let mut machine = Machine::new();
    let hook = json!({"preStop": {"sleep": {"seconds": 3600}}});
    let nav = pod("nav", "trap 'exit 4' TERM; echo up; while :; do sleep 0.01; done").main("lifecycle", hook);
    machine.want(&nav);
    machine.until_ready("nav").await;
    wait_while(|| machine.log("nav", "main", 0).is_empty()).await;
    machine.want(&nav.ending(Duration::from_millis(100)));
    let report = machine.until_ended("nav").await;
    assert_eq!(container(&report, "main")["state"]["terminated"]["exitCode"], 4);
}

#[tokio::test]
async fn a_post_start_hook_comes_before_readiness_and_its_failure_kills() {
    let mut machine = Machine::new();
    let out = machine.path().join("out");
    let good =
        json!({"postStart": {"exec": {"command": ["sh", "-c", format!("echo hooked > {}", out.display())]}}});
    machine.want(&pod("good", "exec sleep 1000").main("lifecycle", good));
    machine.until_ready("good").await;
    assert!(out.exists());
    let bad = json!({"postStart": {"exec": {"command": ["false"]}}});
    machine.want(&pod("bad", "exec sleep 1000").main("lifecycle", bad).with("restartPolicy", json!("Never")));
    let report = machine.until_finished("bad").await;
    let ended = &container(&report, "main")["state"]["terminated"];
    assert_eq!(ended["exitCode"], 143);
    assert!(ended["message"].as_str().unwrap().contains("postStart"), "{ended}");
    assert!(
        machine
            .history
            .iter()
            .all(|report| report.uid != "bad" || container(report, "main")["ready"] == false)
    );
}

#[tokio::test]
async fn the_stop_signal_is_the_one_the_manifest_names() {
    let mut machine = Machine::new();
    let script = "trap 'exit 9' USR1; trap '' TERM; echo up; while :; do sleep 0.01; done";
    let nav = pod("nav", script).main("lifecycle", json!({"stopSignal": "SIGUSR1"}));
    machine.want(&nav);
    machine.until_ready("nav").await;
    wait_while(|| machine.log("nav", "main", 0).is_empty()).await;
    machine.want(&nav.ending(LONG));
    let report = machine.until_ended("nav").await;
    assert_eq!(container(&report, "main")["state"]["terminated"]["exitCode"], 9);
}
