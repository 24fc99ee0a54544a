//! Schemas of built-in kinds: which fields exist and which JSON type they have.
//!
//! A built-in object is decoded into a struct, so nothing is pruned or defaulted by its schema and null is accepted
//! everywhere. What a schema is needed for is to name the fields that the struct does not have, and to say in words that
//! a value has the wrong type. Input is JSON Schema 2020-12 as schemars writes it, where types refer to each other by
//! name and to themselves; references become shared nodes.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use safepoint_machinery::FieldError;
use safepoint_machinery::go::Num;
use serde_json::{Map, Value};

use crate::format::Format;
use crate::node::Types;
use crate::path::Path;
use crate::shape::{Found, MAX_DEPTH};

type Id = usize;
type Property = (Box<str>, Id);

/// How deep inline schemas may nest; references do not count.
const MAX_NESTING: usize = 64;

/// A schema by types.
#[derive(Debug)]
pub(crate) struct Typed {
    nodes: Vec<Node>,
    root: Id,
}

#[derive(Clone, Debug, Default)]
struct Node {
    /// Empty for anything.
    types: Types,
    format: Option<Format>,
    /// Sorted by name. `None` for an object whose fields are its own business.
    properties: Option<Box<[Property]>>,
    additional: Option<Id>,
    items: Option<Id>,
    /// The first one that takes a value's type is the one that counts.
    alternatives: Box<[Id]>,
}

struct Builder<'a> {
    root: &'a Value,
    nodes: Vec<Node>,
    named: HashMap<&'a str, Id>,
}

// === impl Typed ===

impl Typed {
    /// Reads a schema. What cannot be understood accepts everything.
    pub(crate) fn new(root: &Value) -> Self {
        let mut builder = Builder { root, nodes: Vec::new(), named: HashMap::new() };
        let id = builder.schema(root, 0);
        builder.nodes.shrink_to_fit();
        Self { nodes: builder.nodes, root: id }
    }

    /// Walks an object. With `prune`, unknown fields are removed as well as named.
    pub(crate) fn walk(&self, object: &mut Value, prune: bool) -> Found {
        let mut found = Found::default();
        self.walk_at(object, &Path::ROOT, prune, &mut found);
        found.unknown.sort();
        found
    }

    pub(crate) fn walk_at(&self, value: &mut Value, path: &Path<'_>, prune: bool, found: &mut Found) {
        self.value(self.root, value, path, prune, found);
    }

    fn value(&self, id: Id, value: &mut Value, path: &Path<'_>, prune: bool, found: &mut Found) {
        if value.is_null() || path.depth() > MAX_DEPTH {
            return;
        }
        let mut node = &self.nodes[id];
        // An alternative may itself consist of alternatives; a cycle of them leads nowhere and ends.
        for _ in 0..MAX_NESTING {
            if node.alternatives.is_empty() {
                break;
            }
            let takes =
                |id: &&Id| accepts(&self.nodes[**id], value) || !self.nodes[**id].alternatives.is_empty();
            let Some(next) = node.alternatives.iter().find(takes) else { break };
            node = &self.nodes[*next];
        }
        if !accepts(node, value) {
            found.problems.push(mismatch(node, value, path));
            return;
        }
        match value {
            Value::Object(map) => self.object(node, map, path, prune, found),
            Value::Array(items) => {
                let Some(child) = node.items else { return };
                for (index, item) in items.iter_mut().enumerate() {
                    self.value(child, item, &path.index(index), prune, found);
                }
            }
            _ => {}
        }
    }

    fn object(
        &self,
        node: &Node,
        map: &mut Map<String, Value>,
        path: &Path<'_>,
        prune: bool,
        found: &mut Found,
    ) {
        map.retain(|name, value| {
            let declared = node.properties.as_ref().and_then(|properties| {
                let at = properties.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
                Some(properties[at].1)
            });
            match declared.or(node.additional) {
                Some(child) => {
                    self.value(child, value, &path.field(name), prune, found);
                    true
                }
                None if node.properties.is_some() => {
                    found.unknown.push(path.field(name).dotted());
                    !prune
                }
                None => true,
            }
        });
    }
}

fn type_of(value: &Value) -> Types {
    match value {
        Value::Null => Types::NONE,
        Value::Bool(_) => Types::BOOLEAN,
        Value::Number(number) if number.is_i64() => Types::INTEGER,
        Value::Number(_) => Types::NUMBER,
        Value::String(_) => Types::STRING,
        Value::Array(_) => Types::ARRAY,
        Value::Object(_) => Types::OBJECT,
    }
}

