//! Bodies in Kubernetes' protobuf form, read into JSON.
//!
//! kubelets and the typed clients of kubectl send it. Answers are always JSON, which all of them accept. How each type
//! is written is data: `protobuf/wire.txt`, which `cargo xtask wire` takes from the Go types. A line names a type, the
//! indented ones below it the number, name and kind of its fields: `*` is a list, `%` a map, `?` a field that JSON
//! leaves out when it is empty, `=` an embedded type whose fields are the outer one's.

use std::collections::HashMap;
use std::sync::LazyLock;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use thiserror::Error;

mod reader;
#[cfg(test)]
mod tests;

use reader::{Reader, Wire};

/// What such a body begins with.
const MAGIC: &[u8] = b"k8s\0";
/// Types nest about ten levels deep; a body that goes further is not one of theirs.
const DEEPEST: usize = 64;

/// Why a body cannot be read.
#[derive(Debug, Error, PartialEq, Eq)]
pub(crate) enum ProtobufError {
    #[error("it does not begin as Kubernetes protobuf does")]
    Magic,
    #[error("it ends in the middle of a field, or is damaged")]
    Damaged,
    #[error("it is nested too deeply")]
    TooDeep,
    #[error("{0} is not a kind that can be sent as protobuf here: send JSON")]
    UnknownKind(String),
}

#[derive(Clone, Copy)]
struct Field {
    name: &'static str,
    shape: Shape,
    omit_empty: bool,
    kind: &'static str,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    One,
    List,
    Map,
    Inline,
}

type Types = HashMap<&'static str, HashMap<u64, Field>>;

static TYPES: LazyLock<Types> = LazyLock::new(|| {
    let mut types = Types::new();
    let mut fields: Option<&mut HashMap<u64, Field>> = None;
    for line in include_str!("protobuf/wire.txt").lines() {
        let Some(field) = line.strip_prefix(' ') else {
            fields = Some(types.entry(line).or_default());
            continue;
        };
        let mut words = field.split(' ');
        let parsed = (words.next().and_then(|number| number.parse().ok()), words.next(), words.next());
        if let (Some(fields), (Some(number), Some(name), Some(kind))) = (fields.as_mut(), parsed) {
            let (omit_empty, kind) = kind.strip_prefix('?').map_or((false, kind), |kind| (true, kind));
            let (shape, kind) = match (kind.strip_prefix('*'), kind.strip_prefix('%'), kind.strip_prefix('='))
            {
                (Some(kind), ..) => (Shape::List, kind),
                (_, Some(kind), _) => (Shape::Map, kind),
                (.., Some(kind)) => (Shape::Inline, kind),
                _ => (Shape::One, kind),
            };
            fields.insert(number, Field { name, shape, omit_empty, kind });
        }
    }
    types
});

/// Reads a body: the envelope, which says what is in it, and the object.
pub(crate) fn decode(bytes: &[u8]) -> Result<Value, ProtobufError> {
    let envelope = bytes.strip_prefix(MAGIC).ok_or(ProtobufError::Magic)?;
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    let mut reader = Reader::new(envelope);
    while let Some((number, wire)) = reader.field()? {
        match (number, wire) {
            (1, Wire::Bytes(meta)) => {
                let mut reader = Reader::new(meta);
                while let Some((number, wire)) = reader.field()? {
                    match number {
                        1 => api_version = wire.text()?,
                        2 => kind = wire.text()?,
                        _ => {}
                    }
                }
            }
            (2, Wire::Bytes(object)) => raw = object,
            _ => {}
        }
    }
    let name = type_name(&api_version, &kind);
    let fields = TYPES
        .get(name.as_str())
        .ok_or_else(|| ProtobufError::UnknownKind(format!("{api_version} {kind}")))?;
    let mut object = Map::new();
    message(raw, fields, &mut object, 0)?;
    object.insert("apiVersion".to_owned(), api_version.into());
    object.insert("kind".to_owned(), kind.into());
    Ok(Value::Object(object))
}

/// `core.v1.Pod` for `v1` and `Pod`.
fn type_name(api_version: &str, kind: &str) -> String {
    // Options are of the version of whatever they are sent to.
    if kind == "DeleteOptions" {
        return "meta.v1.DeleteOptions".to_owned();
    }
    match api_version.split_once('/') {
        None => format!("core.{api_version}.{kind}"),
        Some((group, version)) => format!("{}.{version}.{kind}", group.split('.').next().unwrap_or_default()),
    }
}

