//! The pod lifecycle on the embedded API.

use std::sync::{Arc, Mutex};

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use kube::api::{Api, DeleteParams, Patch, PatchParams};
use safepoint_core::Span;
use safepoint_core::lifecycle::{SERVICE_READY, Timeouts};
use safepoint_hub::{Features, Options};
use serde_json::{Value, json};

use crate::clock::Shifted;
use crate::core_lifecycle::{set, wire};
use crate::hub::{RunningHub, options, until};
use crate::lifecycle_stories as stories;
use crate::review;
use crate::stage::{PHASE, Stage, condition, labels_of};
use crate::world::{NODE, World};

const ON: Features = Features { grace_delete: true };

fn stage(world: &World) -> Stage {
    Stage {
        hub: world.admin.clone(),
        jane: world.act_as("jane"),
        kubelet: world.node(),
        namespace: "default".to_owned(),
        node: NODE.to_owned(),
    }
}

fn graceful(world: &World) -> Options {
    Options { features: ON, ..options(&world.admin) }
}

async fn with(story: impl AsyncFnOnce(Stage)) {
    let world = World::new().await;
    let _hub = RunningHub::leading(graceful(&world)).await;
    world.registered().await;
    story(stage(&world)).await;
}

macro_rules! told {
    ($($story:ident)*) => {$(
        #[tokio::test(flavor = "multi_thread")]
        async fn $story() {
            with(stories::$story).await;
        }
    )*};
}

told! {
    mutations readiness deletions table weakness_1_and_2 weakness_3 weakness_4 weakness_6_and_7 weakness_8 weakness_9
    weakness_14 weakness_16 weakness_19 a_kubelets_writes_are_its_own cancelled graceful_deletion a_service_that_is_gone
}

