//! Go's view of values: their types, and when two of them are equal.
//!
//! Kubernetes merges decoded documents, so that a number is an integer or a float and never both. Where it would
//! compare objects or lists it panics, which reaches the client as an error; here it is one from the start.

use serde_json::Value;

use super::PatchError;
use crate::go::{plain, type_name};

/// The type that a value has once Go has decoded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Null,
    Bool,
    Int,
    Float,
    Text,
    List,
    Object,
}

/// A value that can be compared.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    Null,
    Bool(bool),
    Int(i64),
    /// The bits of a float, of which zero has one form only.
    Float(u64),
    Text(String),
}

pub(super) fn type_of(value: &Value) -> Type {
    match value {
        Value::Null => Type::Null,
        Value::Bool(_) => Type::Bool,
        Value::Number(number) if number.is_i64() => Type::Int,
        Value::Number(_) => Type::Float,
        Value::String(_) => Type::Text,
        Value::Array(_) => Type::List,
        Value::Object(_) => Type::Object,
    }
}

pub(super) fn key_of(value: &Value) -> Result<Key, PatchError> {
    match value {
        Value::Null => Ok(Key::Null),
        Value::Bool(flag) => Ok(Key::Bool(*flag)),
        Value::Number(number) => Ok(match number.as_i64() {
            Some(number) => Key::Int(number),
            None => Key::Float((number.as_f64().unwrap_or_default() + 0.0).to_bits()),
        }),
        Value::String(text) => Ok(Key::Text(text.clone())),
        Value::Array(_) | Value::Object(_) => Err(unhashable(value)),
    }
}

/// The key of an item of a merged list: its member `name`.
pub(super) fn merge_key(item: &Value, name: &str) -> Result<Key, PatchError> {
    let map = item.as_object().ok_or_else(|| bad_type("map[string]interface {}", item))?;
    match map.get(name) {
        Some(value) => key_of(value),
        None => Err(no_merge_key(item, name)),
    }
}

pub(super) fn no_merge_key(item: &Value, name: &str) -> PatchError {
    PatchError::Failed(format!("map: {} does not contain declared merge key: {name}", plain(item)))
}

/// The one type of all items of both lists.
pub(super) fn item_type(current: &[Value], patch: &[Value]) -> Result<Type, PatchError> {
    let mut types = current.iter().chain(patch).map(type_of);
    let Some(first) = types.next() else {
        return Err(PatchError::Failed("no elements in any of the given slices".to_owned()));
    };
    if first == Type::List {
        return Err(PatchError::DoesNotApply("lists of lists are not supported".to_owned()));
    }
    if first == Type::Null || types.any(|other| other != first) {
        let (current, patch) = (plain(&current.to_vec().into()), plain(&patch.to_vec().into()));
        return Err(PatchError::Failed(format!("list element types are not identical: [{current} {patch}]")));
    }
    Ok(first)
}

pub(super) fn bad_type(expected: &str, value: &Value) -> PatchError {
    PatchError::Failed(format!("expected a {expected}, but received a {}", type_name(value)))
}

pub(super) fn unhashable(value: &Value) -> PatchError {
    PatchError::Failed(format!("a {} cannot be compared", type_name(value)))
}
