//! Hold at the source: what is put off, what is said, and what is noted.

use kube::api::{Api, DeleteParams, EvictParams, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::world::{NODE, Said, World, said};

fn frozen() -> serde_json::Value {
    json!({"state": "Frozen", "holds": [{"id": "lift-42", "holder": "flight-control", "origin": "Remote",
        "reason": "crane lift", "scope": {"kind": "Node"}, "since": "2026-11-15T11:30:00Z"}]})
}

fn armed() -> serde_json::Value {
    json!({"edge.kubeedge.io/hold-upgrade": "true"})
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_on_a_frozen_node_is_put_off_and_noted_and_passes_when_the_node_has_thawed() {
    let (world, _hub) = World::with_hub().await;
    world.pod("arm", json!({})).await;
    world.gate_seen(frozen(), "arm", true).await;
    let (code, reason, message) = world.delete("jane", "arm").await.no();
    assert_eq!((code, &*reason), (409, "Conflict"));
    for part in [
        "admission webhook \"hold.safepoint.dev\" denied the request: pod default/arm does not end now",
        "node rover-7 is frozen by flight-control since 2026-11-15T11:30:00Z (\"crane lift\")",
        "`safepoint node unfreeze rover-7`",
        "`kubectl annotate pod arm -n default safepoint.dev/end-wished-`",
    ] {
        assert!(message.contains(part), "{message}");
    }
    let wish = world.wished("arm").await;
    assert_eq!((&wish["by"], &wish["how"]), (&json!("jane"), &json!("delete")));
    world.gate_seen(json!({"state": "Thawing"}), "arm", false).await;
    assert_eq!(world.delete("jane", "arm").await, Said::Yes);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_eviction_is_answered_as_a_disruption_budget_answers_and_noted() {
    let (world, _hub) = World::with_hub().await;
    world.pod("arm", armed()).await;
    world.gate_seen(json!({"state": "Open"}), "arm", true).await;
    let (code, reason, message) = world.evict("drain", "arm").await.no();
    assert_eq!((code, &*reason), (429, "TooManyRequests"));
    assert!(message.contains("pod default/arm is annotated to hold its upgrades"), "{message}");
    assert!(message.contains("`safepoint release default/arm --node rover-7`"), "{message}");
    assert_eq!(world.wished("arm").await["how"], "eviction");
    let grant = json!({"workload": {"kind": "Pod", "namespace": "default", "name": "arm"},
        "since": "2026-11-15T12:00:00Z", "by": "order-1"});
    world.gate_seen(json!({"state": "Open", "grants": [grant]}), "arm", false).await;
    assert_eq!(world.evict("drain", "arm").await, Said::Yes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dry_run_is_answered_the_same_and_leaves_nothing() {
    let (world, _hub) = World::with_hub().await;
    world.pod("arm", json!({})).await;
    world.pod("leg", json!({})).await;
    world.gate_seen(frozen(), "arm", true).await;
    let dry = DeleteParams { dry_run: true, ..DeleteParams::default() };
    let dry_delete = said(world.pods("jane").delete("arm", &dry).await);
    let dry = PostParams { dry_run: true, ..PostParams::default() };
    let around = EvictParams { post_options: dry, ..EvictParams::default() };
    assert!(said(world.pods("jane").evict("arm", &around).await).is_no());
    // It may also be said inside, where the API server does not look for it before it asks.
    let inside = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "arm"},
        "deleteOptions": {"dryRun": ["All"]}});
    let pods = world.pods("jane");
    let done: Result<serde_json::Value, _> =
        pods.create_subresource("eviction", "arm", &PostParams::default(), &inside).await;
    assert!(said(done).is_no());
    assert_eq!(dry_delete.no().2.replace("arm", "leg"), world.delete("jane", "leg").await.no().2);
    // Notes are written in the order in which they were left: nothing is on its way when the last one is there.
    world.wished("leg").await;
    assert_eq!(world.wish("arm").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn whoever_forces_and_the_node_itself_are_not_put_off() {
    let (world, _hub) = World::with_hub().await;
    world.pod("arm", json!({})).await;
    world.pod("leg", json!({})).await;
    world.gate_seen(frozen(), "arm", true).await;
    assert_eq!(world.force("jane", "arm").await, Said::Yes);
    let own: Api<k8s_openapi::api::core::v1::Pod> = Api::default_namespaced(world.node());
    assert_eq!(said(own.delete("leg", &DeleteParams::default()).await), Said::Yes);
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_never_started_and_pods_of_the_hub_are_not_put_off() {
    let (world, _hub) = World::with_hub().await;
    world.pod("arm", json!({})).await;
    world.gate_seen(frozen(), "arm", true).await;
    let pod = |name: &str| {
        serde_json::from_value(json!({"metadata": {"name": name}, "spec": {"nodeName": NODE,
            "containers": [{"name": "main", "image": "rover:v1"}]}}))
        .unwrap()
    };
    world.pods("jane").create(&PostParams::default(), &pod("new")).await.unwrap();
    assert_eq!(world.delete("jane", "new").await, Said::Yes);
    let own: Api<k8s_openapi::api::core::v1::Pod> = Api::namespaced(world.act_as("jane"), "safepoint-system");
    own.create(&PostParams::default(), &pod("hub")).await.unwrap();
    let status = json!({"status": {"phase": "Running", "startTime": "2026-11-15T12:00:00Z"}});
    own.patch_status("hub", &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
    assert_eq!(said(own.delete("hub", &DeleteParams::default()).await), Said::Yes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_wish_that_was_withdrawn_can_be_had_again_at_once() {
    let (world, _hub) = World::with_hub().await;
    world.pod("arm", json!({})).await;
    world.gate_seen(frozen(), "arm", true).await;
    for _ in 0..3 {
        assert!(world.delete("jane", "arm").await.is_no());
        world.wished("arm").await;
        world.withdraw("arm").await;
    }
    assert_eq!(world.wish("arm").await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_eviction_does_not_take_the_place_of_a_persons_deletion() {
    let (world, _hub) = World::with_hub().await;
    world.pod("arm", json!({})).await;
    world.pod("leg", json!({})).await;
    world.gate_seen(frozen(), "arm", true).await;
    assert!(world.delete("jane", "arm").await.is_no());
    world.wished("arm").await;
    assert!(world.evict("drain", "arm").await.is_no());
    assert!(world.evict("drain", "leg").await.is_no());
    world.wished("leg").await;
    assert_eq!(world.wish("arm").await.unwrap()["by"], "jane");
    assert!(world.delete("jane", "leg").await.is_no());
    crate::hub::until("the deletion outranks the eviction", async || {
        (world.wish("leg").await?["how"] == "delete").then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_hub_everything_passes() {
    let (world, hub) = World::with_hub().await;
    world.pod("arm", json!({})).await;
    world.gate_seen(frozen(), "arm", true).await;
    hub.kill().await;
    assert_eq!(world.delete("jane", "arm").await, Said::Yes);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collection_is_put_off_pod_by_pod() {
    let (world, _hub) = World::with_hub().await;
    world.pod("arm", json!({})).await;
    world.gate_seen(frozen(), "arm", true).await;
    let arms = kube::api::ListParams::default().labels("app=arm");
    let all = world.pods("jane").delete_collection(&DeleteParams::default(), &arms).await;
    assert!(said(all).is_no());
    assert_eq!(world.wished("arm").await["by"], "jane");
}
