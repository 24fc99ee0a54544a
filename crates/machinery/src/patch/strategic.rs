//! Strategic merge patch: a merge patch that knows which lists are maps or sets in disguise.
//!
//! What a field is comes from a [`Lookup`]; for Kubernetes' own types that is [`super::merge_keys`]. The patch may carry
//! directives:
//!
//! - `$patch: replace` or `$patch: delete` in an object: takes it as it is, or empties it.
//! - `$patch: delete` in an item of a merged list: removes the item with that key; `$patch: replace` in one: the other
//!   items of the patch are the list.
//! - `$retainKeys: [a, b]`: the object keeps no other members.
//! - `$deleteFromPrimitiveList/field: [x]`: removes x from the list `field`.
//! - `$setElementOrder/field: […]`: the order in which these items shall be.
//!
//! The result is what Kubernetes' own merge returns before it decodes it into a type: items that were added to a list
//! keep their nulls and directives, and who prunes unknown fields removes those. Kubernetes refuses to merge members
//! that its types do not have; here an unknown object is merged member by member and an unknown list is replaced, so
//! that an object of a newer version can be patched.

mod go;
mod list;
mod order;
#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use self::{
    go::{bad_type, type_of},
    list::List,
};
use super::{PatchError, shallow};
use crate::go::{as_text, json_kind, plain};

/// Tells how the members of one type of object are merged.
pub trait Lookup {
    /// What is known about the member `name`. `None` stands for anything that has no rule of its own: an object is
    /// merged member by member, a list or a scalar is replaced.
    fn field(&self, name: &str) -> Option<Field<'_>>;
}

/// How one member is merged.
#[derive(Clone, Copy)]
pub struct Field<'a> {
    /// The rule.
    pub rule: Rule<'a>,
    /// Whether whoever makes a patch has to list the members to retain, because the object is a choice between them.
    /// It says nothing about applying one: `$retainKeys` is obeyed everywhere.
    pub retain_keys: bool,
}

/// The ways to merge a member.
#[derive(Clone, Copy)]
pub enum Rule<'a> {
    /// An object of a type that has rules of its own.
    Object(&'a dyn Lookup),
    /// An object that is replaced as a whole.
    Replace,
    /// A list of objects, which are the same if they have the same value under `key`.
    Map {
        /// The member that identifies an item.
        key: &'a str,
        /// The type of the items.
        item: &'a dyn Lookup,
    },
    /// A list of scalars that has each of them once.
    Set,
}

/// A type about which nothing is known.
struct Unknown;

type Object = Map<String, Value>;

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList";
const SET_ORDER: &str = "$setElementOrder";

/// Applies a strategic merge patch to an object of the type `schema`.
///
/// # Errors
/// If the patch is malformed, has a directive where none can be, if an item lacks its merge key, or if the object or the
/// patch is nested too deeply.
pub fn strategic(object: &Value, patch: &Value, schema: &dyn Lookup) -> Result<Value, PatchError> {
    shallow(object)?;
    shallow(patch)?;
    let patch = match patch {
        Value::Null => return Ok(object.clone()),
        Value::Object(patch) => patch.clone(),
        other => {
            let kind = json_kind(other);
            return Err(PatchError::Malformed(format!(
                "json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"
            )));
        }
    };
    let Value::Object(object) = object else {
        return Err(PatchError::Failed("only an object can be patched".to_owned()));
    };
    merge_object(object.clone(), patch, schema).map(Value::Object)
}

impl Lookup for Unknown {
    fn field(&self, _: &str) -> Option<Field<'_>> {
        None
    }
}

/// The type of the objects at `name`, or of the items of the list there.
fn inner<'a>(schema: &'a dyn Lookup, name: &str) -> &'a dyn Lookup {
    match schema.field(name).map(|field| field.rule) {
        Some(Rule::Object(inner) | Rule::Map { item: inner, .. }) => inner,
        Some(Rule::Replace | Rule::Set) | None => &Unknown,
    }
}

// === objects ===

