//! Which part of an old object a part of the new one comes from.
//!
//! Fields are found by name and items of a map list by their keys. Items of any other list are not found: they have no
//! identity, and an index means nothing after an insertion.

use std::collections::HashMap;

use serde_json::Value;

use crate::node::{ListKind, Node, Nodes};

/// The items of an old list, by identity.
#[derive(Debug)]
pub(crate) struct OldItems<'a> {
    keys: &'a [Box<str>],
    items: HashMap<String, &'a Value>,
}

// === impl OldItems ===

impl<'a> OldItems<'a> {
    /// The items of `old` that can be found again; none if it is not a list of that kind.
    pub(crate) fn new(list: &'a ListKind, old: Option<&'a Value>) -> Self {
        let (ListKind::Map(keys), Some(Value::Array(old))) = (list, old) else {
            return Self { keys: &[], items: HashMap::new() };
        };
        let mut items = HashMap::new();
        for item in old {
            if let Some(identity) = identity(item, keys) {
                items.entry(identity).or_insert(item);
            }
        }
        Self { keys, items }
    }

    /// What an item was before.
    pub(crate) fn find(&self, item: &Value) -> Option<&'a Value> {
        if self.items.is_empty() {
            return None;
        }
        self.items.get(&identity(item, self.keys)?).copied()
    }
}

/// What tells an item apart: all its keys, which must be scalars.
fn identity(item: &Value, keys: &[Box<str>]) -> Option<String> {
    let mut out = String::new();
    for key in keys {
        match item.get(&**key)? {
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
            scalar => {
                out.push_str(&scalar.to_string());
                out.push('\0');
            }
        }
    }
    (!keys.is_empty()).then_some(out)
}

/// Whether a value is what it was, as far as its schema can tell. The order of a map list does not matter; a field
/// without a schema makes its object incomparable.
pub(crate) fn same(nodes: &Nodes, node: &Node, new: &Value, old: &Value) -> bool {
    match (new, old) {
        (Value::Array(new), Value::Array(old_items)) => {
            if new.len() != old_items.len() {
                return false;
            }
            let ListKind::Map(_) = node.list else { return new == old_items };
            let Some(child) = node.items.map(|id| nodes.get(id)) else { return new == old_items };
            let before = OldItems::new(&node.list, Some(old));
            new.iter().all(|item| before.find(item).is_some_and(|old| same(nodes, child, item, old)))
        }
        (Value::Object(new), Value::Object(old)) => {
            new.len() == old.len()
                && new.iter().all(|(name, value)| {
                    let child = node.field(name).map(|id| nodes.get(id));
                    match (child, old.get(name)) {
                        (Some(child), Some(old)) => same(nodes, child, value, old),
                        _ => false,
                    }
                })
        }
        (new, old) => new == old,
    }
}
