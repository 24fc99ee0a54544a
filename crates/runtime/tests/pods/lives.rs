//! Start, end, restart: the life of a pod whose runtime is there all the time.

use std::time::Duration;

use safepoint_runtime::Health;
use serde_json::json;

use crate::machine::{Machine, Pod, condition, container, pod, start_of, wait_while};

const LONG: Duration = Duration::from_secs(30);

#[tokio::test]
async fn a_pod_starts_is_ready_and_ends_with_its_grace() {
    let mut machine = Machine::new();
    let nav = pod("nav", "trap 'echo bye; exit 7' TERM; echo hello; while :; do sleep 0.01; done");
    machine.want(&nav);
    let report = machine.until_ready("nav").await;
    assert_eq!(report.status["phase"], "Running");
    assert_eq!(container(&report, "main")["containerID"], "process://nav/main/0");
    assert_eq!(report.status["observedGeneration"], 1);
    for kind in ["PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready", "PodScheduled"] {
        assert_eq!(condition(&report, kind), "True", "{kind}");
    }
    let pid = machine.pid("nav", "main");
    // The trap is set when the first line is there.
    wait_while(|| !machine.log("nav", "main", 0).contains("hello")).await;
    machine.want(&nav.clone().ending(LONG));
    let report = machine.until_ended("nav").await;
    assert_eq!(container(&report, "main")["state"]["terminated"]["exitCode"], 7);
    assert_eq!((report.version.as_str(), report.health), ("2", Health::Finished));
    assert_eq!(start_of(pid), None);
    // The shell has something to say as well, on another stream.
    let log = machine.log("nav", "main", 0);
    assert!(log.starts_with("hello\n") && log.contains("bye\n"), "{log}");
    assert!(machine.runtime.pids().is_empty());

    machine.runtime.forget("nav");
    // Wanted anew, it is new.
    machine.want(&nav);
    let report = machine.until("nav", |report| !report.ended && report.health == Health::Ready).await;
    assert_eq!(container(&report, "main")["restartCount"], 0);
}

#[tokio::test]
async fn a_program_that_does_not_listen_is_killed_after_the_grace() {
    let mut machine = Machine::new();
    let deaf = pod("deaf", "trap '' TERM; echo ready; while :; do sleep 0.01; done");
    machine.want(&deaf);
    machine.until_ready("deaf").await;
    wait_while(|| !machine.log("deaf", "main", 0).contains("ready")).await;
    machine.want(&deaf.ending(Duration::from_millis(50)));
    let report = machine.until_ended("deaf").await;
    let ended = &container(&report, "main")["state"]["terminated"];
    assert_eq!((&ended["exitCode"], &ended["signal"]), (&json!(137), &json!(9)));
}