fn accepts(node: &Node, value: &Value) -> bool {
    if !node.alternatives.is_empty() {
        return false;
    }
    if node.types.is_empty() {
        return true;
    }
    let given = type_of(value);
    let whole_as_number = given == Types::INTEGER && node.types.contains(Types::NUMBER);
    let fits = match (node.format, value) {
        (Some(Format::Int32), Value::Number(number)) => {
            matches!(Num::of(number), Num::Int(int) if i32::try_from(int).is_ok())
        }
        _ => true,
    };
    (node.types.contains(given) || whole_as_number) && fits
}

fn mismatch(node: &Node, value: &Value, path: &Path<'_>) -> FieldError {
    let wanted = match node.format {
        Some(Format::Int32) => "int32".to_owned(),
        _ if node.types.is_empty() => "any of several types".to_owned(),
        _ => node.types.text(),
    };
    let given = type_of(value).text();
    let name = path.dotted();
    let detail = format!("{name} in body must be of type {wanted}: \"{given}\"");
    let path = if name.is_empty() { crate::problem::NO_PATH.to_owned() } else { name };
    FieldError::type_invalid(path, given, detail)
}

// === impl Builder ===

impl<'a> Builder<'a> {
    fn push(&mut self, node: Node) -> Id {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn schema(&mut self, schema: &'a Value, nesting: usize) -> Id {
        if nesting > MAX_NESTING {
            return self.push(Node::default());
        }
        if let Some(name) = schema.get("$ref").and_then(Value::as_str) {
            return self.reference(name, nesting);
        }
        let node = self.node(schema, nesting);
        self.push(node)
    }

    /// The node of a name. It gets its number before it is read, so that it may mention itself.
    fn reference(&mut self, name: &'a str, nesting: usize) -> Id {
        if let Some(id) = self.named.get(name) {
            return *id;
        }
        let id = self.push(Node::default());
        self.named.insert(name, id);
        // `#/$defs/a~1b` is a pointer into the document once its hash is gone.
        let target = name.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer));
        if let Some(target) = target {
            self.nodes[id] = match target.get("$ref").and_then(Value::as_str) {
                Some(next) => {
                    let next = self.reference(next, nesting + 1);
                    Node { alternatives: Box::new([next]), ..Node::default() }
                }
                None => self.node(target, nesting + 1),
            };
        }
        id
    }

    fn node(&mut self, schema: &'a Value, nesting: usize) -> Node {
        let types = match schema.get("type") {
            Some(Value::String(name)) => Types::named(name),
            Some(Value::Array(names)) => {
                let names = names.iter().filter_map(Value::as_str);
                names.map(Types::named).fold(Types::NONE, Types::union)
            }
            _ => Types::NONE,
        };
        // A quantity may be written as any number.
        let types = match schema.get("x-kubernetes-int-or-string") {
            Some(Value::Bool(true)) => Types::INT_OR_STRING.union(Types::NUMBER),
            _ => types,
        };
        let alternatives: Box<[Id]> = ["oneOf", "anyOf", "allOf"]
            .into_iter()
            .filter_map(|keyword| schema.get(keyword)?.as_array())
            .flatten()
            // Null needs no alternative: it is accepted everywhere.
            .filter(|schema| schema.get("type").and_then(Value::as_str) != Some("null"))
            .map(|schema| self.schema(schema, nesting + 1))
            .collect();
        let mut properties: Vec<Property> = Vec::new();
        for (name, child) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
            properties.push((name.as_str().into(), self.schema(child, nesting + 1)));
        }
        properties.sort();
        let child = |builder: &mut Self, keyword: &str| {
            let child = schema.get(keyword).filter(|child| child.is_object())?;
            Some(builder.schema(child, nesting + 1))
        };
        let additional = child(self, "additionalProperties");
        // An object about which nothing else is said stands for arbitrary JSON, whatever its type claims.
        let arbitrary = types == Types::OBJECT && properties.is_empty() && additional.is_none();
        Node {
            types: if arbitrary { Types::NONE } else { types },
            format: schema.get("format").and_then(Value::as_str).and_then(|name| Format::find(name, types)),
            properties: (!properties.is_empty()).then(|| properties.into()),
            additional,
            items: child(self, "items"),
            alternatives,
        }
    }
}
