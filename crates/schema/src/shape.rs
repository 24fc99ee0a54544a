//! Giving an object its shape: unknown fields out, defaults in.
//!
//! Pruning happens before defaulting, as in an API server, so a default never has to be pruned. Both look only at the
//! part of a schema outside of logic.

mod meta;

#[cfg(test)]
mod tests;

use safepoint_machinery::FieldError;
use serde_json::{Map, Value};

use crate::node::{Additional, Node, NodeId, Nodes};
use crate::path::Path;

/// Levels of an object that are looked at. JSON is read to 128.
pub(crate) const MAX_DEPTH: u16 = 200;

/// Which parts of the shaping to do.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Steps {
    /// Remove unknown fields and nulls where no null may be; otherwise unknown fields are only found.
    pub(crate) prune: bool,
    pub(crate) default: bool,
}

/// What the shaping found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// Paths of fields that the schema does not know.
    pub(crate) unknown: Vec<String>,
    pub(crate) problems: Vec<FieldError>,
}

/// Shapes a resource.
pub(crate) fn apply(nodes: &Nodes, root: NodeId, object: &mut Value, steps: Steps) -> Found {
    let mut found = Found::default();
    let mut unknown = Vec::new();
    if let Value::Object(map) = object {
        meta::coerce(map, &Path::ROOT, steps.prune, &mut found);
    }
    let mut pruner = Pruner { nodes, remove: steps.prune, unknown: &mut unknown };
    pruner.value(object, Some(nodes.get(root)), false, true, &Path::ROOT);
    unknown.sort();
    found.unknown.extend(unknown);
    if steps.prune {
        drop_nulls(nodes, Some(nodes.get(root)), object, 0);
        embedded(nodes, nodes.get(root), object, &Path::ROOT, &mut found);
    }
    if steps.default {
        default(nodes, nodes.get(root), object, 0);
    }
    found
}

/// Removes what a schema does not know from a value that is not a resource.
pub(crate) fn prune(nodes: &Nodes, id: NodeId, value: &mut Value) {
    let mut unknown = Vec::new();
    let mut pruner = Pruner { nodes, remove: true, unknown: &mut unknown };
    pruner.value(value, Some(nodes.get(id)), false, nodes.get(id).embedded, &Path::ROOT);
}

fn is_meta(name: &str) -> bool {
    matches!(name, "apiVersion" | "kind" | "metadata")
}

struct Pruner<'a> {
    nodes: &'a Nodes,
    remove: bool,
    unknown: &'a mut Vec<String>,
}

// === impl Pruner ===

impl Pruner<'_> {
    /// `keep` holds for unknown fields of this value and, for a list, of its items. Without a schema nothing is known.
    fn value(&mut self, value: &mut Value, node: Option<&Node>, keep: bool, resource: bool, path: &Path<'_>) {
        if path.depth() > MAX_DEPTH {
            return;
        }
        let keep = keep || node.is_some_and(|node| node.preserve_unknown);
        match (value, node) {
            (Value::Object(map), Some(node)) => self.fields(map, node, resource, keep, path),
            (Value::Object(map), None) if !keep => {
                self.unknown.extend(map.keys().map(|name| path.field(name).dotted()));
                if self.remove {
                    map.clear();
                }
            }
            (Value::Array(items), node) => {
                let child = node.and_then(|node| node.items).map(|id| self.nodes.get(id));
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(
                        item,
                        child,
                        keep,
                        child.is_some_and(|child| child.embedded),
                        &path.index(index),
                    );
                }
            }
            _ => {}
        }
    }

    fn fields(
        &mut self,
        map: &mut Map<String, Value>,
        node: &Node,
        resource: bool,
        keep: bool,
        path: &Path<'_>,
    ) {
        let nodes = self.nodes;
        let mut prune = |name: &String, value: &mut Value| {
            if resource && is_meta(name) {
                return true;
            }
            let child = match (node.property(name), node.additional) {
                (Some(id), _) | (None, Additional::Schema(id)) => Some(nodes.get(id)),
                (None, Additional::Allowed(_)) => None,
                (None, Additional::Unspecified) if keep => return true,
                (None, Additional::Unspecified) => {
                    self.unknown.push(path.field(name).dotted());
                    return !self.remove;
                }
            };
            self.value(value, child, false, child.is_some_and(|child| child.embedded), &path.field(name));
            true
        };
        map.retain(|name, value| prune(name, value));
    }
}

/// Removes nulls from fields that neither allow null nor have a default to take its place.
fn drop_nulls(nodes: &Nodes, node: Option<&Node>, value: &mut Value, depth: u16) {
    let Some(node) = node.filter(|_| depth <= MAX_DEPTH) else { return };
    match value {
        Value::Object(map) => map.retain(|name, value| {
            let Some(child) = node.field(name).map(|id| nodes.get(id)) else { return true };
            if value.is_null() && !child.nullable && child.default.is_none() {
                return false;
            }
            drop_nulls(nodes, Some(child), value, depth + 1);
            true
        }),
        Value::Array(items) => {
            let child = node.items.map(|id| nodes.get(id));
            for item in items {
                drop_nulls(nodes, child, item, depth + 1);
            }
        }
        _ => {}
    }
}

/// Fills in what is missing; a null that may not be there counts as missing.
fn default(nodes: &Nodes, node: &Node, value: &mut Value, depth: u16) {
    if !node.defaults_below || depth > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(map) => {
            for (name, id) in &node.properties {
                let child = nodes.get(*id);
                let Some(default) = &child.default else { continue };
                let missing = match map.get(&**name) {
                    None => true,
                    Some(value) => value.is_null() && !child.nullable,
                };
                if missing {
                    map.insert(name.to_string(), (**default).clone());
                }
            }
            for (name, value) in map {
                if let Some(id) = node.field(name) {
                    let child = nodes.get(id);
                    fill_null(child, value);
                    default(nodes, child, value, depth + 1);
                }
            }
        }
        Value::Array(items) => {
            let Some(child) = node.items.map(|id| nodes.get(id)) else { return };
            for item in items {
                fill_null(child, item);
                default(nodes, child, item, depth + 1);
            }
        }
        _ => {}
    }
}

fn fill_null(child: &Node, value: &mut Value) {
    if let (Value::Null, false, Some(default)) = (&*value, child.nullable, &child.default) {
        *value = (**default).clone();
    }
}

/// Shapes the metadata of embedded resources, which the schema says nothing about.
fn embedded(nodes: &Nodes, node: &Node, value: &mut Value, path: &Path<'_>, found: &mut Found) {
    if path.depth() > MAX_DEPTH {
        return;
    }
    match value {
        Value::Object(map) => {
            // The root's own metadata has been shaped before.
            if node.embedded && path.depth() > 0 {
                meta::coerce(map, path, true, found);
            }
            for (name, value) in map {
                match (node.property(name), node.additional) {
                    (Some(id), _) => embedded(nodes, nodes.get(id), value, &path.field(name), found),
                    (None, Additional::Schema(id)) => {
                        embedded(nodes, nodes.get(id), value, &path.key(name), found);
                    }
                    _ => {}
                }
            }
        }
        Value::Array(items) => {
            let Some(id) = node.items else { return };
            for (index, item) in items.iter_mut().enumerate() {
                embedded(nodes, nodes.get(id), item, &path.index(index), found);
            }
        }
        _ => {}
    }
}
