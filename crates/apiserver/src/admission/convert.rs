//! The same object in another version.
//!
//! The versions of a CRD differ in their `apiVersion` only (conversion strategy `None`). The two kinds of Event, which
//! are one object in the store, differ in the names of their fields.

use std::borrow::Cow;

use serde_json::Value;

use super::attributes::{Attributes, GroupVersionKind};

/// The fields of an Event that have two names: in the core group and in `events.k8s.io`.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

/// The objects of a request, in the version that a hook asked for.
pub(crate) struct Versioned<'a> {
    pub(crate) object: Option<Cow<'a, Value>>,
    pub(crate) old_object: Option<Cow<'a, Value>>,
}

impl<'a> Versioned<'a> {
    pub(crate) fn of(attributes: &'a Attributes, kind: &GroupVersionKind) -> Versioned<'a> {
        let show = |object: &'a Value| converted(object, &attributes.kind, kind);
        Versioned { object: attributes.object().map(show), old_object: attributes.old_object().map(show) }
    }
}

fn converted<'a>(object: &'a Value, from: &GroupVersionKind, to: &GroupVersionKind) -> Cow<'a, Value> {
    if from == to {
        return Cow::Borrowed(object);
    }
    let mut object = object.clone();
    convert(&mut object, from, to);
    Cow::Owned(object)
}

/// Turns an object of one version into one of another.
pub(crate) fn convert(object: &mut Value, from: &GroupVersionKind, to: &GroupVersionKind) {
    let Some(map) = object.as_object_mut().filter(|_| from != to) else { return };
    map.insert("apiVersion".into(), to.api_version().into());
    if from.kind != "Event" || to.kind != "Event" {
        return;
    }
    let mut rename = |from: &str, to: &str| {
        if let Some(value) = map.remove(from) {
            map.insert(to.into(), value);
        }
    };
    match (from.group.as_str(), to.group.as_str()) {
        ("", "events.k8s.io") => EVENT_FIELDS.iter().for_each(|(core, new)| rename(core, new)),
        ("events.k8s.io", "") => EVENT_FIELDS.iter().for_each(|(core, new)| rename(new, core)),
        _ => {}
    }
}
