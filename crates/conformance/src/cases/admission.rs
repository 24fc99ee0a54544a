//! Admission webhooks: what they are asked, what they may answer, and what happens when they do not.

use anyhow::{Result, ensure};
use serde_json::{Value, json};

use crate::{
    case::{Case, cases},
    cx::Cx,
    hook::Hook,
    objects::{config_map, pod, with},
    server::base64,
};

pub(crate) fn cases() -> Vec<Case> {
    cases![admission:
        a_hook_is_asked_about_a_creation,
        a_hook_is_asked_about_an_update,
        a_hook_is_asked_about_a_deletion,
        a_hook_is_asked_about_a_status,
        a_hook_is_told_about_a_dry_run,
        a_hook_changes_an_object,
        a_changed_object_is_checked,
        a_hook_refuses,
        a_refusal_has_its_own_code_and_reason,
        a_mutating_hook_refuses_too,
        changes_come_before_checks,
        mutating_hooks_see_each_others_changes,
        a_checking_hook_cannot_change,
        a_hook_warns,
        a_hook_that_cannot_be_reached_fails_the_request,
        a_hook_that_cannot_be_reached_may_be_ignored,
        an_answer_to_another_question_fails_the_request,
    ]
}

fn json_patch(patch: &Value) -> Value {
    json!({"allowed": true, "patchType": "JSONPatch", "patch": base64(patch.to_string())})
}

fn operations(all: &[&str]) -> Value {
    rules("configmaps", all)
}

fn rules(resource: &str, operations: &[&str]) -> Value {
    json!({"rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": [resource], "operations": operations}]})
}

async fn a_hook_is_asked_about_a_creation(cx: Cx) -> Result<()> {
    let hook = Hook::allowing().await?;
    hook.configure(&cx, "Validating", vec![hook.hook(&cx, "/check", json!({}))]).await?;
    let made = cx.create(cx.core("configmaps?fieldManager=suite"), &config_map("a")).await?;
    let asked = hook.only()?;
    let kind = json!({"group": "", "version": "v1", "kind": "ConfigMap"});
    let resource = json!({"group": "", "version": "v1", "resource": "configmaps"});
    for (field, expected) in [
        ("kind", kind.clone()),
        ("requestKind", kind),
        ("resource", resource.clone()),
        ("requestResource", resource),
        ("operation", json!("CREATE")),
        ("name", json!("a")),
        ("namespace", json!(cx.namespace())),
        ("dryRun", json!(false)),
        ("oldObject", Value::Null),
    ] {
        ensure!(asked[field] == expected, "{field} is {} and not {expected}", asked[field]);
    }
    ensure!(asked["uid"].as_str().is_some_and(|uid| uid.len() == 36), "a request has a uid: {asked}");
    ensure!(asked["subResource"].is_null(), "no subresource was asked for: {asked}");
    let object = &asked["object"];
    ensure!(object["kind"] == "ConfigMap" && object["apiVersion"] == "v1", "an object has its kind: {asked}");
    ensure!(object["data"]["a"] == "1" && object["metadata"]["uid"] == made.uid()?, "the object: {asked}");
    let groups = asked["userInfo"]["groups"].as_array().cloned().unwrap_or_default();
    ensure!(groups.contains(&json!("system:masters")), "who asks: {asked}");
    let options = &asked["options"];
    ensure!(
        options["kind"] == "CreateOptions" && options["apiVersion"] == "meta.k8s.io/v1",
        "options: {asked}"
    );
    ensure!(options["fieldManager"] == "suite", "options: {asked}");
    Ok(())
}

async fn a_hook_is_asked_about_an_update(cx: Cx) -> Result<()> {
    let hook = Hook::allowing().await?;
    let one = hook.hook(&cx, "/check", operations(&["CREATE", "UPDATE"]));
    hook.configure(&cx, "Validating", vec![one]).await?;
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    for (old, new) in [("1", "2"), ("2", "3")] {
        hook.forget();
        let body = json!({"data": {"a": new}});
        match new {
            "2" => cx.put(cx.core("configmaps/a"), &with(config_map("a"), body)).await?.code(200)?,
            _ => cx.patch("merge", cx.core("configmaps/a"), &body).await?.code(200)?,
        };
        // Whoever looks at an update cannot tell whether it was a patch.
        let asked = hook.last()?;
        ensure!(asked["operation"] == "UPDATE" && asked["name"] == "a", "an update: {asked}");
        ensure!(asked["object"]["data"]["a"] == new, "the new object: {asked}");
        ensure!(asked["oldObject"]["data"]["a"] == old, "the old object: {asked}");
        ensure!(asked["options"]["kind"] == "UpdateOptions", "options: {asked}");
    }
    Ok(())
}

