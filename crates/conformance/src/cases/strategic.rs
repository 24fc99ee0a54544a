//! Strategic merge patches: lists with keys, directives, and the kinds that do not take them.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{
    case::{Case, cases},
    cx::Cx,
    objects::{config_map, node, pod, pod_on, with},
    reply::Reply,
};

pub(crate) fn cases() -> Vec<Case> {
    cases![strategic:
        containers_are_merged_by_name,
        a_container_that_is_not_there_is_added,
        an_element_is_deleted_by_its_key,
        a_directive_replaces_a_map,
        a_directive_replaces_a_list,
        a_directive_deletes_a_map,
        the_order_of_elements_can_be_set,
        retained_keys_remove_the_others,
        conditions_are_merged_by_type,
        finalizers_are_merged_as_a_set,
        finalizers_are_deleted_one_by_one,
        environment_is_merged_by_name,
        ports_are_merged_by_container_port,
        volumes_are_merged_by_name,
        tolerations_are_replaced_as_a_whole,
        owner_references_are_merged_by_uid,
        taints_of_a_node_are_replaced_as_a_whole,
        addresses_of_a_node_are_merged_by_type,
        an_element_without_its_key_is_refused,
        a_null_deletes_in_a_strategic_patch,
    ]
}

/// Patches the status of a pod, which takes almost anything.
async fn patch_status(cx: &Cx, patch: Value) -> Result<Reply> {
    cx.patch("strategic", cx.core("pods/a/status"), &json!({"status": patch})).await?.code(200)
}

async fn patch_pod(cx: &Cx, patch: &Value) -> Result<Reply> {
    cx.patch("strategic", cx.core("pods/a"), patch).await
}

/// A pod with the containers `one` and `two`.
fn two_containers() -> Value {
    with(
        pod("a"),
        json!({"spec": {"containers": [{"name": "one", "image": "one:1"}, {"name": "two", "image": "two:1"}]}}),
    )
}

async fn containers_are_merged_by_name(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &two_containers()).await?;
    let patch = json!({"spec": {"containers": [{"name": "two", "image": "two:2"}]}});
    let reply = patch_pod(&cx, &patch).await?.code(200)?;
    reply.at("/spec/containers/0/name", "one")?.at("/spec/containers/0/image", "one:1")?;
    reply.at("/spec/containers/1/name", "two")?.at("/spec/containers/1/image", "two:2")?;
    Ok(())
}

async fn a_container_that_is_not_there_is_added(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &two_containers()).await?;
    // A pod may not get another container, and the refusal proves that the patch added one.
    let patch = json!({"spec": {"containers": [{"name": "three", "image": "three:1"}]}});
    let reply = patch_pod(&cx, &patch).await?.invalid(&[("FieldValueForbidden", "spec.containers")])?;
    reply.says(&["pod updates may not add or remove containers"])?;
    Ok(())
}

async fn an_element_is_deleted_by_its_key(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &two_containers()).await?;
    let conditions = json!([{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]);
    patch_status(&cx, json!({"conditions": conditions})).await?;
    let patch = json!({"conditions": [{"type": "A", "$patch": "delete"}]});
    let reply = patch_status(&cx, patch).await?;
    reply.holds(reply.list("/status/conditions")?.len() == 1, "one condition")?;
    reply.at("/status/conditions/0/type", "B")?;
    Ok(())
}

async fn a_directive_replaces_a_map(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &with(config_map("a"), json!({"data": {"b": "2"}}))).await?;
    let patch = json!({"data": {"$patch": "replace", "c": "3"}});
    let reply = cx.patch("strategic", cx.core("configmaps/a"), &patch).await?.code(200)?;
    reply.at("/data", json!({"c": "3"}))?;
    Ok(())
}

