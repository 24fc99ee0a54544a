//! JSON patch: RFC 6902 as Kubernetes applies it.
//!
//! Its implementation is older than the RFC's last word, and clients live with what it does:
//!
//! - `replace` of a member that is not there adds it; `copy` of one adds null.
//! - `test` of a member that is not there holds for null and for no value.
//! - An index may be negative and counts from the end; `-` only means the end for `add`, `copy` and `move`.
//! - The root cannot be added, removed, moved or copied, only replaced and tested.
//! - What stands before the first `/` of a path is ignored.
//!
//! Values are compared as JSON. Kubernetes compares how scalars are spelled, so that there `1.0` is not `1.00`, and
//! an escaped character is not that character.

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};

use super::{PatchError, shallow};
use crate::{
    depth::{MAX_DEPTH, depth},
    go::json_kind,
};

/// More operations are refused.
pub const MAX_OPERATIONS: usize = 10_000;

/// What the `copy` operations of one patch may add, in bytes of JSON.
pub const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// From this nesting on a document that is being patched is measured. Less is safe to have for a moment.
const WATCH_DEPTH: usize = 512;

/// A document that is being patched.
struct Patching {
    document: Value,
    /// At least the depth of the document. Measuring it for every operation would be too slow.
    depth_bound: usize,
    copied: usize,
    /// How many items of lists have been moved by insertions and removals.
    shifted: usize,
}

/// One operation. What is missing is found out when it is carried out.
struct Operation<'a> {
    op: &'a str,
    path: Option<&'a str>,
    from: Option<&'a str>,
    value: Option<&'a Value>,
}

/// Applies all operations of `patch` in order.
///
/// # Errors
/// If the patch is malformed or too long, if one of its operations cannot be carried out, or if the result would be
/// nested too deeply.
pub fn json(object: &Value, patch: &Value) -> Result<Value, PatchError> {
    shallow(object)?;
    shallow(patch)?;
    let operations = decode(patch)?;
    if operations.len() > MAX_OPERATIONS {
        return Err(PatchError::TooManyOperations(operations.len()));
    }
    let mut patching = Patching { document: object.clone(), depth_bound: MAX_DEPTH, copied: 0, shifted: 0 };
    for operation in &operations {
        patching.apply(operation)?;
        patching.check_depth(WATCH_DEPTH)?;
    }
    patching.check_depth(MAX_DEPTH)?;
    Ok(patching.document)
}

// === reading the patch ===

fn decode(patch: &Value) -> Result<Vec<Operation<'_>>, PatchError> {
    let items = match patch {
        Value::Null => return Ok(vec![]),
        Value::Array(items) => items,
        other => return Err(undecodable(other, "Go value of type []handlers.jsonPatchOp")),
    };
    items.iter().map(operation).collect()
}

fn operation(item: &Value) -> Result<Operation<'_>, PatchError> {
    let map = match item {
        Value::Null => return Ok(Operation { op: "unknown", path: None, from: None, value: None }),
        Value::Object(map) => map,
        other => return Err(undecodable(other, "Go value of type handlers.jsonPatchOp")),
    };
    Ok(Operation {
        op: text(map, "op")?.unwrap_or("unknown"),
        path: text(map, "path")?,
        from: text(map, "from")?,
        value: map.get("value"),
    })
}

fn text<'a>(map: &'a Map<String, Value>, name: &str) -> Result<Option<&'a str>, PatchError> {
    match map.get(name) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(undecodable(other, &format!("Go struct field jsonPatchOp.{name} of type string"))),
    }
}

fn undecodable(value: &Value, into: &str) -> PatchError {
    let kind = json_kind(value);
    PatchError::Malformed(format!("error decoding patch: json: cannot unmarshal {kind} into {into}"))
}

// === impl Operation ===

impl<'a> Operation<'a> {
    fn path(&self) -> Result<&'a str, PatchError> {
        self.path.ok_or_else(|| does_not_apply(format!("{} operation has no path", self.op)))
    }

    fn from(&self) -> Result<&'a str, PatchError> {
        self.from.ok_or_else(|| does_not_apply(format!("{} operation has no from", self.op)))
    }

    fn value(&self) -> Value {
        self.value.cloned().unwrap_or_default()
    }
}

/// How many items one patch may move. More is no patch that somebody needs, but one that keeps a processor busy.
const MAX_SHIFTED: usize = 10_000_000;

fn shift(shifted: &mut usize, items: usize) -> Result<(), PatchError> {
    *shifted += items;
    if *shifted > MAX_SHIFTED {
        return Err(does_not_apply(
            "the patch inserts into or removes from too long lists too often".to_owned(),
        ));
    }
    Ok(())
}

// === impl Patching ===

impl Patching {
    fn apply(&mut self, operation: &Operation<'_>) -> Result<(), PatchError> {
        match operation.op {
            "add" => {
                let path = operation.path()?;
                self.add(path, operation.value(), depth(operation.value.unwrap_or(&Value::Null)))
            }
            "remove" => self.remove(operation.path()?).map(|_| ()),
            "replace" => self.replace(operation.path()?, operation.value()),
            "move" => {
                let from = operation.from()?;
                let value = self.remove(from)?;
                self.add(operation.path()?, value, self.depth_bound)
            }
            "copy" => {
                let from = operation.from()?;
                let (parent, key) = find(&mut self.document, from).ok_or_else(|| missing("copy", from))?;
                let value = get(parent, &key)?.cloned().unwrap_or_default();
                let path = operation.path()?;
                if !value.is_null() {
                    self.copied += value.to_string().len();
                }
                if self.copied > MAX_COPIED_BYTES {
                    return Err(does_not_apply(format!(
                        "unable to complete the copy, the accumulated size increase of copy is {}, exceeding the \
                         limit {MAX_COPIED_BYTES}",
                        self.copied
                    )));
                }
                self.add(path, value, self.depth_bound)
            }
            "test" => self.test(operation.path()?, operation.value),
            other => Err(does_not_apply(format!("unexpected kind: {other}"))),
        }
    }

