//! The versions of a definition: their names, and what each serves beside its schema.
//!
//! What all versions have in common Kubernetes moves to the definition before it looks: a problem in it is at
//! `spec.subresources`, not at `spec.versions[0].subresources`. So it is here.

use std::collections::BTreeSet;

use safepoint_machinery::names;
use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::super::check::{flag, has, part, word};
use super::super::items;
use crate::fault::Problems;

const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
const FORMATS: [&str; 8] = ["byte", "date", "date-time", "double", "float", "int32", "int64", "password"];
const MOST_SELECTABLE: usize = 8;

pub(super) fn check_all(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    let list_at = at.child("versions");
    let versions: Vec<&Value> = items(spec, "versions").collect();
    for (index, version) in versions.iter().enumerate() {
        if part(part(version, "schema"), "openAPIV3Schema").is_null() {
            let at = list_at.index(index).child("schema").child("openAPIV3Schema");
            problems.push(FieldError::required(&at, ""));
        }
    }
    let mut seen = BTreeSet::new();
    let mut is_unique = true;
    for (index, version) in versions.iter().enumerate() {
        let at = list_at.index(index);
        is_unique &= seen.insert(word(version, "name"));
        check_name(word(version, "name"), &at.child("name"), problems);
        check_warning(version, &at.child("deprecationWarning"), problems);
    }
    check_parts(&versions, at, problems);
    let shown: Vec<Value> = versions.iter().map(|version| shown(version)).collect();
    if !is_unique {
        problems.push(FieldError::invalid(&list_at, shown.clone(), "must contain unique version names"));
    }
    if versions.iter().filter(|version| flag(version, "storage")).count() != 1 {
        let why = "must have exactly one version marked as storage version";
        problems.push(FieldError::invalid(&list_at, shown, why));
    }
    // There once was only one version, and the first of them still stands for it.
    if let Some(name) = versions.first().map(|version| word(version, "name")).filter(|name| !name.is_empty())
    {
        check_name(name, &at.child("version"), problems);
    }
}

/// What of a version is worth showing in a sentence: not its schema.
fn shown(version: &Value) -> Value {
    json!({
        "Name": word(version, "name"), "Served": flag(version, "served"), "Storage": flag(version, "storage"),
    })
}

fn check_name(name: &str, at: &FieldPath, problems: &mut Problems) {
    let messages = names::dns1035_label(name);
    if !messages.is_empty() {
        problems.push(FieldError::invalid(at, name, messages.join(",")));
    }
}

fn check_warning(version: &Value, at: &FieldPath, problems: &mut Problems) {
    const LONGEST: usize = 256;
    let Some(text) = version.get("deprecationWarning").and_then(Value::as_str) else { return };
    let mut refuse = |why: String| problems.push(FieldError::invalid(at, text, why));
    if !flag(version, "deprecated") {
        refuse("can only be set for deprecated versions".to_owned());
        return;
    }
    if text.len() > LONGEST {
        refuse(format!("must be <= {LONGEST} characters long"));
    }
    if text.is_empty() {
        refuse("must not be an empty string".to_owned());
    }
    if let Some((index, _)) = text.char_indices().find(|(_, c)| c.is_control()) {
        refuse(format!(
            "must only contain printable UTF-8 characters; non-printable character found at index {index}"
        ));
    }
}

/// Checks the parts that may be the same in all versions, at the place where Kubernetes sees them.
fn check_parts(versions: &[&Value], at: &FieldPath, problems: &mut Problems) {
    for (field, check) in [
        ("subresources", check_subresources as fn(&Value, &FieldPath, &mut Problems)),
        ("additionalPrinterColumns", check_columns),
        ("selectableFields", check_selectable),
    ] {
        let is_common = versions.windows(2).all(|pair| part(pair[0], field) == part(pair[1], field));
        if is_common {
            if let Some(version) = versions.first() {
                check(version, &at.child(field), problems);
            }
            continue;
        }
        for (index, version) in versions.iter().enumerate() {
            check(version, &at.child("versions").index(index).child(field), problems);
        }
    }
}

