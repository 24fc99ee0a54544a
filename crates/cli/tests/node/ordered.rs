//! Upgrades of static pods that the node's owner orders and nobody has laid ready: what the cluster wants is asked for, and
//! passes the gate.

use std::fs;

use serde_json::{Value, json};

use super::manifests::{POD, revision, static_pod, until_mirrored};
use super::world::{NODE, World, pod_path};

const OBJECTS: &str = "/apis/safepoint.dev/v1alpha1/namespaces/default/staticpods";

fn object_path() -> String {
    format!("{OBJECTS}/fleet")
}

/// A StaticPod whose moment the owners of nodes decide.
pub(super) fn object(script: &str) -> Value {
    json!({"apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod", "metadata": {"name": "fleet"},
        "spec": {"staticPodName": "nav", "staticPodManifest": "nav", "upgradeStrategy": {"type": "OTA"},
            "template": {"spec": template(script)}}})
}

fn template(script: &str) -> Value {
    json!({"terminationGracePeriodSeconds": 1, "containers": [
        {"name": "main", "image": "nav:1", "command": ["sh", "-c", script]}]})
}

/// A node that runs the first revision, in a cluster that wants something else.
async fn node(object: Value) -> World {
    let mut world = World::without_agent().await;
    world.extra.extend(["--ready-for=1s".to_owned(), "--ready-within=20s".to_owned()]);
    world.start_agent();
    let first = revision(&world, "one", "exec sleep 600");
    let (done, said) = static_pod(&world, &["install", POD, "-f", &first]);
    assert!(done, "{said}\n{}", world.log());
    until_mirrored(&world, None).await;
    world.create(OBJECTS, object).await;
    world
}

fn manifest(world: &World) -> String {
    fs::read_to_string(world.data().join("manifests/nav.yaml")).unwrap()
}

/// The static pod, as the node API shows it.
async fn state(world: &World) -> Value {
    world.local("GET", "/v1/static-pods/default/nav", None).await.1
}

/// How many lines of the audit log are about what somebody on this machine did.
async fn acts(world: &World) -> usize {
    let log = world.local("GET", "/v1/log?limit=1000", None).await.1;
    let who = |line: &&Value| line["by"].as_str().is_some_and(|by| by.contains("uid"));
    log["items"].as_array().unwrap().iter().filter(who).count()
}

/// Orders an upgrade that is to be refused. Returns what was said.
fn refused(world: &World) -> String {
    let (done, said) = static_pod(world, &["upgrade", POD]);
    assert!(!done, "{said}\n{}", world.log());
    assert!(manifest(world).contains("sleep 600"), "nothing has changed: {said}");
    said
}

