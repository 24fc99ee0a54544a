//! Deletion: what it answers, preconditions, finalizers, and many objects at once.

use anyhow::Result;
use http::Method;
use serde_json::{Value, json};

use crate::{
    call::Call,
    case::{Case, cases},
    cx::Cx,
    objects::{config_map, labelled, pod, pod_on, secret, with},
};

pub(crate) fn cases() -> Vec<Case> {
    cases![delete:
        a_deleted_object_is_gone_and_a_status_tells_its_uid,
        a_deleted_pod_is_answered_as_it_was,
        options_come_in_the_body,
        another_uid_is_a_conflict,
        another_revision_is_a_conflict,
        preconditions_that_hold_let_pass,
        a_finalizer_keeps_the_object,
        the_last_finalizer_takes_the_object_with_it,
        a_second_deletion_changes_nothing,
        a_finalizer_cannot_be_added_to_an_object_that_goes,
        an_unqualified_finalizer_is_refused,
        orphaning_leaves_a_finalizer,
        foreground_leaves_a_finalizer,
        an_unknown_policy_is_refused,
        a_collection_is_deleted_by_labels,
        a_collection_is_deleted_by_fields,
        a_collection_keeps_what_has_finalizers,
        broken_options_are_refused,
        an_object_can_be_made_again_with_another_uid,
    ]
}

const KEEP: &str = "conformance.example/keep";

fn kept(name: &str) -> Value {
    with(config_map(name), json!({"metadata": {"finalizers": [KEEP]}}))
}

async fn let_go(cx: &Cx, name: &str) -> Result<()> {
    let patch = json!({"metadata": {"finalizers": null}});
    cx.patch("merge", cx.core(&format!("configmaps/{name}")), &patch).await?.code(200)?;
    Ok(())
}

async fn a_deleted_object_is_gone_and_a_status_tells_its_uid(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let gone = cx.delete(cx.core("configmaps/a")).await?.code(200)?;
    gone.at("/kind", "Status")?
        .at("/apiVersion", "v1")?
        .at("/status", "Success")?
        .at("/metadata", json!({}))?;
    gone.at("/details", json!({"name": "a", "kind": "configmaps", "uid": made.uid()?}))?;
    gone.absent("/code")?;
    cx.get(cx.core("configmaps/a")).await?.refused(404, "NotFound")?;
    cx.delete(cx.core("configmaps/a")).await?.refused(404, "NotFound")?;
    Ok(())
}

async fn a_deleted_pod_is_answered_as_it_was(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let gone = cx.delete(cx.core("pods/a")).await?.code(200)?;
    gone.at("/kind", "Pod")?.at("/metadata/name", "a")?.at("/spec/containers/0/name", "app")?;
    Ok(())
}

async fn options_come_in_the_body(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod_on("a", "nowhere")).await?;
    let kept = cx.delete_with(cx.core("pods/a"), json!({"gracePeriodSeconds": 7})).await?.code(200)?;
    kept.at("/metadata/deletionGracePeriodSeconds", 7)?;
    let call = Call::new(Method::DELETE, cx.core("pods/a")).json(&json!({"gracePeriodSeconds": 0}));
    cx.send(call).await?.code(200)?;
    cx.get(cx.core("pods/a")).await?.code(404)?;
    Ok(())
}

async fn another_uid_is_a_conflict(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let options = json!({"preconditions": {"uid": "another"}});
    let reply = cx.delete_with(cx.core("configmaps/a"), options).await?.refused(409, "Conflict")?;
    let uid = made.uid()?;
    reply.about("ConfigMap", "a")?.says(&[&format!(
        "the UID in the precondition (another) does not match the UID in record ({uid})"
    )])?;
    cx.get(cx.core("configmaps/a")).await?.code(200)?;
    Ok(())
}

async fn another_revision_is_a_conflict(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let options = json!({"preconditions": {"resourceVersion": "1"}});
    let reply = cx.delete_with(cx.core("configmaps/a"), options).await?.refused(409, "Conflict")?;
    reply.says(&[
        "the ResourceVersion in the precondition (1) does not match the ResourceVersion in record (",
    ])?;
    Ok(())
}

async fn preconditions_that_hold_let_pass(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let options = json!({"preconditions": {"uid": made.uid()?, "resourceVersion": made.revision()?}});
    cx.delete_with(cx.core("configmaps/a"), options).await?.code(200)?.at("/status", "Success")?;
    Ok(())
}

async fn a_finalizer_keeps_the_object(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &kept("a")).await?;
    let answer = cx.delete(cx.core("configmaps/a")).await?.code(200)?;
    answer.at("/kind", "ConfigMap")?.text("/metadata/deletionTimestamp")?;
    answer.at("/metadata/deletionGracePeriodSeconds", 0)?.at("/metadata/finalizers", json!([KEEP]))?;
    let read = cx.get(cx.core("configmaps/a")).await?.code(200)?;
    read.at("/metadata/deletionTimestamp", answer.get("/metadata/deletionTimestamp").clone())?;
    let_go(&cx, "a").await
}

async fn the_last_finalizer_takes_the_object_with_it(cx: Cx) -> Result<()> {
    let two = json!({"metadata": {"finalizers": [KEEP, "conformance.example/too"]}});
    cx.create(cx.core("configmaps"), &with(config_map("a"), two)).await?;
    cx.delete(cx.core("configmaps/a")).await?.code(200)?;
    let one = json!({"metadata": {"finalizers": [KEEP]}});
    cx.patch("merge", cx.core("configmaps/a"), &one).await?.code(200)?;
    cx.get(cx.core("configmaps/a")).await?.code(200)?;
    let last = json!({"metadata": {"finalizers": []}});
    let answer = cx.patch("merge", cx.core("configmaps/a"), &last).await?.code(200)?;
    answer.at("/kind", "ConfigMap")?.absent("/metadata/finalizers")?;
    cx.get(cx.core("configmaps/a")).await?.refused(404, "NotFound")?;
    Ok(())
}

