//! A structural schema after compilation: nodes in one array that point at each other by number.
//!
//! Only what the walk needs is kept. Descriptions, titles, examples and documentation links make up most of a
//! definition's bytes and are served from the original document, so they are not here.

use std::sync::Arc;

use regex::Regex;
use serde_json::Value;

use crate::cel::Program;
use crate::format::Format;

/// Number of a node in its schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NodeId(pub(crate) u32);

/// A set of JSON types.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Types(u8);

// === impl Types ===

impl Types {
    pub(crate) const NONE: Self = Self(0);
    pub(crate) const OBJECT: Self = Self(1);
    pub(crate) const ARRAY: Self = Self(2);
    pub(crate) const STRING: Self = Self(4);
    pub(crate) const INTEGER: Self = Self(8);
    pub(crate) const NUMBER: Self = Self(16);
    pub(crate) const BOOLEAN: Self = Self(32);
    pub(crate) const INT_OR_STRING: Self = Self(Self::INTEGER.0 | Self::STRING.0);

    const NAMES: [(Self, &'static str); 6] = [
        (Self::ARRAY, "array"),
        (Self::BOOLEAN, "boolean"),
        (Self::INTEGER, "integer"),
        (Self::NUMBER, "number"),
        (Self::OBJECT, "object"),
        (Self::STRING, "string"),
    ];

    /// The set with just the named type; empty for a name that is none.
    pub(crate) fn named(name: &str) -> Self {
        Self::NAMES.into_iter().find(|(_, known)| *known == name).map(|(types, _)| types).unwrap_or_default()
    }

    /// The names of all types, sorted.
    pub(crate) fn all_names() -> Vec<&'static str> {
        Self::NAMES.into_iter().map(|(_, name)| name).collect()
    }

    pub(crate) fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(crate) fn contains(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    pub(crate) fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The names, joined by commas.
    pub(crate) fn text(self) -> String {
        let names: Vec<_> =
            Self::NAMES.into_iter().filter(|(one, _)| self.contains(*one)).map(|(_, name)| name).collect();
        names.join(",")
    }
}

/// What an object may contain besides its properties.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Additional {
    /// Not said: unknown fields are pruned.
    #[default]
    Unspecified,
    /// Anything (and the inside of it is pruned), or nothing.
    Allowed(bool),
    /// A map whose values follow a schema.
    Schema(NodeId),
}

/// How items of a list are told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum ListKind {
    /// By nothing: the list is one value.
    #[default]
    Atomic,
    /// By value.
    Set,
    /// By the values of these properties.
    Map(Box<[Box<str>]>),
}

/// One schema.
#[derive(Debug, Default)]
pub(crate) struct Node {
    pub(crate) types: Types,
    pub(crate) nullable: bool,
    pub(crate) preserve_unknown: bool,
    pub(crate) embedded: bool,
    pub(crate) int_or_string: bool,
    /// Whether a rule stands here or below, so that the walk can skip the rest.
    pub(crate) rules_below: bool,
    /// Whether a default stands in a property or below.
    pub(crate) defaults_below: bool,
    pub(crate) additional: Additional,
    pub(crate) items: Option<NodeId>,
    /// Sorted by name.
    pub(crate) properties: Box<[(Box<str>, NodeId)]>,
    pub(crate) list: ListKind,
    pub(crate) default: Option<Box<Value>>,
    pub(crate) checks: Option<Box<Checks>>,
    pub(crate) rules: Box<[Rule]>,
}

