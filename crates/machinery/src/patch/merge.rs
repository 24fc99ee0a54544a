//! JSON merge patch: RFC 7396 with Kubernetes' handling of nulls.
//!
//! Nulls that come with a new value are dropped at every level, inside lists too, where the RFC keeps them. Only a list
//! that takes the place of an object keeps its own.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use super::{PatchError, shallow};
use crate::go::json_kind;

/// Applies a merge patch: objects merge, everything else is replaced, null deletes.
///
/// # Errors
/// If the patch is not an object, or if it or the object is nested too deeply.
pub fn merge(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    shallow(object)?;
    shallow(patch)?;
    let patch = match patch {
        Value::Object(patch) => patch,
        Value::Null => return Err(PatchError::Malformed("Invalid JSON Patch".to_owned())),
        other => {
            let kind = json_kind(other);
            return Err(PatchError::Malformed(format!(
                "error decoding patch: json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            )));
        }
    };
    let mut merged = object.clone();
    match &mut merged {
        Value::Object(map) => merge_into(map, patch),
        other => *other = Value::Object(without_nulls(patch)),
    }
    Ok(merged)
}

fn merge_into(map: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, change) in patch {
        match (map.get_mut(key), change) {
            (_, Value::Null) => {
                map.remove(key);
            }
            (Some(Value::Object(current)), Value::Object(change)) => merge_into(current, change),
            (Some(current @ Value::Object(_)), change) => *current = change.clone(),
            (_, change) => {
                map.insert(key.clone(), pruned(change));
            }
        }
    }
}

fn pruned(value: &Value) -> Value {
    match value {
        Value::Object(map) => Value::Object(without_nulls(map)),
        Value::Array(items) => Value::Array(items.iter().map(pruned).collect()),
        other => other.clone(),
    }
}

fn without_nulls(map: &Map<String, Value>) -> Map<String, Value> {
    let kept = map.iter().filter(|(_, value)| !value.is_null());
    kept.map(|(key, value)| (key.clone(), pruned(value))).collect()
}
