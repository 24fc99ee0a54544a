//! Operators on values: equality, order, arithmetic, membership.

use std::cmp::Ordering;
use std::collections::HashMap;

use kube_cel::cel;
use safepoint_machinery::go;
use serde_json::Value as Json;

use super::ast::Operator;
use super::budget::{Budget, Stop};
use super::library;
use super::shape::Shape;
use super::value::{Key, Result, Value};
use crate::node::{ListKind, Nodes};

/// Applies an operator other than the logical ones.
pub(super) fn binary<'a>(
    nodes: &Nodes,
    budget: &mut Budget,
    operator: Operator,
    left: &Value<'a>,
    right: &Value<'a>,
) -> Result<'a> {
    let ordered = |budget: &mut Budget, accept: fn(Ordering) -> bool| {
        budget.spend_text(left.size().min(right.size()))?;
        match compare(left, right) {
            Some(order) => Ok(Value::Bool(order.is_some_and(accept))),
            None => Err(Stop::no_such_overload()),
        }
    };
    match operator {
        Operator::Equal => equal(nodes, budget, left, right).map(Value::Bool),
        Operator::NotEqual => equal(nodes, budget, left, right).map(|same| Value::Bool(!same)),
        Operator::Less => ordered(budget, Ordering::is_lt),
        Operator::LessEqual => ordered(budget, Ordering::is_le),
        Operator::Greater => ordered(budget, Ordering::is_gt),
        Operator::GreaterEqual => ordered(budget, Ordering::is_ge),
        Operator::In => contains(nodes, budget, right, left).map(Value::Bool),
        Operator::Add => add(nodes, budget, left, right),
        Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
            budget.spend(1)?;
            arithmetic(operator, left, right)
        }
    }
}

