//! Dry runs, and how strictly a server looks at fields that it does not know.

use anyhow::Result;
use http::Method;
use serde_json::json;

use crate::{
    call::Call,
    case::{Case, cases},
    cx::Cx,
    objects::{config_map, pod, pod_on, with},
    reply::Reply,
};

pub(crate) fn cases() -> Vec<Case> {
    cases![dry_run:
        a_dry_creation_creates_nothing,
        a_dry_creation_is_checked_like_a_real_one,
        a_dry_update_changes_nothing,
        a_dry_patch_changes_nothing,
        a_dry_deletion_deletes_nothing,
        a_dry_deletion_by_options_deletes_nothing,
        a_dry_deletion_of_many_deletes_nothing,
        a_dry_write_of_a_status_changes_nothing,
        a_dry_binding_binds_nothing,
        an_unknown_dry_run_is_refused,
        strict_refuses_unknown_fields,
        strict_refuses_duplicate_fields,
        strict_looks_at_patches,
        strict_takes_what_is_fine,
        unknown_fields_are_warned_about_by_default,
        ignored_fields_are_not_warned_about,
        unknown_fields_are_dropped.differs("fields of built-in kinds that the server does not know are kept"),
        an_unknown_strictness_is_refused,
        strict_looks_into_containers,
    ]
}

async fn a_dry_creation_creates_nothing(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods?dryRun=All"), &pod("a")).await?;
    made.uid()?;
    made.absent("/metadata/resourceVersion")?.at("/spec/restartPolicy", "Always")?;
    cx.get(cx.core("pods/a")).await?.refused(404, "NotFound")?;
    Ok(())
}

async fn a_dry_creation_is_checked_like_a_real_one(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    cx.post(cx.core("configmaps?dryRun=All"), &config_map("a")).await?.refused(409, "AlreadyExists")?;
    cx.post(cx.core("configmaps?dryRun=All"), &config_map("B")).await?.refused(422, "Invalid")?;
    Ok(())
}

async fn a_dry_update_changes_nothing(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let body = with(config_map("a"), json!({"data": {"a": "2"}}));
    let dry = cx.put(cx.core("configmaps/a?dryRun=All"), &body).await?.code(200)?;
    dry.at("/data/a", "2")?.at("/metadata/uid", made.uid()?)?;
    let read = cx.get(cx.core("configmaps/a")).await?.code(200)?;
    read.holds(read.value == made.value, "the object as it was")?;
    Ok(())
}

async fn a_dry_patch_changes_nothing(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let patch = json!({"data": {"a": "2"}});
    let dry = cx.patch("merge", cx.core("configmaps/a?dryRun=All"), &patch).await?.code(200)?;
    dry.at("/data/a", "2")?;
    let read = cx.get(cx.core("configmaps/a")).await?.code(200)?;
    read.holds(read.value == made.value, "the object as it was")?;
    Ok(())
}

async fn a_dry_deletion_deletes_nothing(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let dry = cx.delete(cx.core("configmaps/a?dryRun=All")).await?.code(200)?;
    dry.at("/status", "Success")?.at("/details/uid", made.uid()?)?;
    let read = cx.get(cx.core("configmaps/a")).await?.code(200)?;
    read.holds(read.value == made.value, "the object as it was")?;
    Ok(())
}

async fn a_dry_deletion_by_options_deletes_nothing(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods"), &pod_on("a", "nowhere")).await?;
    cx.delete_with(cx.core("pods/a"), json!({"dryRun": ["All"]})).await?.code(200)?;
    let read = cx.get(cx.core("pods/a")).await?.code(200)?;
    read.holds(read.value == made.value, "the object as it was")?;
    Ok(())
}

async fn a_dry_deletion_of_many_deletes_nothing(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    cx.create(cx.core("pods"), &pod("b")).await?;
    cx.delete(cx.core("pods?dryRun=All")).await?.code(200)?;
    cx.get(cx.core("pods")).await?.code(200)?.lists(&["a", "b"])?;
    Ok(())
}

async fn a_dry_write_of_a_status_changes_nothing(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let status = json!({"status": {"phase": "Running"}});
    let dry = cx.patch("merge", cx.core("pods/a/status?dryRun=All"), &status).await?.code(200)?;
    dry.at("/status/phase", "Running")?;
    cx.get(cx.core("pods/a")).await?.at("/status/phase", "Pending")?;
    Ok(())
}

async fn a_dry_binding_binds_nothing(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": "a"},
        "target": {"kind": "Node", "name": "nowhere"}});
    cx.post(cx.core("pods/a/binding?dryRun=All"), &binding).await?.code(201)?;
    cx.get(cx.core("pods/a")).await?.absent("/spec/nodeName")?;
    Ok(())
}

