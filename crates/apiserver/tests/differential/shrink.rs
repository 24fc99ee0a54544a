//! Makes a request smaller that two servers answer differently.

use serde_json::Value;

/// A step into a value.
#[derive(Clone)]
enum Step {
    Member(String),
    Item(usize),
}

/// The values that lack one part of `value` each, the largest parts first.
pub(crate) fn smaller(value: &Value) -> Vec<Value> {
    let mut parts = Vec::new();
    collect(value, &mut Vec::new(), &mut parts);
    parts.sort_by_key(Vec::len);
    parts.iter().map(|part| without(value.clone(), part)).collect()
}

fn collect(value: &Value, at: &mut Vec<Step>, parts: &mut Vec<Vec<Step>>) {
    let inner: Vec<(Step, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, value)| (Step::Member(key.clone()), value)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(place, item)| (Step::Item(place), item)).collect()
        }
        _ => Vec::new(),
    };
    for (step, value) in inner {
        at.push(step);
        parts.push(at.clone());
        collect(value, at, parts);
        at.pop();
    }
}

fn without(mut value: Value, part: &[Step]) -> Value {
    let Some((last, parents)) = part.split_last() else { return value };
    let mut inner = &mut value;
    for step in parents {
        let next = match step {
            Step::Member(key) => inner.get_mut(key),
            Step::Item(place) => inner.get_mut(place),
        };
        match next {
            Some(next) => inner = next,
            None => return value,
        }
    }
    match (last, inner) {
        (Step::Member(key), Value::Object(map)) => drop(map.remove(key)),
        (Step::Item(place), Value::Array(items)) => drop(items.remove(*place)),
        _ => {}
    }
    value
}