async fn a_directive_replaces_a_list(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let conditions = json!([{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]);
    patch_status(&cx, json!({"conditions": conditions})).await?;
    let patch = json!({"conditions": [{"$patch": "replace"}, {"type": "C", "status": "False"}]});
    let reply = patch_status(&cx, patch).await?;
    reply.holds(reply.list("/status/conditions")?.len() == 1, "one condition")?;
    reply.at("/status/conditions/0/type", "C")?;
    Ok(())
}

async fn a_directive_deletes_a_map(cx: Cx) -> Result<()> {
    cx.create(cx.core("configmaps"), &with(config_map("a"), json!({"metadata": {"labels": {"l": "1"}}})))
        .await?;
    let patch = json!({"metadata": {"labels": {"$patch": "delete"}}});
    let reply = cx.patch("strategic", cx.core("configmaps/a"), &patch).await?.code(200)?;
    reply.absent("/metadata/labels")?.at("/data/a", "1")?;
    Ok(())
}

async fn the_order_of_elements_can_be_set(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let conditions = json!([{"type": "A", "status": "True"}, {"type": "B", "status": "True"}]);
    patch_status(&cx, json!({"conditions": conditions})).await?;
    let patch = json!({
        "$setElementOrder/conditions": [{"type": "C"}, {"type": "B"}, {"type": "A"}],
        "conditions": [{"type": "C", "status": "True"}],
    });
    let reply = patch_status(&cx, patch).await?;
    let types: Vec<_> = reply.list("/status/conditions")?.iter().map(|c| c["type"].clone()).collect();
    reply.holds(types == ["C", "B", "A"], &format!("C, B, A, not {types:?}"))?;
    Ok(())
}

async fn retained_keys_remove_the_others(cx: Cx) -> Result<()> {
    // It is meant for unions, and works for every map that a patch touches.
    let body = with(config_map("a"), json!({"data": {"b": "2", "c": "3"}}));
    cx.create(cx.core("configmaps"), &body).await?;
    let patch = json!({"data": {"$retainKeys": ["b", "d"], "d": "4"}});
    let reply = cx.patch("strategic", cx.core("configmaps/a"), &patch).await?.code(200)?;
    reply.at("/data", json!({"b": "2", "d": "4"}))?;
    let wrong = json!({"data": {"$retainKeys": ["b"], "d": "5"}});
    cx.patch("strategic", cx.core("configmaps/a"), &wrong).await?.refused(400, "BadRequest")?;
    Ok(())
}

async fn conditions_are_merged_by_type(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod("a")).await?;
    let ready = json!({"conditions": [{"type": "Ready", "status": "False", "reason": "Starting"}]});
    patch_status(&cx, ready).await?;
    let patch =
        json!({"conditions": [{"type": "Ready", "status": "True"}, {"type": "Other", "status": "True"}]});
    let reply = patch_status(&cx, patch).await?;
    let ready = reply.list("/status/conditions")?.iter().find(|c| c["type"] == "Ready").cloned();
    let ready = ready.unwrap_or_default();
    reply.holds(ready["status"] == "True" && ready["reason"] == "Starting", "a merged condition")?;
    reply.holds(reply.list("/status/conditions")?.len() == 2, "two conditions")?;
    Ok(())
}

async fn finalizers_are_merged_as_a_set(cx: Cx) -> Result<()> {
    let one = json!({"metadata": {"finalizers": ["conformance.example/a"]}});
    cx.create(cx.core("configmaps"), &with(config_map("a"), one)).await?;
    let patch = json!({"metadata": {"finalizers": ["conformance.example/b", "conformance.example/a"]}});
    let reply = cx.patch("strategic", cx.core("configmaps/a"), &patch).await?.code(200)?;
    let all = reply.list("/metadata/finalizers")?;
    reply.holds(all.len() == 2, "both finalizers, each once")?;
    cx.patch("merge", cx.core("configmaps/a"), &json!({"metadata": {"finalizers": null}}))
        .await?
        .code(200)?;
    Ok(())
}

async fn finalizers_are_deleted_one_by_one(cx: Cx) -> Result<()> {
    let two = json!({"metadata": {"finalizers": ["conformance.example/a", "conformance.example/b"]}});
    cx.create(cx.core("configmaps"), &with(config_map("a"), two)).await?;
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["conformance.example/a"]}});
    let reply = cx.patch("strategic", cx.core("configmaps/a"), &patch).await?.code(200)?;
    reply.at("/metadata/finalizers", json!(["conformance.example/b"]))?;
    cx.patch("merge", cx.core("configmaps/a"), &json!({"metadata": {"finalizers": null}}))
        .await?
        .code(200)?;
    Ok(())
}

