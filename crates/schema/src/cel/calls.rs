//! Calls of functions.
//!
//! Functions on text, lists and numbers are here: they are charged for before they work, and they read the object
//! without copying it. What is left (quantities, addresses, versions, names, calendars) belongs to the function library.

mod convert;
mod format;
mod lists;
mod named;
mod strings;

#[cfg(test)]
mod tests;

pub(super) use named::Url;

use super::budget::Stop;
use super::eval::Run;
use super::library;
use super::value::{Result, Value};

/// Calls a function; the receiver is the first argument.
pub(super) fn call<'a>(
    run: &mut Run<'a, '_>,
    name: &'static str,
    on_value: bool,
    args: &[Value<'a>],
) -> Result<'a> {
    match (name, args) {
        ("size", [of]) => {
            run.budget.spend(1)?;
            size(of)
        }
        ("dyn", [value]) => Ok(value.clone()),
        ("type", [value]) => Ok(Value::Type(value.type_name())),
        ("hasValue", [Value::Optional(inner)]) => Ok(Value::Bool(inner.is_some())),
        ("value", [Value::Optional(inner)]) => match inner {
            Some(value) => Ok((**value).clone()),
            None => Err(Stop::error("optional.none() dereference")),
        },
        ("optional.none", []) => Ok(Value::Optional(None)),
        ("optional.of", [value]) => Ok(Value::some(value.clone())),
        ("optional.ofNonZeroValue", [value]) if is_zero(value) => Ok(Value::Optional(None)),
        ("optional.ofNonZeroValue", [value]) => Ok(Value::some(value.clone())),
        ("int" | "uint" | "double" | "string" | "bytes" | "bool" | "duration" | "timestamp", [value]) => {
            run.budget.spend(1)?;
            run.budget.spend_text(value.size())?;
            convert::convert(run, name, value)
        }
        ("getHours" | "getMinutes" | "getSeconds" | "getMilliseconds", [Value::Duration(nanos)]) => {
            run.budget.spend(1)?;
            Ok(Value::Int(match name {
                "getHours" => nanos / 3_600_000_000_000,
                "getMinutes" => nanos / 60_000_000_000,
                "getSeconds" => nanos / 1_000_000_000,
                _ => nanos / 1_000_000,
            }))
        }
        _ => {
            let own = strings::call(run, name, args).or_else(|| lists::call(run, name, args));
            if let Some(result) = own.or_else(|| named::call(run, name, args)) {
                return result;
            }
            library::call(run, name, on_value, args)
        }
    }
}

fn size<'a>(of: &Value<'a>) -> Result<'a> {
    let length = match of {
        Value::Text(_) | Value::Made(_) => of.text().unwrap_or_default().chars().count(),
        Value::Bytes(_) | Value::Array(..) | Value::List(..) | Value::Map(_) | Value::Object(..) => of.size(),
        _ => return Err(Stop::no_such_overload()),
    };
    Ok(Value::Int(length.try_into().unwrap_or(i64::MAX)))
}

fn is_zero(value: &Value<'_>) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(bool) => !bool,
        Value::Int(int) => *int == 0,
        Value::Uint(uint) => *uint == 0,
        Value::Double(double) => *double == 0.0,
        Value::Duration(nanos) => *nanos == 0,
        Value::Text(_) | Value::Made(_) | Value::Bytes(_) => value.size() == 0,
        Value::Array(..) | Value::List(..) | Value::Map(_) | Value::Object(..) => value.size() == 0,
        Value::Optional(inner) => inner.is_none(),
        Value::Type(_) | Value::Url(_) | Value::Format(_) | Value::Unknown(_) | Value::Foreign(_) => false,
    }
}
