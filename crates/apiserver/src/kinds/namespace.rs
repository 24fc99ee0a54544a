//! `Namespace`: what the names of other objects are unique in.
//!
//! It ends in two steps: a deletion marks it and its phase becomes `Terminating`, and when it is empty somebody takes
//! `kubernetes` out of `spec.finalizers` through `finalize`. Only there can the list change.

use jiff::Timestamp;
use safepoint_machinery::status::{FieldError, FieldPath};
use safepoint_machinery::{meta, names};
use serde_json::{Value, json};

use super::check::{each, object_at, part, set, word};
use super::{Rules, items, take_from};
use crate::fault::Problems;
use crate::table::{self, Column};

pub(crate) struct Namespaces;

/// The label by which selectors find a namespace by its name.
const NAME_LABEL: &str = "kubernetes.io/metadata.name";
/// What keeps a namespace until it is empty.
const FINALIZER: &str = "kubernetes";

impl Rules for Namespaces {
    fn default(&self, object: &mut Value) {
        label(object);
        object_at(object, "spec");
        if let Some(status) = object_at(object, "status")
            && word(status, "phase").is_empty()
        {
            set(status, "phase", "Active");
        }
    }

    fn begin(&self, object: &mut Value) {
        // A generated name was not known when defaults were filled in.
        label(object);
        set(object, "status", json!({"phase": "Active"}));
        let mut finalizers: Vec<Value> = items(part(object, "spec"), "finalizers").cloned().collect();
        if !finalizers.iter().any(|name| name == FINALIZER) {
            finalizers.push(FINALIZER.into());
        }
        if let Some(spec) = object_at(object, "spec") {
            set(spec, "finalizers", finalizers);
        }
    }

    fn carry(&self, new: &mut Value, old: &Value) {
        take_from(new, old, "status");
        if let Some(spec) = object_at(new, "spec") {
            take_from(spec, part(old, "spec"), "finalizers");
        }
    }

    fn check(&self, object: &Value, problems: &mut Problems) {
        let at = FieldPath::new("spec").child("finalizers");
        for name in items(part(object, "spec"), "finalizers").map(|name| name.as_str().unwrap_or_default()) {
            each(problems, &at, name, names::qualified_name(name));
            if !name.contains('/') && !matches!(name, FINALIZER | "orphan" | "foregroundDeletion") {
                let why = "name is neither a standard finalizer name nor is it fully qualified";
                problems.push(FieldError::invalid(&at, name, why));
            }
        }
    }

    fn check_status(&self, new: &Value, _old: &Value, problems: &mut Problems) {
        let phase = word(part(new, "status"), "phase");
        let (expected, why) = match meta::deletion_timestamp(new) {
            None => ("Active", "may only be 'Active' if `deletionTimestamp` is empty"),
            Some(_) => ("Terminating", "may only be 'Terminating' if `deletionTimestamp` is not empty"),
        };
        if phase != expected {
            problems.push(FieldError::invalid(FieldPath::new("status").child("Phase"), phase, why));
        }
    }

    fn check_name(&self, name: &str, is_prefix: bool) -> Vec<String> {
        let masked = if is_prefix { names::as_prefix(name) } else { name.into() };
        names::dns1123_label(&masked)
    }

    fn fields(&self) -> &'static [&'static str] {
        &["status.phase"]
    }

    fn shows_deleted(&self) -> bool {
        true
    }

    fn columns(&self) -> Vec<Column> {
        vec![Column::new("Status", "string", "Whether it is in use or ending."), Column::age()]
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        vec![word(part(object, "status"), "phase").into(), table::age(object, now)]
    }
}

fn label(object: &mut Value) {
    let Some(name) = meta::name(object).map(str::to_owned) else { return };
    if let Some(metadata) = object_at(object, "metadata")
        && let Some(labels) = object_at(metadata, "labels").and_then(Value::as_object_mut)
    {
        labels.insert(NAME_LABEL.to_owned(), name.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn made(mut object: Value) -> Value {
        Namespaces.default(&mut object);
        Namespaces.begin(&mut object);
        object
    }

    #[test]
    fn a_new_namespace_is_active_and_labelled_with_its_name() {
        let namespace = made(json!({
            "metadata": {"name": "a", "labels": {"x": "y", "kubernetes.io/metadata.name": "other"}},
            "status": {"phase": "Terminating"},
        }));
        assert_eq!(
            namespace,
            json!({
                "metadata": {"name": "a", "labels": {"x": "y", "kubernetes.io/metadata.name": "a"}},
                "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
            })
        );
        assert_eq!(
            made(json!({"metadata": {"name": "a"}, "spec": {"finalizers": ["x/y"]}}))["spec"]["finalizers"],
            json!(["x/y", "kubernetes"])
        );
    }

    #[test]
    fn an_update_leaves_finalizers_and_status() {
        let old = made(json!({"metadata": {"name": "a"}}));
        let mut new = json!({"metadata": {"name": "a"}, "spec": {"finalizers": []}, "status": {"phase": "Terminating"}});
        Namespaces.carry(&mut new, &old);
        assert_eq!((&new["spec"], &new["status"]), (&old["spec"], &old["status"]));
    }

    #[test]
    fn a_finalizer_is_known_or_has_an_owner() {
        let mut problems = Problems::default();
        Namespaces.check(&json!({"spec": {"finalizers": ["kubernetes", "a/b", "mine"]}}), &mut problems);
        let texts: Vec<String> = problems.iter().map(FieldError::to_string).collect();
        assert_eq!(
            texts,
            ["spec.finalizers: Invalid value: \"mine\": \
              name is neither a standard finalizer name nor is it fully qualified"]
        );
    }

    #[test]
    fn the_phase_follows_the_deletion() {
        let texts = |object: Value| {
            let mut problems = Problems::default();
            Namespaces.check_status(&object, &json!({}), &mut problems);
            problems.iter().map(FieldError::to_string).collect::<Vec<_>>()
        };
        assert!(texts(json!({"status": {"phase": "Active"}})).is_empty());
        let ending =
            json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}, "status": {"phase": "Active"}});
        assert_eq!(
            texts(ending),
            ["status.Phase: Invalid value: \"Active\": \
              may only be 'Terminating' if `deletionTimestamp` is not empty"]
        );
    }

    #[test]
    fn a_name_has_no_dots() {
        assert_eq!(Namespaces.check_name("a.b", false), ["must not contain dots"]);
        assert!(Namespaces.check_name("ab-", true).is_empty());
    }
}
