//! Conversions between types: `int("3")`, `string(1.5)`, `duration("1h")`.

use safepoint_machinery::go;

use crate::cel::budget::Stop;
use crate::cel::eval::Run;
use crate::cel::library;
use crate::cel::value::{Result, Value};
use crate::format::time;

pub(super) fn convert<'a>(run: &mut Run<'a, '_>, name: &'static str, value: &Value<'a>) -> Result<'a> {
    match (name, value) {
        ("int", Value::Int(_))
        | ("uint", Value::Uint(_))
        | ("double", Value::Double(_))
        | ("string", Value::Text(_) | Value::Made(_))
        | ("bytes", Value::Bytes(_))
        | ("bool", Value::Bool(_))
        | ("duration", Value::Duration(_)) => Ok(value.clone()),
        ("int", _) => to_int(value),
        ("uint", _) => to_uint(value),
        ("double", _) => to_double(value),
        ("string", _) => to_text(run, value),
        ("bytes", _) => match value.text() {
            Some(text) => Ok(Value::Bytes(text.as_bytes().into())),
            None => Err(Stop::no_such_overload()),
        },
        ("bool", _) => match value.text() {
            Some("1" | "t" | "T" | "true" | "TRUE" | "True") => Ok(Value::Bool(true)),
            Some("0" | "f" | "F" | "false" | "FALSE" | "False") => Ok(Value::Bool(false)),
            Some(_) => Err(failed("bool")),
            None => Err(Stop::no_such_overload()),
        },
        ("duration", Value::Int(seconds)) => seconds
            .checked_mul(1_000_000_000)
            .map(Value::Duration)
            .ok_or_else(|| Stop::error("duration out of range")),
        ("duration", _) => match value.text() {
            Some(text) => {
                time::go_duration(text).map(Value::Duration).ok_or_else(|| failed("google.protobuf.Duration"))
            }
            None => Err(Stop::no_such_overload()),
        },
        ("timestamp", Value::Foreign(_)) => Ok(value.clone()),
        ("timestamp", Value::Int(seconds)) => library::from_unix(*seconds),
        _ => match value.text() {
            Some(text) => library::timestamp(text).ok_or_else(|| failed("google.protobuf.Timestamp")),
            None => Err(Stop::no_such_overload()),
        },
    }
}

fn failed(to: &str) -> Stop {
    Stop::error(format!("type conversion error from 'string' to '{to}'"))
}

fn overflow() -> Stop {
    Stop::error("integer overflow")
}

#[expect(clippy::cast_possible_truncation, reason = "the range is checked before")]
fn to_int<'a>(value: &Value<'a>) -> Result<'a> {
    match value {
        Value::Uint(uint) => i64::try_from(*uint).map(Value::Int).map_err(|_| overflow()),
        // The bounds are exact in a float and themselves out of reach.
        Value::Double(double)
            if *double > -9_223_372_036_854_775_808.0 && *double < 9_223_372_036_854_775_808.0 =>
        {
            Ok(Value::Int(*double as i64))
        }
        Value::Double(_) => Err(overflow()),
        Value::Duration(nanos) => Ok(Value::Int(*nanos)),
        Value::Foreign(time) => library::to_unix(time),
        other => match other.text() {
            Some(text) => text.parse().map(Value::Int).map_err(|_| failed("int")),
            None => Err(Stop::no_such_overload()),
        },
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked before")]
fn to_uint<'a>(value: &Value<'a>) -> Result<'a> {
    let overflow = || Stop::error("unsigned integer overflow");
    match value {
        Value::Int(int) => u64::try_from(*int).map(Value::Uint).map_err(|_| overflow()),
        Value::Double(double) if *double >= 0.0 && *double < 18_446_744_073_709_551_616.0 => {
            Ok(Value::Uint(*double as u64))
        }
        Value::Double(_) => Err(overflow()),
        other => match other.text() {
            Some(text) => text.parse().map(Value::Uint).map_err(|_| failed("uint")),
            None => Err(Stop::no_such_overload()),
        },
    }
}

#[expect(clippy::cast_precision_loss, reason = "that is what the conversion means")]
fn to_double<'a>(value: &Value<'a>) -> Result<'a> {
    match value {
        Value::Int(int) => Ok(Value::Double(*int as f64)),
        Value::Uint(uint) => Ok(Value::Double(*uint as f64)),
        other => match other.text() {
            Some(text) => text.parse().map(Value::Double).map_err(|_| failed("double")),
            None => Err(Stop::no_such_overload()),
        },
    }
}

pub(super) fn to_text<'a>(run: &mut Run<'a, '_>, value: &Value<'a>) -> Result<'a> {
    Ok(Value::made(match value {
        Value::Bool(bool) => bool.to_string(),
        Value::Int(int) => int.to_string(),
        Value::Uint(uint) => uint.to_string(),
        Value::Double(double) => go::float(*double),
        Value::Duration(nanos) => seconds(*nanos),
        Value::Bytes(bytes) => match std::str::from_utf8(bytes) {
            Ok(text) => text.to_owned(),
            Err(_) => return Err(Stop::error("invalid UTF-8 in bytes, cannot convert to string")),
        },
        Value::Foreign(time) if library::type_name(time) == "google.protobuf.Timestamp" => {
            library::timestamp_text(time)
        }
        Value::Foreign(_) => return library::call(run, "string", false, std::slice::from_ref(value)),
        _ => return Err(Stop::no_such_overload()),
    }))
}

/// A duration in seconds, with as many decimals as it needs.
fn seconds(nanos: i64) -> String {
    let (whole, part) = (nanos / 1_000_000_000, (nanos % 1_000_000_000).unsigned_abs());
    let sign = if nanos < 0 { "-" } else { "" };
    let decimals = format!("{part:09}");
    let decimals = decimals.trim_end_matches('0');
    let point = if decimals.is_empty() { "" } else { "." };
    format!("{sign}{}{point}{decimals}s", whole.unsigned_abs())
}