async fn an_unknown_dry_run_is_refused(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let path = cx.core("configmaps/a?dryRun=Some");
    let refused = |reply: Reply, kind: &str| -> Result<()> {
        let reply = reply.invalid(&[("FieldValueNotSupported", "dryRun")])?;
        reply.at("/details/kind", kind)?.at("/details/group", "meta.k8s.io")?;
        Ok(())
    };
    let post = cx.post(cx.core("configmaps?dryRun=Some"), &config_map("b")).await?;
    post.says(&["dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""])?;
    refused(post, "CreateOptions")?;
    refused(cx.put(path.clone(), &config_map("a")).await?, "UpdateOptions")?;
    refused(cx.patch("merge", path.clone(), &json!({})).await?, "PatchOptions")?;
    refused(cx.delete(path).await?, "DeleteOptions")
}

async fn strict_refuses_unknown_fields(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"metadata": {"colour": "red"}, "extra": 1}));
    let reply = cx.post(cx.core("configmaps?fieldValidation=Strict"), &body).await?;
    let reply = reply.refused(400, "BadRequest")?;
    reply.says(&[
        "strict decoding error: ",
        "unknown field \"metadata.colour\"",
        "unknown field \"extra\"",
    ])?;
    Ok(())
}

async fn strict_refuses_duplicate_fields(cx: Cx) -> Result<()> {
    let raw = r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"a":"1","a":"2"}}"#;
    let call = Call::new(Method::POST, cx.core("configmaps?fieldValidation=Strict")).raw(raw);
    cx.send(call)
        .await?
        .refused(400, "BadRequest")?
        .says(&["strict decoding error: duplicate field \"data.a\""])?;
    let call = Call::new(Method::POST, cx.core("configmaps?fieldValidation=Ignore")).raw(raw);
    cx.send(call).await?.code(201)?.at("/data/a", "2")?;
    Ok(())
}

async fn strict_looks_at_patches(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &config_map("a")).await?;
    let path = cx.core("configmaps/a?fieldValidation=Strict");
    for (kind, patch) in [
        ("merge", json!({"colour": "red"})),
        ("strategic", json!({"colour": "red"})),
        ("json", json!([{"op": "add", "path": "/colour", "value": "red"}])),
    ] {
        let reply = cx.patch(kind, path.clone(), &patch).await?;
        let reply = reply.invalid(&[("FieldValueInvalid", "patch")])?;
        reply.says(&["strict decoding error: unknown field \"colour\""])?;
    }
    let put = cx.put(path, &with(config_map("a"), json!({"colour": "red"}))).await?;
    put.refused(400, "BadRequest")?.says(&["strict decoding error: unknown field \"colour\""])?;
    Ok(())
}

async fn strict_takes_what_is_fine(cx: Cx) -> Result<()> {
    let made = cx.create(cx.core("pods?fieldValidation=Strict"), &pod("a")).await?;
    cx.put(cx.core("pods/a?fieldValidation=Strict"), &made.value).await?.code(200)?;
    let patch = json!({"metadata": {"labels": {"a": "b"}}});
    cx.patch("merge", cx.core("pods/a?fieldValidation=Strict"), &patch).await?.code(200)?;
    Ok(())
}

async fn unknown_fields_are_warned_about_by_default(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"metadata": {"colour": "red"}, "extra": 1}));
    for (path, name) in [("configmaps", "a"), ("configmaps?fieldValidation=Warn", "b")] {
        let body = with(body.clone(), json!({"metadata": {"name": name}}));
        let made = cx.create(cx.core(path), &body).await?;
        let mut warnings = made.headers("warning");
        warnings.sort_unstable();
        let expected = [r#"299 - "unknown field \"extra\"""#, r#"299 - "unknown field \"metadata.colour\"""#];
        made.holds(warnings == expected, &format!("two warnings, not {warnings:?}"))?;
    }
    let patched = cx.patch("merge", cx.core("configmaps/a"), &json!({"extra": 1})).await?.code(200)?;
    let expected = r#"299 - "unknown field \"extra\"""#;
    patched.holds(patched.header("warning") == expected, "a warning")?;
    Ok(())
}

async fn ignored_fields_are_not_warned_about(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"extra": 1}));
    let made = cx.create(cx.core("configmaps?fieldValidation=Ignore"), &body).await?;
    made.holds(made.headers("warning").is_empty(), "no warnings")?;
    Ok(())
}

async fn unknown_fields_are_dropped(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"metadata": {"colour": "red"}, "extra": 1}));
    let made = cx.create(cx.core("configmaps?fieldValidation=Ignore"), &body).await?;
    made.absent("/extra")?.absent("/metadata/colour")?;
    Ok(())
}

async fn an_unknown_strictness_is_refused(cx: Cx) -> Result<()> {
    let reply = cx.post(cx.core("configmaps?fieldValidation=Maybe"), &config_map("a")).await?;
    let reply = reply.invalid(&[("FieldValueNotSupported", "fieldValidation")])?;
    reply.at("/details/kind", "CreateOptions")?;
    Ok(())
}

async fn strict_looks_into_containers(cx: Cx) -> Result<()> {
    let body = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": {
        "automountServiceAccountToken": false,
        "containers": [{"name": "app", "image": "app:1", "imagePolicy": "Never"}]}});
    let reply = cx.post(cx.core("pods?fieldValidation=Strict"), &body).await?.refused(400, "BadRequest")?;
    reply.says(&["strict decoding error: unknown field \"spec.containers[0].imagePolicy\""])?;
    Ok(())
}