fn check_subresources(version: &Value, at: &FieldPath, problems: &mut Problems) {
    let scale = part(part(version, "subresources"), "scale");
    if scale.is_null() {
        return;
    }
    let at = at.child("scale");
    for (field, roots, is_needed, why) in [
        ("specReplicasPath", [".spec."].as_slice(), true, "should be a json path under .spec"),
        ("statusReplicasPath", [".status."].as_slice(), true, "should be a json path under .status"),
        (
            "labelSelectorPath",
            [".spec.", ".status."].as_slice(),
            false,
            "should be a json path under either .spec or .status",
        ),
    ] {
        let (path, at) = (word(scale, field), at.child(field));
        match path {
            "" if is_needed => problems.push(FieldError::required(&at, "")),
            "" => {}
            _ if !path.starts_with('.') => check_path(path, &at, problems),
            _ if !roots.iter().any(|root| path.starts_with(root)) => {
                problems.push(FieldError::invalid(&at, path, why));
            }
            _ => {}
        }
    }
}

fn check_path(path: &str, at: &FieldPath, problems: &mut Problems) {
    if !path.starts_with('.') {
        problems.push(FieldError::invalid(at, path, "must be a simple json path starting with ."));
    }
}

fn check_columns(version: &Value, at: &FieldPath, problems: &mut Problems) {
    for (index, column) in items(version, "additionalPrinterColumns").enumerate() {
        let at = at.index(index);
        if word(column, "name").is_empty() {
            problems.push(FieldError::required(at.child("name"), ""));
        }
        let known = format!("must be one of {}", TYPES.join(","));
        match word(column, "type") {
            "" => problems.push(FieldError::required(at.child("type"), known)),
            kind if !TYPES.contains(&kind) => {
                problems.push(FieldError::invalid(at.child("type"), kind, known));
            }
            _ => {}
        }
        let format = word(column, "format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let why = format!("must be one of {}", FORMATS.join(","));
            problems.push(FieldError::invalid(at.child("format"), format, why));
        }
        match word(column, "jsonPath") {
            "" => problems.push(FieldError::required(at.child("JSONPath"), "")),
            path => check_path(path, &at.child("JSONPath"), problems),
        }
    }
}

fn check_selectable(version: &Value, at: &FieldPath, problems: &mut Problems) {
    let schema = part(part(version, "schema"), "openAPIV3Schema");
    if schema.is_null() {
        if has(version, "selectableFields") {
            problems.push(FieldError::invalid(at, "", "may only be set when validations.schema is included"));
        }
        return;
    }
    let mut seen = BTreeSet::new();
    for (index, field) in items(version, "selectableFields").enumerate() {
        let at = at.index(index).child("jsonPath");
        let path = word(field, "jsonPath");
        if path.is_empty() {
            problems.push(FieldError::required(&at, ""));
            continue;
        }
        match resolve(schema, path) {
            Err(why) => {
                problems.push(FieldError::invalid(&at, path, format!("is an invalid path: {why}")));
                continue;
            }
            Ok(found) => {
                if path == ".metadata" || path.starts_with(".metadata.") {
                    problems.push(FieldError::invalid(&at, path, "must not point to fields in metadata"));
                }
                if !matches!(word(found, "type"), "string" | "boolean" | "integer") {
                    let why = "must point to a field of type string, boolean or integer. \
                               Enum string fields and strings with formats are allowed.";
                    problems.push(FieldError::invalid(&at, path, why));
                }
            }
        }
        if !seen.insert(path) {
            problems.push(FieldError::duplicate(&at, path));
        }
    }
    if seen.len() > MOST_SELECTABLE {
        problems.push(FieldError::too_many(at, seen.len(), MOST_SELECTABLE));
    }
}

/// The schema of the field that a path leads to.
fn resolve<'a>(schema: &'a Value, path: &str) -> Result<&'a Value, String> {
    let Some(rest) = path.strip_prefix('.') else {
        let start = path.split(['.', '[']).next().unwrap_or_default();
        return Err(format!("expected [ or . but got: {start}"));
    };
    if rest.is_empty() {
        return Err("unexpected end of JSON path".to_owned());
    }
    if path.contains('[') {
        return Err("array notation is not allowed".to_owned());
    }
    let mut found = schema;
    for name in rest.split('.') {
        found = match part(part(found, "properties"), name) {
            Value::Null => part(found, "additionalProperties"),
            property => property,
        };
        if !found.is_object() {
            return Err("does not refer to a valid field".to_owned());
        }
    }
    Ok(found)
}
