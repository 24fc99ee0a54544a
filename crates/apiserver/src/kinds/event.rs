//! `Event`: what happened to an object, in the core form that is kept and in the view of `events.k8s.io`.
//!
//! Both are one object under two sets of names. The newer view is stricter about what is new: it wants the time and the
//! reporter, and none of the fields that it calls deprecated. What is there already may be changed through either.

mod row;
mod rules;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use safepoint_machinery::names;
use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::{Map, Value, json};

use super::check::{IMMUTABLE, has, int, part, word};
use super::texts::{unreadable_moments, write_moments};
use super::{Rules, set_default};
use crate::fault::Problems;
use crate::table::Column;
use rules::{check_event, check_series};

/// The core form.
pub(crate) struct CoreEvents;
/// The form of `events.k8s.io`.
pub(crate) struct NewEvents;

/// The fields that both forms have under other names: core, new.
const NAMES: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// What Go leaves out when it says nothing, by the names of both forms.
const OPTIONAL: [&str; 9] =
    ["message", "note", "count", "deprecatedCount", "reason", "type", "action", "series", "related"];

// === impl CoreEvents ===

impl Rules for CoreEvents {
    fn unreadable(&self, object: &Value) -> Option<String> {
        unreadable(object)
    }

    fn default(&self, object: &mut Value) {
        drop_silent(object, &OPTIONAL);
        write_times(object);
        for field in ["involvedObject", "source"] {
            set_default(object, field, json!({}));
        }
        for field in ["firstTimestamp", "lastTimestamp", "eventTime"] {
            set_default(object, field, Value::Null);
        }
        for field in ["reportingComponent", "reportingInstance"] {
            set_default(object, field, "");
        }
    }

    fn check(&self, object: &Value, problems: &mut Problems) {
        check_event(object, "reportingComponent", problems);
    }

    fn check_name(&self, name: &str, is_prefix: bool) -> Vec<String> {
        if is_prefix { names::path_segment_prefix(name) } else { names::path_segment(name) }
    }

    fn fields(&self) -> &'static [&'static str] {
        &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ]
    }

    fn field(&self, object: &Value, field: &str) -> Option<String> {
        // What an event comes from is the component of old ones and the reporter of new ones.
        (field == "source").then(|| match word(part(object, "source"), "component") {
            "" => word(object, "reportingComponent").to_owned(),
            component => component.to_owned(),
        })
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn leads_with_name(&self) -> bool {
        false
    }

    fn columns(&self) -> Vec<Column> {
        row::columns()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        row::cells(object, now)
    }
}

// === impl NewEvents ===

impl Rules for NewEvents {
    fn unreadable(&self, object: &Value) -> Option<String> {
        unreadable(object)
    }

    fn unpack(&self, object: &mut Value) {
        if let Some(map) = object.as_object_mut() {
            for (core, new) in NAMES {
                rename(map, core, new);
            }
        }
        drop_silent(object, &["reportingController", "reportingInstance"]);
    }

    fn pack(&self, object: &mut Value) {
        if let Some(map) = object.as_object_mut() {
            for (core, new) in NAMES {
                rename(map, new, core);
            }
            map.insert("apiVersion".to_owned(), "v1".into());
        }
        CoreEvents.default(object);
    }

    fn serves_as_stored(&self) -> bool {
        false
    }

    fn default(&self, object: &mut Value) {
        drop_silent(object, &OPTIONAL);
        drop_silent(object, &["reportingController", "reportingInstance"]);
        write_times(object);
        for field in ["regarding", "deprecatedSource"] {
            set_default(object, field, json!({}));
        }
        for field in ["deprecatedFirstTimestamp", "deprecatedLastTimestamp", "eventTime"] {
            set_default(object, field, Value::Null);
        }
    }

    fn check(&self, object: &Value, problems: &mut Problems) {
        check_event(&core(object), "reportingController", problems);
    }

    /// The deprecated fields are named as the core form names them: so does Kubernetes.
    fn check_new(&self, object: &Value, problems: &mut Problems) {
        let event = core(object);
        check_series(&event, problems);
        if !has(&event, "eventTime") {
            problems.push(FieldError::required(FieldPath::new("eventTime"), ""));
        }
        let kind = word(&event, "type");
        if !matches!(kind, "Normal" | "Warning") {
            problems.push(FieldError::invalid(
                FieldPath::new("type"),
                "",
                format!("has invalid value: {kind}"),
            ));
        }
        let source = part(&event, "source");
        let set = [
            ("firstTimestamp", has(&event, "firstTimestamp")),
            ("lastTimestamp", has(&event, "lastTimestamp")),
            ("count", int(&event, "count").unwrap_or_default() != 0),
            ("source", !word(source, "component").is_empty() || !word(source, "host").is_empty()),
        ];
        for (field, _) in set.into_iter().filter(|(_, is_set)| *is_set) {
            problems.push(FieldError::invalid(FieldPath::new(field), "", "needs to be unset"));
        }
    }

    /// Only its series goes on.
    fn check_change(&self, new: &Value, old: &Value, problems: &mut Problems) {
        const FIXED: [&str; 13] = [
            "involvedObject",
            "reason",
            "message",
            "source",
            "firstTimestamp",
            "lastTimestamp",
            "count",
            "type",
            "eventTime",
            "action",
            "related",
            "reportingComponent",
            "reportingInstance",
        ];
        let (new, old) = (core(new), core(old));
        if part(&new, "series") != part(&old, "series") {
            check_series(&new, problems);
        }
        for field in FIXED {
            if part(&new, field) != part(&old, field) {
                let shown = if field == "reportingComponent" { "reportingController" } else { field };
                problems.push(FieldError::invalid(
                    FieldPath::new(shown),
                    part(&new, field).clone(),
                    IMMUTABLE,
                ));
            }
        }
    }

    fn check_name(&self, name: &str, is_prefix: bool) -> Vec<String> {
        let masked = if is_prefix { names::as_prefix(name) } else { name.into() };
        names::dns1123_subdomain(&masked)
    }

    fn fields(&self) -> &'static [&'static str] {
        &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ]
    }

    fn stored_field(&self, field: &str) -> String {
        match (field.strip_prefix("regarding."), field) {
            (Some(rest), _) => format!("involvedObject.{rest}"),
            (None, "reportingController") => "reportingComponent".to_owned(),
            (None, _) => field.to_owned(),
        }
    }

    fn creates_on_update(&self) -> bool {
        true
    }

    fn leads_with_name(&self) -> bool {
        false
    }

    fn columns(&self) -> Vec<Column> {
        row::columns()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        row::cells(&core(object), now)
    }
}

fn unreadable(object: &Value) -> Option<String> {
    unreadable_moments(object, &["eventTime"])
        .or_else(|| unreadable_moments(part(object, "series"), &["lastObservedTime"]))
}

fn write_times(object: &mut Value) {
    write_moments(object, &["eventTime"]);
    if let Some(series) = object.get_mut("series") {
        write_moments(series, &["lastObservedTime"]);
    }
}

/// The core form of an event in the newer one.
fn core(object: &Value) -> Value {
    let mut event = object.clone();
    NewEvents.pack(&mut event);
    event
}

fn rename(map: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = map.remove(from) {
        map.insert(to.to_owned(), value);
    }
}

/// Removes texts and numbers that say nothing.
fn drop_silent(object: &mut Value, fields: &[&str]) {
    if let Some(map) = object.as_object_mut() {
        map.retain(|key, value| {
            let is_silent = value.is_null() || *value == json!("") || *value == json!(0);
            !(is_silent && fields.contains(&key.as_str()))
        });
    }
}
