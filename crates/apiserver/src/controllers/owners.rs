//! Dependents: what belongs to something that is gone goes too, unless it was to be left behind.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use safepoint_machinery::meta;
use safepoint_store::{Key, Object, WriteError};
use serde_json::Value;

use super::{everything, remove_finalizer};
use crate::api::Api;
use crate::registry::Registry;
use crate::resource::Resource;
use crate::verbs::select::{ENDING, OWNERS};
use crate::verbs::{Deletion, FOREGROUND, ORPHAN, change_as_server, delete_as_server, metadata_of};

/// An object with owners, and the resource it is of.
struct Owned {
    resource: Arc<Resource>,
    object: Arc<Object>,
}

pub(super) async fn collect(api: &Api, registry: &Registry) -> Result<(), WriteError> {
    let mut owned: Vec<Owned> = Vec::new();
    let mut waiting: Vec<Owned> = Vec::new();
    for resource in registry.collections() {
        for object in everything(api, &resource.collection) {
            if !object.tags.field(OWNERS).is_empty() {
                owned.push(Owned { resource: Arc::clone(&resource), object: Arc::clone(&object) });
            }
            let holds = |name: &str| object.tags.field(ENDING).split(',').any(|finalizer| finalizer == name);
            if holds(FOREGROUND) || holds(ORPHAN) {
                waiting.push(Owned { resource: Arc::clone(&resource), object });
            }
        }
    }
    let mut by_owner: BTreeMap<&str, Vec<&Owned>> = BTreeMap::new();
    for dependent in &owned {
        for uid in dependent.object.tags.field(OWNERS).split(',') {
            by_owner.entry(uid).or_default().push(dependent);
        }
    }
    let mut ending: HashSet<&str> = HashSet::new();
    for owner in &waiting {
        let value: Value = serde_json::from_slice(&owner.object.json).unwrap_or_default();
        if meta::deletion_timestamp(&value).is_none() {
            continue;
        }
        let uid = owner.object.tags.uid.as_str();
        let dependents = by_owner.get(uid).map_or(&[][..], Vec::as_slice);
        let finalizers = meta::finalizers(&value);
        if finalizers.contains(&ORPHAN) {
            for dependent in dependents {
                disown(api, dependent, uid).await?;
            }
            remove_finalizer(api, &owner.resource, &owner.object.key, ORPHAN).await?;
        } else if finalizers.contains(&FOREGROUND) {
            ending.insert(uid);
            let mut blocking = 0;
            for dependent in dependents {
                blocking += usize::from(end_before_owner(api, registry, dependent, uid, &ending).await?);
            }
            if blocking == 0 {
                remove_finalizer(api, &owner.resource, &owner.object.key, FOREGROUND).await?;
            }
        }
    }
    for dependent in &owned {
        let gone = owners_gone(api, registry, dependent);
        if !gone.is_empty() && gone.len() == dependent.object.tags.field(OWNERS).split(',').count() {
            let deletion = Deletion::of(&dependent.object);
            delete_as_server(api, &dependent.resource, &dependent.object.key, &deletion).await?;
        } else {
            // Another owner keeps it; the one that is gone is forgotten.
            for uid in gone {
                disown(api, dependent, &uid).await?;
            }
        }
    }
    Ok(())
}

/// Deletes what must be gone before its owner goes. Says whether the owner still has to wait for it.
async fn end_before_owner(
    api: &Api,
    registry: &Registry,
    dependent: &Owned,
    owner: &str,
    ending: &HashSet<&str>,
) -> Result<bool, WriteError> {
    let value: Value = serde_json::from_slice(&dependent.object.json).unwrap_or_default();
    let references = meta::owner_references(&value);
    let blocks = references.iter().any(|reference| reference.uid == owner && reference.block_owner_deletion);
    // Another owner that goes on keeps it.
    let goes_on = |reference: &meta::OwnerReference<'_>| {
        !ending.contains(reference.uid) && !is_gone(api, registry, &dependent.object.key, reference)
    };
    if references.iter().any(goes_on) {
        return Ok(false);
    }
    let deletion = Deletion::of(&dependent.object);
    delete_as_server(api, &dependent.resource, &dependent.object.key, &deletion).await?;
    Ok(blocks && api.0.store.get(&dependent.object.key).is_some())
}

/// The owners of an object that are gone.
fn owners_gone(api: &Api, registry: &Registry, dependent: &Owned) -> Vec<String> {
    let value: Value = serde_json::from_slice(&dependent.object.json).unwrap_or_default();
    let references = meta::owner_references(&value);
    let gone = references.iter().filter(|owner| is_gone(api, registry, &dependent.object.key, owner));
    gone.map(|owner| owner.uid.to_owned()).collect()
}

/// Whether an owner is gone, looked up now: an owner is there before what it owns, so it cannot be missed. One that cannot
/// be looked up is taken to be there: of a kind that is not served here, or in a namespace that nobody names.
fn is_gone(api: &Api, registry: &Registry, dependent: &Key, owner: &meta::OwnerReference<'_>) -> bool {
    let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
    let Some(resource) = registry.of_kind(group, owner.kind) else { return false };
    if resource.namespaced && dependent.namespace.is_empty() {
        return false;
    }
    let found = api.0.store.get(&resource.key(&dependent.namespace, owner.name));
    found.is_none_or(|found| found.tags.uid != owner.uid)
}

/// Removes the reference to an owner that leaves its dependents behind.
async fn disown(api: &Api, dependent: &Owned, owner: &str) -> Result<(), WriteError> {
    change_as_server(api, &dependent.resource, &dependent.object.key, |mut value| {
        let references = metadata_of(&mut value).get_mut("ownerReferences")?.as_array_mut()?;
        let before = references.len();
        references.retain(|reference| reference.get("uid").and_then(Value::as_str) != Some(owner));
        if references.len() == before {
            return None;
        }
        crate::verbs::tidy_metadata(&mut value);
        Some(value)
    })
    .await
}
