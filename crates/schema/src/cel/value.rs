//! Values while a rule runs.
//!
//! The object under test is not copied: lists and objects are views into it together with the schema that says how to
//! read them. Only what a rule builds itself is owned.

use std::collections::BTreeMap;
use std::rc::Rc;

use base64::Engine;
use kube_cel::cel;
use safepoint_machinery::go::Num;
use serde_json::Value as Json;

use super::ast::Literal;
use super::budget::Stop;
use super::calls::Url;
use super::library;
use super::shape::{Shape, text_format};
use crate::format::{Format, time};
use crate::node::{Nodes, Types};

/// A key of a map that a rule built.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Bool(bool),
    Int(i64),
    Uint(u64),
    Text(Rc<str>),
}

/// A value.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    /// Text of the object.
    Text(&'a str),
    /// Text that was made.
    Made(Rc<str>),
    Bytes(Rc<[u8]>),
    /// Nanoseconds.
    Duration(i64),
    Type(&'static str),
    Optional(Option<Rc<Value<'a>>>),
    /// An object or map of the object under test.
    Object(&'a serde_json::Map<String, Json>, Shape),
    /// A list of the object under test.
    Array(&'a [Json], Shape),
    /// A list that was made, with the shape of the list whose rules for equality it inherits.
    List(Rc<[Value<'a>]>, Option<Shape>),
    Map(Rc<BTreeMap<Key, Value<'a>>>),
    Url(Rc<Url>),
    /// A format by its name.
    Format(&'static str),
    /// Data without a schema: it can only be compared.
    Unknown(&'a Json),
    /// A value of the function library, timestamps among them.
    Foreign(cel::Value),
}

/// The nodes a view refers to.
pub(super) type Result<'a> = std::result::Result<Value<'a>, Stop>;

/// Reads a JSON value the way its schema says.
pub(super) fn view<'a>(nodes: &Nodes, json: &'a Json, shape: Shape) -> Result<'a> {
    let Some(node) = shape.node(nodes) else {
        return match (shape, json) {
            (_, Json::String(text)) => Ok(Value::Text(text)),
            (Shape::Metadata, Json::Object(map)) => Ok(Value::Object(map, shape)),
            _ => Err(unexpected("string", json)),
        };
    };
    if json.is_null() {
        return match node.nullable {
            true => Ok(Value::Null),
            false => Err(Stop::error("invalid data, got null for schema with nullable=false")),
        };
    }
    if node.int_or_string {
        return match json {
            Json::String(text) => Ok(Value::Text(text)),
            Json::Number(number) => match Num::of(number) {
                Num::Int(int) => Ok(Value::Int(int)),
                Num::Float(_) => Err(neither()),
            },
            _ => Err(neither()),
        };
    }
    match (node.types, json) {
        (Types::OBJECT, Json::Object(map)) => Ok(Value::Object(map, shape)),
        (Types::OBJECT, _) => {
            Err(Stop::error("invalid data, expected a map for the provided schema with type=object"))
        }
        (Types::ARRAY, Json::Array(items)) => Ok(Value::Array(items, shape)),
        (Types::ARRAY, _) => {
            Err(Stop::error("invalid data, expected an array for the provided schema with type=array"))
        }
        (Types::STRING, Json::String(text)) => match text_format(node) {
            Some(format) => formatted(text, format),
            None => Ok(Value::Text(text)),
        },
        (Types::STRING, other) => Err(unexpected("string", other)),
        (Types::BOOLEAN, Json::Bool(bool)) => Ok(Value::Bool(*bool)),
        (Types::BOOLEAN, other) => Err(unexpected("bool", other)),
        (Types::NUMBER, Json::Number(number)) => Ok(Value::Double(Num::of(number).as_f64())),
        (Types::NUMBER, other) => Err(unexpected("float", other)),
        (Types::INTEGER, Json::Number(number)) => match Num::of(number) {
            Num::Int(int) => Ok(Value::Int(int)),
            Num::Float(_) => Err(unexpected("int", json)),
        },
        (Types::INTEGER, other) => Err(unexpected("int", other)),
        (_, other) => Ok(Value::Unknown(other)),
    }
}

/// A string whose format gives it a type of its own.
fn formatted(text: &str, format: Format) -> Result<'_> {
    let invalid = |what: &str| Stop::error(format!("Invalid {what} {text}"));
    match format {
        Format::Duration => time::duration(text).map(Value::Duration).ok_or_else(|| invalid("duration")),
        Format::Date => {
            library::timestamp(&format!("{text}T00:00:00Z")).ok_or_else(|| invalid("date formatted string"))
        }
        Format::DateTime => library::timestamp(text).ok_or_else(|| invalid("date-time formatted string")),
        Format::Byte => base64::engine::general_purpose::URL_SAFE
            .decode(text)
            .map(|bytes| Value::Bytes(bytes.into()))
            .map_err(|_| invalid("byte formatted string")),
        _ => Ok(Value::Text(text)),
    }
}

fn neither() -> Stop {
    Stop::error("invalid data, expected XIntOrString value to be either a string or integer")
}

fn unexpected(wanted: &str, json: &Json) -> Stop {
    let got = match json {
        Json::Null => "<nil>",
        Json::Bool(_) => "bool",
        Json::Number(number) if number.is_i64() => "int64",
        Json::Number(_) => "float64",
        Json::String(_) => "string",
        Json::Array(_) => "[]interface {}",
        Json::Object(_) => "map[string]interface {}",
    };
    Stop::error(format!("invalid data, expected {wanted}, got {got}"))
}

// === impl Value ===

impl<'a> Value<'a> {
    pub(super) fn of_literal(literal: &Literal) -> Self {
        match literal {
            Literal::Null => Self::Null,
            Literal::Bool(bool) => Self::Bool(*bool),
            Literal::Int(int) => Self::Int(*int),
            Literal::Uint(uint) => Self::Uint(*uint),
            Literal::Double(double) => Self::Double(*double),
            Literal::Text(text) => Self::Made(Rc::from(&**text)),
            Literal::Bytes(bytes) => Self::Bytes(Rc::from(&**bytes)),
        }
    }

    pub(super) fn made(text: impl Into<Rc<str>>) -> Self {
        Self::Made(text.into())
    }

    pub(super) fn list(items: Vec<Self>) -> Self {
        Self::List(items.into(), None)
    }

    pub(super) fn some(value: Self) -> Self {
        Self::Optional(Some(Rc::new(value)))
    }

    pub(super) fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Made(text) => Some(text),
            _ => None,
        }
    }

    /// What counts as the value's size when work is charged for.
    pub(super) fn size(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Made(text) => text.len(),
            Self::Bytes(bytes) => bytes.len(),
            Self::Object(map, _) => map.len(),
            Self::Array(items, _) => items.len(),
            Self::List(items, _) => items.len(),
            Self::Map(map) => map.len(),
            Self::Optional(Some(inner)) => inner.size(),
            _ => 1,
        }
    }

    /// The name of the value's type, as `type()` gives it.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) | Self::Made(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
            Self::Optional(_) => "optional_type",
            Self::Object(..) | Self::Map(_) => "map",
            Self::Array(..) | Self::List(..) => "list",
            Self::Url(_) => "kubernetes.URL",
            Self::Format(_) => "kubernetes.NamedFormat",
            Self::Unknown(_) => "unknown",
            Self::Foreign(value) => library::type_name(value),
        }
    }

    /// How many items a list has.
    pub(super) fn list_len(&self) -> Option<usize> {
        match self {
            Self::Array(items, _) => Some(items.len()),
            Self::List(items, _) => Some(items.len()),
            _ => None,
        }
    }

    /// An item of a list.
    pub(super) fn item(&self, nodes: &Nodes, index: usize) -> Option<Result<'a>> {
        match self {
            Self::Array(items, shape) => {
                let json = items.get(index)?;
                Some(match shape.items(nodes) {
                    Some(shape) => view(nodes, json, shape),
                    None => Ok(Value::Unknown(json)),
                })
            }
            Self::List(items, _) => items.get(index).cloned().map(Ok),
            _ => None,
        }
    }

    /// All items of a list.
    pub(super) fn items(&self, nodes: &Nodes) -> std::result::Result<Option<Vec<Value<'a>>>, Stop> {
        let Some(length) = self.list_len() else { return Ok(None) };
        (0..length)
            .filter_map(|index| self.item(nodes, index))
            .collect::<std::result::Result<_, _>>()
            .map(Some)
    }

    /// The keys of a map, or the identifiers of an object's declared and present fields.
    pub(super) fn keys(&self, nodes: &Nodes) -> Option<Vec<Key>> {
        match self {
            Self::Map(map) => Some(map.keys().cloned().collect()),
            Self::Object(map, shape) => {
                let object = shape.is_object(nodes);
                let key = |name: &String| {
                    shape.property(nodes, name)?;
                    let ident = if object { super::escape::escape(name) } else { None };
                    Some(Key::Text(ident.as_deref().unwrap_or(name).into()))
                };
                Some(map.keys().filter_map(key).collect())
            }
            _ => None,
        }
    }

    /// The value of a field by its property name; a null in a declared field counts as absent.
    pub(super) fn property(&self, nodes: &Nodes, name: &str) -> Option<Result<'a>> {
        let Self::Object(map, shape) = self else { return None };
        let json = map.get(name)?;
        if shape.is_object(nodes) && json.is_null() {
            return None;
        }
        Some(view(nodes, json, shape.property(nodes, name)?))
    }

    /// The value behind a key of a map or an identifier of an object.
    pub(super) fn entry(&self, nodes: &Nodes, key: &Key) -> Option<Result<'a>> {
        match (self, key) {
            (Self::Map(map), key) => map.get(key).cloned().map(Ok),
            (Self::Object(_, shape), Key::Text(text)) if shape.is_object(nodes) => {
                self.property(nodes, &super::escape::unescape(text)?)
            }
            (Self::Object(..), Key::Text(text)) => self.property(nodes, text),
            _ => None,
        }
    }

    pub(super) fn as_key(&self) -> Option<Key> {
        match self {
            Self::Bool(bool) => Some(Key::Bool(*bool)),
            Self::Int(int) => Some(Key::Int(*int)),
            Self::Uint(uint) => Some(Key::Uint(*uint)),
            // A whole float finds the key of the same number.
            #[expect(clippy::cast_possible_truncation, reason = "guarded by the comparison")]
            Self::Double(double) if *double == (*double as i64) as f64 => Some(Key::Int(*double as i64)),
            other => other.text().map(|text| Key::Text(text.into())),
        }
    }
}

impl<'a> From<Key> for Value<'a> {
    fn from(key: Key) -> Self {
        match key {
            Key::Bool(bool) => Self::Bool(bool),
            Key::Int(int) => Self::Int(int),
            Key::Uint(uint) => Self::Uint(uint),
            Key::Text(text) => Self::Made(text),
        }
    }
}