fn message(
    bytes: &[u8],
    fields: &HashMap<u64, Field>,
    object: &mut Map<String, Value>,
    depth: usize,
) -> Result<(), ProtobufError> {
    if depth > DEEPEST {
        return Err(ProtobufError::TooDeep);
    }
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.field()? {
        // A field of a later Kubernetes: what it means is not known here.
        let Some(field) = fields.get(&number) else { continue };
        match field.shape {
            Shape::Inline => {
                if let (Wire::Bytes(inner), Some(fields)) = (wire, TYPES.get(field.kind)) {
                    message(inner, fields, object, depth + 1)?;
                }
            }
            Shape::List => {
                let list = object.entry(field.name).or_insert_with(|| json!([]));
                let items = match wire {
                    Wire::Bytes(packed) if field.kind == "int" => Reader::new(packed).integers()?,
                    wire => vec![value(wire, field.kind, depth)?],
                };
                if let Value::Array(list) = list {
                    list.extend(items);
                }
            }
            Shape::Map => {
                let (name, item) = entry(wire, field.kind, depth)?;
                if let Value::Object(map) = object.entry(field.name).or_insert_with(|| json!({})) {
                    map.insert(name, item);
                }
            }
            Shape::One => {
                let value = value(wire, field.kind, depth)?;
                if !(field.omit_empty && is_empty(&value)) {
                    object.insert(field.name.to_owned(), value);
                }
            }
        }
    }
    Ok(())
}

fn entry(wire: Wire<'_>, kind: &str, depth: usize) -> Result<(String, Value), ProtobufError> {
    let mut reader = Reader::new(wire.bytes()?);
    let (mut name, mut item) = (String::new(), None);
    while let Some((number, wire)) = reader.field()? {
        match number {
            1 => name = wire.text()?,
            2 => item = Some(value(wire, kind, depth)?),
            _ => {}
        }
    }
    Ok((name, item.unwrap_or_else(|| if kind == "texts" { json!([]) } else { "".into() })))
}

fn value(wire: Wire<'_>, kind: &str, depth: usize) -> Result<Value, ProtobufError> {
    Ok(match kind {
        "string" => wire.text()?.into(),
        "bool" => (wire.integer()? != 0).into(),
        "int" => wire.integer()?.into(),
        "bytes" => STANDARD.encode(wire.bytes()?).into(),
        "texts" => {
            let mut texts = Vec::new();
            let mut reader = Reader::new(wire.bytes()?);
            while let Some((_, wire)) = reader.field()? {
                texts.push(wire.text()?);
            }
            texts.into()
        }
        "meta.v1.Time" => time(wire, false)?,
        "meta.v1.MicroTime" => time(wire, true)?,
        "resource.Quantity" => {
            first(wire)?.map_or(Ok(Value::from("0")), |wire| wire.text().map(Value::from))?
        }
        "intstr.IntOrString" => int_or_string(wire)?,
        // JSON within protobuf.
        "meta.v1.FieldsV1" | "runtime.RawExtension" => match first(wire)? {
            Some(raw) => serde_json::from_slice(raw.bytes()?).map_err(|_| ProtobufError::Damaged)?,
            None => Value::Null,
        },
        other => {
            let fields = TYPES.get(other).ok_or(ProtobufError::Damaged)?;
            let mut object = Map::new();
            message(wire.bytes()?, fields, &mut object, depth + 1)?;
            Value::Object(object)
        }
    })
}

/// The field 1 of a message that has no other.
fn first(wire: Wire<'_>) -> Result<Option<Wire<'_>>, ProtobufError> {
    let mut reader = Reader::new(wire.bytes()?);
    while let Some((number, wire)) = reader.field()? {
        if number == 1 {
            return Ok(Some(wire));
        }
    }
    Ok(None)
}

fn int_or_string(wire: Wire<'_>) -> Result<Value, ProtobufError> {
    let (mut is_text, mut number, mut text) = (false, 0, String::new());
    let mut reader = Reader::new(wire.bytes()?);
    while let Some((field, wire)) = reader.field()? {
        match field {
            1 => is_text = wire.integer()? != 0,
            2 => number = wire.integer()?,
            3 => text = wire.text()?,
            _ => {}
        }
    }
    Ok(if is_text { text.into() } else { number.into() })
}

fn time(wire: Wire<'_>, micro: bool) -> Result<Value, ProtobufError> {
    let bytes = wire.bytes()?;
    // The time that nobody has set.
    if bytes.is_empty() {
        return Ok(Value::Null);
    }
    let (mut seconds, mut nanos) = (0, 0);
    let mut reader = Reader::new(bytes);
    while let Some((number, wire)) = reader.field()? {
        match number {
            1 => seconds = wire.integer()?,
            2 => nanos = wire.integer()?,
            _ => {}
        }
    }
    let nanos = i32::try_from(nanos).map_err(|_| ProtobufError::Damaged)?;
    let at = Timestamp::new(seconds, nanos).map_err(|_| ProtobufError::Damaged)?;
    let format = if micro { "%Y-%m-%dT%H:%M:%S.%6fZ" } else { "%Y-%m-%dT%H:%M:%SZ" };
    Ok(at.strftime(format).to_string().into())
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(flag) => !flag,
        Value::Number(number) => number.as_i64() == Some(0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(map) => map.is_empty(),
    }
}