fn merge_object(mut object: Object, mut patch: Object, schema: &dyn Lookup) -> Result<Object, PatchError> {
    match patch.get(DIRECTIVE) {
        None => {}
        Some(Value::String(directive)) if directive == "replace" => {
            patch.remove(DIRECTIVE);
            return Ok(patch);
        }
        Some(Value::String(directive)) if directive == "delete" => return Ok(Object::new()),
        Some(other) => return Err(unknown_directive(other, &patch)),
    }
    retain_keys(&mut object, &mut patch)?;
    order::set_orders(&mut object, &mut patch, schema)?;

    // A list and what shall be deleted from it may come in one patch. Kubernetes' order is then a matter of chance; ours
    // is to delete first, so that what is added stays.
    let (deletions, others): (Vec<_>, Vec<_>) =
        patch.into_iter().partition(|(name, _)| name.starts_with(DELETE_FROM));
    for (name, change) in deletions {
        match directive_field(&name, DELETE_FROM)? {
            // The directive without a field name is only ever a member that is not there.
            "" if change.is_null() => drop(object.remove(&name)),
            "" => {}
            field => merge_member(&mut object, field, change, schema, true)?,
        }
    }
    for (name, change) in others {
        merge_member(&mut object, &name, change, schema, false)?;
    }
    Ok(object)
}

fn merge_member(
    object: &mut Object,
    name: &str,
    mut change: Value,
    schema: &dyn Lookup,
    deletes: bool,
) -> Result<(), PatchError> {
    if change.is_null() {
        object.remove(name);
        return Ok(());
    }
    let current = object.get_mut(name);
    match current {
        Some(current) if type_of(current) == type_of(&change) => match (current, change) {
            (Value::Object(current), Value::Object(change)) => {
                let replaces = matches!(schema.field(name).map(|field| field.rule), Some(Rule::Replace));
                *current = if replaces {
                    change
                } else {
                    merge_object(std::mem::take(current), change, inner(schema, name))?
                };
            }
            (Value::Array(current), Value::Array(change)) => {
                let list = List::new(schema, name);
                *current = list.merge(std::mem::take(current), change, deletes)?.items;
            }
            (current, change) => *current = change,
        },
        _ if deletes => {}
        _ => {
            discard_nulls(&mut change);
            match without_directives(change) {
                Some(change) => drop(object.insert(name.to_owned(), change)),
                None => drop(object.remove(name)),
            }
        }
    }
    Ok(())
}

/// Removes what `$retainKeys` does not list.
fn retain_keys(object: &mut Object, patch: &mut Object) -> Result<(), PatchError> {
    let malformed = || PatchError::Malformed("invalid patch format of retainKeys".to_owned());
    let Some(list) = patch.remove(RETAIN_KEYS) else { return Ok(()) };
    let Value::Array(list) = list else { return Err(malformed()) };
    if let Some(item) = list.iter().find(|item| item.is_array() || item.is_object()) {
        return Err(go::unhashable(item));
    }
    let listed = |name: &str| list.iter().any(|item| item.as_str() == Some(name));
    let free = |name: &str| name.starts_with(DELETE_FROM) || name.starts_with(SET_ORDER);
    if patch.iter().any(|(name, change)| !(change.is_null() || free(name) || listed(name))) {
        return Err(malformed());
    }
    object.retain(|name, _| listed(name));
    Ok(())
}

/// The field that a directive like `$setElementOrder/containers` is about.
fn directive_field<'a>(name: &'a str, prefix: &str) -> Result<&'a str, PatchError> {
    match name.split_once('/') {
        Some((directive, field)) if directive == prefix => Ok(field),
        _ => Err(PatchError::Malformed(match prefix {
            DELETE_FROM => "invalid patch format of primitive list".to_owned(),
            _ => "invalid patch format of setElementOrder list".to_owned(),
        })),
    }
}

fn unknown_directive(directive: &Value, patch: &Object) -> PatchError {
    let (directive, map) = (as_text(directive), plain(&Value::Object(patch.clone())));
    PatchError::Failed(format!("unknown patch type: {directive} in map: {map}"))
}

// === new values ===

/// Drops null members at every level.
fn discard_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(discard_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(discard_nulls),
        _ => {}
    }
}

/// The value without the objects in it that have a `$patch`; `None` if it is one.
fn without_directives(value: Value) -> Option<Value> {
    match value {
        Value::Object(map) if map.contains_key(DIRECTIVE) => None,
        Value::Object(map) => {
            let kept = map.into_iter().filter_map(|(name, value)| Some((name, without_directives(value)?)));
            Some(Value::Object(kept.collect()))
        }
        Value::Array(items) => Some(Value::Array(items.into_iter().filter_map(without_directives).collect())),
        other => Some(other),
    }
}

/// The list in `value`.
fn as_list(value: &Value) -> Result<&Vec<Value>, PatchError> {
    value.as_array().ok_or_else(|| bad_type("[]interface {}", value))
}
