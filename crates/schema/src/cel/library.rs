//! The door to the function library.
//!
//! Values cross it by copy, so their size is charged. What comes back and has no counterpart here (a quantity, a
//! timestamp) is carried around as it is.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::rc::Rc;
use std::sync::{Arc, LazyLock};

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, Expr, IdedExpr};
use kube_cel::cel::objects::{Key as CelKey, Map, OptionalValue};
use kube_cel::cel::{self, Context, functions};

use super::budget::{Budget, Stop, tenth};
use super::eval::Run;
use super::quantity;
use super::value::{Key, Result, Value};
use crate::node::Nodes;

static FUNCTIONS: LazyLock<Context<'static>> = LazyLock::new(|| Context::default().with_all());

/// Names of the arguments on the other side.
const NAMES: [&str; 4] = ["a0", "a1", "a2", "a3"];

/// Calls a function of the library.
pub(super) fn call<'a>(run: &mut Run<'a, '_>, name: &str, on_value: bool, args: &[Value<'a>]) -> Result<'a> {
    run.budget.spend(1)?;
    if args.len() > NAMES.len() {
        return Err(Stop::no_such_overload());
    }
    if let ("isCIDR" | "cidr", Some(text)) = (name, args.first().and_then(Value::text))
        && !is_strict_cidr(text)
    {
        return match name {
            "isCIDR" => Ok(Value::Bool(false)),
            _ => {
                Err(Stop::error(format!("network address parse error during conversion from string: {text}")))
            }
        };
    }
    if let ("isQuantity" | "quantity", Some(text)) = (name, args.first().and_then(Value::text))
        && !quantity::is_countable(text)
    {
        return match name {
            "isQuantity" => Ok(Value::Bool(true)),
            _ => Err(Stop::error(format!("quantity out of range: {text}"))),
        };
    }
    let mut context = FUNCTIONS.new_inner_scope();
    for (name, arg) in NAMES.into_iter().zip(args) {
        let value = give(run.nodes, &mut run.budget, arg)?;
        context.add_variable_from_value(name, value);
    }
    let mut idents = NAMES[..args.len()].iter().map(|name| ided(Expr::Ident((*name).to_owned())));
    let target = if on_value { idents.next().map(Box::new) } else { None };
    let call = ided(Expr::Call(CallExpr { func_name: name.to_owned(), target, args: idents.collect() }));
    let found = cel::Value::resolve(&call, &context).map_err(|error| Stop::Error(error.to_string()))?;
    take(&mut run.budget, &found)
}

/// What is wrong with a text that should have a named format.
pub(super) fn validate<'a>(run: &mut Run<'a, '_>, format: &str, text: &Value<'a>) -> Result<'a> {
    let format = call(run, &format!("format.{format}"), false, &[])?;
    call(run, "validate", true, &[format, text.clone()])
}

/// The library tolerates leading zeros in an address, Kubernetes does not.
fn is_strict_cidr(text: &str) -> bool {
    text.split_once('/').is_some_and(|(address, _)| address.parse::<IpAddr>().is_ok())
}

fn ided(expr: Expr) -> IdedExpr {
    IdedExpr { id: 0, expr }
}

/// A value for the other side.
fn give(nodes: &Nodes, budget: &mut Budget, value: &Value<'_>) -> std::result::Result<cel::Value, Stop> {
    budget.spend(1)?;
    Ok(match value {
        Value::Null => cel::Value::Null,
        Value::Bool(bool) => cel::Value::Bool(*bool),
        Value::Int(int) => cel::Value::Int(*int),
        Value::Uint(uint) => cel::Value::UInt(*uint),
        Value::Double(double) => cel::Value::Float(*double),
        Value::Bytes(bytes) => {
            budget.spend_text(bytes.len())?;
            cel::Value::Bytes(Arc::new(bytes.to_vec()))
        }
        Value::Duration(nanos) => give_duration(*nanos)?,
        Value::Foreign(value) => value.clone(),
        Value::Optional(inner) => {
            let inner = inner.as_ref().map(|inner| give(nodes, budget, inner)).transpose()?;
            cel::Value::Opaque(Arc::new(inner.map_or_else(OptionalValue::none, OptionalValue::of)))
        }
        Value::Type(_) | Value::Url(_) | Value::Format(_) | Value::Unknown(_) => {
            return Err(Stop::no_such_overload());
        }
        Value::Text(_) | Value::Made(_) => {
            let text = value.text().unwrap_or_default();
            budget.spend_text(text.len())?;
            cel::Value::String(Arc::new(text.to_owned()))
        }
        Value::Array(..) | Value::List(..) => {
            let items = value.items(nodes)?.unwrap_or_default();
            let items: std::result::Result<Vec<_>, _> =
                items.iter().map(|item| give(nodes, budget, item)).collect();
            cel::Value::List(Arc::new(items?))
        }
        Value::Object(..) | Value::Map(_) => {
            let mut map = std::collections::HashMap::new();
            for key in value.keys(nodes).unwrap_or_default() {
                let Some(entry) = value.entry(nodes, &key).transpose()? else { continue };
                let entry = give(nodes, budget, &entry)?;
                map.insert(
                    match key {
                        Key::Bool(bool) => CelKey::Bool(bool),
                        Key::Int(int) => CelKey::Int(int),
                        Key::Uint(uint) => CelKey::Uint(uint),
                        Key::Text(text) => CelKey::String(Arc::new(text.to_string())),
                    },
                    entry,
                );
            }
            cel::Value::Map(Map { map: Arc::new(map) })
        }
    })
}