    fn add(&mut self, path: &str, value: Value, value_depth: usize) -> Result<(), PatchError> {
        let (parent, key) = find(&mut self.document, path).ok_or_else(|| missing("add", path))?;
        match parent {
            Value::Array(items) if key == "-" => items.push(value),
            Value::Array(items) => {
                let index = index(&key, items.len() + 1)?;
                shift(&mut self.shifted, items.len() - index)?;
                items.insert(index, value);
            }
            Value::Object(map) => {
                map.insert(key, value);
            }
            _ => return Err(missing("add", path)),
        }
        self.depth_bound = self.depth_bound.max(path.split('/').count() + value_depth);
        Ok(())
    }

    fn remove(&mut self, path: &str) -> Result<Value, PatchError> {
        let (parent, key) = find(&mut self.document, path).ok_or_else(|| missing("remove", path))?;
        match parent {
            Value::Array(items) => {
                let index = index(&key, items.len())?;
                shift(&mut self.shifted, items.len() - index)?;
                Ok(items.remove(index))
            }
            Value::Object(map) => map.remove(&key).ok_or_else(|| missing("remove", path)),
            _ => Err(missing("remove", path)),
        }
    }

    fn replace(&mut self, path: &str, value: Value) -> Result<(), PatchError> {
        if path.is_empty() {
            return match value {
                Value::Object(_) | Value::Array(_) => {
                    self.document = value;
                    Ok(())
                }
                _ => Err(does_not_apply("replace operation value must be object or array".to_owned())),
            };
        }
        let bound = path.split('/').count() + depth(&value);
        let (parent, key) = find(&mut self.document, path).ok_or_else(|| missing("replace", path))?;
        match parent {
            Value::Array(items) => {
                let index = index(&key, items.len())?;
                items[index] = value;
            }
            Value::Object(map) => {
                map.insert(key, value);
            }
            _ => return Err(missing("replace", path)),
        }
        self.depth_bound = self.depth_bound.max(bound);
        Ok(())
    }

    fn test(&mut self, path: &str, expected: Option<&Value>) -> Result<(), PatchError> {
        let found = if path.is_empty() {
            Some(&self.document)
        } else {
            let (parent, key) = find(&mut self.document, path).ok_or_else(|| missing("test", path))?;
            get(parent, &key)?
        };
        let holds = match (found, expected) {
            (None | Some(Value::Null), expected) => expected.is_none_or(Value::is_null),
            (Some(found), expected) => Some(found) == expected,
        };
        if holds { Ok(()) } else { Err(PatchError::TestFailed { path: path.to_owned() }) }
    }

    /// Refuses a document that is too deep, but measures only if it could be deeper than `threshold`.
    fn check_depth(&mut self, threshold: usize) -> Result<(), PatchError> {
        if self.depth_bound > threshold {
            self.depth_bound = depth(&self.document);
            if self.depth_bound > MAX_DEPTH {
                return Err(PatchError::TooDeep);
            }
        }
        Ok(())
    }
}

// === paths ===

/// The container that a path leads into, and the key or index in it.
fn find<'a>(document: &'a mut Value, path: &str) -> Option<(&'a mut Value, String)> {
    let (parents, last) = path.rsplit_once('/')?;
    let mut container = document;
    for part in parents.split('/').skip(1) {
        let key = unescape(part);
        container = match container {
            Value::Array(items) => {
                let index = index(&key, items.len()).ok()?;
                &mut items[index]
            }
            Value::Object(map) => map.get_mut(&key)?,
            _ => return None,
        };
    }
    (container.is_array() || container.is_object()).then(|| (container, unescape(last)))
}

fn get<'a>(container: &'a Value, key: &str) -> Result<Option<&'a Value>, PatchError> {
    match container {
        Value::Array(items) => Ok(Some(&items[index(key, items.len())?])),
        other => Ok(other.get(key)),
    }
}

/// The place of an existing item among `length`; a negative index counts from the end.
fn index(key: &str, length: usize) -> Result<usize, PatchError> {
    let place = key.parse::<i64>().ok().and_then(|index| match usize::try_from(index) {
        Ok(index) => Some(index),
        Err(_) => length.checked_sub(usize::try_from(index.unsigned_abs()).ok()?),
    });
    match place {
        Some(place) if place < length => Ok(place),
        _ => Err(does_not_apply(format!("unable to access invalid index: {key}"))),
    }
}

/// `~1` is a slash and `~0` a tilde, in one pass.
fn unescape(part: &str) -> String {
    let mut pieces = part.split("~1").map(|piece| piece.replace("~0", "~"));
    let first = pieces.next().unwrap_or_default();
    pieces.fold(first, |text, piece| text + "/" + &piece)
}

fn missing(op: &str, path: &str) -> PatchError {
    does_not_apply(format!("{op} operation does not apply: doc is missing path: {path}"))
}

fn does_not_apply(text: String) -> PatchError {
    PatchError::DoesNotApply(text)
}
