//! Rows for people: what `kubectl get` prints.

use jiff::Timestamp;
use safepoint_machinery::{age, meta};
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
    parsed.map_or("<unknown>".into(), |then| age::human(now.as_second() - then.as_second()).into())
}
