//! `CustomResourceDefinition`: a kind that somebody brings.
//!
//! Everything about a definition is checked here but its schemas, and its status belongs to whoever serves the kind.
//! Only the strategy `None` converts between versions: an object is the same in each, but for the name of the version.

#[cfg(test)]
mod tests;
mod version;

use jiff::Timestamp;
use safepoint_machinery::status::{FieldError, FieldPath};
use safepoint_machinery::{meta, names};
use serde_json::{Value, json};

use super::check::{drop_empty, flag, has, immutable, int, one_of, part, word};
use super::{Rules, items, items_mut, remove, set_default, take_from};
use crate::fault::Problems;
use crate::table::Column;

pub(crate) struct Crds;

impl Rules for Crds {
    fn default(&self, object: &mut Value) {
        let Some(spec) = object.get_mut("spec").filter(|spec| spec.is_object()) else { return };
        if let Some(names) = spec.get_mut("names") {
            default_names(names);
        }
        set_default(spec, "conversion", json!({"strategy": "None"}));
        if !flag(spec, "preserveUnknownFields") {
            remove(spec, "preserveUnknownFields");
        }
        for version in items_mut(spec, "versions") {
            if !flag(version, "deprecated") {
                remove(version, "deprecated");
            }
            for field in ["served", "storage"] {
                set_default(version, field, false);
            }
            for field in ["additionalPrinterColumns", "selectableFields"] {
                drop_empty(version, field);
            }
            for column in items_mut(version, "additionalPrinterColumns") {
                if int(column, "priority") == Some(0) {
                    remove(column, "priority");
                }
                drop_empty(column, "description");
                drop_empty(column, "format");
            }
        }
    }

    fn carry(&self, new: &mut Value, old: &Value) {
        take_from(new, old, "status");
    }

    fn check(&self, object: &Value, problems: &mut Problems) {
        let (spec, at) = (part(object, "spec"), FieldPath::new("spec"));
        check_group(word(spec, "group"), &at.child("group"), problems);
        one_of(problems, &at.child("scope"), word(spec, "scope"), &["Cluster", "Namespaced"]);
        version::check_all(spec, &at, problems);
        for field in ["plural", "singular", "kind", "listKind"] {
            if word(part(spec, "names"), field).is_empty() {
                problems.push(FieldError::required(at.child("names").child(field), ""));
            }
        }
        check_names(part(spec, "names"), &at.child("names"), problems);
        check_conversion(part(spec, "conversion"), &at.child("conversion"), problems);
        if flag(spec, "preserveUnknownFields") {
            let why = "cannot set to true, \
                       set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead";
            problems.push(FieldError::invalid(at.child("preserveUnknownFields"), true, why));
        }
    }

    fn check_new(&self, object: &Value, problems: &mut Problems) {
        let spec = part(object, "spec");
        let name = meta::name(object).unwrap_or_default();
        if name != format!("{}.{}", word(part(spec, "names"), "plural"), word(spec, "group")) {
            let why = "must be spec.names.plural+\".\"+spec.group";
            problems.push(FieldError::invalid(FieldPath::new("metadata").child("name"), name, why));
        }
        if !items(spec, "versions").any(|version| flag(version, "storage")) {
            let at = FieldPath::new("status").child("storedVersions");
            problems.push(FieldError::invalid(&at, Value::Null, "must have at least one stored version"));
        }
        check_approval(object, None, problems);
    }

    fn check_change(&self, new: &Value, old: &Value, problems: &mut Problems) {
        let at = FieldPath::new("spec");
        let (after, before) = (part(new, "spec"), part(old, "spec"));
        let (kinds, old_kinds) = (part(after, "names"), part(before, "names"));
        let names_at = at.child("names");
        if is_established(old) {
            immutable(problems, &at.child("scope"), part(after, "scope"), part(before, "scope"));
            immutable(problems, &names_at.child("kind"), part(kinds, "kind"), part(old_kinds, "kind"));
        }
        immutable(problems, &at.child("group"), part(after, "group"), part(before, "group"));
        immutable(problems, &names_at.child("plural"), part(kinds, "plural"), part(old_kinds, "plural"));
        check_stored(after, old, problems);
        check_approval(new, Some(old), problems);
    }

    fn check_status(&self, new: &Value, _old: &Value, problems: &mut Problems) {
        let at = FieldPath::new("status").child("acceptedNames");
        check_names(part(part(new, "status"), "acceptedNames"), &at, problems);
    }

    fn counted(&self) -> Option<&'static str> {
        Some("spec")
    }

    fn needs_revision(&self) -> bool {
        true
    }

    fn columns(&self) -> Vec<Column> {
        vec![Column::new("Created At", "date", "When it was created.")]
    }

    fn cells(&self, object: &Value, _now: Timestamp) -> Vec<Value> {
        vec![meta::creation_timestamp(object).into()]
    }
}

fn default_names(names: &mut Value) {
    let kind = word(names, "kind").to_owned();
    for field in ["singular", "listKind", "shortNames", "categories"] {
        drop_empty(names, field);
    }
    if !kind.is_empty() {
        set_default(names, "singular", kind.to_lowercase());
        set_default(names, "listKind", format!("{kind}List"));
    }
}

