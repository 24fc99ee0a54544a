//! The row of an event, as kubectl prints it: it starts with when it was last seen, and ends with its name.

use jiff::Timestamp;
use safepoint_machinery::meta;
use serde_json::Value;

use super::super::check::{has, int, part, word};
use crate::table::{self, Column};

pub(super) fn columns() -> Vec<Column> {
    vec![
        Column::new("Last Seen", "string", "How long ago it happened last."),
        Column::new("Type", "string", "Normal or Warning."),
        Column::new("Reason", "string", "What happened, in a word for programs."),
        Column::new("Object", "string", "What it happened to."),
        Column::new("Subobject", "string", "The part of the object that it is about.").wide(),
        Column::new("Source", "string", "Who reports it.").wide(),
        Column::new("Message", "string", "What happened, for people."),
        Column::new("First Seen", "string", "How long ago it happened first.").wide(),
        Column::new("Count", "string", "How often it has happened.").wide(),
        Column {
            format: "name".to_owned(),
            ..Column::new("Name", "string", "The name of the event.").wide()
        },
    ]
}

/// The cells of an event in the core form.
pub(super) fn cells(event: &Value, now: Timestamp) -> Vec<Value> {
    let since = |time: &Value| table::since(Some(time), now);
    let first = if has(event, "firstTimestamp") { "firstTimestamp" } else { "eventTime" };
    let first = since(part(event, first));
    let series = part(event, "series");
    let last = if series.is_object() {
        since(part(series, "lastObservedTime"))
    } else if has(event, "lastTimestamp") {
        since(part(event, "lastTimestamp"))
    } else {
        first.clone()
    };
    let count = match int(event, "count").unwrap_or_default() {
        _ if series.is_object() => int(series, "count").unwrap_or_default(),
        // New events do not count: one that is there has happened.
        0 => 1,
        count => count,
    };
    let object = part(event, "involvedObject");
    let kind = word(object, "kind").to_lowercase();
    let target = match word(object, "name") {
        "" => kind,
        name => format!("{kind}/{name}"),
    };
    vec![
        last,
        word(event, "type").into(),
        word(event, "reason").into(),
        target.into(),
        word(object, "fieldPath").into(),
        source(event).into(),
        word(event, "message").trim().into(),
        first,
        count.into(),
        meta::name(event).into(),
    ]
}

fn source(event: &Value) -> String {
    let source = part(event, "source");
    let either = |old: &str, new: &str| match word(source, old) {
        "" => word(event, new).to_owned(),
        text => text.to_owned(),
    };
    let (component, instance) =
        (either("component", "reportingComponent"), either("host", "reportingInstance"));
    if instance.is_empty() { component } else { format!("{component}, {instance}") }
}