#[tokio::test(flavor = "multi_thread")]
async fn checks() {
    let world = World::new().await;
    let _hub = RunningHub::leading(graceful(&world)).await;
    world.registered().await;
    let configurations: Api<ValidatingWebhookConfiguration> = Api::all(world.admin.clone());
    let configuration = Arc::new(configurations.get("safepoint").await.unwrap());
    stories::checks(stage(&world), async |pod: Value| review::ask(&configuration, pod).await).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pods_that_do_not_take_part_are_not_asked_about() {
    let world = World::new().await;
    let _hub = RunningHub::leading(graceful(&world)).await;
    world.registered().await;
    let stage = stage(&world);
    stage.make("plain", Default::default(), json!({}), json!({})).await;
    let pod = stage.begin("plain", "1", "update").await;
    assert_eq!(labels_of(&pod), set(&["operating/1", "operation-type/1=update"]));
    assert!(pod.spec.unwrap().readiness_gates.is_none_or(|gates| gates.is_empty()));
    assert!(!stage.get("plain").await.metadata.labels.unwrap().contains_key(PHASE));
    stage.delete("plain", false).await.unwrap();
}

/// Off unless it is switched on, as in the reference.
#[tokio::test(flavor = "multi_thread")]
async fn without_the_feature_gate_a_deletion_passes_at_once() {
    let (world, _hub) = World::with_hub().await;
    let stage = stage(&world);
    stage.serving("web").await;
    stage.delete("web", false).await.unwrap();
    assert!(stage.get("web").await.metadata.deletion_timestamp.is_some());
    stage.serving("api").await;
    stage.evict("api").await.unwrap();
    // A person who wants it through the lifecycle says so, as with KusionStack.
    stage.serving("db").await;
    stage.label(&stage.jane, "db", &[("to-delete", Some("yes"))]).await;
    stage.until_gone("db").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_ends_in_the_middle_of_an_operation_is_followed_by_one_that_goes_on() {
    let world = World::new().await;
    let mut hub = RunningHub::leading(graceful(&world)).await;
    world.registered().await;
    let stage = stage(&world);
    stage.serving("web").await;
    // Everybody goes on writing while there is no hub, and nobody is refused.
    hub.kill().await;
    let begun = stage.begin("web", "1", "update").await;
    assert!(!labels_of(&begun).contains("pre-check/1"), "there is nobody who asks the rules");
    hub = RunningHub::leading(graceful(&world)).await;
    until("it prepares", async || stage.labels("web").await.contains("preparing/1").then_some(())).await;
    hub.kill().await;
    stage.act("web").await;
    stage.act("web").await;
    assert!(stage.get("web").await.metadata.finalizers.is_none_or(|all| all.is_empty()));
    assert!(!stage.labels("web").await.contains("operate/1"), "nobody has seen that it is switched off");
    hub = RunningHub::leading(graceful(&world)).await;
    until("it may act", async || stage.labels("web").await.contains("operate/1").then_some(())).await;
    hub.kill().await;
    stage.finish("web", "1").await;
    let _hub = RunningHub::leading(graceful(&world)).await;
    stage.settle("web").await;
    stage.until("web", &["service-available"], true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_ends_in_the_middle_of_a_deletion_is_followed_by_one_that_goes_on() {
    let world = World::new().await;
    let hub = RunningHub::leading(graceful(&world)).await;
    world.registered().await;
    let stage = stage(&world);
    stage.serving("web").await;
    assert_eq!(stage.delete("web", false).await.unwrap_err().code, 403);
    hub.kill().await;
    let hub = RunningHub::leading(graceful(&world)).await;
    until("its gate is closed", async || {
        (condition(&stage.get("web").await, SERVICE_READY) == Some(false)).then_some(())
    })
    .await;
    hub.kill().await;
    stage.act("web").await;
    stage.act("web").await;
    assert!(stage.get("web").await.metadata.deletion_timestamp.is_none(), "nobody deletes without a hub");
    let _hub = RunningHub::leading(graceful(&world)).await;
    stage.until_gone("web").await;
}

/// What a kubelet writes passes, also while nobody answers; people's writes as well.
#[tokio::test(flavor = "multi_thread")]
async fn a_hub_that_is_away_stands_in_nobodys_way() {
    let world = World::new().await;
    let hub = RunningHub::leading(graceful(&world)).await;
    world.registered().await;
    let stage = stage(&world);
    stage.serving("web").await;
    hub.kill().await;
    stage.status("web", &[("Ready", false)]).await;
    stage.begin("web", "1", "update").await;
    stage.make("new", wire(&[]), json!({}), json!({})).await;
    stage.delete("web", false).await.unwrap();
    assert!(stage.get("web").await.metadata.deletion_timestamp.is_some(), "protection keeps the object");
    assert!(stage.get("new").await.metadata.deletion_timestamp.is_none());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hold_and_the_lifecycle_answer_in_one_sentence_and_in_order() {
    let world = World::new().await;
    let _hub = RunningHub::leading(graceful(&world)).await;
    world.registered().await;
    let stage = stage(&world);
    stage.serving("web").await;
    let hold = json!({"id": "lift-42", "holder": "flight-control", "origin": "Remote", "reason": "crane lift",
        "scope": {"kind": "Node"}, "since": "2026-11-15T11:30:00Z"});
    world.gate(json!({"state": "Frozen", "holds": [hold]})).await;
    // Before the hub has seen the gate, the lifecycle answers; both are dry.
    until("the hub has seen the hold", async || {
        let refused = stage.delete("web", true).await.unwrap_err();
        (refused.code == 409).then_some(())
    })
    .await;
    for _ in 0..5 {
        let refused = stage.delete("web", false).await.unwrap_err();
        assert_eq!(refused.code, 409);
        // Both webhooks say so, and the one that was faster is heard.
        let (_, said) = refused.message.split_once(" denied the request: ").unwrap();
        assert_eq!(
            said,
            "pod default/web does not end now because node \
             rover-7 is frozen by flight-control since 2026-11-15T11:30:00Z (\"crane lift\"); the wish is noted and the \
             pod goes through its lifecycle and ends when it is released (`safepoint node unfreeze rover-7`), unless the \
             wish is withdrawn (`kubectl label pod web -n default collaset.kusionstack.io/to-delete-`)"
        );
    }
    // It is noted, not with the node, and no operation begins while the node holds.
    let noted = stage.get("web").await;
    assert!(world.wish("web").await.is_none());
    assert_eq!(labels_of(&noted), set(&["service-available", "to-delete"]));
    stage.undeclared("other").await;
    assert_eq!(stage.labels("web").await, set(&["service-available", "to-delete"]));
    world.gate(json!({"state": "Open"})).await;
    until("the lifecycle answers", async || {
        let refused = stage.delete("web", false).await.unwrap_err();
        (refused.code == 403 && refused.message.contains("being managed by PodOpsLifecycle")).then_some(())
    })
    .await;
    stage.until_gone("web").await;
}

/// A hold that comes while a deletion is under way: the pod stays, out of service, until it is released.
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_is_held_before_its_last_step_is_not_deleted_before_it_is_released() {
    let world = World::new().await;
    let _hub = RunningHub::leading(graceful(&world)).await;
    world.registered().await;
    let stage = stage(&world);
    stage.serving("web").await;
    assert!(stage.delete("web", false).await.is_err());
    until("its gate is closed", async || {
        (condition(&stage.get("web").await, SERVICE_READY) == Some(false)).then_some(())
    })
    .await;
    world.gate(json!({"state": "Frozen"})).await;
    until("the hub has seen the hold", async || {
        (stage.delete("web", true).await.unwrap_err().code == 409).then_some(())
    })
    .await;
    stage.until_may_act("web", "pod-delete").await;
    stage.undeclared("other").await;
    let held = stage.get("web").await;
    assert!(held.metadata.deletion_timestamp.is_none());
    assert!(world.wish("web").await.is_none(), "the hub does not wish for what it does itself");
    world.gate(json!({"state": "Open"})).await;
    stage.until_gone("web").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_eviction_that_is_not_asked_for_again_is_taken_back() {
    let world = World::new().await;
    let clock = Shifted::new();
    let hub = Options { clock: clock.clock(), ..graceful(&world) };
    let _hub = RunningHub::leading(hub).await;
    world.registered().await;
    let stage = stage(&world);
    stage.serving("web").await;
    assert_eq!(stage.evict("web").await.unwrap_err().code, 429);
    until("its traffic is to go off", async || {
        (condition(&stage.get("web").await, SERVICE_READY) == Some(false)).then_some(())
    })
    .await;
    clock.advance(jiff::SignedDuration::from_mins(2));
    until("nobody wants it any more", async || {
        (!stage.labels("web").await.contains("to-delete")).then_some(())
    })
    .await;
    stage.settle("web").await;
    stage.until("web", &["service-available"], true).await;
}

/// An API server asks webhooks about an eviction before it looks at budgets: the hub has to.
#[tokio::test(flavor = "multi_thread")]
async fn evictions_go_no_faster_than_a_disruption_budget_allows() {
    let world = World::new().await;
    let budget = |allowed: u32| {
        json!({"metadata": {"name": "web", "namespace": "default", "generation": 1},
            "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "web"}}},
            "status": {"observedGeneration": 1, "disruptionsAllowed": allowed, "currentHealthy": 3,
                "desiredHealthy": 2, "expectedPods": 3}})
    };
    let shown = Arc::new(Mutex::new(budget(1)));
    let client = world.with_budget(&shown);
    let _hub = RunningHub::leading(Options { features: ON, ..options(&client) }).await;
    world.registered().await;
    let stage = stage(&world);
    let names = ["web-0", "web-1", "web-2"];
    for name in names {
        stage.make(name, wire(&[]), json!({}), json!({})).await;
        let app = Patch::Merge(json!({"metadata": {"labels": {"app": "web"}}}));
        stage.pods(&stage.jane).patch(name, &PatchParams::default(), &app).await.unwrap();
        stage.settle(name).await;
    }
    for name in names {
        assert_eq!(stage.evict(name).await.unwrap_err().code, 429);
    }
    let begun = async || {
        let mut begun = Vec::new();
        for name in names {
            let pod = stage.pods(&stage.hub).get_opt(name).await.unwrap();
            if pod.is_some_and(|pod| labels_of(&pod).contains("operating/pod-delete")) {
                begun.push(name);
            }
        }
        begun
    };
    let first = until("one goes", async || begun().await.pop()).await;
    *shown.lock().unwrap() = budget(0);
    stage.until_gone(first).await;
    assert!(begun().await.is_empty(), "the budget allows no more");
    *shown.lock().unwrap() = budget(1);
    let second = until("the next one goes", async || begun().await.pop()).await;
    assert_eq!(begun().await, [second]);
    // A person who deletes is not asked for a budget, as in Kubernetes.
    let last = names.into_iter().find(|name| ![first, second].contains(name)).unwrap();
    assert_eq!(stage.delete(last, false).await.unwrap_err().code, 403);
    stage.until_gone(last).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_left_of_an_eviction_does_not_take_a_persons_label_off() {
    let world = World::new().await;
    let clock = Shifted::new();
    let _hub = RunningHub::leading(Options { clock: clock.clock(), ..graceful(&world) }).await;
    world.registered().await;
    let stage = stage(&world);
    let wish = "safepoint.dev/lifecycle-end-wished";
    let wished =
        async |name: &str| stage.get(name).await.metadata.annotations.unwrap_or_default().contains_key(wish);
    for name in ["web", "api"] {
        stage.serving(name).await;
        assert_eq!(stage.evict(name).await.unwrap_err().code, 429);
        assert!(wished(name).await);
    }
    // In one write: nobody sees a pod without the label in between.
    let mine = [("to-delete", Some("mine"))];
    stage.label(&stage.jane, "web", &mine).await;
    stage.label(&stage.jane, "api", &[("to-delete", None)]).await;
    until("who wished it is forgotten with the label", async || (!wished("api").await).then_some(())).await;
    stage.label(&stage.jane, "api", &mine).await;
    // The oldest wish is withdrawn first: once the youngest is, the others have been looked at.
    clock.advance(jiff::SignedDuration::from_secs(10));
    stage.serving("other").await;
    assert_eq!(stage.evict("other").await.unwrap_err().code, 429);
    clock.advance(jiff::SignedDuration::from_mins(2));
    until("the janitor has looked", async || {
        (!stage.labels("other").await.contains("to-delete")).then_some(())
    })
    .await;
    for name in ["web", "api"] {
        let labels = stage.get(name).await.metadata.labels.unwrap();
        assert_eq!(labels["collaset.kusionstack.io/to-delete"], "mine");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_operation_that_takes_too_long_is_told_about_once_and_counted() {
    let world = World::new().await;
    let clock = Shifted::new();
    let timeouts = Timeouts { preparing: Some(Span::from_secs(60)), ..Timeouts::default() };
    let hub = RunningHub::leading(Options { clock: clock.clock(), timeouts, ..graceful(&world) }).await;
    world.registered().await;
    let stage = stage(&world);
    stage.serving("web").await;
    stage.begin("web", "1", "update").await;
    until("it prepares", async || stage.labels("web").await.contains("preparing/1").then_some(())).await;
    assert!(stage.events("web", "LifecycleOverdue").await.is_empty());
    clock.advance(jiff::SignedDuration::from_mins(2));
    let told = until("it is told", async || stage.events("web", "LifecycleOverdue").await.pop()).await;
    assert!(told.contains("1 has been in Preparing for 2m") && told.ends_with("which is too long"), "{told}");
    assert!(told.contains("waits until the kubelet says that it is not ready and prot."), "{told}");
    // A hub that is started anew does not tell it again, and nothing moves because time passes.
    hub.kill().await;
    let _hub = RunningHub::leading(Options { clock: clock.clock(), timeouts, ..graceful(&world) }).await;
    stage.undeclared("other").await;
    assert_eq!(stage.events("web", "LifecycleOverdue").await.len(), 1);
    assert!(stage.labels("web").await.contains("preparing/1"));
}

/// Weakness 10: what the hub does not know of a pod is kept, by the webhook and by the controller.
#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_here_knows_of_a_pod_is_kept() {
    let world = World::new().await;
    let _hub = RunningHub::leading(graceful(&world)).await;
    world.registered().await;
    let stage = stage(&world);
    let spec = json!({"hostUsers": false, "initContainers": [{"name": "side", "image": "side:v1", "restartPolicy": "Always"}]});
    stage
        .make(
            "web",
            wire(&[]),
            spec,
            json!({"annotations": {"note": "kept"}, "finalizers": ["example.com/mine"]}),
        )
        .await;
    until("the gate opens", async || {
        (condition(&stage.get("web").await, SERVICE_READY) == Some(true)).then_some(())
    })
    .await;
    let pod = serde_json::to_value(stage.get("web").await).unwrap();
    assert_eq!(pod["spec"]["initContainers"][0]["restartPolicy"], "Always");
    assert_eq!(
        (&pod["spec"]["hostUsers"], &pod["metadata"]["annotations"]["note"]),
        (&json!(false), &json!("kept"))
    );
    assert_eq!(pod["metadata"]["finalizers"], json!(["example.com/mine"]));
}

/// A pod that takes part no more is left alone.
#[tokio::test(flavor = "multi_thread")]
async fn a_pod_that_takes_part_no_more_is_deleted_like_any_other() {
    let world = World::new().await;
    let _hub = RunningHub::leading(graceful(&world)).await;
    world.registered().await;
    let stage = stage(&world);
    stage.serving("web").await;
    assert!(stage.delete("web", true).await.is_err());
    let off =
        Patch::Merge(json!({"metadata": {"labels": {"kusionstack.io/control": null}, "finalizers": []}}));
    let pod = stage.pods(&stage.jane).patch("web", &PatchParams::default(), &off).await.unwrap();
    assert!(!pod.metadata.labels.unwrap_or_default().contains_key(PHASE));
    stage.pods(&stage.jane).delete("web", &DeleteParams::default()).await.unwrap();
}
