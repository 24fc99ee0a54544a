//! The metadata that every object has: what the server sets, what a client may change, and what must hold.

use std::collections::HashSet;

use jiff::Timestamp;
use safepoint_machinery::status::FieldError;
use safepoint_machinery::{meta, names};
use serde_json::{Map, Value};

use crate::clock;
use crate::fault::{Problems, at};
use crate::resource::Resource;

/// All annotations of an object together.
const LARGEST_ANNOTATIONS: usize = 256 * 1024;

/// What clients may say and only the server knows.
const OF_THE_SERVER: [&str; 8] = [
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
    "selfLink",
    // The embedded API does not track who manages which field.
    "managedFields",
];

/// The metadata of an object, which is made if it is missing.
pub(crate) fn of(object: &mut Value) -> &mut Map<String, Value> {
    if !object.get("metadata").is_some_and(Value::is_object) {
        object["metadata"] = Value::Object(Map::new());
    }
    object["metadata"].as_object_mut().expect("it was made an object just above")
}

/// Makes the metadata of an object that is about to be created.
pub(crate) fn begin(object: &mut Value, resource: &Resource, now: Timestamp) {
    let metadata = of(object);
    for field in OF_THE_SERVER {
        metadata.remove(field);
    }
    metadata.insert("uid".to_owned(), uuid::Uuid::new_v4().to_string().into());
    metadata.insert("creationTimestamp".to_owned(), clock::time(now).into());
    if resource.rules().counted().is_some() {
        metadata.insert("generation".to_owned(), 1.into());
    }
}

/// Removes what says nothing: Kubernetes does not keep an empty map or list of the metadata.
pub(crate) fn tidy(object: &mut Value) {
    of(object).retain(|_, value| match value {
        Value::Null => false,
        Value::Object(map) => !map.is_empty(),
        Value::Array(items) => !items.is_empty(),
        Value::String(text) => !text.is_empty(),
        _ => true,
    });
}

/// Takes what a client may not change from the object as it is.
pub(crate) fn carry(new: &mut Value, old: &Value) {
    let old = old.get("metadata").and_then(Value::as_object);
    let metadata = of(new);
    for field in ["creationTimestamp", "generation", "selfLink", "managedFields"] {
        match old.and_then(|old| old.get(field)) {
            Some(value) => metadata.insert(field.to_owned(), value.clone()),
            None => metadata.remove(field),
        };
    }
    // What a client leaves out of these it does not mean to unset.
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds", "name", "namespace"] {
        if !metadata.contains_key(field)
            && let Some(value) = old.and_then(|old| old.get(field))
        {
            metadata.insert(field.to_owned(), value.clone());
        }
    }
}

/// A name that begins as the client wishes and has not been used.
pub(crate) fn generated(stem: &str) -> String {
    // As Kubernetes draws them: no vowels and nothing that looks like something else.
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    const LONGEST_STEM: usize = 58;
    let stem = stem.get(..LONGEST_STEM).unwrap_or(stem);
    let random = uuid::Uuid::new_v4().into_bytes();
    let suffix = random.iter().take(5).map(|byte| char::from(LETTERS[usize::from(*byte) % LETTERS.len()]));
    stem.chars().chain(suffix).collect()
}

/// Says what is wrong with the metadata of an object.
pub(crate) fn check(object: &Value, resource: &Resource, problems: &mut Problems) {
    let rules = resource.rules();
    match (meta::name(object).filter(|name| !name.is_empty()), meta::generate_name(object)) {
        (Some(name), _) => {
            for text in rules.check_name(name, false) {
                problems.push(FieldError::invalid(at("metadata.name"), name, text));
            }
        }
        (None, _) => {
            problems.push(FieldError::required(at("metadata.name"), "name or generateName is required"));
        }
    }
    if let Some(prefix) = meta::generate_name(object).filter(|prefix| !prefix.is_empty()) {
        for text in rules.check_name(&names::as_prefix(prefix), true) {
            problems.push(FieldError::invalid(at("metadata.generateName"), prefix, text));
        }
    }
    for (key, value) in meta::labels(object) {
        for text in names::qualified_name(&key) {
            problems.push(FieldError::invalid(at("metadata.labels"), key.as_str(), text));
        }
        for text in names::label_value(&value) {
            problems.push(FieldError::invalid(at("metadata.labels"), value.as_str(), text));
        }
    }
    let mut size = 0;
    for (key, value) in meta::annotations(object) {
        size += key.len() + value.len();
        for text in names::annotation_key(&key) {
            problems.push(FieldError::invalid(at("metadata.annotations"), key.as_str(), text));
        }
    }
    if size > LARGEST_ANNOTATIONS {
        problems.push(FieldError::too_long(at("metadata.annotations"), LARGEST_ANNOTATIONS));
    }
    for (index, finalizer) in meta::finalizers(object).into_iter().enumerate() {
        let path = at("metadata.finalizers").index(index);
        for text in names::qualified_name(finalizer) {
            problems.push(FieldError::invalid(at("metadata.finalizers"), finalizer, text));
        }
        // Only the core group asks for this.
        if resource.group.is_empty()
            && !finalizer.contains('/')
            && !matches!(finalizer, "kubernetes" | "orphan" | "foregroundDeletion")
        {
            let text = "name is neither a standard finalizer name nor is it fully qualified";
            problems.push(FieldError::invalid(&path, finalizer, text));
        }
    }
    check_owners(object, problems);
}

