//! Whether a schema is structural: every value it talks about has a type, said outside of logic.
//!
//! A structural schema can be pruned and defaulted, because its shape does not depend on the object.

use safepoint_machinery::FieldError;
use serde_json::Value;

use crate::node::Types;
use crate::pattern;
use crate::raw::{Raw, RawAdditional};

/// Where a schema stands, which changes what is said about a missing type.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Every way in which the schema is not structural, sorted by text.
pub(super) fn check(raw: Raw<'_>, path: &str) -> Vec<FieldError> {
    let mut out = Vec::new();
    spine(raw, Level::Root, path, &mut out);
    logic(raw, Some(raw), path, path, &mut out);
    out.sort_by_key(ToString::to_string);
    out
}

/// Whether the schema consists of keywords that a structural one can have at all. The others are refused one by one
/// elsewhere, except for `$schema`.
pub(super) fn is_expressible(raw: Raw<'_>) -> bool {
    const NOT: [&str; 7] =
        ["id", "$schema", "$ref", "patternProperties", "dependencies", "additionalItems", "definitions"];
    !NOT.into_iter().any(|keyword| raw.is_set(keyword))
        && raw.list("items").is_empty()
        && raw.get("x-kubernetes-preserve-unknown-fields") != Some(&Value::Bool(false))
        && super::children(raw, "").into_iter().all(|(child, _)| is_expressible(child))
}

/// The part of a schema that gives an object its shape.
fn spine(raw: Raw<'_>, level: Level, path: &str, out: &mut Vec<FieldError>) {
    let kind = raw.kind();
    let items = raw.schema("items");
    if kind == "array" && items.is_none() {
        out.push(FieldError::required(format!("{path}.items"), "must be specified"));
    }
    if let Some(items) = items {
        spine(items, Level::Item, &format!("{path}.items"), out);
    }
    for (name, child) in raw.properties() {
        spine(child, Level::Field, &format!("{path}.properties[{name}]"), out);
    }
    if let Some(additional) = raw.additional() {
        let path = format!("{path}.additionalProperties");
        if level == Level::Root {
            out.push(FieldError::forbidden(path.as_str(), "must not be used at the root"));
        }
        if let RawAdditional::Schema(child) = additional {
            spine(child, Level::Field, &path, out);
        }
        if raw.is_embedded() {
            out.push(FieldError::forbidden(
                path.as_str(),
                "must not be used if x-kubernetes-embedded-resource is set",
            ));
        }
    }
    extensions(raw, path, out);
    let exempt = Exempt { any_of: is_int_or_string_any_of(raw), first_all_of: is_int_or_string_all_of(raw) };
    values(raw, exempt, path, out);
    missing_type(raw, level, path, out);
    if level == Level::Root && !kind.is_empty() && kind != "object" {
        out.push(FieldError::invalid(format!("{path}.type"), kind, "must be object at the root"));
    }
    metadata(raw, level, path, out);
    if raw.is_embedded() && !raw.preserves_unknown() && raw.properties().is_empty() {
        let detail = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields";
        out.push(FieldError::required(format!("{path}.properties"), detail));
    }
}

fn missing_type(raw: Raw<'_>, level: Level, path: &str, out: &mut Vec<FieldError>) {
    let kind = raw.kind();
    let path = format!("{path}.type");
    if raw.is_embedded() && kind != "object" {
        let detail = "must be object if x-kubernetes-embedded-resource is true";
        out.push(match kind {
            "" => FieldError::required(path, detail),
            kind => FieldError::invalid(path, kind, detail),
        });
    } else if kind.is_empty() && !raw.is_int_or_string() && !raw.preserves_unknown() {
        out.push(FieldError::required(
            path,
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        ));
    }
}

fn extensions(raw: Raw<'_>, path: &str, out: &mut Vec<FieldError>) {
    for keyword in ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"] {
        if raw.is_int_or_string() && raw.flag(keyword) {
            let detail = "must be false if x-kubernetes-int-or-string is true";
            out.push(FieldError::invalid(format!("{path}.{keyword}"), true, detail));
        }
    }
}

/// The server owns `apiVersion`, `kind` and the metadata; a schema may only restrict the name.
fn metadata(raw: Raw<'_>, level: Level, path: &str, out: &mut Vec<FieldError>) {
    let is_resource = level == Level::Root || raw.is_embedded();
    for name in ["kind", "apiVersion"] {
        if let Some(field) = raw.property(name).filter(|field| is_resource && field.kind() != "string") {
            out.push(FieldError::invalid(
                format!("{path}.properties[{name}].type"),
                field.kind(),
                "must be string",
            ));
        }
    }
    let Some(metadata) = raw.property("metadata") else { return };
    let path = format!("{path}.properties[metadata]");
    if is_resource && metadata.kind() != "object" {
        out.push(FieldError::invalid(format!("{path}.type"), metadata.kind(), "must be object"));
    }
    if level == Level::Root && !says_only_names(metadata) {
        let detail = "must not specify anything other than name and generateName, but metadata is implicitly specified";
        out.push(FieldError::forbidden(path, detail));
    }
}

fn says_only_names(metadata: Raw<'_>) -> bool {
    let names_only = metadata.properties().iter().all(|(name, _)| matches!(*name, "name" | "generateName"));
    names_only
        && metadata.additional().is_none()
        && !metadata.says_more_than(&["type", "properties", "default"])
}

