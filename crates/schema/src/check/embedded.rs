//! Embedded resources must say what they are.

use safepoint_machinery::FieldError;
use serde_json::{Map, Value};

use crate::node::{Additional, Node, NodeId, Nodes};
use crate::path::{Base, Path};
use crate::shape::MAX_DEPTH;

/// Everything that embedded resources lack. Of the value itself this is only asked if it is a `resource`: the server
/// knows the kind of an object that it is sent.
pub(crate) fn embedded_resources(
    nodes: &Nodes,
    root: NodeId,
    object: &Value,
    is_resource: bool,
    base: Base<'_>,
) -> Vec<FieldError> {
    let mut out = Vec::new();
    if let (Value::Object(map), true, false) = (object, is_resource, nodes.get(root).embedded) {
        resource(map, &Path::ROOT, &mut out);
    }
    value(nodes, nodes.get(root), object, &Path::ROOT, &mut out);
    for problem in &mut out {
        problem.path = base.join(&problem.path);
    }
    out
}

fn value(nodes: &Nodes, node: &Node, here: &Value, path: &Path<'_>, out: &mut Vec<FieldError>) {
    if path.depth() > MAX_DEPTH {
        return;
    }
    match here {
        Value::Object(map) => {
            if node.embedded {
                resource(map, path, out);
            }
            for (name, child) in map {
                match (node.property(name), node.additional) {
                    (Some(id), _) => value(nodes, nodes.get(id), child, &path.field(name), out),
                    (None, Additional::Schema(id)) => {
                        value(nodes, nodes.get(id), child, &path.key(name), out);
                    }
                    _ => {}
                }
            }
        }
        Value::Array(items) => {
            let Some(id) = node.items else { return };
            for (index, item) in items.iter().enumerate() {
                value(nodes, nodes.get(id), item, &path.index(index), out);
            }
        }
        _ => {}
    }
}

fn resource(map: &Map<String, Value>, path: &Path<'_>, out: &mut Vec<FieldError>) {
    for (name, fault) in
        [("apiVersion", api_version_fault as fn(&str) -> Option<String>), ("kind", kind_fault)]
    {
        let path = path.field(name).bracketed();
        match map.get(name) {
            None => out.push(FieldError::required(path, "")),
            // A value that is no text has been reported when the resource was shaped.
            Some(Value::String(text)) if text.is_empty() => {
                out.push(FieldError::invalid(path, "", "must not be empty"));
            }
            Some(Value::String(text)) => {
                out.extend(fault(text).map(|detail| FieldError::invalid(path, text.as_str(), detail)));
            }
            Some(_) => {}
        }
    }
}

fn api_version_fault(text: &str) -> Option<String> {
    (text.matches('/').count() > 1).then(|| format!("unexpected GroupVersion string: {text}"))
}

fn kind_fault(text: &str) -> Option<String> {
    let lower = text.to_lowercase();
    let bytes = lower.as_bytes();
    let plain = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let mut faults = Vec::new();
    if bytes.len() > 63 {
        faults.push("must be no more than 63 bytes");
    }
    let label = bytes.first().is_some_and(u8::is_ascii_lowercase)
        && bytes.last().is_some_and(plain)
        && bytes.iter().all(|byte| plain(byte) || *byte == b'-');
    if !label {
        faults.push(
            "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic \
             character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for \
             validation is '[a-z]([-a-z0-9]*[a-z0-9])?')",
        );
    }
    (!faults.is_empty())
        .then(|| format!("may have mixed case, but should otherwise match: {}", faults.join(",")))
}
