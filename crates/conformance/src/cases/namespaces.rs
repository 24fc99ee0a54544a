//! Namespaces: what they are made of, and what their end begins with.

use anyhow::Result;
use serde_json::json;

use crate::{
    case::{Case, cases},
    cx::Cx,
    objects::{config_map, with},
};

pub(crate) fn cases() -> Vec<Case> {
    cases![namespaces:
        a_namespace_is_active_and_has_its_name_as_a_label,
        the_label_of_the_name_cannot_be_removed,
        a_name_of_a_namespace_is_a_label,
        a_namespace_is_selected_by_its_label,
        a_deleted_namespace_is_terminating,
        a_namespace_is_finalized_by_its_own_path,
        finalize_is_the_only_way_to_change_finalizers,
        some_namespaces_are_always_there,
        a_namespace_takes_generated_names,
    ]
}

fn namespace(name: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

async fn a_namespace_is_active_and_has_its_name_as_a_label(cx: Cx) -> Result<()> {
    let name = cx.unique("ns");
    let made = cx.create_for_now("/api/v1/namespaces", &namespace(&name)).await?;
    made.at("/status/phase", "Active")?.at("/spec/finalizers", json!(["kubernetes"]))?;
    made.at("/metadata/labels", json!({"kubernetes.io/metadata.name": name}))?;
    made.absent("/metadata/namespace")?;
    Ok(())
}

async fn the_label_of_the_name_cannot_be_removed(cx: Cx) -> Result<()> {
    let path = format!("/api/v1/namespaces/{}", cx.namespace());
    let patch = json!({"metadata": {"labels": {"kubernetes.io/metadata.name": null, "more": "1"}}});
    let reply = cx.patch("merge", path, &patch).await?.code(200)?;
    reply.at("/metadata/labels/kubernetes.io~1metadata.name", cx.namespace())?;
    reply.at("/metadata/labels/more", "1")?;
    Ok(())
}

async fn a_name_of_a_namespace_is_a_label(cx: Cx) -> Result<()> {
    for name in ["with.dots".to_owned(), "Capital".to_owned(), "n".repeat(64)] {
        let reply = cx.post("/api/v1/namespaces", &namespace(&name)).await?;
        let reply = reply.invalid(&[("FieldValueInvalid", "metadata.name")])?;
        reply.about("Namespace", &name)?;
    }
    Ok(())
}

async fn a_namespace_is_selected_by_its_label(cx: Cx) -> Result<()> {
    let path = format!("/api/v1/namespaces?labelSelector=kubernetes.io/metadata.name%3D{}", cx.namespace());
    cx.get(path).await?.code(200)?.lists(&[cx.namespace()])?;
    Ok(())
}

async fn a_deleted_namespace_is_terminating(cx: Cx) -> Result<()> {
    let kept = with(config_map("a"), json!({"metadata": {"finalizers": ["conformance.example/keep"]}}));
    cx.create(cx.core("configmaps"), &kept).await?;
    let path = format!("/api/v1/namespaces/{}", cx.namespace());
    let answer = cx.delete(path.clone()).await?.code(200)?;
    answer.at("/kind", "Namespace")?.at("/status/phase", "Terminating")?;
    answer.text("/metadata/deletionTimestamp")?;
    let read = cx.get(path.clone()).await?.code(200)?;
    read.at("/status/phase", "Terminating")?;
    // Whether a second deletion is a conflict depends on how far the first one got.
    let again = cx.delete(path).await?;
    again.holds(matches!(again.status, 200 | 409), "no surprise")?;
    cx.patch("merge", cx.core("configmaps/a"), &json!({"metadata": {"finalizers": null}}))
        .await?
        .code(200)?;
    Ok(())
}

async fn a_namespace_is_finalized_by_its_own_path(cx: Cx) -> Result<()> {
    let name = cx.unique("ns");
    let body =
        with(namespace(&name), json!({"spec": {"finalizers": ["conformance.example/keep", "kubernetes"]}}));
    let made = cx.create_for_now("/api/v1/namespaces", &body).await?;
    let finalizers = made.list("/spec/finalizers")?;
    made.holds(finalizers.contains(&json!("conformance.example/keep")), "its own finalizer")?;
    made.holds(finalizers.contains(&json!("kubernetes")), "that of the server")?;
    let path = format!("/api/v1/namespaces/{name}");
    let fewer = with(made.value.clone(), json!({"spec": {"finalizers": ["conformance.example/keep"]}}));
    let reply = cx.put(format!("{path}/finalize"), &fewer).await?.code(200)?;
    reply.at("/spec/finalizers", json!(["conformance.example/keep"]))?.at("/status/phase", "Active")?;
    cx.delete(path.clone()).await?.code(200)?;
    let left = cx.get(path.clone()).await?.code(200)?;
    left.at("/status/phase", "Terminating")?;
    let none = with(namespace(&name), json!({"spec": {"finalizers": []}}));
    cx.put(format!("{path}/finalize"), &none).await?.code(200)?;
    cx.get(path).await?.refused(404, "NotFound")?;
    Ok(())
}

async fn finalize_is_the_only_way_to_change_finalizers(cx: Cx) -> Result<()> {
    let path = format!("/api/v1/namespaces/{}", cx.namespace());
    let patch = json!({"spec": {"finalizers": []}, "status": {"phase": "Terminating"}});
    let reply = cx.patch("merge", path, &patch).await?.code(200)?;
    reply.at("/spec/finalizers", json!(["kubernetes"]))?.at("/status/phase", "Active")?;
    Ok(())
}

async fn some_namespaces_are_always_there(cx: Cx) -> Result<()> {
    for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
        let read = cx.get(format!("/api/v1/namespaces/{name}")).await?.code(200)?;
        read.at("/status/phase", "Active")?;
    }
    let reply = cx.delete("/api/v1/namespaces/kube-system?dryRun=All").await?.refused(403, "Forbidden")?;
    reply.says(&["this namespace may not be deleted"])?;
    Ok(())
}

async fn a_namespace_takes_generated_names(cx: Cx) -> Result<()> {
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "gen-"}});
    let made = cx.create_for_now("/api/v1/namespaces", &body).await?;
    let name = made.text("/metadata/name")?;
    made.at("/metadata/labels/kubernetes.io~1metadata.name", name)?;
    Ok(())
}