async fn a_second_deletion_changes_nothing(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &kept("a")).await?;
    let first = cx.delete(cx.core("configmaps/a")).await?.code(200)?;
    let second = cx.delete(cx.core("configmaps/a")).await?.code(200)?;
    second.holds(second.value == first.value, "the same answer")?;
    let_go(&cx, "a").await
}

async fn a_finalizer_cannot_be_added_to_an_object_that_goes(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &kept("a")).await?;
    cx.delete(cx.core("configmaps/a")).await?.code(200)?;
    let more = json!({"metadata": {"finalizers": [KEEP, "conformance.example/late"]}});
    let reply = cx.patch("merge", cx.core("configmaps/a"), &more).await?;
    let reply = reply.invalid(&[("FieldValueForbidden", "metadata.finalizers")])?;
    reply.says(&["no new finalizers can be added if the object is being deleted, found new finalizers"])?;
    let_go(&cx, "a").await
}

async fn an_unqualified_finalizer_is_refused(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"metadata": {"finalizers": ["keep"]}}));
    let reply = cx.post(cx.core("configmaps"), &body).await?;
    reply.refused(422, "Invalid")?.says(&["metadata.finalizers", "keep", "fully qualified"])?;
    Ok(())
}

async fn orphaning_leaves_a_finalizer(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &kept("a")).await?;
    let answer = cx.delete(cx.core("configmaps/a?propagationPolicy=Orphan")).await?.code(200)?;
    answer.at("/metadata/finalizers", json!([KEEP, "orphan"]))?;
    let_go(&cx, "a").await
}

async fn foreground_leaves_a_finalizer(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &kept("a")).await?;
    let options = json!({"propagationPolicy": "Foreground"});
    let answer = cx.delete_with(cx.core("configmaps/a"), options).await?.code(200)?;
    answer.at("/metadata/finalizers", json!([KEEP, "foregroundDeletion"]))?;
    let_go(&cx, "a").await
}

async fn an_unknown_policy_is_refused(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let reply = cx.delete(cx.core("configmaps/a?propagationPolicy=Sideways")).await?;
    let reply = reply.invalid(&[("FieldValueNotSupported", "propagationPolicy")])?;
    reply.at("/details/kind", "DeleteOptions")?;
    let both = json!({"propagationPolicy": "Orphan", "orphanDependents": true});
    let reply = cx.delete_with(cx.core("configmaps/a"), both).await?;
    reply.refused(422, "Invalid")?;
    Ok(())
}

async fn a_collection_is_deleted_by_labels(cx: Cx) -> Result<()> {
    for (name, color) in [("a", "red"), ("b", "blue"), ("c", "red")] {
        cx.create(cx.core("configmaps"), &labelled(name, json!({"color": color}))).await?;
    }
    let answer = cx.delete(cx.core("configmaps?labelSelector=color%3Dred")).await?.code(200)?;
    answer.at("/kind", "ConfigMapList")?.lists(&["a", "c"])?;
    cx.get(cx.core("configmaps?labelSelector=color")).await?.code(200)?.lists(&["b"])?;
    Ok(())
}

async fn a_collection_is_deleted_by_fields(cx: Cx) -> Result<()> {
    for name in ["a", "b", "c"] {
        cx.create(cx.core("secrets"), &secret(name)).await?;
    }
    cx.delete(cx.core("secrets?fieldSelector=metadata.name%21%3Db")).await?.code(200)?;
    cx.get(cx.core("secrets")).await?.code(200)?.lists(&["b"])?;
    Ok(())
}

async fn a_collection_keeps_what_has_finalizers(cx: Cx) -> Result<()> {
    let label = json!({"metadata": {"labels": {"l": "1"}}});
    cx.create(cx.core("configmaps"), &with(kept("a"), label.clone())).await?;
    cx.create(cx.core("configmaps"), &with(config_map("b"), label)).await?;
    cx.delete(cx.core("configmaps?labelSelector=l")).await?.code(200)?;
    let left = cx.get(cx.core("configmaps?labelSelector=l")).await?.code(200)?;
    left.lists(&["a"])?.text("/items/0/metadata/deletionTimestamp")?;
    let_go(&cx, "a").await
}

async fn broken_options_are_refused(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let call = Call::new(Method::DELETE, cx.core("configmaps/a"));
    cx.send(call.clone().raw("{\"kind\":")).await?.refused(400, "BadRequest")?;
    cx.send(call.json(&pod("a"))).await?.refused(400, "BadRequest")?;
    cx.delete(cx.core("configmaps/a?gracePeriodSeconds=soon")).await?.refused(400, "BadRequest")?;
    cx.get(cx.core("configmaps/a")).await?.code(200)?;
    Ok(())
}

async fn an_object_can_be_made_again_with_another_uid(cx: Cx) -> Result<()> {
    let first = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    cx.delete(cx.core("configmaps/a")).await?.code(200)?;
    let second = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    second.holds(second.uid()? != first.uid()?, "another uid")?;
    let stale = cx.put(cx.core("configmaps/a"), &first.value).await?;
    stale.refused(409, "Conflict")?;
    Ok(())
}
