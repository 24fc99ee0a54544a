//! JSON patches and merge patches, and what holds for every kind of patch.

use anyhow::Result;
use serde_json::json;

use crate::{
    call::Call,
    case::{Case, cases},
    cx::Cx,
    objects::{config_map, labelled, pod, with},
};

pub(crate) fn cases() -> Vec<Case> {
    cases![patch:
        a_json_patch_adds_replaces_and_removes,
        a_json_patch_moves_and_copies,
        a_json_patch_whose_test_fails_changes_nothing,
        a_json_patch_cannot_remove_what_is_missing,
        a_json_patch_that_is_no_list_is_refused,
        a_null_in_a_merge_patch_deletes,
        a_list_in_a_merge_patch_replaces,
        a_merge_patch_that_is_no_object_is_refused,
        an_unknown_patch_type_is_refused,
        a_patch_of_a_missing_object_is_not_found,
        a_patch_cannot_change_the_name,
        a_patch_cannot_change_the_namespace,
        a_patch_cannot_change_the_uid,
        a_patch_with_an_old_revision_is_a_conflict,
        a_patch_with_the_current_revision_passes,
        an_empty_patch_keeps_the_revision,
        a_patch_that_makes_an_object_invalid_is_refused,
        a_patch_cannot_change_the_kind,
        a_patch_of_a_status_leaves_the_spec,
        patches_at_the_same_time_all_count,
    ]
}

async fn a_json_patch_adds_replaces_and_removes(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"data": {"b": "2"}, "metadata": {"labels": {"x/y": "1"}}}));
    cx.create(cx.core("configmaps"), &body).await?;
    let patch = json!([
        {"op": "test", "path": "/data/a", "value": "1"},
        {"op": "replace", "path": "/data/a", "value": "one"},
        {"op": "remove", "path": "/data/b"},
        {"op": "add", "path": "/data/c", "value": "new"},
        {"op": "replace", "path": "/metadata/labels/x~1y", "value": "2"},
    ]);
    let reply = cx.patch("json", cx.core("configmaps/a"), &patch).await?.code(200)?;
    reply.at("/data", json!({"a": "one", "c": "new"}))?.at("/metadata/labels", json!({"x/y": "2"}))?;
    Ok(())
}

async fn a_json_patch_moves_and_copies(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let patch = json!([
        {"op": "copy", "from": "/data/a", "path": "/data/b"},
        {"op": "move", "from": "/data/a", "path": "/data/c"},
    ]);
    let reply = cx.patch("json", cx.core("configmaps/a"), &patch).await?.code(200)?;
    reply.at("/data", json!({"b": "1", "c": "1"}))?;
    Ok(())
}

async fn a_json_patch_whose_test_fails_changes_nothing(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let patch = json!([
        {"op": "replace", "path": "/data/a", "value": "2"},
        {"op": "test", "path": "/data/a", "value": "1"},
    ]);
    let reply = cx.patch("json", cx.core("configmaps/a"), &patch).await?.refused(422, "Invalid")?;
    reply.says(&["the server rejected our request due to an error in our request"])?;
    cx.get(cx.core("configmaps/a")).await?.at("/metadata/resourceVersion", made.revision()?)?;
    Ok(())
}

