//! Holds by annotation: nothing of a held workload changes until it is released, and then only that.

use std::fs;

use serde_json::{Value, json};

use super::world::{NODE, PODS, World, held, pod_path};

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";

/// What a pod with a mounted ConfigMap and a mounted Secret has in its spec.
fn with_mounts() -> Value {
    json!({
        "containers": [{"name": "main", "image": "rover:v1", "command": ["sleep", "600"], "volumeMounts": [
            {"name": "maps", "mountPath": "/etc/maps"}, {"name": "token", "mountPath": "/etc/token"}]}],
        "volumes": [{"name": "maps", "configMap": {"name": "maps"}}, {"name": "token", "secret": {"secretName": "token"}}],
    })
}

async fn make_configs(world: &World) {
    let maps =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "maps"}, "data": {"area": "1"}});
    let token = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "token"}, "stringData": {"key": "1"}});
    world.create(CONFIG_MAPS, maps).await;
    world.create(SECRETS, token).await;
}

fn mounted(world: &World, uid: &str) -> (String, String) {
    let root = world.root(uid);
    let read = |path: &str| fs::read_to_string(root.join(path)).unwrap();
    (read("etc/maps/area"), read("etc/token/key"))
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_pushed_to_a_held_pod_reaches_no_process_until_it_is_released() {
    let world = World::new().await;
    let uid = world.pod("rover", held()).await;
    world.until_ready("rover").await;
    let before = world.run_of(&uid);
    world.push("rover", "rover:v2").await;
    world.until_held("rover").await;
    world
        .until("the cluster is told", async |world| {
            (world.condition("rover", "HeldUpgrade").await.as_deref() == Some("True")).then_some(())
        })
        .await;
    assert!(before.is_alive() && world.run_of(&uid) == before);

    let (code, released) = world.release("rover").await;
    assert_eq!((code, &released["workloads"][0]["name"]), (200, &json!("rover")), "{released}");
    let after = world.until("it runs anew", async |world| world.run(&uid).filter(|run| *run != before)).await;
    assert_eq!(after.attempt, before.attempt + 1);
    assert!(!before.is_alive());
    world
        .until("the cluster is told that it is over", async |world| {
            (world.condition("rover", "HeldUpgrade").await.as_deref() == Some("False")).then_some(())
        })
        .await;
    let pod = world.get(&pod_path("rover")).await.1;
    let condition = pod["status"]["conditions"]
        .as_array()
        .unwrap()
        .iter()
        .find(|one| one["type"] == "HeldUpgrade")
        .unwrap();
    assert_eq!(condition["reason"], "Released");
}

#[tokio::test(flavor = "multi_thread")]
async fn config_maps_and_secrets_of_a_held_pod_keep_their_bytes() {
    let world = World::new().await;
    make_configs(&world).await;
    let uid = world.pod_with("rover", held(), with_mounts()).await;
    world.until_ready("rover").await;
    let before = world.run_of(&uid);
    assert_eq!(mounted(&world, &uid), ("1".into(), "1".into()));

    world.merge(&format!("{CONFIG_MAPS}/maps"), json!({"data": {"area": "2"}})).await;
    world.merge(&format!("{SECRETS}/token"), json!({"stringData": {"key": "2"}})).await;
    world
        .until("both are held", async |world| {
            (world.local("GET", "/v1/changes", None).await.1["items"].as_array()?.len() == 2).then_some(())
        })
        .await;
    world
        .until("the cluster is told", async |world| {
            (world.condition("rover", "HeldUpgrade").await.as_deref() == Some("True")).then_some(())
        })
        .await;
    assert_eq!(mounted(&world, &uid), ("1".into(), "1".into()));

    assert_eq!(world.release("rover").await.0, 200);
    world
        .until("the files are new", async |world| {
            (mounted(world, &uid) == ("2".into(), "2".into())).then_some(())
        })
        .await;
    assert!(
        before.is_alive() && world.run_of(&uid) == before,
        "files change under a process, and it goes on"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_template_pushed_three_times_while_held_starts_once_and_is_the_third() {
    let world = World::new().await;
    let uid = world.pod("rover", held()).await;
    world.until_ready("rover").await;
    let mut pending = String::new();
    for version in ["rover:v2", "rover:v3", "rover:v4"] {
        world.push("rover", version).await;
        // A release is for what is pending, so the gate must have seen each of them.
        pending = world
            .until("it is pending", async |world| {
                let why = world.why("rover").await;
                why["change"]["toRevision"]
                    .as_str()
                    .filter(|revision| **revision != pending)
                    .map(str::to_owned)
            })
            .await;
    }
    assert_eq!(world.release("rover").await.0, 200);
    world
        .until("the third is reported", async |world| {
            let pod = world.get(&pod_path("rover")).await.1;
            let status = &pod["status"]["containerStatuses"][0];
            (status["image"] == "rover:v4" && status["ready"] == true).then_some(())
        })
        .await;
    assert_eq!(world.runs(&uid).len(), 2, "one start, and one restart");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_deleted_and_made_anew_a_hundred_times_while_held_starts_once_and_is_the_newest() {
    let world = World::new().await;
    let first = world.pod("rover", held()).await;
    world.until_ready("rover").await;
    let before = world.run_of(&first);
    let mut newest = first.clone();
    for _ in 0..100 {
        // The cluster takes it away at once, as it does with a node that it believes dead.
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0});
        let (code, status) =
            world.call("DELETE", &pod_path("rover"), Some(("application/json", options))).await;
        assert_eq!(code, 200, "{status}");
        newest = world.pod("rover", held()).await;
    }
    world
        .until("the newest is known to the node", async |world| {
            let pods = world.local("GET", "/v1/why/default/rover", None).await.1;
            (pods["verdict"] == "Held").then_some(())
        })
        .await;
    world
        .until("the newest is told that it waits", async |world| {
            let pod = world.get(&pod_path("rover")).await.1;
            (pod["metadata"]["uid"] == newest.as_str()
                && world.condition("rover", "HeldUpgrade").await.as_deref() == Some("True"))
            .then_some(())
        })
        .await;
    assert!(
        before.is_alive() && world.started() == [first.clone()],
        "what ran, runs, and nothing else was started"
    );

    assert_eq!(world.release("rover").await.0, 200);
    world.until_ready("rover").await;
    world.until("the first has ended", async |_| (!before.is_alive()).then_some(())).await;
    world
        .until("only the newest is left", async |world| (world.started() == [newest.clone()]).then_some(()))
        .await;
    assert_eq!(world.runs(&newest).len(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_held_pod_that_is_deleted_across_a_restart_is_gone_without_having_run() {
    let mut world = World::new().await;
    let annotated = json!({"edge.kubeedge.io/hold-upgrade": "true"});
    let uid = world.pod("rover", annotated).await;
    world.until_held("rover").await;
    world.kill_agent();
    world.delete(&pod_path("rover")).await;
    world.start_agent();
    world
        .until("it is gone from the cluster", async |world| {
            (world.get(&pod_path("rover")).await.0 == 404).then_some(())
        })
        .await;
    assert!(world.runs(&uid).is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pod_is_held_however_it_arrives() {
    let mut world = World::without_agent().await;
    let annotated = || json!({"edge.kubeedge.io/hold-upgrade": "true"});
    // Bound before the agent ever ran.
    let bound = world.pod("bound", annotated()).await;
    world.start_agent();
    world.until_held("bound").await;
    // As an event.
    let event = world.pod("event", annotated()).await;
    world.until_held("event").await;
    // By the list after a restart.
    world.kill_agent();
    let relisted = world.pod("relisted", annotated()).await;
    world.start_agent();
    world.until_held("relisted").await;
    // By the list after a reconnect.
    world.go_offline().await;
    let reconnected = world.pod("reconnected", annotated()).await;
    world.go_online().await;
    world.until_held("reconnected").await;
    // By the binding of a scheduler.
    let unbound = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "scheduled", "annotations": annotated()},
        "spec": {"containers": [{"name": "main", "image": "rover:v1", "command": ["sleep", "600"]}]}});
    let scheduled = world.create(PODS, unbound).await["metadata"]["uid"].as_str().unwrap().to_owned();
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "scheduled"},
        "target": {"apiVersion": "v1", "kind": "Node", "name": NODE}});
    world.create(&format!("{PODS}/scheduled/binding"), binding).await;
    world.until_held("scheduled").await;
    // And by an empty list in between.
    for uid in [bound, event, relisted, reconnected, scheduled] {
        assert!(world.runs(&uid).is_empty());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_agent_killed_at_fifty_points_of_a_hold_changes_only_what_is_released_afterwards() {
    let mut world = World::new().await;
    let mut uids = Vec::new();
    for name in ["rover", "arm", "camera"] {
        uids.push((name, world.pod(name, held()).await));
    }
    let free = world.pod("free", json!({})).await;
    for name in ["rover", "arm", "camera", "free"] {
        world.until_ready(name).await;
    }
    let before: Vec<_> = uids.iter().map(|(_, uid)| world.run_of(uid)).collect();
    let free_before = world.run_of(&free);
    let mut random = fastrand(0x5afe_9017);
    for round in 0..50_u32 {
        // Something to be in the middle of.
        let (name, _) = &uids[round as usize % uids.len()];
        world.push(name, &format!("rover:v{}", round + 2)).await;
        let reads = random() % 40;
        for _ in 0..reads {
            world.local("GET", "/v1/status", None).await;
        }
        world.kill_agent();
        world.start_agent();
    }
    for (name, _) in &uids {
        world.until_held(name).await;
    }
    let now: Vec<_> = uids.iter().map(|(_, uid)| world.run_of(uid)).collect();
    assert_eq!(now, before);
    assert!(before.iter().all(super::world::Run::is_alive));

    let (rover, rover_before) = (&uids[0].1, &before[0]);
    assert_eq!(world.release("rover").await.0, 200);
    world
        .until("the rover runs anew", async |world| world.run(rover).filter(|run| run != rover_before))
        .await;
    world.until_ready("rover").await;
    assert_eq!(world.runs(rover).len(), 2);
    for ((_, uid), before) in uids.iter().zip(&before).skip(1) {
        assert!(before.is_alive() && world.run_of(uid) == *before);
    }
    assert!(free_before.is_alive() && world.run_of(&free) == free_before);
}

/// Numbers that are the same in every run.
pub(super) fn fastrand(mut seed: u64) -> impl FnMut() -> u64 {
    move || {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed
    }
}
