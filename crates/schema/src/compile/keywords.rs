//! Keywords that are refused, and keywords that only make sense together.

use safepoint_machinery::FieldError;
use serde_json::{Value, json};

use super::rules;
use crate::node::Types;
use crate::problem;
use crate::raw::{Raw, RawAdditional};

/// What the surroundings say about a schema.
#[derive(Clone, Copy, Default)]
struct Around<'a> {
    /// Inside the metadata of a resource.
    in_meta: bool,
    /// Why there may be no default here.
    no_default: Option<&'a str>,
}

/// Everything that is refused in the schema or below.
pub(super) fn check(raw: Raw<'_>, path: &str, out: &mut Vec<FieldError>) {
    schema(raw, path, true, Around::default(), out);
}

fn schema(raw: Raw<'_>, path: &str, root: bool, around: Around<'_>, out: &mut Vec<FieldError>) {
    unsupported(raw, path, around, out);
    if raw.flag("uniqueItems") {
        let detail = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        out.push(FieldError::forbidden(format!("{path}.uniqueItems"), detail));
    }
    if let Some(additional) = raw.additional() {
        let path = format!("{path}.additionalProperties");
        if !raw.properties().is_empty() && !matches!(additional, RawAdditional::Allowed(true)) {
            out.push(FieldError::forbidden(
                path.as_str(),
                "additionalProperties and properties are mutual exclusive",
            ));
        }
        if let RawAdditional::Schema(child) = additional {
            let no_default = match around.in_meta {
                true => Some("inside additionalProperties applying to object metadata"),
                false => around.no_default,
            };
            schema(child, &path, false, Around { no_default, ..around }, out);
        }
    }
    for (name, child) in raw.properties() {
        let mut inside = around;
        let reason;
        if (root || raw.is_embedded()) && matches!(name, "metadata" | "kind" | "apiVersion") {
            inside.in_meta = true;
            if root {
                reason = format!("in top-level {name}");
                inside.no_default = Some(&reason);
            }
        }
        schema(child, &format!("{path}.properties[{name}]"), false, inside, out);
    }
    for keyword in ["allOf", "oneOf", "anyOf"] {
        for (index, child) in raw.schemas(keyword).enumerate() {
            schema(child, &format!("{path}.{keyword}[{index}]"), false, around, out);
        }
    }
    for keyword in ["not", "items"] {
        if let Some(child) = raw.schema(keyword) {
            schema(child, &format!("{path}.{keyword}"), false, around, out);
        }
    }
    if raw.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(false)) {
        let path = format!("{path}.x-kubernetes-preserve-unknown-fields");
        out.push(FieldError::invalid(path, false, "must be true or undefined"));
    }
    map_type(raw, path, out);
    list_type(raw, path, out);
    rules::check_texts(raw, path, out);
}

fn unsupported(raw: Raw<'_>, path: &str, around: Around<'_>, out: &mut Vec<FieldError>) {
    let kind = raw.kind();
    if !kind.is_empty() && Types::named(kind).is_empty() {
        out.push(FieldError::not_supported(format!("{path}.type"), kind, &Types::all_names()));
    }
    let mut forbid =
        |keyword: &str, detail: &str| out.push(FieldError::forbidden(format!("{path}.{keyword}"), detail));
    if let Some(reason) = around.no_default.filter(|_| raw.get("default").is_some()) {
        forbid("default", &format!("must not be set {reason}"));
    }
    for keyword in ["id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref"] {
        if raw.is_set(keyword) {
            forbid(keyword, &format!("{keyword} is not supported"));
        }
    }
    if kind == "null" {
        forbid("type", "type cannot be set to null, use nullable as an alternative");
    }
    if !raw.list("items").is_empty() {
        forbid("items", "items must be a schema object and not an array");
    }
    if around.in_meta && raw.is_embedded() {
        forbid("x-kubernetes-embedded-resource", "must not be used inside of resource meta");
    }
}

/// The type that an extension needs.
fn needs_type(raw: Raw<'_>, wanted: &str, extension: &str, path: &str, out: &mut Vec<FieldError>) -> bool {
    let kind = raw.kind();
    let detail = format!("must be {wanted} if {extension} is specified");
    match kind {
        kind if kind == wanted => return true,
        "" => out.push(FieldError::required(format!("{path}.type"), detail)),
        kind => out.push(FieldError::invalid(format!("{path}.type"), kind, detail)),
    }
    false
}

fn map_type(raw: Raw<'_>, path: &str, out: &mut Vec<FieldError>) {
    let Some(map_type) = raw.get("x-kubernetes-map-type").and_then(Value::as_str) else { return };
    needs_type(raw, "object", "x-kubernetes-map-type", path, out);
    let known = ["atomic", "granular"];
    if !known.contains(&map_type) {
        out.push(FieldError::not_supported(format!("{path}.x-kubernetes-map-type"), map_type, &known));
    }
}

