//! Freezes: between the 201 and the thaw nothing changes, whatever the cluster wants and whoever dies.

use std::fs;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::world::{World, held, pod_path};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";

/// A pod that reads a ConfigMap both ways: as a variable, which it writes down at every start, and as a file.
async fn make_reader(world: &World) -> String {
    let maps =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "maps"}, "data": {"area": "1"}});
    world.create(CONFIG_MAPS, maps).await;
    let out = world.folder.path().join("starts");
    let script =
        format!("echo $AREA $(cat $SAFEPOINT_ROOT/etc/maps/area) >> {}; exec sleep 600", out.display());
    let spec = json!({
        "containers": [{"name": "main", "image": "rover:v1", "command": ["sh", "-c", script],
            "env": [{"name": "AREA", "valueFrom": {"configMapKeyRef": {"name": "maps", "key": "area"}}}],
            "volumeMounts": [{"name": "maps", "mountPath": "/etc/maps"}]}],
        "volumes": [{"name": "maps", "configMap": {"name": "maps"}}],
    });
    let uid = world.pod_with("rover", json!({}), spec).await;
    world.until_ready("rover").await;
    uid
}

fn starts(world: &World) -> Vec<String> {
    let text = fs::read_to_string(world.folder.path().join("starts")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn while_frozen_what_dies_is_started_again_unchanged_from_the_snapshot() {
    let mut world = World::new().await;
    let uid = make_reader(&world).await;
    let (code, frozen) = world.freeze("mission").await;
    assert_eq!((code, frozen["state"].as_str()), (201, Some("Frozen")), "{frozen}");
    world.push("rover", "rover:v2").await;
    world.merge(&format!("{CONFIG_MAPS}/maps"), json!({"data": {"area": "2"}})).await;
    world.until_held("rover").await;

    for round in 1..=3_usize {
        if round == 2 {
            world.kill_agent();
            world.start_agent();
        }
        let before = world.run_of(&uid);
        kill_process(Pid::from_raw(before.pid).unwrap(), Signal::KILL).unwrap();
        world.until("it runs again", async |world| world.run(&uid).filter(|run| *run != before)).await;
        world
            .until("it has read its configuration", async |world| {
                (starts(world).len() == round + 1).then_some(())
            })
            .await;
    }
    assert_eq!(starts(&world), ["1 1", "1 1", "1 1", "1 1"]);
    assert_eq!(world.state().await, "Frozen");

    let before = world.run_of(&uid);
    assert_eq!(world.thaw().await.0, 200);
    world.until("the node is open", async |world| (world.state().await == "Open").then_some(())).await;
    world.until("the newest runs", async |world| world.run(&uid).filter(|run| *run != before)).await;
    world
        .until("it has read the newest", async |world| {
            starts(world).last().filter(|last| *last == "2 2").map(drop)
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_frozen_node_neither_starts_nor_stops_anything_and_catches_up_afterwards() {
    let mut world = World::new().await;
    let rover = world.pod("rover", json!({})).await;
    let arm = world.pod("arm", json!({})).await;
    for name in ["rover", "arm"] {
        world.until_ready(name).await;
    }
    let before = (world.run_of(&rover), world.run_of(&arm));
    assert_eq!(world.freeze("mission").await.0, 201);
    let new = world.pod("camera", json!({})).await;
    world.delete(&pod_path("arm")).await;
    for _ in 0..5 {
        world.push("rover", "rover:v2").await;
        world.push("rover", "rover:v3").await;
    }
    for name in ["rover", "arm", "camera"] {
        world.until_held(name).await;
    }
    world.kill_agent();
    world.start_agent();
    assert_eq!(world.state().await, "Frozen");
    assert!(before.0.is_alive() && before.1.is_alive() && world.runs(&new).is_empty());

    assert_eq!(world.thaw().await.0, 200);
    world.until_ready("camera").await;
    world
        .until("the arm is gone", async |world| (world.get(&pod_path("arm")).await.0 == 404).then_some(()))
        .await;
    world.until("the node has caught up", async |world| (world.state().await == "Open").then_some(())).await;
    assert_eq!(world.runs(&rover).len(), 2, "one apply, of the newest");
    assert!(!before.1.is_alive());
}

#[tokio::test(flavor = "multi_thread")]
async fn configuration_that_goes_is_gone_before_the_freeze_is_promised_or_stays_until_the_thaw() {
    let world = World::new().await;
    let spec = json!({
        "containers": [{"name": "main", "image": "rover:v1", "command": ["sleep", "600"],
            "volumeMounts": [{"name": "maps", "mountPath": "/etc/maps"}]}],
        "volumes": [{"name": "maps", "configMap": {"name": "maps", "optional": true}}],
    });
    let uid = world.pod_with("rover", json!({}), spec).await;
    world.until_ready("rover").await;
    let file = world.root(&uid).join("etc/maps/area");
    let is_there = || file.exists();
    for round in 0..10 {
        let maps = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "maps"}, "data": {"area": "1"}});
        world.create(CONFIG_MAPS, maps).await;
        world.until("it is shown", async |_| is_there().then_some(())).await;
        let path = format!("{CONFIG_MAPS}/maps");
        let (_, (code, answer)) = tokio::join!(world.delete(&path), world.freeze("mission"));
        let promised = is_there();
        assert_eq!(code, 201, "round {round}: {answer}");
        world
            .until("the agent knows", async |world| {
                let held = world.local("GET", "/v1/changes", None).await.1.to_string();
                (!is_there() || held.contains("maps")).then_some(())
            })
            .await;
        assert_eq!(is_there(), promised, "round {round}: it changed after the promise");
        assert_eq!(world.thaw().await.0, 200);
        world.until("the node is open", async |world| (world.state().await == "Open").then_some(())).await;
        world.until("it is gone", async |_| (!is_there()).then_some(())).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_freeze_is_refused_with_every_blocker_while_something_is_under_way() {
    let world = World::new().await;
    // It never gets ready.
    let never = json!({"containers": [{"name": "main", "image": "rover:v1", "command": ["sleep", "600"],
        "readinessProbe": {"exec": {"command": ["false"]}, "periodSeconds": 1}}]});
    let uid = world.pod_with("rover", json!({}), never).await;
    world.until("it runs", async |world| world.run(&uid)).await;
    let now = json!({"id": "mission", "reason": "takeoff"});
    let (code, refused) = world.local("POST", "/v1/freeze", Some(now)).await;
    assert_eq!((code, refused["reason"].as_str()), (409, Some("Unsettled")), "{refused}");
    assert_eq!(refused["blockers"][0]["reason"], "PodUnsettled");
    assert_eq!(refused["blockers"][0]["object"]["name"], "rover");
    assert_eq!(world.state().await, "Open");

    // With the barrier kept, nothing new starts although the freeze is refused.
    let keep = json!({"id": "mission", "reason": "takeoff", "deadline": "1s", "holdBarrier": true});
    let (code, refused) = world.local("POST", "/v1/freeze", Some(keep)).await;
    assert_eq!((code, &refused["barrierKept"]), (409, &json!(true)), "{refused}");
    let other = world.pod("arm", json!({})).await;
    world.until_held("arm").await;
    assert_eq!(world.state().await, "Freezing");
    assert!(world.runs(&other).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_whose_holder_died_stays_and_says_so() {
    let mut world = World::new().await;
    let uid = world.pod("rover", json!({})).await;
    world.until_ready("rover").await;
    let hold =
        json!({"id": "flight", "reason": "in the air", "scope": {"kind": "Node"}, "lease": {"for": "1s"}});
    assert_eq!(world.local("POST", "/v1/holds", Some(hold)).await.0, 201);
    world
        .until("it is orphaned", async |world| {
            world.local("GET", "/v1/status", None).await.1["orphaned"].as_bool().filter(|is| *is).map(drop)
        })
        .await;
    let before = world.run_of(&uid);
    world.push("rover", "rover:v2").await;
    world.until_held("rover").await;
    world.kill_agent();
    world.start_agent();
    world.until_held("rover").await;
    let why = world.why("rover").await["sentence"].as_str().unwrap().to_owned();
    assert!(why.contains("(flight), orphaned: \"in the air\""), "{why}");
    assert!(before.is_alive());

    // The holder comes back, and lets go.
    assert_eq!(world.local("PUT", "/v1/holds/flight", Some(json!({}))).await.0, 200);
    assert_eq!(world.local("DELETE", "/v1/holds/flight", None).await.0, 200);
    world.until("the update passes", async |world| world.run(&uid).filter(|run| *run != before)).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_record_that_cannot_be_read_freezes_the_node_and_ends_nothing() {
    let mut world = World::new().await;
    let uid = world.pod("rover", held()).await;
    world.until_ready("rover").await;
    let before = world.run_of(&uid);
    world.kill_agent();
    fs::write(world.data().join("journal.redb"), vec![7; 4096]).unwrap();
    world.push("rover", "rover:v2").await;
    world.start_agent();
    world
        .until("the node is frozen and knows what runs", async |world| {
            (world.state().await == "Frozen" && world.why("rover").await["verdict"] == "Held").then_some(())
        })
        .await;
    assert!(before.is_alive() && world.run_of(&uid) == before);
    let log = world.local("GET", "/v1/log", None).await.1;
    assert!(log["items"][0]["what"].as_str().is_some_and(|what| what.contains("could not be read")), "{log}");
    // An operator ends it. The annotation still holds the upgrade.
    assert_eq!(world.thaw().await.0, 200);
    world.until("the node is open", async |world| (world.state().await == "Open").then_some(())).await;
    world.until_held("rover").await;
    assert!(before.is_alive() && world.run_of(&uid) == before);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_audit_log_says_who_did_what_and_why_and_is_intact() {
    let world = World::new().await;
    world.freeze("mission").await;
    world.thaw().await;
    let log: Value = world.local("GET", "/v1/log", None).await.1;
    assert_eq!(log["intact"], true);
    let lines: Vec<String> = log["items"].as_array().unwrap().iter().map(ToString::to_string).collect();
    let pid = std::process::id();
    assert!(
        lines.iter().any(|line| line.contains("hold mission") && line.contains(&format!("pid {pid}"))),
        "{lines:?}"
    );
    assert!(lines.iter().any(|line| line.contains("freeze mission ended")), "{lines:?}");
}
