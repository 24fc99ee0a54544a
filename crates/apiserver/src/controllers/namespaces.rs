//! Namespaces that are to go: first what is in them, then they themselves.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use safepoint_machinery::meta;
use safepoint_store::{Key, Object, Scope, WriteError};
use serde_json::{Value, json};

use super::everything;
use crate::api::Api;
use crate::registry::Registry;
use crate::verbs::{Deletion, change_as_server, delete_as_server};

/// Goes on with the deletion of namespaces.
pub(super) async fn end(api: &Api, registry: &Registry) -> Result<(), WriteError> {
    let Some(namespaces) = registry.find("", "v1", "namespaces") else { return Ok(()) };
    for namespace in everything(api, "namespaces") {
        if namespace.tags.field("status.phase") != "Terminating" {
            continue;
        }
        let left = empty(api, registry, &namespace.key.name).await?;
        let now = api.0.clock.text();
        change_as_server(api, &namespaces, &namespace.key, |mut namespace| {
            let before = namespace.clone();
            if left.is_empty() {
                namespace["spec"]["finalizers"].as_array_mut()?.retain(|finalizer| finalizer != "kubernetes");
            } else {
                explain(&mut namespace, &left, &now);
            }
            (namespace != before).then_some(namespace)
        })
        .await?;
    }
    Ok(())
}

/// Deletes what was made in a namespace at the moment when it ended.
pub(super) async fn remove_strays(api: &Api, registry: &Registry) -> Result<(), WriteError> {
    let known: HashSet<Arc<str>> =
        everything(api, "namespaces").iter().map(|namespace| Arc::clone(&namespace.key.name)).collect();
    for resource in registry.collections().iter().filter(|resource| resource.namespaced) {
        for object in everything(api, &resource.collection) {
            // Looked up again: a namespace that is not in the list may have been made since.
            let is_there = known.contains(&object.key.namespace)
                || api.0.store.get(&Key::new("namespaces", "", Arc::clone(&object.key.namespace))).is_some();
            if !is_there {
                delete_as_server(api, resource, &object.key, &Deletion::of(&object)).await?;
            }
        }
    }
    Ok(())
}

/// Deletes what is in a namespace. Returns what is still there: of which resource, and which finalizers hold it.
async fn empty(api: &Api, registry: &Registry, name: &str) -> Result<Vec<(String, Arc<Object>)>, WriteError> {
    let mut left = Vec::new();
    for resource in registry.collections().iter().filter(|resource| resource.namespaced) {
        let scope = Scope::collection(Arc::clone(&resource.collection)).namespace(name);
        for object in api.0.store.list(&scope, None, usize::MAX).objects {
            delete_as_server(api, resource, &object.key, &Deletion::of(&object)).await?;
            if let Some(object) = api.0.store.get(&object.key) {
                let group =
                    if resource.group.is_empty() { String::new() } else { format!(".{}", resource.group) };
                left.push((format!("{}.{group}", resource.plural).replace("..", "."), object));
            }
        }
    }
    Ok(left)
}

/// Writes on a namespace what it waits for, in the words of Kubernetes.
fn explain(namespace: &mut Value, left: &[(String, Arc<Object>)], now: &str) {
    let (mut kinds, mut finalizers) = (BTreeMap::<&str, usize>::new(), BTreeMap::<String, usize>::new());
    for (resource, object) in left {
        *kinds.entry(resource).or_default() += 1;
        let value: Value = serde_json::from_slice(&object.json).unwrap_or_default();
        for finalizer in meta::finalizers(&value) {
            *finalizers.entry(finalizer.to_owned()).or_default() += 1;
        }
    }
    let counted = |counts: Vec<String>| counts.join(", ");
    let content =
        counted(kinds.iter().map(|(kind, count)| format!("{kind} has {count} resource instances")).collect());
    let held = counted(
        finalizers.iter().map(|(name, count)| format!("{name} in {count} resource instances")).collect(),
    );
    let is = |yes: bool| if yes { "True" } else { "False" };
    set(
        namespace,
        now,
        json!({
            "type": "NamespaceContentRemaining", "status": "True", "reason": "SomeResourcesRemain",
            "message": format!("Some resources are remaining: {content}"),
        }),
    );
    set(
        namespace,
        now,
        json!({
            "type": "NamespaceFinalizersRemaining", "status": is(!finalizers.is_empty()),
            "reason": if finalizers.is_empty() { "ContentHasNoFinalizers" } else { "SomeFinalizersRemain" },
            "message": if finalizers.is_empty() {
                "All content-preserving finalizers finished".to_owned()
            } else {
                format!("Some content in the namespace has finalizers remaining: {held}")
            },
        }),
    );
}

/// Sets a condition; its time changes only with its status.
fn set(namespace: &mut Value, now: &str, mut condition: Value) {
    let Some(status) = namespace["status"].as_object_mut() else { return };
    let Some(conditions) = status.entry("conditions").or_insert_with(|| json!([])).as_array_mut() else {
        return;
    };
    let old = conditions.iter_mut().find(|old| old["type"] == condition["type"]);
    let since = old
        .as_ref()
        .filter(|old| old["status"] == condition["status"])
        .map(|old| old["lastTransitionTime"].clone());
    condition["lastTransitionTime"] = since.unwrap_or_else(|| now.into());
    match old {
        Some(old) => *old = condition,
        None => conditions.push(condition),
    }
}
