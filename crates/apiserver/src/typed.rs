//! Built-in kinds as Kubernetes reads and writes them: through Go structs.
//!
//! A struct forgets what a document says in more than one way. A field that may be left out is left out when it says
//! nothing, one that may not is written even then, a null is the same as nothing, moments are in UTC and amounts in their
//! canonical form. Clients compare what they get with what they sent, so that this is a part of the API.
//!
//! The fields of the structs are facts of Kubernetes 1.36, in `typed/table.txt`: a line for each struct, with its name and
//! its fields as `name:type`. After the name of a field, `?` says that it is left out when it is empty and `!` that it is
//! left out when it is zero. Fields that no struct has are kept as they are, except for directives that a patch has left.

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::sync::LazyLock;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use safepoint_machinery::go;
use safepoint_machinery::quantity::Quantity;
use serde_json::{Map, Value};

/// What a field holds.
#[derive(Debug)]
enum Type {
    Text,
    Bool,
    /// A whole number, and which are too small or too large.
    Int(i64, i64),
    /// Bytes in base64.
    Bytes,
    Amount,
    /// The number or the name of a port.
    Port,
    Time,
    /// A moment to the microsecond, about which the kinds that have one say more.
    MicroTime,
    Any,
    Pointer(Box<Type>),
    List(Box<Type>),
    Map(Box<Type>),
    Struct(&'static str),
}

#[derive(Debug)]
struct Field {
    name: &'static str,
    /// Whether it is left out when it is empty, which a struct never is.
    omit_empty: bool,
    /// Whether it is left out when it is zero, which a struct may be.
    omit_zero: bool,
    kind: Type,
}

static TABLE: LazyLock<HashMap<&'static str, Vec<Field>>> = LazyLock::new(|| {
    let lines = include_str!("typed/table.txt").lines();
    lines.filter_map(|line| line.split_once(' ')).map(|(name, fields)| (name, parse_fields(fields))).collect()
});

/// Makes of an object what a struct of its kind would. Kinds that are not known here are left alone.
///
/// # Errors
/// If a value is of a type that its field cannot have, in the words of Kubernetes.
pub(crate) fn round_trip(group: &str, kind: &str, object: &mut Value) -> Result<(), String> {
    let Some(name) = name_of(group, kind) else { return Ok(()) };
    let mut at = Place { outer: name, path: String::new() };
    *object = read(object.take(), &Type::Struct(name), &mut at)?;
    Ok(())
}

/// Whether the structs of this kind are known.
pub(crate) fn knows(group: &str, kind: &str) -> bool {
    name_of(group, kind).is_some()
}

fn name_of(group: &str, kind: &str) -> Option<&'static str> {
    let name = match (group, kind) {
        ("events.k8s.io", "Event") => "NewEvent",
        ("" | "coordination.k8s.io" | "admissionregistration.k8s.io", kind) => kind,
        _ => return None,
    };
    // Only whole objects have metadata: the parts of others are in the table too.
    let (name, fields) = TABLE.get_key_value(name)?;
    fields.iter().any(|field| field.name == "metadata").then_some(*name)
}

// === the table ===

fn parse_fields(fields: &'static str) -> Vec<Field> {
    let parse = |field: &'static str| {
        let (name, kind) = field.split_once(':')?;
        let (omit_empty, omit_zero) = (name.contains('?'), name.contains('!'));
        Some(Field { name: name.trim_end_matches(['?', '!']), omit_empty, omit_zero, kind: parse_type(kind) })
    };
    fields.split(' ').filter_map(parse).collect()
}

fn parse_type(text: &'static str) -> Type {
    let inner = |text| Box::new(parse_type(text));
    if let Some(pointed) = text.strip_prefix('*') {
        return Type::Pointer(inner(pointed));
    }
    if let Some(item) = text.strip_prefix("[]") {
        return Type::List(inner(item));
    }
    if let Some(value) = text.strip_prefix("{}") {
        return Type::Map(inner(value));
    }
    match text {
        "text" => Type::Text,
        "bool" => Type::Bool,
        "int32" => Type::Int(i32::MIN.into(), i32::MAX.into()),
        "uint32" => Type::Int(0, u32::MAX.into()),
        "int64" => Type::Int(i64::MIN, i64::MAX),
        "bytes" => Type::Bytes,
        "amount" => Type::Amount,
        "port" => Type::Port,
        "time" => Type::Time,
        "microtime" => Type::MicroTime,
        "any" => Type::Any,
        name => Type::Struct(name),
    }
}