async fn environment_is_merged_by_name(cx: Cx) -> Result<()> {
    let template = json!({"spec": {"containers": [{"name": "app", "image": "app:1",
        "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]}]}});
    cx.create(cx.core("pods"), &with(pod("a"), template)).await?;
    let same = json!({"spec": {"containers": [{"name": "app", "env": [{"name": "B", "value": "2"}]}]}});
    let kept = patch_pod(&cx, &same).await?.code(200)?;
    kept.holds(kept.list("/spec/containers/0/env")?.len() == 2, "both variables")?
        .at("/metadata/generation", 1)?;
    let other = json!({"spec": {"containers": [{"name": "app", "env": [{"name": "B", "value": "3"}]}]}});
    patch_pod(&cx, &other).await?.invalid(&[("FieldValueForbidden", "spec")])?;
    Ok(())
}

async fn ports_are_merged_by_container_port(cx: Cx) -> Result<()> {
    let template = json!({"spec": {"containers": [{"name": "app", "image": "app:1",
        "ports": [{"containerPort": 80}, {"containerPort": 81}]}]}});
    cx.create(cx.core("pods"), &with(pod("a"), template)).await?;
    let same = json!({"spec": {"containers": [{"name": "app", "ports": [{"containerPort": 81}]}]}});
    let kept = patch_pod(&cx, &same).await?.code(200)?;
    kept.holds(kept.list("/spec/containers/0/ports")?.len() == 2, "both ports")?
        .at("/metadata/generation", 1)?;
    Ok(())
}

async fn volumes_are_merged_by_name(cx: Cx) -> Result<()> {
    let template =
        json!({"spec": {"volumes": [{"name": "one", "emptyDir": {}}, {"name": "two", "emptyDir": {}}]}});
    cx.create(cx.core("pods"), &with(pod("a"), template)).await?;
    let same = json!({"spec": {"volumes": [{"name": "two", "emptyDir": {}}]}});
    let kept = patch_pod(&cx, &same).await?.code(200)?;
    kept.holds(kept.list("/spec/volumes")?.len() == 2, "both volumes")?.at("/metadata/generation", 1)?;
    Ok(())
}

async fn tolerations_are_replaced_as_a_whole(cx: Cx) -> Result<()> {
    let tolerations = json!([{"key": "a", "operator": "Exists", "effect": "NoExecute"}]);
    cx.create(cx.core("pods"), &with(pod("a"), json!({"spec": {"tolerations": tolerations}}))).await?;
    // Tolerations may be added to, not taken away: a patch with another one takes the first away.
    let other = json!({"spec": {"tolerations": [{"key": "b", "operator": "Exists"}]}});
    patch_pod(&cx, &other).await?.refused(422, "Invalid")?.says(&["spec.tolerations"])?;
    let both = json!({"spec": {"tolerations": [
        {"key": "b", "operator": "Exists"}, {"key": "a", "operator": "Exists", "effect": "NoExecute"}]}});
    let reply = patch_pod(&cx, &both).await?.code(200)?;
    reply.at("/spec/tolerations/0/key", "b")?;
    Ok(())
}

async fn owner_references_are_merged_by_uid(cx: Cx) -> Result<()> {
    let owner = cx.create(cx.core("configmaps"), &config_map("owner")).await?;
    let reference =
        |name: &str, uid: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid});
    let first = reference("owner", &owner.uid()?);
    let body = with(config_map("a"), json!({"metadata": {"ownerReferences": [first]}}));
    cx.create(cx.core("configmaps"), &body).await?;
    let other = cx.create(cx.core("configmaps"), &config_map("other")).await?;
    let patch = json!({"metadata": {"ownerReferences": [reference("other", &other.uid()?)]}});
    let reply = cx.patch("strategic", cx.core("configmaps/a"), &patch).await?.code(200)?;
    reply.holds(reply.list("/metadata/ownerReferences")?.len() == 2, "two owners")?;
    let gone = json!({"metadata": {"ownerReferences": [{"$patch": "delete", "uid": owner.uid()?}]}});
    let reply = cx.patch("strategic", cx.core("configmaps/a"), &gone).await?.code(200)?;
    reply.holds(reply.list("/metadata/ownerReferences")?.len() == 1, "one owner")?;
    reply.at("/metadata/ownerReferences/0/name", "other")?;
    Ok(())
}

async fn taints_of_a_node_are_replaced_as_a_whole(cx: Cx) -> Result<()> {
    let name = cx.unique("node");
    let taints = json!({"spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]}});
    cx.create_for_now("/api/v1/nodes", &with(node(&name), taints)).await?;
    // A taint has a key, but the list of taints has no merge key.
    let patch = json!({"spec": {"taints": [{"key": "b", "effect": "NoSchedule"}]}});
    let reply = cx.patch("strategic", format!("/api/v1/nodes/{name}"), &patch).await?.code(200)?;
    reply.at("/spec/taints", json!([{"key": "b", "effect": "NoSchedule"}]))?;
    Ok(())
}

async fn addresses_of_a_node_are_merged_by_type(cx: Cx) -> Result<()> {
    let name = cx.unique("node");
    cx.create_for_now("/api/v1/nodes", &node(&name)).await?;
    let path = format!("/api/v1/nodes/{name}/status");
    let first = json!({"status": {"addresses": [{"type": "InternalIP", "address": "10.0.0.1"}]}});
    cx.patch("strategic", path.clone(), &first).await?.code(200)?;
    let second = json!({"status": {"addresses": [{"type": "Hostname", "address": "edge"}]}});
    let reply = cx.patch("strategic", path, &second).await?.code(200)?;
    reply.holds(reply.list("/status/addresses")?.len() == 2, "two addresses")?;
    Ok(())
}

async fn an_element_without_its_key_is_refused(cx: Cx) -> Result<()> {
    cx.create(cx.core("pods"), &pod_on("a", "nowhere")).await?;
    let patch = json!({"spec": {"containers": [{"image": "app:2"}]}});
    let reply = patch_pod(&cx, &patch).await?;
    reply.says(&["does not contain declared merge key: name"])?;
    cx.get(cx.core("pods/a")).await?.at("/spec/containers/0/image", "app:1")?;
    Ok(())
}

async fn a_null_deletes_in_a_strategic_patch(cx: Cx) -> Result<()> {
    let body = with(config_map("a"), json!({"metadata": {"labels": {"l": "1", "m": "2"}}}));
    cx.create(cx.core("configmaps"), &body).await?;
    let patch = json!({"metadata": {"labels": {"l": null}}, "data": null});
    let reply = cx.patch("strategic", cx.core("configmaps/a"), &patch).await?.code(200)?;
    reply.at("/metadata/labels", json!({"m": "2"}))?.absent("/data")?;
    Ok(())
}
