//! What a rule can see of a value: the schema's view.
//!
//! A rule sees declared fields only. At the root of a resource, and of an embedded one, it also sees `apiVersion`,
//! `kind` and, of the metadata, `name` and `generateName`, whatever the schema says about them.

use super::escape::escape;
use super::types::Type;
use crate::format::Format;
use crate::node::{Additional, Node, NodeId, Nodes, Types};

/// A view of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// A schema's node.
    Node(NodeId),
    /// A schema's node that is the root of a resource.
    Root(NodeId),
    /// The metadata of a resource.
    Metadata,
    /// A plain string.
    Text,
}

// === impl Shape ===

impl Shape {
    /// The view that a schema gives, the root of an embedded resource recognised.
    pub(crate) fn of(nodes: &Nodes, id: NodeId) -> Self {
        if nodes.get(id).embedded { Self::Root(id) } else { Self::Node(id) }
    }

    pub(super) fn node(self, nodes: &Nodes) -> Option<&Node> {
        match self {
            Self::Node(id) | Self::Root(id) => Some(nodes.get(id)),
            Self::Metadata | Self::Text => None,
        }
    }

    /// Whether fields are declared, as opposed to a map with keys of the user's choice.
    pub(super) fn is_object(self, nodes: &Nodes) -> bool {
        match self {
            Self::Root(_) | Self::Metadata => true,
            Self::Node(id) => !nodes.get(id).properties.is_empty(),
            Self::Text => false,
        }
    }

    /// The view of a field by its property name.
    pub(super) fn property(self, nodes: &Nodes, name: &str) -> Option<Self> {
        match self {
            Self::Metadata => matches!(name, "name" | "generateName").then_some(Self::Text),
            Self::Text => None,
            Self::Root(id) if !declares_meta(nodes, id) && matches!(name, "apiVersion" | "kind") => {
                Some(Self::Text)
            }
            Self::Root(id) if !declares_meta(nodes, id) && name == "metadata" => Some(Self::Metadata),
            Self::Root(id) => nodes.get(id).property(name).map(|child| Self::of(nodes, child)),
            Self::Node(id) if self.is_object(nodes) => {
                nodes.get(id).property(name).map(|child| Self::of(nodes, child))
            }
            Self::Node(id) => match nodes.get(id).additional {
                Additional::Schema(child) => Some(Self::of(nodes, child)),
                Additional::Unspecified | Additional::Allowed(_) => None,
            },
        }
    }

    /// The view of a list's items.
    pub(super) fn items(self, nodes: &Nodes) -> Option<Self> {
        Some(Self::of(nodes, self.node(nodes)?.items?))
    }

    /// The type of a declared field by its identifier, if rules may see it.
    pub(super) fn field_type(self, nodes: &Nodes, property: &str) -> Option<Type> {
        escape(property)?;
        self.property(nodes, property)?.type_of(nodes)
    }

    /// The type of a value seen this way; `None` if rules may not see it, because parts of it have no type.
    pub(super) fn type_of(self, nodes: &Nodes) -> Option<Type> {
        let node = match self {
            Self::Text => return Some(Type::Text),
            Self::Metadata => return Some(Type::Object(self)),
            Self::Node(id) | Self::Root(id) => nodes.get(id),
        };
        if node.int_or_string {
            return Some(Type::Dyn);
        }
        Some(match node.types {
            Types::ARRAY => Type::list(Self::of(nodes, node.items?).type_of(nodes)?),
            Types::OBJECT => match node.additional {
                Additional::Schema(value) => Type::map(Type::Text, Self::of(nodes, value).type_of(nodes)?),
                Additional::Unspecified | Additional::Allowed(_) => Type::Object(self),
            },
            Types::STRING => match text_format(node) {
                Some(Format::Byte) => Type::Bytes,
                Some(Format::Duration) => Type::Duration,
                Some(Format::Date | Format::DateTime) => Type::Timestamp,
                _ => Type::Text,
            },
            Types::BOOLEAN => Type::Bool,
            Types::NUMBER => Type::Double,
            Types::INTEGER => Type::Int,
            _ => return None,
        })
    }
}

/// The format that gives a string another type in rules. `datetime` is checked like `date-time` but stays a string.
pub(super) fn text_format(node: &Node) -> Option<Format> {
    let (format, name) = node.checks.as_ref()?.format.as_ref()?;
    matches!(&**name, "byte" | "duration" | "date" | "date-time").then_some(*format)
}

/// Whether a root declares all that a rule always sees; then its declarations count.
fn declares_meta(nodes: &Nodes, id: NodeId) -> bool {
    let has = |id: NodeId, name: &str, types: Types| {
        nodes.get(id).property(name).filter(|child| nodes.get(*child).types == types)
    };
    has(id, "kind", Types::STRING).is_some()
        && has(id, "apiVersion", Types::STRING).is_some()
        && has(id, "metadata", Types::OBJECT).is_some_and(|metadata| {
            has(metadata, "name", Types::STRING).is_some()
                && has(metadata, "generateName", Types::STRING).is_some()
        })
}
