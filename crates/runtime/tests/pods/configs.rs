//! Variables and files from ConfigMaps and Secrets.

use std::{fs, time::Duration};

use safepoint_runtime::ConfigKey;
use serde_json::json;

use crate::machine::{Machine, Pod, container, pod, wait_while};

fn nav() -> ConfigKey {
    ConfigKey::config_map("nav")
}

/// Prints the mounted file each time it changes.
fn reader(uid: &str) -> Pod {
    let script = "while :; do new=$(cat $SAFEPOINT_ROOT/etc/nav/speed $SAFEPOINT_ROOT/etc/nav/mode); \
                  if [ \"$new\" != \"$old\" ]; then echo $new; old=$new; fi; sleep 0.01; done";
    pod(uid, script)
        .with("volumes", json!([{"name": "nav", "configMap": {"name": "nav"}}]))
        .main("volumeMounts", json!([{"name": "nav", "mountPath": "/etc/nav"}]))
}

#[tokio::test]
async fn a_changed_config_map_reaches_a_running_container_all_keys_at_once() {
    let mut machine = Machine::new();
    let one = reader("nav").config(nav(), "1", &[("speed", "1"), ("mode", "1")]);
    machine.want(&one);
    let report = machine.until_ready("nav").await;
    assert_eq!(report.configs[&nav()], "1");
    let pid = machine.pid("nav", "main");
    wait_while(|| machine.log("nav", "main", 0) != "11\n").await;
    machine.want(&reader("nav").config(nav(), "2", &[("speed", "2"), ("mode", "2"), ("new", "x")]));
    machine.until("nav", |report| report.configs.get(&nav()).is_some_and(|version| version == "2")).await;
    wait_while(|| !machine.log("nav", "main", 0).ends_with("22\n")).await;
    assert_eq!(machine.pid("nav", "main"), pid);
    let volume = machine.path().join("pods/nav/.volumes/nav");
    assert_eq!(fs::read_link(volume.join("speed")).unwrap().to_str(), Some("..data/speed"));
    assert_eq!(fs::read_to_string(volume.join("new")).unwrap(), "x");
    // After a restart the same versions are shown, although nobody has said what is in them yet.
    let mut machine = machine.reopen().await;
    assert_eq!(machine.until_ready("nav").await.configs[&nav()], "2");
}

#[tokio::test]
async fn a_config_map_that_vanishes_takes_no_files_away() {
    let mut machine = Machine::new();
    machine.want(&reader("nav").config(nav(), "1", &[("speed", "1"), ("mode", "1")]));
    machine.until_ready("nav").await;
    machine.want(&reader("nav").newer());
    let report = machine.until("nav", |report| report.version == "2").await;
    assert!(report.configs.is_empty(), "what is gone has no version any more");
    assert!(machine.path().join("pods/nav/.volumes/nav/speed").exists());
}

#[tokio::test]
async fn a_container_waits_for_what_it_needs_and_starts_when_it_comes() {
    let mut machine = Machine::new();
    machine.want(&reader("files"));
    let report =
        machine.until("files", |report| container(report, "main")["state"]["waiting"].is_object()).await;
    let waiting = &container(&report, "main")["state"]["waiting"];
    assert_eq!(waiting["reason"], "ContainerCreating");
    assert!(waiting["message"].as_str().unwrap().contains("configmap \"nav\" not found"), "{waiting}");
    machine.want(&reader("files").config(nav(), "1", &[("speed", "1"), ("mode", "1")]).newer());
    machine.until_ready("files").await;

    let variable =
        json!([{"name": "SPEED", "valueFrom": {"configMapKeyRef": {"name": "nav", "key": "speed"}}}]);
    let vars = pod("vars", "echo $SPEED; exec sleep 1000").main("env", variable);
    machine.want(&vars);
    let report = machine
        .until("vars", |report| container(report, "main")["state"]["waiting"]["message"].is_string())
        .await;
    assert_eq!(container(&report, "main")["state"]["waiting"]["reason"], "CreateContainerConfigError");
    machine.want(&vars.config(nav(), "1", &[("speed", "7")]).newer());
    machine.until_ready("vars").await;
    wait_while(|| machine.log("vars", "main", 0) != "7\n").await;
}