// === reading ===

/// Where a value is, for complaints.
struct Place {
    outer: &'static str,
    path: String,
}

impl Place {
    fn complaint(&self, value: &Value, kind: &Type) -> String {
        let (is, Place { outer, path }) = (go::json_kind(value), self);
        format!("json: cannot unmarshal {is} into Go struct field {outer}{path} of type {}", shown(kind))
    }
}

fn shown(kind: &Type) -> String {
    match kind {
        Type::Text | Type::Bytes | Type::Amount | Type::Port | Type::Time | Type::MicroTime => {
            "string".to_owned()
        }
        Type::Bool => "bool".to_owned(),
        Type::Int(_, most) if *most == i64::MAX => "int64".to_owned(),
        Type::Int(..) => "int32".to_owned(),
        Type::Any => "interface {}".to_owned(),
        Type::Pointer(inner) => shown(inner),
        Type::List(item) => format!("[]{}", shown(item)),
        Type::Map(value) => format!("map[string]{}", shown(value)),
        Type::Struct(name) => format!("v1.{name}"),
    }
}

/// What is written after `value` was read.
fn read(value: Value, kind: &Type, at: &mut Place) -> Result<Value, String> {
    if value.is_null() {
        return Ok(zero(kind));
    }
    Ok(match (kind, value) {
        (Type::Pointer(inner), value) => read(value, inner, at)?,
        (Type::Any, value) => value,
        (Type::Text, value @ Value::String(_)) | (Type::Bool, value @ Value::Bool(_)) => value,
        (Type::Int(least, most), Value::Number(number))
            if number.as_i64().is_some_and(|number| (*least..=*most).contains(&number)) =>
        {
            Value::Number(number)
        }
        (Type::Bytes, Value::String(text)) => read_bytes(text)?,
        // As Go reads them.
        (Type::Bytes, Value::Array(items)) if items.iter().all(|item| byte(item).is_some()) => {
            STANDARD.encode(items.iter().filter_map(byte).collect::<Vec<_>>()).into()
        }
        (Type::Amount, value @ (Value::String(_) | Value::Number(_))) => {
            Quantity::from_value(&value).map_err(|error| error.to_string())?.to_string().into()
        }
        (Type::Port, value @ Value::String(_)) => value,
        (Type::Port, Value::Number(number))
            if number.as_i64().is_some_and(|port| i32::try_from(port).is_ok()) =>
        {
            Value::Number(number)
        }
        (Type::Time, Value::String(text)) => read_time(&text)?.into(),
        (Type::MicroTime, value @ Value::String(_)) => value,
        (Type::List(item), Value::Array(items)) => {
            items.into_iter().map(|value| read(value, item, at)).collect::<Result<_, _>>()?
        }
        (Type::Map(inner), Value::Object(map)) => {
            let entries = map.into_iter().map(|(key, value)| Ok((key, read(value, inner, at)?)));
            Value::Object(entries.collect::<Result<_, String>>()?)
        }
        (Type::Struct(name), Value::Object(map)) => Value::Object(read_struct(map, name, at)?),
        (kind, value) => return Err(at.complaint(&value, kind)),
    })
}

fn read_struct(
    mut map: Map<String, Value>,
    name: &'static str,
    at: &mut Place,
) -> Result<Map<String, Value>, String> {
    let fields = TABLE.get(name).map_or(&[][..], Vec::as_slice);
    let mut written = Map::new();
    let (outer, length) = (std::mem::replace(&mut at.outer, name), at.path.len());
    for field in fields {
        at.path.push('.');
        at.path.push_str(field.name);
        let value = read(map.remove(field.name).unwrap_or_default(), &field.kind, at)?;
        at.path.truncate(length);
        let is_left_out = (field.omit_empty && is_empty(&field.kind, &value))
            || (field.omit_zero && value == zero(&field.kind));
        if !is_left_out {
            written.insert(field.name.to_owned(), value);
        }
    }
    at.outer = outer;
    // What is left is unknown.
    written.extend(map.into_iter().filter(|(name, value)| !value.is_null() && !is_directive(name)));
    Ok(written)
}