fn list_type(raw: Raw<'_>, path: &str, out: &mut Vec<FieldError>) {
    let list_type = raw.get("x-kubernetes-list-type").and_then(Value::as_str);
    let items = raw.schema("items");
    if let Some(list_type) = list_type {
        if needs_type(raw, "array", "x-kubernetes-list-type", path, out)
            && list_type == "set"
            && let Some(items) = items
        {
            items_of_set(items, path, out);
        }
        let known = ["atomic", "set", "map"];
        if !known.contains(&list_type) {
            out.push(FieldError::not_supported(format!("{path}.x-kubernetes-list-type"), list_type, &known));
        }
    }
    let keys = raw.texts("x-kubernetes-list-map-keys");
    if !keys.is_empty() && list_type != Some("map") {
        let path = format!("{path}.x-kubernetes-list-type");
        let detail = "must be map if x-kubernetes-list-map-keys is non-empty";
        out.push(match list_type {
            None => FieldError::required(path, detail),
            Some(list_type) => FieldError::invalid(path, list_type, detail),
        });
    }
    if list_type == Some("map") {
        map_list(raw, items, &keys, path, out);
    }
    if matches!(list_type, Some("map" | "set"))
        && let Some(items) = items
    {
        identity(items, list_type.unwrap_or_default(), &keys, path, out);
    }
}

/// An item of a set is compared as a whole, so it must not have parts of its own.
fn items_of_set(items: Raw<'_>, path: &str, out: &mut Vec<FieldError>) {
    let keyword = match items.kind() {
        "array" => "x-kubernetes-list-type",
        "object" => "x-kubernetes-map-type",
        _ => return,
    };
    let atomic = match (items.kind(), items.text(keyword)) {
        ("array", None) | (_, Some("atomic")) => true,
        (_, None | Some(_)) => false,
    };
    if !atomic {
        // The value shown is the list type even for objects; clients have learned it that way.
        let value = items.get("x-kubernetes-list-type").cloned().unwrap_or_default();
        let detail = "must be atomic as item of a list with x-kubernetes-list-type=set";
        out.push(FieldError::invalid(format!("{path}.items.{keyword}"), value, detail));
    }
}

fn map_list(raw: Raw<'_>, items: Option<Raw<'_>>, keys: &[&str], path: &str, out: &mut Vec<FieldError>) {
    let keys_path = format!("{path}.x-kubernetes-list-map-keys");
    if keys.is_empty() {
        out.push(FieldError::required(
            keys_path.as_str(),
            "must not be empty if x-kubernetes-list-type is map",
        ));
    }
    let Some(items) = items else {
        let path = format!("{path}.items");
        out.push(match raw.get("items") {
            None => FieldError::required(path, "must have a schema if x-kubernetes-list-type is map"),
            Some(_) => problem::invalid_omitted(
                path,
                "must only have a single schema if x-kubernetes-list-type is map".to_owned(),
            ),
        });
        return;
    };
    if items.kind() != "object" {
        let detail = "must be object if parent array's x-kubernetes-list-type is map";
        out.push(FieldError::invalid(format!("{path}.items.type"), items.kind(), detail));
        return;
    }
    for (index, key) in keys.iter().enumerate() {
        match items.property(key) {
            Some(property) if matches!(property.kind(), "array" | "object") => {
                let path = format!("{path}.items.properties[{key}].type");
                let detail = "must be a scalar type if parent array's x-kubernetes-list-type is map";
                out.push(FieldError::invalid(path, items.kind(), detail));
            }
            Some(_) => {}
            None => out.push(FieldError::invalid(
                keys_path.as_str(),
                json!(keys),
                "entries must all be names of item properties",
            )),
        }
        if keys[..index].contains(key) {
            out.push(FieldError::invalid(
                keys_path.as_str(),
                json!(keys),
                "must not contain duplicate entries",
            ));
        }
    }
}

/// What tells items apart must always be there.
fn identity(items: Raw<'_>, list_type: &str, keys: &[&str], path: &str, out: &mut Vec<FieldError>) {
    if items.flag("nullable") {
        let detail = format!("cannot be nullable when x-kubernetes-list-type is {list_type}");
        out.push(FieldError::forbidden(format!("{path}.items.nullable"), detail));
    }
    if list_type != "map" {
        return;
    }
    let required = items.texts("required");
    for key in keys {
        let Some(property) = items.property(key) else { continue };
        let path = format!("{path}.items.properties[{key}]");
        if !required.contains(key) && property.get("default").is_none() {
            let detail = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property";
            out.push(FieldError::required(format!("{path}.default"), detail));
        }
        if property.flag("nullable") {
            let detail = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable";
            out.push(FieldError::forbidden(format!("{path}.nullable"), detail));
        }
    }
}
