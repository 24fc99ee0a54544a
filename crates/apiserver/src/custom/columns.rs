//! The columns that a CRD gives its table.

use jiff::Timestamp;
use serde_json::Value;

use crate::kinds::{items, text};
use crate::table::{self, Column};

/// Where a cell is: the part of JSONPath that CRDs may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path(Vec<Step>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Step {
    Field(String),
    /// From the end if negative.
    Index(i64),
    All,
    /// `[?(@.type=="Ready")]`
    Where {
        field: Vec<String>,
        equals: bool,
        value: String,
    },
}

/// The columns of a version, with an age where it defines none.
pub(crate) fn read(version: &Value) -> Vec<(Column, Path)> {
    items(version, "additionalPrinterColumns")
        .filter_map(|column| {
            let mut head =
                Column::new(text(column, "/name"), text(column, "/type"), text(column, "/description"));
            head.format = text(column, "/format").to_owned();
            head.priority = column.get("priority").and_then(Value::as_i64).unwrap_or(0);
            Some((head, Path::parse(text(column, "/jsonPath"))?))
        })
        .collect()
}

/// A cell: the value as its column's type, or null.
pub(crate) fn cell(column: &Column, path: &Path, object: &Value, now: Timestamp) -> Value {
    let found = path.find(object);
    let Some(first) = found.first() else { return Value::Null };
    match column.kind.as_str() {
        "integer" => first
            .as_i64()
            .or_else(|| first.as_f64().map(|number| number as i64))
            .map_or(Value::Null, Value::from),
        "number" => first.as_f64().map_or(Value::Null, Value::from),
        "boolean" => first.as_bool().map_or(Value::Null, Value::from),
        "date" => match first {
            Value::String(_) => table::since(Some(first), now),
            _ => Value::Null,
        },
        // Several values are written one after the other, as kubectl's JSONPath prints them.
        _ => found.iter().map(|value| printed(value)).collect::<Vec<_>>().join(",").into(),
    }
}

fn printed(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

impl Path {
    /// Reads `.spec.items[0].name`, `.status.conditions[?(@.type=="Ready")].status`, `['a.b']`, `[*]`.
    pub(crate) fn parse(text: &str) -> Option<Path> {
        let mut rest =
            text.trim().strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(text.trim());
        rest = rest.strip_prefix('$').unwrap_or(rest);
        let mut steps = Vec::new();
        while !rest.is_empty() {
            if let Some(tail) = rest.strip_prefix('[') {
                let end = closing(tail)?;
                steps.push(bracket(&tail[..end])?);
                rest = &tail[end + 1..];
            } else {
                let (name, tail) = field(rest.strip_prefix('.').unwrap_or(rest));
                if name == "*" {
                    steps.push(Step::All);
                } else if name.is_empty() {
                    return None;
                } else {
                    steps.push(Step::Field(name));
                }
                rest = tail;
            }
        }
        Some(Path(steps))
    }

    pub(crate) fn find<'a>(&self, object: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![object];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| step.apply(value)).collect();
        }
        found
    }
}

impl Step {
    fn apply<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        match self {
            Step::Field(name) => value.get(name).into_iter().collect(),
            Step::Index(index) => {
                let Some(list) = value.as_array() else { return Vec::new() };
                let length = i64::try_from(list.len()).unwrap_or(i64::MAX);
                let at = if *index < 0 { length + index } else { *index };
                usize::try_from(at).ok().and_then(|at| list.get(at)).into_iter().collect()
            }
            Step::All => match value {
                Value::Array(list) => list.iter().collect(),
                Value::Object(map) => map.values().collect(),
                _ => Vec::new(),
            },
            Step::Where { field, equals, value: wanted } => value
                .as_array()
                .into_iter()
                .flatten()
                .filter(|item| {
                    let found = field.iter().try_fold(*item, |value, name| value.get(name));
                    found.is_some_and(|found| (printed(found) == *wanted) == *equals)
                })
                .collect(),
        }
    }
}

/// The name at the beginning of a path, where `\.` is a dot in a name, and what follows it.
fn field(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut characters = text.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '.' | '[' => return (name, &text[at..]),
            '\\' => name.extend(characters.next().map(|(_, escaped)| escaped)),
            other => name.push(other),
        }
    }
    (name, "")
}

/// Where the bracket that is open ends, quotes aside.
fn closing(text: &str) -> Option<usize> {
    let mut quote = None;
    for (at, character) in text.char_indices() {
        match (quote, character) {
            (None, ']') => return Some(at),
            (None, '\'' | '"') => quote = Some(character),
            (Some(open), character) if open == character => quote = None,
            _ => {}
        }
    }
    None
}

fn bracket(text: &str) -> Option<Step> {
    let text = text.trim();
    if text == "*" {
        return Some(Step::All);
    }
    if let Some(name) = unquoted(text) {
        return Some(Step::Field(name.to_owned()));
    }
    if let Some(filter) = text.strip_prefix("?(").and_then(|inner| inner.strip_suffix(')')) {
        let (left, right, equals) = match (filter.split_once("=="), filter.split_once("!=")) {
            (Some((left, right)), _) => (left, right, true),
            (None, Some((left, right))) => (left, right, false),
            (None, None) => return None,
        };
        let field = left.trim().strip_prefix("@.")?.split('.').map(str::to_owned).collect();
        let right = right.trim();
        return Some(Step::Where { field, equals, value: unquoted(right).unwrap_or(right).to_owned() });
    }
    text.parse().ok().map(Step::Index)
}

fn unquoted(text: &str) -> Option<&str> {
    ['\'', '"'].into_iter().find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::Path;

    #[test]
    fn the_paths_that_crds_use_find_their_values() {
        let object = json!({
            "metadata": { "labels": { "a.b/c": "x" } },
            "status": { "conditions": [{ "type": "Ready", "status": "True" }, { "type": "Held", "status": "False" }],
                        "list": [1, 2, 3] },
        });
        let find =
            |path: &str| Path::parse(path).unwrap().find(&object).into_iter().cloned().collect::<Vec<_>>();
        assert_eq!(find(".status.conditions[?(@.type==\"Held\")].status"), [json!("False")]);
        assert_eq!(find(".status.conditions[?(@.type!='Held')].status"), [json!("True")]);
        assert_eq!(find(".status.list[-1]"), [json!(3)]);
        assert_eq!(find("{.status.list[*]}"), [json!(1), json!(2), json!(3)]);
        assert_eq!(find(".metadata.labels['a.b/c']"), [json!("x")]);
        assert_eq!(find(".metadata.labels.a\\.b/c"), [json!("x")]);
        assert!(find(".status.missing").is_empty());
    }

    #[test]
    fn what_is_no_path_is_refused() {
        for path in [".a[", ".a[?(@.b)]", "..a", ".a[x]"] {
            assert_eq!(Path::parse(path), None, "{path}");
        }
    }
}