fn upgraded(world: &World, to: &str) {
    let (done, said) = static_pod(world, &["upgrade", POD]);
    assert!(done, "{said}\n{}", world.log());
    assert!(manifest(world).contains(to), "{}", manifest(world));
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_cluster_wants_is_applied_where_nobody_has_laid_it_ready() {
    let world = node(object("exec sleep 700")).await;
    let before = acts(&world).await;
    upgraded(&world, "sleep 700");
    let state = state(&world).await;
    assert_eq!((&state["phase"], &state["last"]["code"]), (&json!("Settled"), &json!("Upgraded")), "{state}");
    assert!(state["next"].is_null(), "{state}");
    assert!(acts(&world).await > before, "who has ordered it is on record");

    let (code, said) = world.local("POST", "/v1/static-pods/default/nav/upgrade", None).await;
    assert_eq!((code, &said["reason"]), (409, &json!("NothingStaged")));
    let message = said["message"].as_str().unwrap();
    assert!(message.contains("StaticPod default/fleet wants what is here already"), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_cluster_the_order_is_refused_with_what_to_do_and_works_later() {
    let mut world = node(object("exec sleep 700")).await;
    world.go_offline().await;
    let said = refused(&world);
    assert!(said.contains("cluster cannot be reached") && said.contains("-f FILE"), "{said}");
    assert_eq!(state(&world).await["phase"], "Settled");
    world.go_online().await;
    world
        .until("the agent has noticed", async |world| {
            let status = world.local("GET", "/v1/status", None).await.1;
            status["uplink"]["connected"].as_bool().filter(|connected| *connected)
        })
        .await;
    upgraded(&world, "sleep 700");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_came_while_the_node_was_frozen_lies_ready_and_is_applied_later_without_the_cluster() {
    let mut world = node(object("exec sleep 700")).await;
    assert_eq!(world.freeze("mission").await.0, 201);
    let (code, said) = world.local("POST", "/v1/static-pods/default/nav/upgrade", None).await;
    assert_eq!((code, &said["reason"]), (409, &json!("Frozen")), "{said}");
    assert!(manifest(&world).contains("sleep 600"));
    let held = state(&world).await;
    assert_eq!((&held["phase"], &held["next"]["staged"]), (&json!("Held"), &json!(true)), "{held}");

    world.go_offline().await;
    world.kill_agent();
    world.start_agent();
    let said = refused(&world);
    assert!(said.contains("frozen"), "{said}");
    world.thaw().await;
    upgraded(&world, "sleep 700");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_the_owner_does_not_decide_about_or_nobody_could_run_is_refused_with_the_reason() {
    let mut broken = object("exec sleep 700");
    broken["spec"]["template"]["spec"]["serviceAccountName"] = json!("default");
    let world = node(broken).await;
    let said = refused(&world);
    let hub = "spec.template.spec.serviceAccountName: a static pod has no service account";
    assert!(said.contains(hub), "{said}");

    world
        .merge(
            &object_path(),
            json!({"spec": {"template": {"spec": {"serviceAccountName": null}}, "paused": true}}),
        )
        .await;
    let said = refused(&world);
    assert!(said.contains("is paused: `safepoint static-pod resume default/fleet`"), "{said}");

    let rolling = json!({"spec": {"paused": false, "upgradeStrategy": {"type": "AdvancedRollingUpdate"}}});
    world.merge(&object_path(), rolling).await;
    let said = refused(&world);
    assert!(said.contains("is rolled out by the hub"), "{said}");

    world.delete(&object_path()).await;
    let said = refused(&world);
    assert!(said.contains("no StaticPod of the cluster is about it"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_good_goes_back_is_tried_again_and_gives_way_to_what_is_newer() {
    let world = node(object("exit 1")).await;
    for _ in 0..2 {
        let said = refused(&world);
        assert!(said.contains("the old manifest is in place again"), "{said}\n{}", world.log());
    }
    let mended = json!({"spec": {"template": {"spec": template("exec sleep 700")}}});
    world.merge(&object_path(), mended).await;
    upgraded(&world, "sleep 700");
}

/// The bad revision that lay ready was still applied after the cluster had gone back: nothing took it away again.
#[tokio::test(flavor = "multi_thread")]
async fn what_the_cluster_has_taken_back_is_neither_applied_nor_released_as_long_as_it_can_be_reached() {
    let mut world = node(object("exec sleep 700")).await;
    assert_eq!(world.freeze("mission").await.0, 201);
    let (code, said) = world.local("POST", "/v1/static-pods/default/nav/upgrade", None).await;
    assert_eq!((code, &said["reason"]), (409, &json!("Frozen")), "{said}");
    world.thaw().await;
    let held = state(&world).await;
    assert_eq!((&held["phase"], &held["next"]["staged"]), (&json!("Held"), &json!(true)), "{held}");

    // What the hub does when a StaticPod is deleted.
    world.delete(&object_path()).await;
    let untold = json!({"type": "PodNeedUpgrade", "status": "False", "reason": "NothingToUpgrade"});
    let mirror = format!("{}/status", pod_path(&format!("nav-{NODE}")));
    world.patch(&mirror, "strategic", json!({"status": {"conditions": [untold]}})).await;
    world
        .until("nothing waits any more", async |world| {
            (state(world).await["phase"] == "Settled").then_some(())
        })
        .await;
    let (code, said) = world.local("POST", "/v1/static-pods/default/nav/upgrade", None).await;
    assert_eq!((code, &said["reason"]), (409, &json!("NothingToUpgrade")), "{said}");
    assert!(said["message"].as_str().unwrap().contains("has taken back revision"), "{said}");
    let (code, said) = world.local("POST", "/v1/releases", Some(json!({"node": true}))).await;
    assert!(matches!(code, 200 | 409), "{said}");
    assert!(manifest(&world).contains("sleep 600"));

    // Nobody knows better without the cluster, and it is there.
    world.go_offline().await;
    upgraded(&world, "sleep 700");
}