#[tokio::test]
async fn variables_are_clean_and_read_anew_at_every_start() {
    let mut machine = Machine::new();
    let go = machine.path().join("go");
    let script = format!(
        "env | cut -d= -f1 | sort | tr '\\n' ' '; echo $SPEED; while ! test -e {}; do sleep 0.01; done",
        go.display()
    );
    let from = json!([{"configMapRef": {"name": "nav"}}]);
    let vars = pod("vars", &script).main("envFrom", from);
    machine.want(&vars.clone().config(nav(), "1", &[("SPEED", "1")]));
    machine.until_ready("vars").await;
    // A change of the variables alone restarts nobody.
    machine.want(&vars.config(nav(), "2", &[("SPEED", "2")]).newer());
    machine.until("vars", |report| report.version == "2").await;
    assert_eq!(container(&machine.last["vars"], "main")["restartCount"], 0);
    wait_while(|| machine.log("vars", "main", 0).is_empty()).await;
    assert_eq!(machine.log("vars", "main", 0), "HOME HOSTNAME PATH PWD SAFEPOINT_ROOT SPEED 1\n");
    fs::write(go, "").unwrap();
    machine.until("vars", |report| container(report, "main")["restartCount"] == 1).await;
    wait_while(|| machine.log("vars", "main", 1).is_empty()).await;
    assert!(machine.log("vars", "main", 1).ends_with("SPEED 2\n"));
}

#[tokio::test]
async fn every_kind_of_volume_is_found_below_the_root() {
    let mut machine = Machine::new();
    let host = machine.path().join("host");
    let spec = json!({
        "restartPolicy": "Never",
        "volumes": [
            {"name": "secret", "secret": {"secretName": "key", "defaultMode": 256, "items": [{"key": "token", "path": "deep/token"}]}},
            {"name": "scratch", "emptyDir": {}},
            {"name": "host", "hostPath": {"path": host, "type": "DirectoryOrCreate"}},
            {"name": "down", "downwardAPI": {"items": [{"path": "labels", "fieldRef": {"fieldPath": "metadata.labels"}}]}},
            {"name": "all", "projected": {"sources": [
                {"configMap": {"name": "nav", "items": [{"key": "speed", "path": "speed"}]}},
                {"secret": {"name": "key"}},
                {"downwardAPI": {"items": [{"path": "name", "fieldRef": {"fieldPath": "metadata.name"}}]}},
            ]}},
            {"name": "none", "configMap": {"name": "none", "optional": true}},
        ],
        "containers": [{
            "name": "main", "workingDir": "/all",
            "command": ["sh", "-c", "cd $(SAFEPOINT_ROOT); cat /proc/self/cwd/secret/deep/token; stat -L -c %a secret/deep/token; \
                cat down/labels; echo; cat all/speed all/token all/name; echo; cat etc/one; echo; echo x > scratch/sub/x; echo y > host/y; ls none"],
            "volumeMounts": [
                {"name": "secret", "mountPath": "/secret"}, {"name": "scratch", "mountPath": "/scratch/sub", "subPath": "a/b"},
                {"name": "host", "mountPath": "/host"}, {"name": "down", "mountPath": "/down"}, {"name": "all", "mountPath": "/all"},
                {"name": "all", "mountPath": "/etc/one", "subPath": "speed"}, {"name": "none", "mountPath": "/none"},
            ],
        }],
    });
    let mut all = Pod::of("all", spec).config(nav(), "1", &[("speed", "5"), ("other", "x")]);
    all.manifest["metadata"]["labels"] = json!({"app": "nav"});
    let all = all.config(ConfigKey::secret("key"), "s1", &[("token", "t0ken")]);
    machine.want(&all);
    let report = machine.until_finished("all").await;
    assert_eq!(report.status["phase"], "Succeeded", "{} {}", report.status, machine.log("all", "main", 0));
    assert_eq!(machine.log("all", "main", 0), "t0ken400\napp=\"nav\"\n5t0kenall\n5\n");
    assert_eq!(fs::read_to_string(host.join("y")).unwrap(), "y\n");
    assert_eq!(report.configs[&ConfigKey::secret("key")], "s1");
    assert_eq!(fs::read_to_string(machine.path().join("pods/all/.volumes/scratch/a/b/x")).unwrap(), "x\n");
    // The one that was asked for as a part is a copy, and stays what it was.
    assert!(!fs::symlink_metadata(machine.run("all", "main", 0).join("root/etc/one")).unwrap().is_symlink());
    machine.want(&all.ending(Duration::from_secs(1)));
    machine.until_ended("all").await;
}