/// Two equal references to an owner are one. Says whether there were such.
pub(crate) fn forget_repeated_owners(object: &mut Value) -> bool {
    let Some(Value::Array(owners)) = of(object).get_mut("ownerReferences") else { return false };
    let before = owners.len();
    let mut seen = HashSet::new();
    owners.retain(|owner| seen.insert(owner.to_string()));
    owners.len() < before
}

fn check_owners(object: &Value, problems: &mut Problems) {
    let mut controllers = 0;
    for owner in meta::owner_references(object) {
        let owners = "metadata.ownerReferences";
        let version = owner.api_version.rsplit('/').next().unwrap_or_default();
        if version.is_empty() || owner.api_version.split('/').count() > 2 {
            problems.push(FieldError::invalid(
                at(&format!("{owners}.apiVersion")),
                owner.api_version,
                "version must not be empty",
            ));
        }
        for (field, value) in [("kind", owner.kind), ("name", owner.name), ("uid", owner.uid)] {
            if value.is_empty() {
                let path = format!("{owners}.{field}");
                problems.push(FieldError::invalid(at(&path), value, "must not be empty"));
            }
        }
        if owner.api_version == "v1" && owner.kind == "Event" {
            let text = "/v1, Kind=Event is disallowed from being an owner";
            problems.push(FieldError::invalid(at(owners), owner.name, text));
        }
        controllers += usize::from(owner.controller);
    }
    if controllers > 1 {
        let text =
            "Only one reference can have Controller set to true. Found \"true\" in more than one reference";
        problems.push(FieldError::invalid(
            at("metadata.ownerReferences"),
            meta::field(object, "ownerReferences").cloned().unwrap_or_default(),
            text,
        ));
    }
}

/// Says what is wrong with a change of the metadata.
pub(crate) fn check_change(new: &Value, old: &Value, problems: &mut Problems) {
    for field in ["name", "namespace", "uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        let (is, was) = (meta::field(new, field), meta::field(old, field));
        if is != was {
            let value = is.cloned().unwrap_or_default();
            problems.push(FieldError::invalid(at(&format!("metadata.{field}")), value, "field is immutable"));
        }
    }
    if meta::deletion_timestamp(old).is_some() {
        let before = meta::finalizers(old);
        let added: Vec<&str> =
            meta::finalizers(new).into_iter().filter(|name| !before.contains(name)).collect();
        if !added.is_empty() {
            let list = added.iter().map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
            problems.push(FieldError::forbidden(at("metadata.finalizers"),
                format!("no new finalizers can be added if the object is being deleted, found new finalizers []string{{{list}}}"),
            ));
        }
    }
}

/// Counts a change of what the object's kind counts.
pub(crate) fn count_change(new: &mut Value, old: &Value, resource: &Resource) {
    if resource.rules().counted().is_some() && is_counted_change(new, old, resource) {
        let generation = meta::generation(old).unwrap_or(0) + 1;
        of(new).insert("generation".to_owned(), generation.into());
    }
}

fn is_counted_change(new: &Value, old: &Value, resource: &Resource) -> bool {
    let Some(part) = resource.rules().counted() else { return false };
    if !part.is_empty() {
        return new.get(part) != old.get(part);
    }
    // All of a custom resource counts, but its metadata and, if that has an address of its own, its status.
    let rest = |object: &Value| {
        let mut rest = object.as_object().cloned().unwrap_or_default();
        rest.remove("metadata");
        rest.remove("apiVersion");
        if resource.has(crate::resource::Sub::Status) {
            rest.remove("status");
        }
        rest
    };
    rest(new) != rest(old)
}