/// Whether two values are equal; numbers of different types are if they are the same number.
pub(super) fn equal(
    nodes: &Nodes,
    budget: &mut Budget,
    left: &Value<'_>,
    right: &Value<'_>,
) -> std::result::Result<bool, Stop> {
    use Value::{
        Array, Bool, Bytes, Duration, Foreign, Format, List, Map, Null, Object, Optional, Type, Unknown, Url,
    };
    budget.spend(1)?;
    if let (Some(left), Some(right)) = (left.text(), right.text()) {
        budget.spend_text(left.len().min(right.len()))?;
        return Ok(left == right);
    }
    if let (Some(left), Some(right)) = (number(left), number(right)) {
        return Ok(compare_numbers(left, right) == Some(Ordering::Equal));
    }
    match (left, right) {
        (Null, Null) => Ok(true),
        (Bool(left), Bool(right)) => Ok(left == right),
        (Bytes(left), Bytes(right)) => Ok(left == right),
        (Duration(left), Duration(right)) => Ok(left == right),
        (Type(left), Type(right)) => Ok(left == right),
        (Foreign(left), Foreign(right)) => Ok(left == right),
        (Url(left), Url(right)) => Ok(left == right),
        (Format(left), Format(right)) => Ok(left == right),
        (Unknown(left), Unknown(right)) => Ok(left == right),
        (Optional(left), Optional(right)) => match (left, right) {
            (None, None) => Ok(true),
            (Some(left), Some(right)) => equal(nodes, budget, left, right),
            _ => Ok(false),
        },
        (Array(..) | List(..), Array(..) | List(..)) => equal_lists(nodes, budget, left, right),
        (Object(map, shape), Object(other, _)) => {
            equal_objects(nodes, budget, left, (map, *shape), right, other)
        }
        (Object(..) | Map(_), Object(..) | Map(_)) => {
            let (Some(keys), Some(others)) = (left.keys(nodes), right.keys(nodes)) else { return Ok(false) };
            if keys.len() != others.len() {
                return Ok(false);
            }
            for key in keys {
                let (Some(left), Some(right)) = (left.entry(nodes, &key), right.entry(nodes, &key)) else {
                    return Ok(false);
                };
                if !equal(nodes, budget, &left?, &right?)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// Fields with a schema are compared as rules see them, the others as they are.
fn equal_objects(
    nodes: &Nodes,
    budget: &mut Budget,
    left: &Value<'_>,
    (map, shape): (&serde_json::Map<String, Json>, Shape),
    right: &Value<'_>,
    other: &serde_json::Map<String, Json>,
) -> std::result::Result<bool, Stop> {
    if map.len() != other.len() {
        return Ok(false);
    }
    for (name, json) in map {
        budget.spend(1)?;
        if shape.property(nodes, name).is_none() {
            if other.get(name).is_some_and(|other| other != json) {
                return Ok(false);
            }
            continue;
        }
        let same = match (left.property(nodes, name), right.property(nodes, name)) {
            (None, None) => true,
            (Some(left), Some(right)) => equal(nodes, budget, &left?, &right?)?,
            _ => false,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

/// The rules for telling items apart that a list brings with it.
fn list_kind<'n>(nodes: &'n Nodes, list: &Value<'_>) -> &'n ListKind {
    let shape = match list {
        Value::Array(_, shape) => Some(*shape),
        Value::List(_, shape) => *shape,
        _ => None,
    };
    shape.and_then(|shape| shape.node(nodes)).map_or(&ListKind::Atomic, |node| &node.list)
}

/// What tells an item of such a list apart, as text; items that have no identity have none in common.
fn identity(nodes: &Nodes, kind: &ListKind, item: &Value<'_>) -> Option<String> {
    match kind {
        ListKind::Atomic => None,
        ListKind::Set => plain(nodes, item).map(|json| go::json(&json)),
        ListKind::Map(keys) => {
            let parts: Vec<Json> = keys
                .iter()
                .map(|key| match item.property(nodes, key) {
                    Some(Ok(value)) => plain(nodes, &value).unwrap_or_default(),
                    _ => Json::Null,
                })
                .collect();
            Some(go::json(&Json::Array(parts)))
        }
    }
}

/// A scalar as JSON.
fn plain(nodes: &Nodes, value: &Value<'_>) -> Option<Json> {
    match value {
        Value::Bool(bool) => Some(Json::Bool(*bool)),
        Value::Int(int) => Some((*int).into()),
        Value::Double(double) => Some((*double).into()),
        Value::Object(map, _) => Some(Json::Object((*map).clone())),
        Value::Array(items, _) => Some(Json::Array(items.to_vec())),
        Value::List(..) => {
            let items = value.items(nodes).ok().flatten()?;
            items.iter().map(|item| plain(nodes, item)).collect::<Option<Vec<_>>>().map(Json::Array)
        }
        other => other.text().map(Json::from),
    }
}

fn equal_lists(
    nodes: &Nodes,
    budget: &mut Budget,
    left: &Value<'_>,
    right: &Value<'_>,
) -> std::result::Result<bool, Stop> {
    let length = left.list_len().unwrap_or_default();
    if Some(length) != right.list_len() {
        return Ok(false);
    }
    let kind = list_kind(nodes, left);
    if *kind == ListKind::Atomic {
        for index in 0..length {
            let (Some(left), Some(right)) = (left.item(nodes, index), right.item(nodes, index)) else {
                return Ok(false);
            };
            if !equal(nodes, budget, &left?, &right?)? {
                return Ok(false);
            }
        }
        return Ok(true);
    }
    // The order of a set or a map does not matter.
    let known = by_identity(nodes, budget, kind, left)?;
    for index in 0..length {
        budget.spend(1)?;
        let Some(item) = right.item(nodes, index).transpose()? else { return Ok(false) };
        let found = identity(nodes, kind, &item).and_then(|identity| known.get(&identity));
        let same = match found {
            None => false,
            Some(_) if *kind == ListKind::Set => true,
            Some(value) => equal(nodes, budget, value, &item)?,
        };
        if !same {
            return Ok(false);
        }
    }
    Ok(true)
}

fn by_identity<'a>(
    nodes: &Nodes,
    budget: &mut Budget,
    kind: &ListKind,
    list: &Value<'a>,
) -> std::result::Result<HashMap<String, Value<'a>>, Stop> {
    let mut known = HashMap::new();
    for item in list.items(nodes)?.unwrap_or_default() {
        budget.spend(1)?;
        if let Some(identity) = identity(nodes, kind, &item) {
            known.insert(identity, item);
        }
    }
    Ok(known)
}

/// The order of two values; the inner `None` is for a float that is no number.
pub(super) fn compare(left: &Value<'_>, right: &Value<'_>) -> Option<Option<Ordering>> {
    if let (Some(left), Some(right)) = (left.text(), right.text()) {
        return Some(Some(left.cmp(right)));
    }
    if let (Some(left), Some(right)) = (number(left), number(right)) {
        return Some(compare_numbers(left, right));
    }
    match (left, right) {
        (Value::Bool(left), Value::Bool(right)) => Some(Some(left.cmp(right))),
        (Value::Bytes(left), Value::Bytes(right)) => Some(Some(left.cmp(right))),
        (Value::Duration(left), Value::Duration(right)) => Some(Some(left.cmp(right))),
        (Value::Foreign(left), Value::Foreign(right)) => left.partial_cmp(right).map(Some),
        _ => None,
    }
}

/// An order for sorting comparable values. It is total also for floats that are no numbers and for numbers of mixed
/// types, because a sort may refuse any other.
pub(super) fn order(left: &Value<'_>, right: &Value<'_>) -> Ordering {
    let key = |number: Number| match number {
        #[expect(clippy::cast_precision_loss, reason = "the exact value breaks the tie")]
        Number::Int(int) => (int as f64, int),
        #[expect(clippy::cast_possible_truncation, reason = "casts saturate")]
        Number::Float(float) => (float, float as i128),
    };
    if let (Some(left), Some(right)) = (number(left), number(right)) {
        let ((left, exact), (right, other)) = (key(left), key(right));
        return left.total_cmp(&right).then(exact.cmp(&other));
    }
    compare(left, right).flatten().unwrap_or(Ordering::Equal)
}

#[derive(Clone, Copy)]
enum Number {
    Int(i128),
    Float(f64),
}

fn number(value: &Value<'_>) -> Option<Number> {
    match value {
        Value::Int(int) => Some(Number::Int(i128::from(*int))),
        Value::Uint(uint) => Some(Number::Int(i128::from(*uint))),
        Value::Double(double) => Some(Number::Float(*double)),
        _ => None,
    }
}

#[expect(clippy::cast_precision_loss, reason = "Go compares an integer with a float as floats, too")]
fn compare_numbers(left: Number, right: Number) -> Option<Ordering> {
    match (left, right) {
        (Number::Int(left), Number::Int(right)) => Some(left.cmp(&right)),
        (Number::Float(left), Number::Float(right)) => left.partial_cmp(&right),
        (Number::Int(left), Number::Float(right)) => (left as f64).partial_cmp(&right),
        (Number::Float(left), Number::Int(right)) => left.partial_cmp(&(right as f64)),
    }
}

/// Whether a list holds the value or a map the key.
fn contains(
    nodes: &Nodes,
    budget: &mut Budget,
    container: &Value<'_>,
    wanted: &Value<'_>,
) -> std::result::Result<bool, Stop> {
    if let Some(length) = container.list_len() {
        for index in 0..length {
            let Some(item) = container.item(nodes, index) else { return Ok(false) };
            if equal(nodes, budget, &item?, wanted)? {
                return Ok(true);
            }
        }
        return Ok(false);
    }
    budget.spend(1)?;
    match container {
        Value::Map(_) | Value::Object(..) => {
            Ok(wanted.as_key().is_some_and(|key: Key| container.entry(nodes, &key).is_some()))
        }
        _ => Err(Stop::no_such_overload()),
    }
}

fn add<'a>(nodes: &Nodes, budget: &mut Budget, left: &Value<'a>, right: &Value<'a>) -> Result<'a> {
    budget.spend(1)?;
    if let (Some(one), Some(two)) = (left.text(), right.text()) {
        budget.spend_text(one.len() + two.len())?;
        return Ok(Value::made(format!("{one}{two}")));
    }
    match (left, right) {
        (Value::Bytes(left), Value::Bytes(right)) => {
            budget.spend_text(left.len() + right.len())?;
            Ok(Value::Bytes([&**left, &**right].concat().into()))
        }
        (Value::Array(..) | Value::List(..), Value::Array(..) | Value::List(..)) => {
            // Charged before it is built: a list can be doubled again and again.
            budget.spend((left.size() + right.size()) as u64)?;
            join(nodes, budget, left, right)
        }
        (Value::Foreign(time), Value::Duration(nanos)) | (Value::Duration(nanos), Value::Foreign(time)) => {
            library::shift(time, *nanos)
        }
        _ => arithmetic(Operator::Add, left, right),
    }
}

/// Two lists in a row; a set or a map keeps one item per identity, the later one in the place of the earlier.
fn join<'a>(nodes: &Nodes, budget: &mut Budget, left: &Value<'a>, right: &Value<'a>) -> Result<'a> {
    let kind = list_kind(nodes, left);
    let mut items = left.items(nodes)?.unwrap_or_default();
    let mut places: HashMap<String, usize> = HashMap::new();
    if *kind != ListKind::Atomic {
        for (place, item) in items.iter().enumerate() {
            budget.spend(1)?;
            places.extend(identity(nodes, kind, item).map(|identity| (identity, place)));
        }
    }
    for item in right.items(nodes)?.unwrap_or_default() {
        match identity(nodes, kind, &item) {
            Some(identity) => match places.get(&identity) {
                Some(place) => items[*place] = item,
                None => {
                    places.insert(identity, items.len());
                    items.push(item);
                }
            },
            None => items.push(item),
        }
    }
    let shape = match left {
        Value::Array(_, shape) => Some(*shape),
        Value::List(_, shape) => *shape,
        _ => None,
    };
    Ok(Value::List(items.into(), shape))
}

pub(super) fn arithmetic<'a>(operator: Operator, left: &Value<'a>, right: &Value<'a>) -> Result<'a> {
    let by_zero = match operator {
        Operator::Remainder => "modulus by zero",
        _ => "division by zero",
    };
    let divides = matches!(operator, Operator::Divide | Operator::Remainder);
    match (left, right) {
        (_, Value::Int(0) | Value::Uint(0)) if divides => Err(Stop::error(by_zero)),
        (Value::Int(left), Value::Int(right)) => match operator {
            Operator::Add => left.checked_add(*right),
            Operator::Subtract => left.checked_sub(*right),
            Operator::Multiply => left.checked_mul(*right),
            Operator::Divide => left.checked_div(*right),
            Operator::Remainder => left.checked_rem(*right),
            _ => None,
        }
        .map(Value::Int)
        .ok_or_else(|| Stop::error("integer overflow")),
        (Value::Uint(left), Value::Uint(right)) => match operator {
            Operator::Add => left.checked_add(*right),
            Operator::Subtract => left.checked_sub(*right),
            Operator::Multiply => left.checked_mul(*right),
            Operator::Divide => left.checked_div(*right),
            Operator::Remainder => left.checked_rem(*right),
            _ => None,
        }
        .map(Value::Uint)
        .ok_or_else(|| Stop::error("unsigned integer overflow")),
        (Value::Double(left), Value::Double(right)) => match operator {
            Operator::Add => Ok(Value::Double(left + right)),
            Operator::Subtract => Ok(Value::Double(left - right)),
            Operator::Multiply => Ok(Value::Double(left * right)),
            Operator::Divide => Ok(Value::Double(left / right)),
            _ => Err(Stop::no_such_overload()),
        },
        (Value::Duration(left), Value::Duration(right)) => match operator {
            Operator::Add => left.checked_add(*right),
            Operator::Subtract => left.checked_sub(*right),
            _ => return Err(Stop::no_such_overload()),
        }
        .map(Value::Duration)
        .ok_or_else(|| Stop::error("duration out of range")),
        (Value::Foreign(left), Value::Duration(nanos)) if operator == Operator::Subtract => {
            library::shift(left, nanos.checked_neg().ok_or_else(|| Stop::error("duration out of range"))?)
        }
        (Value::Foreign(left @ cel::Value::Timestamp(_)), Value::Foreign(right))
            if operator == Operator::Subtract =>
        {
            library::between(left, right)
        }
        _ => Err(Stop::no_such_overload()),
    }
}

/// The other sign.
pub(super) fn negate<'a>(value: &Value<'a>) -> Result<'a> {
    match value {
        Value::Int(int) => int.checked_neg().map(Value::Int).ok_or_else(|| Stop::error("integer overflow")),
        Value::Double(double) => Ok(Value::Double(-double)),
        _ => Err(Stop::no_such_overload()),
    }
}
