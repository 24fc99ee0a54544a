//! Defaults must be values that the schema would accept.

use safepoint_machinery::FieldError;
use serde_json::Value;

use crate::cel::Shape;
use crate::check;
use crate::node::{NodeId, Nodes};
use crate::path::Base;
use crate::rules;
use crate::shape;

/// Tests every default. Those inside maps cannot be tested alone and are not.
pub(super) fn check(nodes: &Nodes, root: NodeId, path: &str, out: &mut Vec<FieldError>) {
    node(nodes, root, true, path, out);
}

fn node(nodes: &Nodes, id: NodeId, resource: bool, path: &str, out: &mut Vec<FieldError>) {
    let here = nodes.get(id);
    if let Some(default) = &here.default {
        let shape = if resource { Shape::Root(id) } else { Shape::Node(id) };
        one(nodes, (id, shape), default, &format!("{path}.default"), out);
    }
    if let Some(items) = here.items {
        node(nodes, items, nodes.get(items).embedded, &format!("{path}.items"), out);
    }
    for (name, child) in &here.properties {
        // Inside the metadata of a resource the shape is the server's.
        if resource
            && matches!(&**name, "metadata" | "apiVersion" | "kind")
            && nodes.get(*child).properties.is_empty()
        {
            continue;
        }
        node(nodes, *child, nodes.get(*child).embedded, &format!("{path}.properties[{name}]"), out);
    }
}

fn one(nodes: &Nodes, (id, shape): (NodeId, Shape), default: &Value, path: &str, out: &mut Vec<FieldError>) {
    let before = out.len();
    let mut pruned = default.clone();
    shape::prune(nodes, id, &mut pruned);
    if pruned != *default {
        out.push(FieldError::invalid(path, default.clone(), "must not have unknown fields"));
    }
    let base = Base(Some(path));
    // Each kind of check needs what the one before it has made sure of.
    let embedded = check::embedded_resources(nodes, id, default, matches!(shape, Shape::Root(_)), base);
    let found = if embedded.is_empty() { check::value(nodes, id, default, base) } else { embedded };
    out.extend(found);
    if out.len() == before {
        // As an unchanged value and as a new one: rules about the past see a difference.
        let same = rules::check(nodes, (id, shape), default, Some(default), base);
        let found =
            if same.is_empty() { rules::check(nodes, (id, shape), default, None, base) } else { same };
        out.extend(found);
    }
}

/// Prunes all defaults once, so that defaulting an object needs no pruning. Those inside maps were not tested.
pub(super) fn prune(nodes: &mut Nodes) {
    for id in nodes.ids() {
        if let Some(mut default) = nodes.get_mut(id).default.take() {
            shape::prune(nodes, id, &mut default);
            nodes.get_mut(id).default = Some(default);
        }
    }
}