async fn a_hook_is_asked_about_a_deletion(cx: Cx) -> Result<()> {
    let hook = Hook::allowing().await?;
    let one = hook.hook(&cx, "/check", operations(&["CREATE", "DELETE"]));
    hook.configure(&cx, "Validating", vec![one]).await?;
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    hook.forget();
    cx.delete(cx.core("configmaps/a")).await?.code(200)?;
    let asked = hook.last()?;
    ensure!(asked["operation"] == "DELETE" && asked["name"] == "a", "a deletion: {asked}");
    ensure!(asked["object"].is_null() && asked["oldObject"]["data"]["a"] == "1", "the old object: {asked}");
    ensure!(asked["options"]["kind"] == "DeleteOptions", "options: {asked}");
    Ok(())
}

async fn a_hook_is_asked_about_a_status(cx: Cx) -> Result<()> {
    let hook = Hook::allowing().await?;
    let main = hook.hook(&cx, "/main", rules("pods", &["CREATE", "UPDATE"]));
    let status = hook.hook(&cx, "/status", rules("pods/status", &["UPDATE"]));
    hook.configure(&cx, "Validating", vec![main, status]).await?;
    cx.create(cx.core("pods"), &pod("a")).await?;
    hook.forget();
    let patch = json!({"status": {"message": "m"}});
    cx.patch("merge", cx.core("pods/a/status"), &patch).await?.code(200)?;
    let (seen, asked) = (hook.seen(), hook.last()?);
    ensure!(seen.iter().all(|(path, _)| path == "/status"), "only the hook of the status: {seen:?}");
    ensure!(asked["subResource"] == "status" && asked["name"] == "a", "which path: {asked}");
    Ok(())
}

async fn a_hook_is_told_about_a_dry_run(cx: Cx) -> Result<()> {
    let hook = Hook::allowing().await?;
    let one = hook.hook(&cx, "/check", json!({"sideEffects": "NoneOnDryRun"}));
    hook.configure(&cx, "Validating", vec![one]).await?;
    cx.create(cx.core("configmaps?dryRun=All"), &config_map("a")).await?;
    let asked = hook.only()?;
    ensure!(asked["dryRun"] == true, "a dry run: {asked}");
    ensure!(asked["options"]["dryRun"] == json!(["All"]), "options: {asked}");
    Ok(())
}

async fn a_hook_changes_an_object(cx: Cx) -> Result<()> {
    let patch = json!([
        {"op": "add", "path": "/data/b", "value": "added"},
        {"op": "add", "path": "/metadata/annotations", "value": {"changed": "yes"}},
    ]);
    let hook = Hook::start(move |_, _| json_patch(&patch)).await?;
    hook.configure(&cx, "Mutating", vec![hook.hook(&cx, "/change", json!({}))]).await?;
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    made.at("/data", json!({"a": "1", "b": "added"}))?.at("/metadata/annotations/changed", "yes")?;
    let read = cx.get(cx.core("configmaps/a")).await?.code(200)?;
    read.holds(read.value == made.value, "what was changed")?;
    Ok(())
}

async fn a_changed_object_is_checked(cx: Cx) -> Result<()> {
    let patch = json!([{"op": "add", "path": "/data/not a key", "value": "x"}]);
    let hook = Hook::start(move |_, _| json_patch(&patch)).await?;
    hook.configure(&cx, "Mutating", vec![hook.hook(&cx, "/change", json!({}))]).await?;
    let reply = cx.post(cx.core("configmaps"), &config_map("a")).await?;
    reply.invalid(&[("FieldValueInvalid", "data[not a key]")])?;
    Ok(())
}

async fn a_hook_refuses(cx: Cx) -> Result<()> {
    let hook = Hook::start(|_, _| json!({"allowed": false, "status": {"message": "not today"}})).await?;
    hook.configure(&cx, "Validating", vec![hook.hook(&cx, "/check", json!({}))]).await?;
    let reply = cx.post(cx.core("configmaps"), &config_map("a")).await?.code(400)?;
    reply.at("/kind", "Status")?.at("/status", "Failure")?.at("/code", 400)?.absent("/reason")?;
    reply.message("admission webhook \"check.conformance.example\" denied the request: not today")?;
    cx.get(cx.core("configmaps/a")).await?.code(404)?;
    Ok(())
}

async fn a_refusal_has_its_own_code_and_reason(cx: Cx) -> Result<()> {
    let refusal =
        json!({"allowed": false, "status": {"code": 409, "reason": "Conflict", "message": "taken"}});
    let hook = Hook::start(move |_, _| refusal.clone()).await?;
    hook.configure(&cx, "Validating", vec![hook.hook(&cx, "/check", json!({}))]).await?;
    let reply = cx.post(cx.core("configmaps"), &config_map("a")).await?.refused(409, "Conflict")?;
    reply.says(&["denied the request: taken"])?;
    Ok(())
}

