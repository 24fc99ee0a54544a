//! Rows for people: what `kubectl get` prints.

use jiff::Timestamp;
use safepoint_machinery::meta;
use serde_json::{Value, json};

use crate::http::query::Query;
use crate::resource::Resource;

/// One column of a table.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) name: String,
    /// `string`, `integer`, `number`, `boolean` or `date`.
    pub(crate) kind: String,
    pub(crate) format: String,
    pub(crate) description: String,
    /// 0 is always shown, more only with `-o wide`.
    pub(crate) priority: i64,
}

impl Column {
    pub(crate) fn new(name: &str, kind: &str, description: &str) -> Column {
        Column {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: String::new(),
            description: description.to_owned(),
            priority: 0,
        }
    }

    pub(crate) fn wide(mut self) -> Column {
        self.priority = 1;
        self
    }

    pub(crate) fn age() -> Column {
        Column::new("Age", "string", "How long ago the object was created.")
    }

    pub(crate) fn to_value(&self) -> Value {
        json!({
            "name": self.name, "type": self.kind, "format": self.format,
            "description": self.description, "priority": self.priority,
        })
    }
}

/// What of an object stands beside its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Include {
    None,
    Metadata,
    Object,
}

impl Include {
    pub(crate) fn parse(query: &Query) -> Option<Include> {
        match query.get("includeObject") {
            None | Some("Metadata") => Some(Include::Metadata),
            Some("None") => Some(Include::None),
            Some("Object") => Some(Include::Object),
            Some(_) => None,
        }
    }
}

/// A table of some objects. Watches send the columns only once: `headings` says whether this is the time.
pub(crate) fn render(
    resource: &Resource,
    objects: Vec<Value>,
    metadata: &Value,
    include: Include,
    now: Timestamp,
    headings: bool,
) -> Value {
    let rules = resource.rules();
    let name = Column {
        format: "name".to_owned(),
        ..Column::new("Name", "string", "The name of the object, unique among its kind in its namespace.")
    };
    let columns: Vec<Value> = if headings {
        rules
            .leads_with_name()
            .then_some(name)
            .into_iter()
            .chain(rules.columns())
            .map(|column| column.to_value())
            .collect()
    } else {
        Vec::new()
    };
    let rows: Vec<Value> = objects
        .into_iter()
        .map(|object| {
            let name = rules.leads_with_name().then(|| Value::from(meta::name(&object)));
            let cells: Vec<Value> = name.into_iter().chain(rules.cells(&object, now)).collect();
            let mut row = json!({ "cells": cells });
            let conditions = rules.row_conditions(&object);
            if !conditions.is_empty() {
                row["conditions"] = conditions.into();
            }
            match include {
                Include::None => row["object"] = Value::Null,
                Include::Metadata => row["object"] = partial(object, "PartialObjectMetadata"),
                Include::Object => row["object"] = object,
            }
            row
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": metadata,
        "columnDefinitions": columns, "rows": rows,
    })
}

/// The metadata of an object, as a kind of its own.
pub(crate) fn partial(mut object: Value, kind: &str) -> Value {
    let metadata = object.get_mut("metadata").map(Value::take).unwrap_or_default();
    json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1", "metadata": metadata })
}

/// How long ago an object was created, in the short words of kubectl.
pub(crate) fn age(object: &Value, now: Timestamp) -> Value {
    since(object.pointer("/metadata/creationTimestamp"), now)
}

/// How long ago a time was; `<unknown>` where there is none.
pub(crate) fn since(time: Option<&Value>, now: Timestamp) -> Value {
    let parsed = time.and_then(Value::as_str).and_then(|text| text.parse::<Timestamp>().ok());
    parsed.map_or("<unknown>".into(), |then| human(now.as_second() - then.as_second()).into())
}

/// A duration as kubectl writes it: two units while it is short, one when it is long.
pub(crate) fn human(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |big: i64, unit: &str, small: i64, small_unit: &str| {
        if small == 0 { format!("{big}{unit}") } else { format!("{big}{unit}{small}{small_unit}") }
    };
    match seconds {
        // A clock that is a little behind is no reason to show a nonsense age.
        ..-1 => "<invalid>".to_owned(),
        -1..0 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(seconds / MINUTE, "m", seconds % MINUTE, "s"),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds / HOUR, "h", seconds % HOUR / MINUTE, "m"),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds / DAY, "d", seconds % DAY / HOUR, "h"),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(seconds / YEAR, "y", seconds % YEAR / DAY, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn ages_read_as_kubectl_writes_them() {
        let cases = [
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (125, "2m5s"),
            (600, "10m"),
            (10_799, "179m"),
            (10_800, "3h"),
            (11_000, "3h3m"),
            (30_000, "8h"),
            (172_800, "2d"),
            (180_000, "2d2h"),
            (800_000, "9d"),
            (63_072_000, "2y"),
            (64_000_000, "2y10d"),
            (252_288_000, "8y"),
            (-1, "0s"),
            (-5, "<invalid>"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(human(seconds), expected, "{seconds}");
        }
    }
}
