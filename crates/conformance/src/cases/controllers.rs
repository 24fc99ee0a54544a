//! What happens by itself: namespaces are emptied, and dependents go with their owners.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    call::Call,
    case::{Case, cases},
    custom::has_condition,
    cx::Cx,
    doc::Doc,
    objects::{config_map, lease, node, pod, secret, with},
};

pub(crate) fn cases() -> Vec<Case> {
    let cases = cases![controllers:
        a_namespace_is_emptied_and_goes,
        a_namespace_waits_for_what_is_kept,
        dependents_go_with_their_owner,
        dependents_of_an_owner_that_never_was_go,
        an_owner_of_another_uid_is_no_owner,
        a_dependent_stays_as_long_as_one_owner_does,
        orphans_stay,
        an_owner_waits_for_its_dependents,
        dependents_of_a_node_go_with_it,
    ];
    cases.into_iter().map(Case::needs_controllers).collect()
}

const KEEP: &str = "conformance.example/keep";

/// An object that is owned by others.
fn owned(object: Value, owners: &[&Doc]) -> Result<Value> {
    let references = owners.iter().map(|owner| {
        Ok(json!({"apiVersion": owner.text("/apiVersion")?, "kind": owner.text("/kind")?,
            "name": owner.text("/metadata/name")?, "uid": owner.uid()?, "blockOwnerDeletion": true}))
    });
    let references = references.collect::<Result<Vec<_>>>()?;
    Ok(with(object, json!({"metadata": {"ownerReferences": references}})))
}

/// Waits until there is nothing at `path`.
async fn gone(cx: &Cx, path: String) -> Result<()> {
    cx.until(Call::get(path), |reply| reply.clone().code(404).map(drop)).await?;
    Ok(())
}

async fn a_namespace_is_emptied_and_goes(cx: Cx) -> Result<()> {
    cx.create(cx.core("secrets"), &secret("a")).await?;
    cx.create(cx.core("pods"), &pod("a")).await?;
    cx.create(cx.group("coordination.k8s.io/v1", "leases"), &lease("a")).await?;
    let path = format!("/api/v1/namespaces/{}", cx.namespace());
    cx.delete(path.clone()).await?.code(200)?;
    gone(&cx, path.clone()).await?;
    for path in [cx.core("secrets"), cx.core("pods"), cx.group("coordination.k8s.io/v1", "leases")] {
        cx.get(path).await?.code(200)?.lists(&[])?;
    }
    // A namespace of the same name starts empty.
    let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": cx.namespace()}});
    cx.create("/api/v1/namespaces", &body).await?;
    cx.get(cx.core("secrets")).await?.code(200)?.lists(&[])?;
    Ok(())
}

async fn a_namespace_waits_for_what_is_kept(cx: Cx) -> Result<()> {
    let kept = with(secret("a"), json!({"metadata": {"finalizers": [KEEP]}}));
    cx.create(cx.core("secrets"), &kept).await?;
    let path = format!("/api/v1/namespaces/{}", cx.namespace());
    cx.delete(path.clone()).await?.code(200)?;
    let waiting = cx
        .until(Call::get(path.clone()), |reply| {
            let told = has_condition(&reply.value, "NamespaceFinalizersRemaining", "True");
            reply.holds(told, "a condition that tells what it waits for")?;
            Ok(())
        })
        .await?;
    waiting.at("/status/phase", "Terminating")?;
    let left = cx.get(cx.core("secrets/a")).await?.code(200)?;
    left.text("/metadata/deletionTimestamp")?;
    cx.patch("merge", cx.core("secrets/a"), &json!({"metadata": {"finalizers": null}})).await?.code(200)?;
    gone(&cx, path).await
}

async fn dependents_go_with_their_owner(cx: Cx) -> Result<()> {
    let owner = cx.create(cx.core("configmaps"), &config_map("owner")).await?;
    let child = cx.create(cx.core("secrets"), &owned(secret("child"), &[&owner])?).await?;
    cx.create(cx.core("pods"), &owned(pod("grandchild"), &[&child])?).await?;
    cx.delete(cx.core("configmaps/owner")).await?.code(200)?;
    gone(&cx, cx.core("secrets/child")).await?;
    gone(&cx, cx.core("pods/grandchild")).await
}

