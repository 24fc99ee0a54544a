//! The parts of a resource that belong to the server: `apiVersion`, `kind` and the metadata.

use std::sync::LazyLock;

use safepoint_machinery::FieldError;
use serde_json::{Map, Value, json};

use super::Found;
use crate::path::Path;
use crate::typed::Typed;

/// The metadata of every resource.
static OBJECT_META: LazyLock<Typed> = LazyLock::new(|| {
    let text = json!({"type": "string"});
    let texts = json!({"type": "object", "additionalProperties": text});
    Typed::new(&json!({
        "type": "object",
        "properties": {
            "name": text,
            "generateName": text,
            "namespace": text,
            "selfLink": text,
            "uid": text,
            "resourceVersion": text,
            "generation": {"type": "integer", "format": "int64"},
            "creationTimestamp": text,
            "deletionTimestamp": text,
            "deletionGracePeriodSeconds": {"type": "integer", "format": "int64"},
            "labels": texts,
            "annotations": texts,
            "finalizers": {"type": "array", "items": text},
            "ownerReferences": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "apiVersion": text,
                        "kind": text,
                        "name": text,
                        "uid": text,
                        "controller": {"type": "boolean"},
                        "blockOwnerDeletion": {"type": "boolean"},
                    },
                },
            },
            "managedFields": {
                "type": "array",
                "items": {
                    "type": "object",
                    "properties": {
                        "manager": text,
                        "operation": text,
                        "apiVersion": text,
                        "time": text,
                        "fieldsType": text,
                        "fieldsV1": {"type": "object"},
                        "subresource": text,
                    },
                },
            },
        },
    }))
});

/// Checks the types of what belongs to the server and prunes what it does not know.
pub(super) fn coerce(resource: &mut Map<String, Value>, path: &Path<'_>, prune: bool, found: &mut Found) {
    for name in ["apiVersion", "kind"] {
        if let Some(value) = resource.get(name).filter(|value| !value.is_string()) {
            found.problems.push(FieldError::invalid(
                path.field(name).bracketed(),
                value.clone(),
                "must be a string",
            ));
        }
    }
    let Some(metadata) = resource.get_mut("metadata") else { return };
    OBJECT_META.walk_at(metadata, &path.field("metadata"), prune, found);
    if let (true, Value::Object(map)) = (prune, metadata) {
        // Written back the way the server writes it: without what says nothing.
        map.retain(|_, value| !says_nothing(value));
    }
}

fn says_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(bool) => !bool,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}