async fn a_json_patch_cannot_remove_what_is_missing(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let patch = json!([{"op": "remove", "path": "/data/nope"}]);
    cx.patch("json", cx.core("configmaps/a"), &patch).await?.refused(422, "Invalid")?;
    let patch = json!([{"op": "add", "path": "/nope/nope", "value": "x"}]);
    cx.patch("json", cx.core("configmaps/a"), &patch).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_json_patch_that_is_no_list_is_refused(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let reply = cx.patch("json", cx.core("configmaps/a"), &json!({"data": {"a": "2"}})).await?;
    reply.refused(400, "BadRequest")?;
    Ok(())
}

async fn a_null_in_a_merge_patch_deletes(cx: Cx) -> Result<()> {
    let body = with(labelled("a", json!({"l": "1", "m": "2"})), json!({"data": {"b": "2"}}));
    cx.create(cx.core("configmaps"), &body).await?;
    let patch = json!({"data": {"a": null, "c": "3", "nope": null}, "metadata": {"labels": null}});
    let reply = cx.patch("merge", cx.core("configmaps/a"), &patch).await?.code(200)?;
    reply.at("/data", json!({"b": "2", "c": "3"}))?.absent("/metadata/labels")?;
    Ok(())
}

async fn a_list_in_a_merge_patch_replaces(cx: Cx) -> Result<()> {
    let owned = json!({"metadata": {"finalizers": ["conformance.example/a", "conformance.example/b"]}});
    cx.create(cx.core("configmaps"), &with(config_map("a"), owned)).await?;
    let patch = json!({"metadata": {"finalizers": ["conformance.example/c"]}});
    let reply = cx.patch("merge", cx.core("configmaps/a"), &patch).await?.code(200)?;
    reply.at("/metadata/finalizers", json!(["conformance.example/c"]))?;
    let none = json!({"metadata": {"finalizers": []}});
    let reply = cx.patch("merge", cx.core("configmaps/a"), &none).await?.code(200)?;
    reply.absent("/metadata/finalizers")?;
    Ok(())
}

async fn a_merge_patch_that_is_no_object_is_refused(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    for patch in [json!([1]), json!("text")] {
        cx.patch("merge", cx.core("configmaps/a"), &patch).await?.refused(400, "BadRequest")?;
    }
    let call = Call::new(http::Method::PATCH, cx.core("configmaps/a"))
        .content_type("application/merge-patch+json")
        .raw("{\"data\":");
    cx.send(call).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn an_unknown_patch_type_is_refused(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let reply = cx.patch("application/json", cx.core("configmaps/a"), &json!({})).await?;
    reply.refused(415, "UnsupportedMediaType")?;
    Ok(())
}

async fn a_patch_of_a_missing_object_is_not_found(cx: Cx) -> Result<()> {
    for (kind, patch) in [("json", json!([])), ("merge", json!({})), ("strategic", json!({}))] {
        let reply = cx.patch(kind, cx.core("configmaps/nope"), &patch).await?.refused(404, "NotFound")?;
        reply.message("configmaps \"nope\" not found")?.about("configmaps", "nope")?;
    }
    Ok(())
}

async fn a_patch_cannot_change_the_name(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let reply = cx.patch("merge", cx.core("configmaps/a"), &json!({"metadata": {"name": "b"}})).await?;
    reply
        .refused(400, "BadRequest")?
        .says(&["the name of the object (b) does not match the name on the URL (a)"])?;
    Ok(())
}

async fn a_patch_cannot_change_the_namespace(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let patch = json!({"metadata": {"namespace": "elsewhere"}});
    let reply = cx.patch("merge", cx.core("configmaps/a"), &patch).await?;
    reply.refused(400, "BadRequest")?.says(&["does not match the namespace"])?;
    Ok(())
}

async fn a_patch_cannot_change_the_uid(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let patch = json!({"metadata": {"uid": "e7d1a0f6-9c8e-4a3e-9d5e-000000000000"}});
    let reply = cx.patch("merge", cx.core("configmaps/a"), &patch).await?;
    reply.invalid(&[("FieldValueInvalid", "metadata.uid")])?.says(&["field is immutable"])?;
    Ok(())
}

async fn a_patch_with_an_old_revision_is_a_conflict(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    cx.patch("merge", cx.core("configmaps/a"), &json!({"data": {"a": "2"}})).await?.code(200)?;
    let patch = json!({"metadata": {"resourceVersion": made.revision()?}, "data": {"a": "3"}});
    for kind in ["merge", "strategic"] {
        let reply = cx.patch(kind, cx.core("configmaps/a"), &patch).await?.refused(409, "Conflict")?;
        reply.about("configmaps", "a")?.says(&["the object has been modified"])?;
    }
    Ok(())
}

async fn a_patch_with_the_current_revision_passes(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let patch = json!({"metadata": {"resourceVersion": made.revision()?}, "data": {"a": "2"}});
    let reply = cx.patch("merge", cx.core("configmaps/a"), &patch).await?.code(200)?;
    reply.at("/data/a", "2")?.holds(reply.revision()? != made.revision()?, "a new revision")?;
    Ok(())
}

async fn an_empty_patch_keeps_the_revision(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    for (kind, patch) in [("json", json!([])), ("merge", json!({})), ("strategic", json!({}))] {
        let reply = cx.patch(kind, cx.core("configmaps/a"), &patch).await?.code(200)?;
        reply.holds(reply.value == made.value, "the object as it was")?;
    }
    Ok(())
}

async fn a_patch_that_makes_an_object_invalid_is_refused(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let patch = json!({"data": {"not a key": "x"}});
    let reply = cx.patch("merge", cx.core("configmaps/a"), &patch).await?;
    reply.invalid(&[("FieldValueInvalid", "data[not a key]")])?.about("ConfigMap", "a")?;
    let mistyped = json!({"data": ["x"]});
    cx.patch("merge", cx.core("configmaps/a"), &mistyped).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_patch_cannot_change_the_kind(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    for patch in [json!({"kind": "Pod"}), json!({"apiVersion": "v7"})] {
        // Which error it is depends on how far the object fits into the other kind.
        let reply = cx.patch("merge", cx.core("configmaps/a"), &patch).await?;
        reply.holds(reply.status >= 400, "a refusal")?.at("/kind", "Status")?;
    }
    cx.get(cx.core("configmaps/a")).await?.at("/metadata/resourceVersion", made.revision()?)?;
    Ok(())
}

async fn a_patch_of_a_status_leaves_the_spec(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let patch = json!({"status": {"message": "m"}, "spec": {"activeDeadlineSeconds": 3}});
    let reply = cx.patch("merge", cx.core("pods/a/status"), &patch).await?.code(200)?;
    reply.at("/status/message", "m")?.absent("/spec/activeDeadlineSeconds")?;
    let reply =
        cx.patch("merge", cx.core("pods/a"), &json!({"status": {"message": "n"}})).await?.code(200)?;
    reply.at("/status/message", "m")?;
    Ok(())
}

async fn patches_at_the_same_time_all_count(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let patches =
        (0..8).map(|n| {
            let (cx, key) = (cx.clone(), format!("key-{n}"));
            async move {
                cx.patch("merge", cx.core("configmaps/a"), &json!({"data": {key: "x"}})).await?.code(200)
            }
        });
    futures::future::try_join_all(patches).await?;
    let read = cx.get(cx.core("configmaps/a")).await?.code(200)?;
    read.holds(read.get("/data").as_object().is_some_and(|data| data.len() == 9), "nine keys")?;
    Ok(())
}