/// Makes a secret whose owner never was, and waits until it is gone.
///
/// Whoever removed it has then also noticed all secrets that were made before. Without that, a dependent that is a
/// moment old may be overlooked when its owner goes.
async fn noticed(cx: &Cx) -> Result<()> {
    let reference = json!([{"apiVersion": "v1", "kind": "ConfigMap", "name": "nobody",
        "uid": "e7d1a0f6-9c8e-4a3e-9d5e-000000000000"}]);
    let body = with(secret("stray"), json!({"metadata": {"ownerReferences": reference}}));
    cx.create(cx.core("secrets"), &body).await?;
    gone(cx, cx.core("secrets/stray")).await
}

async fn dependents_of_an_owner_that_never_was_go(cx: Cx) -> Result<()> {
    noticed(&cx).await
}

async fn an_owner_of_another_uid_is_no_owner(cx: Cx) -> Result<()> {
    let first = cx.create(cx.core("configmaps"), &config_map("owner")).await?;
    cx.delete(cx.core("configmaps/owner")).await?.code(200)?;
    cx.create(cx.core("configmaps"), &config_map("owner")).await?;
    cx.create(cx.core("secrets"), &owned(secret("child"), &[&first])?).await?;
    gone(&cx, cx.core("secrets/child")).await
}

async fn a_dependent_stays_as_long_as_one_owner_does(cx: Cx) -> Result<()> {
    let one = cx.create(cx.core("configmaps"), &config_map("one")).await?;
    let two = cx.create(cx.core("configmaps"), &config_map("two")).await?;
    cx.create(cx.core("secrets"), &owned(secret("child"), &[&one, &two])?).await?;
    cx.delete(cx.core("configmaps/one")).await?.code(200)?;
    let read = cx
        .until(Call::get(cx.core("secrets/child")), |reply| {
            reply.holds(reply.list("/metadata/ownerReferences")?.len() == 1, "one owner left")?;
            Ok(())
        })
        .await?;
    read.at("/metadata/ownerReferences/0/name", "two")?.absent("/metadata/deletionTimestamp")?;
    cx.delete(cx.core("configmaps/two")).await?.code(200)?;
    gone(&cx, cx.core("secrets/child")).await
}

async fn orphans_stay(cx: Cx) -> Result<()> {
    let owner = cx.create(cx.core("configmaps"), &config_map("owner")).await?;
    cx.create(cx.core("secrets"), &owned(secret("child"), &[&owner])?).await?;
    noticed(&cx).await?;
    cx.delete(cx.core("configmaps/owner?propagationPolicy=Orphan")).await?.code(200)?;
    gone(&cx, cx.core("configmaps/owner")).await?;
    let read = cx.get(cx.core("secrets/child")).await?.code(200)?;
    read.absent("/metadata/ownerReferences")?.absent("/metadata/deletionTimestamp")?;
    Ok(())
}

async fn an_owner_waits_for_its_dependents(cx: Cx) -> Result<()> {
    let owner = cx.create(cx.core("configmaps"), &config_map("owner")).await?;
    let kept = with(secret("child"), json!({"metadata": {"finalizers": [KEEP]}}));
    cx.create(cx.core("secrets"), &owned(kept, &[&owner])?).await?;
    noticed(&cx).await?;
    cx.delete(cx.core("configmaps/owner?propagationPolicy=Foreground")).await?.code(200)?;
    cx.until(Call::get(cx.core("secrets/child")), |reply| {
        reply.text("/metadata/deletionTimestamp")?;
        Ok(())
    })
    .await?;
    let waiting = cx.get(cx.core("configmaps/owner")).await?.code(200)?;
    waiting.at("/metadata/finalizers", json!(["foregroundDeletion"]))?;
    cx.patch("merge", cx.core("secrets/child"), &json!({"metadata": {"finalizers": null}}))
        .await?
        .code(200)?;
    gone(&cx, cx.core("configmaps/owner")).await
}

async fn dependents_of_a_node_go_with_it(cx: Cx) -> Result<()> {
    let name = cx.unique("node");
    let owner = cx.create_for_now("/api/v1/nodes", &node(&name)).await?;
    let leases = |rest: &str| cx.group("coordination.k8s.io/v1", rest);
    cx.create(leases("leases"), &owned(lease("a"), &[&owner])?).await?;
    cx.delete(format!("/api/v1/nodes/{name}")).await?.code(200)?;
    gone(&cx, leases("leases/a")).await
}