async fn a_mutating_hook_refuses_too(cx: Cx) -> Result<()> {
    let hook = Hook::start(|_, _| json!({"allowed": false})).await?;
    hook.configure(&cx, "Mutating", vec![hook.hook(&cx, "/change", json!({}))]).await?;
    let reply = cx.post(cx.core("configmaps"), &config_map("a")).await?.code(400)?;
    reply
        .message("admission webhook \"change.conformance.example\" denied the request without explanation")?;
    Ok(())
}

async fn changes_come_before_checks(cx: Cx) -> Result<()> {
    let patch = json!([{"op": "replace", "path": "/data/a", "value": "changed"}]);
    let hook = Hook::start(move |path, _| match path {
        "/change" => json_patch(&patch),
        _ => json!({"allowed": true}),
    })
    .await?;
    hook.configure(&cx, "Validating", vec![hook.hook(&cx, "/check", json!({}))]).await?;
    hook.configure(&cx, "Mutating", vec![hook.hook(&cx, "/change", json!({}))]).await?;
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let seen = hook.seen();
    let paths: Vec<&str> = seen.iter().map(|(path, _)| path.as_str()).collect();
    ensure!(paths == ["/change", "/check"], "change, then check: {paths:?}");
    ensure!(seen[1].1["object"]["data"]["a"] == "changed", "the check sees the change: {seen:?}");
    Ok(())
}

async fn mutating_hooks_see_each_others_changes(cx: Cx) -> Result<()> {
    let hook = Hook::start(|path, request| {
        let before = request["object"]["data"]["a"].as_str().unwrap_or_default();
        let after = format!("{before}{}", path.trim_matches('/'));
        json_patch(&json!([{"op": "replace", "path": "/data/a", "value": after}]))
    })
    .await?;
    let (b, c) = (hook.hook(&cx, "/b", json!({})), hook.hook(&cx, "/c", json!({})));
    hook.configure(&cx, "Mutating", vec![b, c]).await?;
    cx.create(cx.core("configmaps"), &config_map("a")).await?.at("/data/a", "1bc")?;
    Ok(())
}

async fn a_checking_hook_cannot_change(cx: Cx) -> Result<()> {
    let patch = json!([{"op": "replace", "path": "/data/a", "value": "changed"}]);
    let hook = Hook::start(move |_, _| json_patch(&patch)).await?;
    hook.configure(&cx, "Validating", vec![hook.hook(&cx, "/check", json!({}))]).await?;
    let reply = cx.post(cx.core("configmaps"), &config_map("a")).await?;
    reply.refused(500, "InternalError")?.says(&["failed calling webhook \"check.conformance.example\""])?;
    Ok(())
}

async fn a_hook_warns(cx: Cx) -> Result<()> {
    let hook = Hook::start(|_, _| json!({"allowed": true, "warnings": ["mind the gap"]})).await?;
    hook.configure(&cx, "Validating", vec![hook.hook(&cx, "/check", json!({}))]).await?;
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    made.holds(made.header("warning") == "299 - \"mind the gap\"", "a warning")?;
    Ok(())
}

/// A hook at an address where nobody listens: port 1 of loopback.
fn unreachable(hook: &Hook, cx: &Cx, policy: &str) -> Value {
    hook.hook(
        cx,
        "/gone",
        json!({"failurePolicy": policy, "clientConfig": {"url": "https://127.0.0.1:1/gone"}}),
    )
}

async fn a_hook_that_cannot_be_reached_fails_the_request(cx: Cx) -> Result<()> {
    let hook = Hook::allowing().await?;
    let gone = unreachable(&hook, &cx, "Fail");
    hook.configure(&cx, "Validating", vec![gone]).await?;
    let reply = cx.post(cx.core("configmaps"), &config_map("a")).await?.refused(500, "InternalError")?;
    reply.says(&["Internal error occurred: failed calling webhook \"gone.conformance.example\": "])?;
    Ok(())
}

async fn a_hook_that_cannot_be_reached_may_be_ignored(cx: Cx) -> Result<()> {
    let hook = Hook::allowing().await?;
    let gone = unreachable(&hook, &cx, "Ignore");
    hook.configure(&cx, "Mutating", vec![gone.clone()]).await?;
    hook.configure(&cx, "Validating", vec![gone]).await?;
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    Ok(())
}

async fn an_answer_to_another_question_fails_the_request(cx: Cx) -> Result<()> {
    let hook = Hook::start(|_, _| json!({"allowed": true, "uid": "another"})).await?;
    hook.configure(&cx, "Mutating", vec![hook.hook(&cx, "/change", json!({}))]).await?;
    let reply = cx.post(cx.core("configmaps"), &config_map("a")).await?.refused(500, "InternalError")?;
    reply.says(&["failed calling webhook \"change.conformance.example\""])?;
    Ok(())
}