fn is_established(crd: &Value) -> bool {
    items(part(crd, "status"), "conditions")
        .any(|one| word(one, "type") == "Established" && word(one, "status") == "True")
}

fn check_group(group: &str, at: &FieldPath, problems: &mut Problems) {
    let messages = names::dns1123_subdomain(group);
    if group.is_empty() {
        problems.push(FieldError::required(at, ""));
    } else if !messages.is_empty() {
        problems.push(FieldError::invalid(at, group, messages.join(",")));
    } else if !group.contains('.') {
        problems.push(FieldError::invalid(at, group, "should be a domain with at least one dot"));
    }
}

/// Checks the names that are there; which of them have to be is another matter.
fn check_names(names: &Value, at: &FieldPath, problems: &mut Problems) {
    let mut label = |at: &FieldPath, name: &str, is_kind: bool| {
        let messages = match is_kind {
            true => names::dns1035_label(&name.to_lowercase()),
            false => names::dns1035_label(name),
        };
        if !messages.is_empty() {
            let prefix = if is_kind { "may have mixed case, but should otherwise match: " } else { "" };
            problems.push(FieldError::invalid(at, name, format!("{prefix}{}", messages.join(","))));
        }
    };
    for (field, is_kind) in [("plural", false), ("singular", false), ("kind", true), ("listKind", true)] {
        let name = word(names, field);
        if !name.is_empty() {
            label(&at.child(field), name, is_kind);
        }
    }
    for field in ["shortNames", "categories"] {
        for (index, name) in items(names, field).enumerate() {
            label(&at.child(field).index(index), name.as_str().unwrap_or_default(), false);
        }
    }
    let (kind, list) = (word(names, "kind"), word(names, "listKind"));
    if !kind.is_empty() && kind == list {
        problems.push(FieldError::invalid(
            at.child("listKind"),
            list,
            "kind and listKind may not be the same",
        ));
    }
}

fn check_conversion(conversion: &Value, at: &FieldPath, problems: &mut Problems) {
    let strategy = word(conversion, "strategy");
    let webhook = part(conversion, "webhook");
    if strategy == "Webhook" {
        let why = "the embedded API converts only by name: use None, with versions that have the same fields";
        problems.push(FieldError::invalid(at.child("strategy"), strategy, why));
        return;
    }
    one_of(problems, &at.child("strategy"), strategy, &["None", "Webhook"]);
    for (field, shown) in
        [("clientConfig", "webhookClientConfig"), ("conversionReviewVersions", "conversionReviewVersions")]
    {
        if has(webhook, field) {
            let why = "should not be set when strategy is not set to Webhook";
            problems.push(FieldError::forbidden(at.child(shown), why));
        }
    }
}

/// A version in which objects may still be kept stays.
fn check_stored(spec: &Value, old: &Value, problems: &mut Problems) {
    let at = FieldPath::new("status").child("storedVersions");
    for (index, name) in items(part(old, "status"), "storedVersions").enumerate() {
        let name = name.as_str().unwrap_or_default();
        if !items(spec, "versions").any(|version| word(version, "name") == name) {
            let why = format!(
                "missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions \
                 until a storage migration ensures no data remains persisted in {name} and removes {name} from \
                 status.storedVersions"
            );
            problems.push(FieldError::invalid(at.index(index), name, why));
        }
    }
}

/// Whether the owners of a protected group agree to a kind in it.
#[derive(PartialEq, Eq)]
enum Approval {
    Missing,
    Unreadable,
    Given,
    /// Somebody says that they know.
    Waived,
}

fn check_approval(new: &Value, old: Option<&Value>, problems: &mut Problems) {
    const KEY: &str = "api-approved.kubernetes.io";
    const SEE: &str = "see https://github.com/kubernetes/enhancements/pull/1111";
    let group = word(part(new, "spec"), "group");
    let is_protected = ["k8s.io", "kubernetes.io"]
        .iter()
        .any(|owned| group.strip_suffix(owned).is_some_and(|rest| rest.is_empty() || rest.ends_with('.')));
    let approval = |object: &Value| match meta::annotation(object, KEY).unwrap_or_default() {
        "" => Approval::Missing,
        text if text.starts_with("unapproved") => Approval::Waived,
        text if text
            .split_once("://")
            .is_some_and(|(scheme, rest)| !scheme.is_empty() && !rest.is_empty()) =>
        {
            Approval::Given
        }
        _ => Approval::Unreadable,
    };
    if !is_protected || old.is_some_and(|old| approval(old) == approval(new)) {
        return;
    }
    let at = FieldPath::new("metadata").child("annotations").key(KEY);
    let why = format!("protected groups must have approval annotation \"{KEY}\"");
    match approval(new) {
        Approval::Missing => problems.push(FieldError::required(&at, format!("{why}, {SEE}"))),
        Approval::Unreadable => {
            let why = format!("{why} with either a URL or a reason starting with \"unapproved\", {SEE}");
            problems.push(FieldError::invalid(&at, meta::annotation(new, KEY).unwrap_or_default(), why));
        }
        Approval::Given | Approval::Waived => {}
    }
}
