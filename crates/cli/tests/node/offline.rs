//! Without a link: the gate decides the same, and what was decided stays decided.

use serde_json::json;

use super::world::{World, held, pod_path};

#[tokio::test(flavor = "multi_thread")]
async fn a_release_without_a_link_takes_effect_and_survives_a_restart_without_a_link() {
    let mut world = World::new().await;
    let uid = world.pod("rover", held()).await;
    let other = world.pod("arm", held()).await;
    for name in ["rover", "arm"] {
        world.until_ready(name).await;
        world.push(name, "rover:v2").await;
        world.until_held(name).await;
    }
    let (before, arm) = (world.run_of(&uid), world.run_of(&other));
    world.go_offline().await;
    assert_eq!(world.release("rover").await.0, 200);
    let after =
        world.until("the rover runs anew", async |world| world.run(&uid).filter(|run| *run != before)).await;
    world.kill_agent();
    world.start_agent();
    world
        .until("the release has run its course", async |world| {
            let status = world.local("GET", "/v1/status", None).await.1;
            (status["heldCount"] == 1 && status["grants"].as_array().is_none_or(Vec::is_empty)).then_some(())
        })
        .await;
    assert!(after.is_alive() && world.run_of(&uid) == after);
    assert!(arm.is_alive() && world.run_of(&other) == arm);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_release_of_the_node_without_a_link_names_what_it_released() {
    let mut world = World::new().await;
    for name in ["rover", "arm"] {
        world.pod(name, held()).await;
        world.until_ready(name).await;
        world.push(name, "rover:v2").await;
        world.until_held(name).await;
    }
    world.go_offline().await;
    let (code, released) = world.local("POST", "/v1/releases", Some(json!({"node": true}))).await;
    let names: Vec<&str> =
        released["workloads"].as_array().unwrap().iter().filter_map(|one| one["name"].as_str()).collect();
    assert_eq!((code, names), (200, vec!["arm", "rover"]), "{released}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_cluster_deleted_meanwhile_still_runs_and_its_end_is_held() {
    let mut world = World::new().await;
    let uid = world.pod("rover", held()).await;
    world.until_ready("rover").await;
    let before = world.run_of(&uid);
    world.go_offline().await;
    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0});
    world.call("DELETE", &pod_path("rover"), Some(("application/json", options))).await;
    assert_eq!(world.get(&pod_path("rover")).await.0, 404);
    world.go_online().await;
    world.until_held("rover").await;
    let why = world.why("rover").await;
    assert_eq!(why["change"]["change"], "Stop", "{why}");
    assert!(before.is_alive());
    world.kill_agent();
    world.start_agent();
    world.until_held("rover").await;
    assert!(before.is_alive() && world.run_of(&uid) == before);
    assert_eq!(world.release("rover").await.0, 200);
    world.until("it has ended", async |_| (!before.is_alive()).then_some(())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_node_that_boots_without_a_link_runs_what_it_ran() {
    let mut world = World::new().await;
    let uid = world.pod("rover", json!({})).await;
    world.until_ready("rover").await;
    let before = world.run_of(&uid);
    world.kill_agent();
    world.go_offline().await;
    world.start_agent();
    assert!(before.is_alive() && world.run_of(&uid) == before);
    // And what dies without a link is started again, unchanged.
    rustix::process::kill_process(
        rustix::process::Pid::from_raw(before.pid).unwrap(),
        rustix::process::Signal::KILL,
    )
    .unwrap();
    let after =
        world.until("it runs again", async |world| world.run(&uid).filter(|run| *run != before)).await;
    assert!(after.is_alive());
}