/// A value from the other side.
fn take<'a>(budget: &mut Budget, value: &cel::Value) -> Result<'a> {
    budget.spend(1)?;
    Ok(match value {
        cel::Value::Null => Value::Null,
        cel::Value::Bool(bool) => Value::Bool(*bool),
        cel::Value::Int(int) => Value::Int(*int),
        cel::Value::UInt(uint) => Value::Uint(*uint),
        cel::Value::Float(float) => Value::Double(*float),
        cel::Value::String(text) => {
            budget.spend(tenth(text.len()))?;
            Value::made(text.as_str())
        }
        cel::Value::Bytes(bytes) => Value::Bytes(bytes.as_slice().into()),
        cel::Value::Duration(duration) => match duration.num_nanoseconds() {
            Some(nanos) => Value::Duration(nanos),
            None => return Err(Stop::error("duration out of range")),
        },
        cel::Value::List(items) => {
            let items: std::result::Result<Vec<_>, _> = items.iter().map(|item| take(budget, item)).collect();
            Value::list(items?)
        }
        cel::Value::Map(map) => {
            let mut out = BTreeMap::new();
            for (key, entry) in map.map.iter() {
                let key = match key {
                    CelKey::Bool(bool) => Key::Bool(*bool),
                    CelKey::Int(int) => Key::Int(*int),
                    CelKey::Uint(uint) => Key::Uint(*uint),
                    CelKey::String(text) => Key::Text(text.as_str().into()),
                };
                out.insert(key, take(budget, entry)?);
            }
            Value::Map(Rc::new(out))
        }
        cel::Value::Opaque(_) => match <&OptionalValue>::try_from(value) {
            Ok(optional) => {
                let inner = optional.value().map(|inner| take(budget, inner)).transpose()?;
                Value::Optional(inner.map(Rc::new))
            }
            Err(_) => Value::Foreign(value.clone()),
        },
        other => Value::Foreign(other.clone()),
    })
}

fn give_duration(nanos: i64) -> std::result::Result<cel::Value, Stop> {
    functions::duration(Arc::new(format!("{nanos}ns"))).map_err(|_| Stop::error("duration out of range"))
}

/// A point in time, written as RFC 3339 says. The calendar is asked in UTC, whatever the text's own offset is.
pub(super) fn timestamp<'a>(text: &str) -> Option<Value<'a>> {
    match functions::timestamp(Arc::new(text.to_owned())).ok()? {
        cel::Value::Timestamp(time) => {
            Some(Value::Foreign(cel::Value::Timestamp(time.to_utc().fixed_offset())))
        }
        _ => None,
    }
}

/// A point in time, moved.
pub(super) fn shift<'a>(time: &cel::Value, nanos: i64) -> Result<'a> {
    let moved = time.clone() + give_duration(nanos)?;
    moved.map(Value::Foreign).map_err(|_| Stop::error("timestamp out of range"))
}

/// How far two points in time are apart.
pub(super) fn between<'a>(later: &cel::Value, earlier: &cel::Value) -> Result<'a> {
    match later.clone() - earlier.clone() {
        Ok(cel::Value::Duration(duration)) => duration
            .num_nanoseconds()
            .map(Value::Duration)
            .ok_or_else(|| Stop::error("duration out of range")),
        _ => Err(Stop::no_such_overload()),
    }
}

/// A point in time by its seconds since 1970.
pub(super) fn from_unix<'a>(seconds: i64) -> Result<'a> {
    let Some(Value::Foreign(epoch)) = timestamp("1970-01-01T00:00:00Z") else {
        return Err(Stop::error("timestamp out of range"));
    };
    let duration = functions::duration(Arc::new(format!("{seconds}s")));
    let moved = duration.and_then(|duration| epoch + duration);
    moved.map(Value::Foreign).map_err(|_| Stop::error("timestamp out of range"))
}

/// The seconds since 1970.
pub(super) fn to_unix<'a>(time: &cel::Value) -> Result<'a> {
    match time {
        cel::Value::Timestamp(time) => Ok(Value::Int(time.timestamp())),
        _ => Err(Stop::no_such_overload()),
    }
}

/// RFC 3339 with as many decimals as needed.
pub(super) fn timestamp_text(time: &cel::Value) -> String {
    match time {
        cel::Value::Timestamp(time) => time.to_rfc3339().replace("+00:00", "Z"),
        other => format!("{other:?}"),
    }
}

pub(super) fn type_name(value: &cel::Value) -> &'static str {
    match value {
        cel::Value::Timestamp(_) => "google.protobuf.Timestamp",
        cel::Value::Duration(_) => "google.protobuf.Duration",
        _ => "opaque",
    }
}
