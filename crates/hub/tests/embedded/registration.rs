//! The configurations of the webhooks: kept as they should be, whoever changes them.

use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use safepoint_hub::Hub;
use safepoint_hub::webhook::{Answer, Denial, Entry, Flavour, Hook, Request, Reviewing, Rule, SideEffects};
use serde_json::json;

use crate::hub::{RunningHub, options, until};
use crate::world::{World, said};

const NAME: &str = "safepoint";

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_says_that_a_hub_that_is_away_is_passed_over() {
    let (world, hub) = World::with_hub().await;
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(world.admin.clone());
    let hooks = validating.get(NAME).await.unwrap().webhooks.unwrap();
    let hold = &hooks[0];
    let names: Vec<&str> = hooks.iter().map(|hook| &*hook.name).collect();
    let pods = "validating-pod.apps.kusionstack.io";
    assert_eq!(names, ["hold.safepoint.dev", "static-pods.safepoint.dev", pods]);
    assert!(hooks.iter().all(|hook| hook.failure_policy.as_deref() == Some("Ignore")));
    let url = hold.client_config.url.as_deref().unwrap();
    assert!(url.starts_with(&format!("https://{}/", hub.address)) && url.ends_with("/hold"), "{url}");
    assert_eq!((hold.failure_policy.as_deref(), hold.timeout_seconds), (Some("Ignore"), Some(2)));
    assert_eq!((hold.match_policy.as_deref(), &*hold.side_effects), (Some("Equivalent"), "NoneOnDryRun"));
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(world.admin.clone());
    let hooks = mutating.get(NAME).await.unwrap().webhooks.unwrap();
    assert_eq!((&*hooks[0].name, &*hooks[0].side_effects), ("carry.safepoint.dev", "None"));
    assert!(hooks.iter().all(|hook| hook.failure_policy.as_deref() == Some("Ignore")));
    // Pods that do not take part in the lifecycle are not asked about, and nothing that a kubelet writes.
    assert_eq!(hooks[1].name, "mutating-pod.apps.kusionstack.io");
    let labels = hooks[1].object_selector.as_ref().unwrap().match_labels.as_ref().unwrap();
    assert_eq!(labels["kusionstack.io/control"], "true");
    let conditions = hooks[1].match_conditions.as_ref().unwrap();
    assert!(conditions[0].expression.contains("system:nodes"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_is_deleted_comes_back() {
    let (world, _hub) = World::with_hub().await;
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(world.admin.clone());
    let mutating: Api<MutatingWebhookConfiguration> = Api::all(world.admin.clone());
    validating.delete(NAME, &DeleteParams::default()).await.unwrap();
    mutating.delete(NAME, &DeleteParams::default()).await.unwrap();
    until("they come back", async || {
        let both = (validating.get_opt(NAME).await.unwrap(), mutating.get_opt(NAME).await.unwrap());
        (both.0.is_some() && both.1.is_some()).then_some(())
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_is_changed_is_mended() {
    let (world, _hub) = World::with_hub().await;
    let validating: Api<ValidatingWebhookConfiguration> = Api::all(world.admin.clone());
    let before = validating.get(NAME).await.unwrap();
    let mut broken = serde_json::to_value(&before.webhooks).unwrap();
    broken[0]["failurePolicy"] = json!("Fail");
    broken[0]["clientConfig"]["url"] = json!("https://127.0.0.1:1/elsewhere");
    let change = Patch::Merge(json!({"metadata": {"labels": {"note": "kept"}}, "webhooks": broken}));
    validating.patch(NAME, &PatchParams::default(), &change).await.unwrap();
    let after = until("it is mended", async || {
        Some(validating.get(NAME).await.unwrap()).filter(|found| found.webhooks == before.webhooks)
    })
    .await;
    assert_eq!(after.metadata.labels.unwrap()["note"], "kept", "what is somebody else's stays");
}

/// Refuses ConfigMaps of one name.
struct NoSecretsHere;

impl Hook for NoSecretsHere {
    fn entry(&self) -> Entry {
        Entry {
            name: "names.test.safepoint.dev",
            path: "/names",
            flavour: Flavour::Validating,
            rules: vec![Rule::core("configmaps", &["CREATE"])],
            labels: &[],
            condition: None,
            side_effects: SideEffects::None,
            patience: Duration::from_secs(2),
        }
    }

    fn review<'a>(&'a self, request: &'a Request) -> Reviewing<'a> {
        Box::pin(async move {
            let details = json!({"name": request.name});
            match request.object["metadata"]["name"] == "passwords" {
                true => Answer::Deny(Box::new(Denial {
                    code: 403,
                    reason: "Forbidden",
                    message: "not here".into(),
                    details,
                })),
                false => Answer::Allow,
            }
        })
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_hook_is_registered_and_asked_like_the_hubs_own() {
    let world = World::new().await;
    let hub = Hub::bind(options(&world.admin)).unwrap().hook(NoSecretsHere);
    let hub = RunningHub::begin(hub);
    hub.until("registration").await;
    world.registered().await;
    let maps: Api<ConfigMap> = Api::default_namespaced(world.admin.clone());
    let map = |name: &str| serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
    let refused = said(maps.create(&PostParams::default(), &map("passwords")).await).no();
    assert_eq!(refused.2, "admission webhook \"names.test.safepoint.dev\" denied the request: not here");
    maps.create(&PostParams::default(), &map("maps")).await.unwrap();
}
