//! Which requests a webhook is asked about, and what its configuration must say.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{
    call::Call,
    case::{Case, cases},
    cx::Cx,
    hook::{Hook, configurations},
    objects::{config_map, with},
};

pub(crate) fn cases() -> Vec<Case> {
    cases![hooks:
        operations_are_selected,
        objects_are_selected_by_labels,
        an_object_that_loses_its_label_is_still_selected,
        namespaces_are_selected_by_labels,
        a_condition_selects_requests,
        a_deleted_configuration_is_out_of_effect,
        a_configuration_is_filled_in,
        a_configuration_is_checked,
    ]
}

/// Writes of this kind to config maps.
fn for_operation(operation: &str) -> Value {
    json!({"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"],
        "operations": [operation]}]})
}

async fn operations_are_selected(cx: Cx) -> Result<()> {
    let hook = Hook::allowing().await?;
    let one = hook.hook(&cx, "/check", for_operation("DELETE"));
    let any = hook.hook(
        &cx,
        "/any",
        json!({"rules": [{"apiGroups": ["*"], "apiVersions": ["*"],
        "resources": ["*"], "operations": ["*"], "scope": "Namespaced"}]}),
    );
    hook.configure(&cx, "Validating", vec![one, any]).await?;
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    cx.patch("merge", cx.core("configmaps/a"), &json!({"data": {"a": "2"}})).await?.code(200)?;
    cx.delete(cx.core("configmaps/a")).await?.code(200)?;
    let seen = hook.seen();
    let operations = |path: &str| -> Vec<Value> {
        let mut all: Vec<_> = seen
            .iter()
            .filter(|(called, _)| called == path)
            .map(|(_, asked)| asked["operation"].clone())
            .collect();
        all.dedup();
        all
    };
    ensure!(operations("/check") == ["DELETE"], "one deletion: {seen:?}");
    ensure!(operations("/any") == ["CREATE", "UPDATE", "DELETE"], "three writes: {seen:?}");
    Ok(())
}

async fn objects_are_selected_by_labels(cx: Cx) -> Result<()> {
    let hook = Hook::start(|_, _| json!({"allowed": false})).await?;
    let one = hook.hook(
        &cx,
        "/check",
        json!({"objectSelector": {"matchExpressions": [
        {"key": "color", "operator": "In", "values": ["red"]}]}}),
    );
    hook.configure(&cx, "Validating", vec![one]).await?;
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let red = with(config_map("b"), json!({"metadata": {"labels": {"color": "red"}}}));
    cx.post(cx.core("configmaps"), &red).await?.code(400)?;
    Ok(())
}

async fn an_object_that_loses_its_label_is_still_selected(cx: Cx) -> Result<()> {
    let hook = Hook::allowing().await?;
    let selector = json!({"objectSelector": {"matchLabels": {"color": "red"}}});
    let one = hook.hook(&cx, "/check", with(for_operation("UPDATE"), selector));
    hook.configure(&cx, "Validating", vec![one]).await?;
    let red = with(config_map("a"), json!({"metadata": {"labels": {"color": "red"}}}));
    cx.create(cx.core("configmaps"), &red).await?;
    let patch = json!({"metadata": {"labels": {"color": null}}});
    cx.patch("merge", cx.core("configmaps/a"), &patch).await?.code(200)?;
    let lost = hook.last()?;
    ensure!(lost["object"]["metadata"]["labels"].is_null(), "the update that takes the label: {lost}");
    cx.patch("merge", cx.core("configmaps/a"), &json!({"data": {"a": "2"}})).await?.code(200)?;
    for (_, asked) in hook.seen() {
        let old = &asked["oldObject"]["metadata"]["labels"]["color"];
        ensure!(*old == "red", "an update of an object without the label: {asked}");
    }
    Ok(())
}

async fn namespaces_are_selected_by_labels(cx: Cx) -> Result<()> {
    let hook = Hook::allowing().await?;
    hook.configure(&cx, "Validating", vec![hook.hook(&cx, "/check", json!({}))]).await?;
    let other = cx.unique("other");
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": other}});
    cx.create_for_now("/api/v1/namespaces", &body).await?;
    cx.create(format!("/api/v1/namespaces/{other}/configmaps"), &config_map("a")).await?;
    cx.create(cx.core("configmaps"), &config_map("b")).await?;
    let asked = hook.only()?;
    ensure!(asked["name"] == "b", "only the namespace of this case: {asked}");
    Ok(())
}

async fn a_condition_selects_requests(cx: Cx) -> Result<()> {
    let hook = Hook::allowing().await?;
    let condition =
        json!({"matchConditions": [{"name": "named", "expression": "object.metadata.name == 'b'"}]});
    hook.configure(&cx, "Validating", vec![hook.hook(&cx, "/check", condition)]).await?;
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    cx.create(cx.core("configmaps"), &config_map("b")).await?;
    ensure!(hook.only()?["name"] == "b", "only the one of that name");
    Ok(())
}

async fn a_deleted_configuration_is_out_of_effect(cx: Cx) -> Result<()> {
    let hook = Hook::start(|_, _| json!({"allowed": false})).await?;
    let path = hook.configure(&cx, "Validating", vec![hook.hook(&cx, "/check", json!({}))]).await?;
    cx.post(cx.core("configmaps"), &config_map("a")).await?.code(400)?;
    cx.delete(path).await?.code(200)?;
    let call = Call::post(cx.core("configmaps?dryRun=All"), &config_map("a"));
    cx.until(call, |reply| reply.clone().code(201).map(drop)).await?;
    Ok(())
}

async fn a_configuration_is_filled_in(cx: Cx) -> Result<()> {
    let hook = json!({"name": "check.conformance.example", "clientConfig": {"url": "https://127.0.0.1:1/x"},
        "namespaceSelector": {"matchLabels": {"case": cx.id()}}, "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["nothings"], "operations": ["CREATE"]}]});
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": cx.unique("filled")}, "webhooks": [hook]});
    let made = cx.create_for_now(&configurations("Mutating"), &body).await?;
    made.at("/webhooks/0/failurePolicy", "Fail")?.at("/webhooks/0/matchPolicy", "Equivalent")?;
    made.at("/webhooks/0/timeoutSeconds", 10)?.at("/webhooks/0/objectSelector", json!({}))?;
    made.at("/webhooks/0/reinvocationPolicy", "Never")?.at("/webhooks/0/rules/0/scope", "*")?;
    made.at("/metadata/generation", 1)?;
    Ok(())
}

async fn a_configuration_is_checked(cx: Cx) -> Result<()> {
    let hook = json!({"name": "check", "clientConfig": {"url": "http://example.com"}, "sideEffects": "Some",
        "admissionReviewVersions": ["v7"], "timeoutSeconds": 99,
        "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["READ"]}]});
    let body = json!({"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": cx.unique("checked")}, "webhooks": [hook]});
    let reply = cx.post(configurations("Validating"), &body).await?;
    reply.invalid(&[
        ("FieldValueInvalid", "webhooks[0].name"),
        ("FieldValueInvalid", "webhooks[0].clientConfig.url"),
        ("FieldValueNotSupported", "webhooks[0].sideEffects"),
        ("FieldValueInvalid", "webhooks[0].admissionReviewVersions"),
        ("FieldValueInvalid", "webhooks[0].timeoutSeconds"),
        ("FieldValueNotSupported", "webhooks[0].rules[0].operations[0]"),
    ])?;
    Ok(())
}