#[tokio::test]
async fn a_grace_that_becomes_shorter_counts_from_then() {
    let mut machine = Machine::new();
    let deaf = pod("deaf", "trap '' TERM; echo ready; while :; do sleep 0.01; done");
    machine.want(&deaf);
    machine.until_ready("deaf").await;
    machine.want(&deaf.clone().ending(Duration::from_secs(3600)));
    machine.until("deaf", |report| report.version == "2").await;
    machine.want(&deaf.ending(Duration::ZERO).newer());
    machine.until_ended("deaf").await;
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_killed_with_it() {
    let mut machine = Machine::new();
    machine.want(
        &pod("fork", "setsid sleep 1000 & echo $!; (sleep 1000 &) ; sleep 0.1; exit 3")
            .with("restartPolicy", json!("Never")),
    );
    let report = machine.until_finished("fork").await;
    assert_eq!(container(&report, "main")["state"]["terminated"]["exitCode"], 3);
    let left: i32 = machine.log("fork", "main", 0).trim().parse().unwrap();
    assert_eq!(start_of(left), None);
}

#[tokio::test]
async fn restart_policies_are_the_kubelets() {
    let mut machine = Machine::new();
    for (uid, policy, script, phase) in [
        ("never-bad", "Never", "exit 4", "Failed"),
        ("never-good", "Never", "exit 0", "Succeeded"),
        ("on-failure-good", "OnFailure", "exit 0", "Succeeded"),
    ] {
        machine.want(&pod(uid, script).with("restartPolicy", json!(policy)));
        let report = machine.until_finished(uid).await;
        assert_eq!(report.status["phase"], phase, "{uid}");
        assert_eq!(container(&report, "main")["restartCount"], 0, "{uid}");
    }
    for (uid, policy, script) in [("always", "Always", "exit 0"), ("on-failure-bad", "OnFailure", "exit 5")] {
        machine.want(&pod(uid, script).with("restartPolicy", json!(policy)));
        let report = machine
            .until(uid, |report| {
                container(report, "main")["restartCount"].as_u64() >= Some(2)
                    && container(report, "main")["state"]["waiting"]["reason"] == "CrashLoopBackOff"
            })
            .await;
        assert_eq!(report.status["phase"], "Running", "{uid}");
        let last = &container(&report, "main")["lastState"]["terminated"];
        assert_eq!(last["reason"], if uid == "always" { "Completed" } else { "Error" });
        machine.want(&pod(uid, script).ending(LONG));
        machine.until_ended(uid).await;
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_cannot_run() {
    let mut machine = Machine::new();
    let none = Pod::of(
        "none",
        json!({"restartPolicy": "Never", "containers": [{"name": "main", "command": ["/no/such"]}]}),
    );
    machine.want(&none);
    let report = machine.until_finished("none").await;
    let ended = &container(&report, "main")["state"]["terminated"];
    assert_eq!((&ended["exitCode"], &ended["reason"]), (&json!(128), &json!("ContainerCannotRun")));
    assert!(ended["message"].as_str().unwrap().contains("/no/such"), "{ended}");
}

#[tokio::test]
async fn init_containers_run_one_after_the_other_and_sidecars_stay() {
    let mut machine = Machine::new();
    let script = |script: &str| json!(["sh", "-c", script]);
    let spec = json!({
        "restartPolicy": "Never",
        "volumes": [{"name": "shared", "emptyDir": {}}],
        "initContainers": [
            {"name": "first", "command": script("echo 1 > $SAFEPOINT_ROOT/s/order"), "volumeMounts": [{"name": "shared", "mountPath": "/s"}]},
            {"name": "side", "restartPolicy": "Always", "command": script("echo side >> $SAFEPOINT_ROOT/s/order; exec sleep 1000"),
             "startupProbe": {"exec": {"command": ["grep", "side", "s/order"]}, "periodSeconds": 1},
             "volumeMounts": [{"name": "shared", "mountPath": "/s"}]},
            {"name": "second", "command": script("echo 2 >> $SAFEPOINT_ROOT/s/order"), "volumeMounts": [{"name": "shared", "mountPath": "/s"}]},
        ],
        "containers": [{"name": "main", "command": script("cat $SAFEPOINT_ROOT/s/order"), "volumeMounts": [{"name": "shared", "mountPath": "/s"}]}],
    });
    machine.want(&Pod::of("init", spec));
    let report = machine.until_finished("init").await;
    assert_eq!(machine.log("init", "main", 0), "1\nside\n2\n");
    assert_eq!(report.status["phase"], "Succeeded");
    assert_eq!(condition(&report, "Initialized"), "True");
    assert!(container(&report, "side")["state"]["terminated"].is_object());
    let waited =
        machine.history.iter().find(|report| container(report, "first")["state"]["terminated"].is_null());
    let waited = waited.unwrap();
    assert_eq!(container(waited, "main")["state"]["waiting"]["reason"], "PodInitializing");
    assert_eq!((waited.status["phase"].as_str(), waited.health), (Some("Pending"), Health::Starting));
}

#[tokio::test]
async fn a_failed_init_container_fails_a_pod_that_is_never_restarted() {
    let mut machine = Machine::new();
    let spec = json!({
        "restartPolicy": "Never",
        "initContainers": [{"name": "first", "command": ["false"]}],
        "containers": [{"name": "main", "command": ["true"]}],
    });
    machine.want(&Pod::of("init", spec));
    let report = machine.until_finished("init").await;
    assert_eq!(report.status["phase"], "Failed");
    assert_eq!(condition(&report, "Initialized"), "False");
    assert_eq!(container(&report, "main")["containerID"], json!(null));
}

#[tokio::test]
async fn logs_are_in_the_format_of_container_runtimes() {
    let mut machine = Machine::new();
    machine.want(&pod("log", "echo out; echo err >&2; printf open").with("restartPolicy", json!("Never")));
    machine.until_finished("log").await;
    let link = machine.path().join("logs/test_log_main.log");
    let text = std::fs::read_to_string(link).unwrap();
    let mut lines: Vec<Vec<&str>> = text.lines().map(|line| line.splitn(4, ' ').collect()).collect();
    lines.sort_by_key(|line| line[3]);
    for line in &lines {
        assert!(
            line[0].len() == "2026-11-15T12:00:00.000000000Z".len() && line[0].ends_with('Z'),
            "{line:?}"
        );
    }
    let lines: Vec<&[&str]> = lines.iter().map(|line| &line[1..]).collect();
    assert_eq!(lines, [["stderr", "F", "err"], ["stdout", "F", "open"], ["stdout", "F", "out"]]);
}

#[tokio::test]
async fn the_last_words_of_a_container_are_in_its_status() {
    let mut machine = Machine::new();
    let script = "printf 'out of fuel' > $SAFEPOINT_ROOT/dev/termination-log; exit 3";
    machine.want(&Pod::of(
        "nav",
        json!({"restartPolicy": "Never",
        "containers": [{"name": "main", "command": ["sh", "-c", script]}]}),
    ));
    let report = machine.until_finished("nav").await;
    let terminated = &container(&report, "main")["state"]["terminated"];
    assert_eq!((&terminated["message"], &terminated["exitCode"]), (&json!("out of fuel"), &json!(3)));
}

#[tokio::test]
async fn last_words_are_read_through_no_link() {
    let mut machine = Machine::new();
    let secret = machine.path().join("secret");
    std::fs::write(&secret, "not yours").unwrap();
    let script = format!("cd $SAFEPOINT_ROOT; rm last; ln -s {} last", secret.display());
    machine.want(&Pod::of(
        "nav",
        json!({"restartPolicy": "Never", "containers": [{"name": "main",
        "terminationMessagePath": "/last", "command": ["sh", "-c", script]}]}),
    ));
    let report = machine.until_finished("nav").await;
    let terminated = &container(&report, "main")["state"]["terminated"];
    assert_eq!((&terminated["message"], &terminated["exitCode"]), (&json!(null), &json!(0)));
}