/// What a strategic merge patch says to the server, and what stays behind where it is merged with nothing.
fn is_directive(name: &str) -> bool {
    matches!(name, "$patch" | "$retainKeys")
        || name.starts_with("$setElementOrder/")
        || name.starts_with("$deleteFromPrimitiveList/")
}

/// What is written for a value that was never set.
fn zero(kind: &Type) -> Value {
    match kind {
        Type::Text => "".into(),
        Type::Bool => false.into(),
        Type::Int(..) | Type::Port => 0.into(),
        Type::Amount => "0".into(),
        // In a map, where it can be seen, Kubernetes' own store makes empty bytes of none.
        Type::Bytes => "".into(),
        Type::Time | Type::MicroTime | Type::Any | Type::Pointer(_) | Type::List(_) | Type::Map(_) => {
            Value::Null
        }
        Type::Struct(name) => {
            let mut at = Place { outer: name, path: String::new() };
            read_struct(Map::new(), name, &mut at).map_or(Value::Null, Value::Object)
        }
    }
}

fn is_empty(kind: &Type, value: &Value) -> bool {
    match kind {
        Type::Pointer(_) | Type::Any => value.is_null(),
        Type::Time | Type::MicroTime | Type::Amount | Type::Port | Type::Struct(_) => false,
        Type::Text | Type::Bool | Type::Int(..) | Type::Bytes => *value == zero(kind),
        Type::List(_) => value.as_array().is_none_or(Vec::is_empty),
        Type::Map(_) => value.as_object().is_none_or(Map::is_empty),
    }
}

fn byte(value: &Value) -> Option<u8> {
    value.as_u64().and_then(|number| u8::try_from(number).ok())
}

fn read_bytes(text: String) -> Result<Value, String> {
    match STANDARD.decode(&text) {
        Ok(_) => Ok(text.into()),
        Err(base64::DecodeError::InvalidByte(at, _)) => {
            Err(format!("illegal base64 data at input byte {at}"))
        }
        // Four characters are three bytes: the last group is not whole.
        Err(_) => Err(format!("illegal base64 data at input byte {}", text.len() / 4 * 4)),
    }
}

/// A moment to the second, in UTC.
fn read_time(text: &str) -> Result<String, String> {
    const LAYOUT: &str = "2006-01-02T15:04:05Z07:00";
    let complaint = || format!("parsing time {text:?} as {LAYOUT:?}: cannot parse {text:?} as \"2006\"");
    if !looks_like_time(text) {
        return Err(complaint());
    }
    let moment: Timestamp = text.parse().map_err(|_| complaint())?;
    Ok(moment.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Whether it is written as RFC 3339 wants it. Others would be read as well, by us and not by Kubernetes.
fn looks_like_time(text: &str) -> bool {
    let digits_as = |text: &str, form: &str| {
        text.len() == form.len()
            && text.bytes().zip(form.bytes()).all(|(is, form)| match form {
                b'0' => is.is_ascii_digit(),
                form => is == form,
            })
    };
    let Some((seconds, rest)) = text.split_at_checked("2006-01-02T15:04:05".len()) else { return false };
    let rest = match rest.strip_prefix('.') {
        Some(fraction) => {
            let zone = fraction.trim_start_matches(|letter: char| letter.is_ascii_digit());
            if zone.len() == fraction.len() {
                return false;
            }
            zone
        }
        None => rest,
    };
    digits_as(seconds, "0000-00-00T00:00:00")
        && !seconds.ends_with(":60")
        && (rest == "Z" || digits_as(rest, "+00:00") || digits_as(rest, "-00:00"))
}
