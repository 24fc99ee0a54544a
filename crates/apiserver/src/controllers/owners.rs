//! Dependents: what belongs to something that is gone goes too, unless it was to be left behind.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use safepoint_machinery::meta;
use safepoint_store::{Object, WriteError};
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
    let mut alive: HashSet<String> = HashSet::new();
    let mut owned: Vec<Owned> = Vec::new();
    let mut waiting: Vec<Owned> = Vec::new();
    for resource in registry.collections() {
        for object in everything(api, &resource.collection) {
            alive.insert(object.tags.uid.clone());
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
                blocking += usize::from(end_before_owner(api, dependent, uid, &alive, &ending).await?);
            }
            if blocking == 0 {
                remove_finalizer(api, &owner.resource, &owner.object.key, FOREGROUND).await?;
            }
        }
    }
    for dependent in &owned {
        let gone = owners_gone(dependent, registry, &alive);
        if !gone.is_empty() && gone.len() == dependent.object.tags.field(OWNERS).split(',').count() {
            let deletion = Deletion { uid: Some(dependent.object.tags.uid.clone()), ..Deletion::default() };
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
    dependent: &Owned,
    owner: &str,
    alive: &HashSet<String>,
    ending: &HashSet<&str>,
) -> Result<bool, WriteError> {
    let value: Value = serde_json::from_slice(&dependent.object.json).unwrap_or_default();
    let references = meta::owner_references(&value);
    let blocks = references.iter().any(|reference| reference.uid == owner && reference.block_owner_deletion);
    // Another owner that goes on keeps it.
    if references.iter().any(|reference| alive.contains(reference.uid) && !ending.contains(reference.uid)) {
        return Ok(false);
    }
    let deletion = Deletion { uid: Some(dependent.object.tags.uid.clone()), ..Deletion::default() };
    delete_as_server(api, &dependent.resource, &dependent.object.key, &deletion).await?;
    Ok(blocks && api.0.store.get(&dependent.object.key).is_some())
}

/// The owners of an object that are gone. Owners of a kind that is not served here cannot be looked up: they are taken to
/// be there.
fn owners_gone(dependent: &Owned, registry: &Registry, alive: &HashSet<String>) -> Vec<String> {
    let value: Value = serde_json::from_slice(&dependent.object.json).unwrap_or_default();
    let is_gone = |owner: &meta::OwnerReference<'_>| {
        let group = owner.api_version.split_once('/').map_or("", |(group, _)| group);
        registry.of_kind(group, owner.kind).is_some() && !alive.contains(owner.uid)
    };
    meta::owner_references(&value)
        .iter()
        .filter(|owner| is_gone(owner))
        .map(|owner| owner.uid.to_owned())
        .collect()
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
