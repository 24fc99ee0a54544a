//! An object as it is kept in memory: its text once, and beside it what selectors look at.
//!
//! No parsed JSON is kept. Answering a list or a watch copies text; only a write and the opening of the
//! store parse.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use serde_json::Value;

use crate::error::Failure;
use crate::key::Key;

/// One state of one object. Immutable: the next write makes another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object {
    /// What it is called.
    pub key: Key,
    /// The revision of the write that made this state.
    pub revision: u64,
    /// The revision of the write that made the object.
    pub created: u64,
    /// The complete JSON text; its `metadata.resourceVersion` is [`Object::revision`].
    pub json: Bytes,
    /// What selectors and indices look at.
    pub tags: Tags,
}

/// What is read out of an object once, so that no reader has to parse it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tags {
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.labels`.
    pub labels: BTreeMap<String, String>,
    /// The fields that a field selector may ask for. An absent field is the same as an empty one.
    pub fields: BTreeMap<Arc<str>, String>,
}

/// Reads the tags of an object. It sees the object before the store has set `metadata.resourceVersion`.
pub type TagsFn = fn(&Key, &Value) -> Tags;

/// The deepest nesting that `serde_json` reads back; what is nested deeper must never be stored.
const DEEPEST: usize = 127;

// === impl Tags ===

impl Tags {
    /// `uid` and labels, and no fields: what every Kubernetes object has.
    pub fn of_metadata(_key: &Key, object: &Value) -> Self {
        let metadata = &object["metadata"];
        let labels = metadata["labels"].as_object().into_iter().flatten();
        Self {
            uid: metadata["uid"].as_str().unwrap_or_default().to_owned(),
            labels: labels
                .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
                .collect(),
            fields: BTreeMap::new(),
        }
    }

    /// The value of a field, empty if the object does not have it.
    pub fn field(&self, field: &str) -> &str {
        self.fields.get(field).map_or("", String::as_str)
    }
}

/// Refuses what could not be stamped or not be read back.
pub(crate) fn check(value: &Value) -> Result<(), Failure> {
    let Value::Object(object) = value else {
        return Err(Failure::Malformed("it is not a JSON object"));
    };
    if object.get("metadata").is_some_and(|metadata| !metadata.is_object()) {
        return Err(Failure::Malformed("its metadata is not a JSON object"));
    }
    if !is_nested_at_most(value, DEEPEST) {
        return Err(Failure::Malformed("it is nested deeper than 127 levels"));
    }
    Ok(())
}

/// The text of an object with `metadata.resourceVersion` set. The value has passed [`check`].
pub(crate) fn render(mut value: Value, revision: u64) -> Bytes {
    value["metadata"]["resourceVersion"] = Value::String(revision.to_string());
    let text = serde_json::to_vec(&value).expect("a JSON value has only string keys and finite numbers");
    // It is kept for as long as the object: without what the vector had in reserve.
    text.into_boxed_slice().into()
}

/// Recursion ends with the levels, so that hostile nesting cannot exhaust the stack here.
fn is_nested_at_most(value: &Value, levels: usize) -> bool {
    match value {
        Value::Array(items) => levels > 0 && items.iter().all(|item| is_nested_at_most(item, levels - 1)),
        Value::Object(map) => levels > 0 && map.values().all(|item| is_nested_at_most(item, levels - 1)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

#[cfg(test)]
mod tests;
