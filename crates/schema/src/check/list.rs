//! Items that must be told apart: lists that are sets or maps.

use std::collections::HashMap;

use safepoint_machinery::FieldError;
use safepoint_machinery::go;
use serde_json::{Map, Value};

use crate::node::{Additional, ListKind, Node, NodeId, Nodes};
use crate::path::Path;
use crate::shape::MAX_DEPTH;

/// Every item that repeats another one.
pub(crate) fn list_types(nodes: &Nodes, root: NodeId, object: &Value) -> Vec<FieldError> {
    let mut out = Vec::new();
    value(nodes, nodes.get(root), object, &Path::ROOT, &mut out);
    out
}

fn value(nodes: &Nodes, node: &Node, value_here: &Value, path: &Path<'_>, out: &mut Vec<FieldError>) {
    if path.depth() > MAX_DEPTH {
        return;
    }
    match value_here {
        Value::Object(map) => {
            for (name, child) in map {
                if let Additional::Schema(id) = node.additional {
                    value(nodes, nodes.get(id), child, &path.key(name), out);
                }
                if let Some(id) = node.property(name) {
                    value(nodes, nodes.get(id), child, &path.field(name), out);
                }
            }
        }
        Value::Array(items) => {
            match &node.list {
                ListKind::Atomic => {}
                ListKind::Set => {
                    for index in repeated(items.iter().map(text)) {
                        out.push(FieldError::duplicate(path.index(index).bracketed(), items[index].clone()));
                    }
                }
                ListKind::Map(keys) => map_list(items, keys, path, out),
            }
            if let Some(id) = node.items {
                for (index, item) in items.iter().enumerate() {
                    value(nodes, nodes.get(id), item, &path.index(index), out);
                }
            }
        }
        _ => {}
    }
}

fn map_list(items: &[Value], keys: &[Box<str>], path: &Path<'_>, out: &mut Vec<FieldError>) {
    if let Some(index) = items.iter().position(|item| !item.is_null() && !item.is_object()) {
        let path = path.index(index).bracketed();
        out.push(FieldError::invalid(
            path,
            items[index].clone(),
            "must be an object for an array of list-type map",
        ));
        return;
    }
    let identities: Vec<Value> = items.iter().map(|item| identity(item, keys)).collect();
    // A single key is compared by itself, several as JSON, where a whole float looks like an integer.
    let told_apart = |identity: &Value| match keys {
        [key] => identity.get(&**key).map(text).unwrap_or_default(),
        _ => text(identity),
    };
    for index in repeated(identities.iter().map(told_apart)) {
        out.push(FieldError::duplicate(path.index(index).bracketed(), identities[index].clone()));
    }
}

/// The key fields that an item has.
fn identity(item: &Value, keys: &[Box<str>]) -> Value {
    let field = |key: &str| Some((key.to_owned(), item.get(key)?.clone()));
    Value::Object(keys.iter().filter_map(|key| field(key)).collect::<Map<_, _>>())
}

/// A text that only equal values share. A whole float is not the same as an integer.
fn text(value: &Value) -> String {
    match value {
        Value::Object(_) | Value::Array(_) => go::json(value),
        scalar => scalar.to_string(),
    }
}

/// The second occurrence of everything that occurs more than once.
fn repeated(texts: impl Iterator<Item = String>) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let mut out = Vec::new();
    for (index, text) in texts.enumerate() {
        let count = seen.entry(text).or_default();
        *count += 1;
        if *count == 2 {
            out.push(index);
        }
    }
    out
}