/// What may contain a type although it stands inside logic.
#[derive(Clone, Copy, Default)]
struct Exempt {
    any_of: bool,
    first_all_of: bool,
}

/// `anyOf: [{type: integer}, {type: string}]` and nothing more.
fn is_int_or_string_any_of(raw: Raw<'_>) -> bool {
    let only = |raw: Raw<'_>, kind: &str| raw.kind() == kind && !raw.says_more_than(&["type"]);
    match raw.schemas("anyOf").collect::<Vec<_>>().as_slice() {
        [first, second] => only(*first, "integer") && only(*second, "string"),
        _ => false,
    }
}

fn is_int_or_string_all_of(raw: Raw<'_>) -> bool {
    raw.schemas("allOf").next().is_some_and(is_int_or_string_any_of)
}

/// The value validations of a schema, inside logic or not.
fn values(raw: Raw<'_>, exempt: Exempt, path: &str, out: &mut Vec<FieldError>) {
    for keyword in ["anyOf", "allOf", "oneOf"] {
        for (index, child) in raw.schemas(keyword).enumerate() {
            let exempted = match keyword {
                "anyOf" if exempt.any_of => continue,
                "allOf" => Exempt { any_of: exempt.first_all_of && index == 0, first_all_of: false },
                _ => Exempt::default(),
            };
            nested(child, exempted, &format!("{path}.{keyword}[{index}]"), out);
        }
    }
    if let Some(not) = raw.schema("not") {
        nested(not, Exempt::default(), &format!("{path}.not"), out);
    }
    if let Some(pattern) = raw.text("pattern")
        && let Err(error) = pattern::compile(pattern)
    {
        let detail = format!("must be a valid regular expression, but isn't: {error}");
        out.push(FieldError::invalid(format!("{path}.pattern"), pattern, detail));
    }
}

/// A schema inside logic: it may restrict values but not say what they are.
fn nested(raw: Raw<'_>, exempt: Exempt, path: &str, out: &mut Vec<FieldError>) {
    values(raw, exempt, path, out);
    if let Some(items) = raw.schema("items") {
        nested(items, Exempt::default(), &format!("{path}.items"), out);
    }
    for (name, child) in raw.properties() {
        nested(child, Exempt::default(), &format!("{path}.properties[{name}]"), out);
    }
    const EMPTY: &str = "must be empty to be structural";
    const UNDEFINED: &str = "must be undefined to be structural";
    const FALSE: &str = "must be false to be structural";
    let mut forbid = |keyword: &str, detail: &str| {
        out.push(FieldError::forbidden(format!("{path}.{keyword}"), detail));
    };
    for (keyword, detail) in [
        ("type", EMPTY),
        ("title", EMPTY),
        ("description", EMPTY),
        ("nullable", FALSE),
        ("x-kubernetes-preserve-unknown-fields", FALSE),
        ("x-kubernetes-embedded-resource", FALSE),
        ("x-kubernetes-int-or-string", FALSE),
        ("x-kubernetes-list-map-keys", EMPTY),
        ("x-kubernetes-list-type", UNDEFINED),
        ("x-kubernetes-map-type", UNDEFINED),
        ("x-kubernetes-validations", EMPTY),
    ] {
        if raw.is_set(keyword) {
            forbid(keyword, detail);
        }
    }
    if raw.get("default").is_some() {
        forbid("default", UNDEFINED);
    }
    match raw.additional() {
        None | Some(RawAdditional::Allowed(false)) => {}
        Some(_) => forbid("additionalProperties", UNDEFINED),
    }
    if raw.property("metadata").is_some() {
        let detail = "must not be specified in a nested context";
        out.push(FieldError::forbidden(format!("{path}.properties[metadata]"), detail));
    }
}

/// What logic restricts must exist outside of it.
fn logic(raw: Raw<'_>, spine: Option<Raw<'_>>, spine_path: &str, path: &str, out: &mut Vec<FieldError>) {
    let Some(spine) = spine else {
        out.push(FieldError::required(spine_path, format!("because it is defined in {path}")));
        return;
    };
    if let Some(not) = raw.schema("not") {
        inner(not, Some(spine), spine_path, &format!("{path}.not"), out);
    }
    for keyword in ["allOf", "anyOf", "oneOf"] {
        for (index, child) in raw.schemas(keyword).enumerate() {
            inner(child, Some(spine), spine_path, &format!("{path}.{keyword}[{index}]"), out);
        }
    }
}

fn inner(raw: Raw<'_>, spine: Option<Raw<'_>>, spine_path: &str, path: &str, out: &mut Vec<FieldError>) {
    logic(raw, spine, spine_path, path, out);
    let Some(spine) = spine else { return };
    if let Some(items) = raw.schema("items") {
        inner(items, spine.schema("items"), &format!("{spine_path}.items"), &format!("{path}.items"), out);
    }
    for (name, child) in raw.properties() {
        let step = format!(".properties[{name}]");
        inner(child, spine.property(name), &format!("{spine_path}{step}"), &format!("{path}{step}"), out);
    }
}

/// The set of types that a schema names.
pub(super) fn types(raw: Raw<'_>) -> Types {
    if raw.is_int_or_string() { Types::INT_OR_STRING } else { Types::named(raw.kind()) }
}