/// What a value must fulfil besides its type.
#[derive(Debug, Default)]
pub(crate) struct Checks {
    /// The format and its name as written.
    pub(crate) format: Option<(Format, Box<str>)>,
    pub(crate) maximum: Option<f64>,
    pub(crate) minimum: Option<f64>,
    pub(crate) exclusive_maximum: bool,
    pub(crate) exclusive_minimum: bool,
    pub(crate) multiple_of: Option<f64>,
    pub(crate) max_length: Option<i64>,
    pub(crate) min_length: Option<i64>,
    pub(crate) max_items: Option<i64>,
    pub(crate) min_items: Option<i64>,
    pub(crate) max_properties: Option<i64>,
    pub(crate) min_properties: Option<i64>,
    pub(crate) unique_items: bool,
    /// The expression as written and compiled. Equal expressions of one schema share the program.
    pub(crate) pattern: Option<(Box<str>, Arc<Regex>)>,
    pub(crate) one_of_values: Box<[Value]>,
    pub(crate) required: Box<[Box<str>]>,
    pub(crate) all_of: Box<[NodeId]>,
    pub(crate) any_of: Box<[NodeId]>,
    pub(crate) one_of: Box<[NodeId]>,
    pub(crate) not: Option<NodeId>,
}

/// A CEL rule of a node.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) program: Program,
    /// Trimmed; empty if the rule itself is the message.
    pub(crate) message: Box<str>,
    pub(crate) message_program: Option<Program>,
    pub(crate) reason: Reason,
    /// Where the problem is reported, below the node: `.spec.x`, or empty.
    pub(crate) field_path: Box<str>,
    pub(crate) optional_old_self: bool,
    /// The rule as written, trimmed.
    pub(crate) source: Box<str>,
}

/// What a broken rule is reported as.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reason {
    #[default]
    Invalid,
    Forbidden,
    Required,
    Duplicate,
}

/// All nodes of a schema.
#[derive(Debug, Default)]
pub(crate) struct Nodes {
    nodes: Vec<Node>,
}

// === impl Nodes ===

impl Nodes {
    /// Adds a node. Its children must have been added before.
    pub(crate) fn push(&mut self, node: Node) -> NodeId {
        let id =
            NodeId(u32::try_from(self.nodes.len()).expect("a schema that fits in memory has fewer nodes"));
        self.nodes.push(node);
        id
    }

    pub(crate) fn get(&self, id: NodeId) -> &Node {
        &self.nodes[id.0 as usize]
    }

    /// The numbers of all nodes.
    pub(crate) fn ids(&self) -> impl Iterator<Item = NodeId> + use<> {
        (0_u32..).map(NodeId).take(self.nodes.len())
    }

    /// Gives back what growing the array has reserved.
    pub(crate) fn shrink(&mut self) {
        self.nodes.shrink_to_fit();
    }

    pub(crate) fn get_mut(&mut self, id: NodeId) -> &mut Node {
        &mut self.nodes[id.0 as usize]
    }

    /// Tells every node whether a rule stands on it or below. Children come before their parents in the array.
    pub(crate) fn mark_rules(&mut self) {
        for index in 0..self.nodes.len() {
            let node = &self.nodes[index];
            let additional = match node.additional {
                Additional::Schema(id) => Some(id),
                Additional::Unspecified | Additional::Allowed(_) => None,
            };
            let mut children = node.properties.iter().map(|(_, id)| *id).chain(node.items).chain(additional);
            let below = !node.rules.is_empty() || children.any(|id| self.get(id).rules_below);
            self.nodes[index].rules_below = below;
        }
    }
}

// === impl Node ===

impl Node {
    /// The schema of the named property, if it is declared.
    pub(crate) fn property(&self, name: &str) -> Option<NodeId> {
        let at = self.properties.binary_search_by(|(known, _)| (**known).cmp(name)).ok()?;
        Some(self.properties[at].1)
    }

    /// The schema of the named field, declared or not.
    pub(crate) fn field(&self, name: &str) -> Option<NodeId> {
        self.property(name).or(match self.additional {
            Additional::Schema(id) => Some(id),
            Additional::Unspecified | Additional::Allowed(_) => None,
        })
    }
}

// === impl Rule ===

impl Rule {
    /// How the rule is named in texts about it.
    pub(crate) fn name(&self) -> &str {
        if self.message.is_empty() { &self.source } else { &self.message }
    }
}
