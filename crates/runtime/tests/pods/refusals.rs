//! What cannot be honoured fails for good before anything starts, and says all of why. Nothing hostile gets through.

use std::time::Duration;

use safepoint_runtime::{Health, OpenError, Runtime};
use serde_json::json;

use crate::machine::{Machine, Pod, condition, container, options, pod};

async fn refused(machine: &mut Machine, pod: &Pod) -> String {
    machine.want(pod);
    let report = machine.until(&pod.uid, |report| report.health == Health::Finished).await;
    assert_eq!(
        (&report.status["phase"], &report.status["reason"]),
        (&json!("Failed"), &json!("CannotHonour"))
    );
    assert_eq!(condition(&report, "SafepointCannotHonour"), "True");
    assert!(machine.runtime.pids().is_empty());
    report.status["message"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn every_problem_is_named_at_once() {
    let mut machine = Machine::new();
    let spec = json!({
        "volumes": [{"name": "disk", "persistentVolumeClaim": {"claimName": "x"}}, {"name": "up", "hostPath": {"path": "/a/../b"}}],
        "containers": [
            {"name": "silent", "args": ["x"]},
            {"name": "mounts", "command": ["true"], "tty": true, "volumeMounts": [
                {"name": "none", "mountPath": "/a"}, {"name": "disk", "mountPath": "/../etc"}, {"name": "disk", "mountPath": "/a/b"}]},
            {"name": "asks", "command": ["true"], "readinessProbe": {"grpc": {"port": 1}},
             "env": [{"name": "X", "valueFrom": {"fieldRef": {"fieldPath": "spec.nope"}}}],
             "lifecycle": {"stopSignal": "SIGNOPE"}},
        ],
    });
    let message = refused(&mut machine, &Pod::of("bad", spec)).await;
    for part in [
        "persistentVolumeClaim",
        "\"/a/../b\"",
        "\"silent\": it has no command",
        "tty",
        "no volume \"none\"",
        "\"/../etc\"",
        "\"/a/b\" is within another",
        "grpc",
        "spec.nope",
        "SIGNOPE",
    ] {
        assert!(message.contains(part), "{part} is not in: {message}");
    }
}

#[tokio::test]
async fn names_that_would_leave_the_folder_are_refused() {
    let mut machine = Machine::new();
    let named = |name: &str| Pod::of("names", json!({"containers": [{"name": name, "command": ["true"]}]}));
    assert!(refused(&mut machine, &named("../../x")).await.contains("../../x"));
    for uid in ["../x", "a/b", ".hidden", "", "..", &"x".repeat(300)] {
        let mut bad = pod("x", "true");
        bad.uid = uid.to_owned();
        assert!(refused(&mut machine, &bad).await.contains("uid"), "{uid}");
        machine.want(&bad.ending(Duration::ZERO));
        machine.until_ended(uid).await;
    }
    let mut wanted = pod("y", "true").wanted();
    wanted.name = "../../y".into();
    machine.runtime.want(wanted);
    let report = machine.until("y", |report| report.health == Health::Finished).await;
    assert_eq!(report.status["reason"], "CannotHonour");
    let outside: Vec<_> =
        std::fs::read_dir(machine.path()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(outside.len(), 3, "{outside:?}");
}

#[tokio::test]
async fn what_is_no_pod_is_an_error_in_the_status() {
    let mut machine = Machine::new();
    for (n, manifest) in [
        json!(null),
        json!([1]),
        json!({}),
        json!({"spec": "x"}),
        json!({"spec": {"containers": [{"name": 5}]}}),
    ]
    .into_iter()
    .enumerate()
    {
        let mut bad = pod(&format!("bad{n}"), "true");
        bad.manifest = manifest;
        refused(&mut machine, &bad).await;
    }
    let zero = Pod::of("zero", json!({"containers": [{"name": "main", "command": ["a\0b"]}]}));
    assert!(refused(&mut machine, &zero).await.contains("zero byte"));
}

#[tokio::test]
async fn an_environment_that_the_system_does_not_take_is_an_error_of_the_container() {
    let mut machine = Machine::new();
    let huge = pod("huge", "true").main("env", json!([{"name": "X", "value": "x".repeat(4 << 20)}]));
    machine.want(&huge.with("restartPolicy", json!("Never")));
    let report = machine.until_finished("huge").await;
    assert_eq!(container(&report, "main")["state"]["terminated"]["reason"], "ContainerCannotRun");
}

#[tokio::test]
async fn a_port_of_the_host_is_given_out_once() {
    let mut machine = Machine::new();
    let taken = std::net::TcpListener::bind("0.0.0.0:0").unwrap();
    let port = taken.local_addr().unwrap().port();
    let with = |uid: &str| {
        pod(uid, "exec sleep 1000").main("ports", json!([{"containerPort": 80, "hostPort": port}]))
    };
    let message = refused(&mut machine, &with("one")).await;
    assert!(message.contains(&format!("hostPort {port}/TCP is used by another program")), "{message}");
    drop(taken);
    machine.want(&with("two"));
    machine.until_ready("two").await;
    machine.want(&with("three"));
    let report = machine.until_finished("three").await;
    assert!(report.status["message"].as_str().unwrap().contains("uid two"), "{}", report.status);
    machine.want(&with("two").ending(Duration::from_secs(1)));
    machine.until_ended("two").await;
    machine.want(&with("four"));
    machine.until_ready("four").await;
}

#[tokio::test]
async fn an_ephemeral_container_is_shown_as_impossible_and_harms_nobody() {
    let mut machine = Machine::new();
    machine.want(&pod("nav", "exec sleep 1000"));
    machine.until_ready("nav").await;
    machine.want(
        &pod("nav", "exec sleep 1000")
            .with("ephemeralContainers", json!([{"name": "debug", "image": "x"}]))
            .newer(),
    );
    let report = machine.until("nav", |report| report.version == "2").await;
    assert_eq!(container(&report, "debug")["state"]["waiting"]["reason"], "CannotHonour");
    assert_eq!(report.health, Health::Ready);
}

#[tokio::test]
async fn the_end_of_an_unknown_pod_is_reported_and_leaves_no_trace() {
    let mut machine = Machine::new();
    machine.want(&pod("ghost", "true").ending(Duration::ZERO));
    let report = machine.until_ended("ghost").await;
    assert_eq!(report.health, Health::Finished);
    assert!(!machine.path().join("pods/ghost").exists());
}

#[tokio::test]
async fn a_folder_has_one_runtime() {
    let machine = Machine::new();
    let second = Runtime::open(options(machine.path()));
    assert!(matches!(second, Err(OpenError::Locked { .. })));
    let none = Runtime::open(safepoint_runtime::Options::new("/nope", vec![]));
    assert!(matches!(none, Err(OpenError::NoShim)));
}
