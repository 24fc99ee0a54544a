//! The shape of objects: is it the kind that the address names, are its fields known, have they the right types.
//!
//! Custom resources are pruned, defaulted and validated by their schema. Built-in kinds are only looked at: fields that
//! nobody knows are reported and kept.

use safepoint_machinery::status::{FieldError, Grouped, Status};
use safepoint_machinery::{go, meta};
use serde_json::Value;

use super::Call;
use crate::fault::{self, Problems};
use crate::http::Content;
use crate::openapi;
use crate::resource::{Resource, Sub};
use crate::typed;

/// How many of the mistakes in a body a refusal names.
const MOST_MISTAKES: usize = 100;

/// What is done about fields that nobody knows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Strictness {
    Ignore,
    Warn,
    Strict,
}

// === impl Strictness ===

impl Strictness {
    pub(crate) fn parse(text: Option<&str>, options: &str) -> Result<Strictness, Status> {
        match text {
            None | Some("Warn") => Ok(Strictness::Warn),
            Some("Ignore") => Ok(Strictness::Ignore),
            Some("Strict") => Ok(Strictness::Strict),
            Some(other) => {
                let mut problems = Problems::new();
                let known = ["", "Ignore", "Strict", "Warn"];
                problems.push(FieldError::not_supported(fault::at("fieldValidation"), other, &known));
                Err(fault::options(options, &problems))
            }
        }
    }

    /// Warnings about what is unknown or given twice, or the refusal of it.
    fn judge(self, mistakes: Vec<String>) -> Result<Vec<String>, String> {
        match self {
            Strictness::Strict if !mistakes.is_empty() => {
                let shown =
                    mistakes.iter().take(MOST_MISTAKES).map(String::as_str).collect::<Vec<_>>().join(", ");
                Err(format!("strict decoding error: {shown}"))
            }
            Strictness::Warn => Ok(mistakes),
            Strictness::Ignore | Strictness::Strict => Ok(Vec::new()),
        }
    }
}

/// Reads the object of a POST or PUT. The client is warned of what is odd about it.
pub(crate) fn read(call: &Call, content: &Content, strictness: Strictness) -> Result<Value, Status> {
    let resource = &call.resource;
    let unrecognized = |why: &str| {
        fault::bad_request(format!(
            "the object provided is unrecognized (must be of type {}): {why}",
            resource.kind
        ))
    };
    if content.bytes.is_empty() {
        return Err(unrecognized(
            "couldn't get version/kind; json parse error: unexpected end of JSON input",
        ));
    }
    let mut object = content.object().map_err(|status| match status.code {
        400 => unrecognized(&format!("couldn't get version/kind; json parse error: {}", status.message)),
        _ => status,
    })?;
    if !object.is_object() {
        return Err(unrecognized("couldn't get version/kind; json parse error: it is not an object"));
    }
    if ["apiVersion", "kind"]
        .iter()
        .any(|field| object.get(field).is_some_and(|is| !is.is_string() && !is.is_null()))
    {
        return Err(unrecognized("couldn't get version/kind; json parse error: they are no texts"));
    }
    name_kind(resource, &mut object)?;
    let mut mistakes =
        if content.is_json() { safepoint_schema::duplicate_fields(&content.bytes) } else { Vec::new() };
    let unusable = |why: String| {
        fault::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {why}",
            kind = resource.kind,
            version = resource.version,
        ))
    };
    settle(call, &mut object).map_err(unusable)?;
    mistakes.extend(unknown(resource, &mut object));
    call.note(strictness.judge(mistakes).map_err(unusable)?);
    Ok(object)
}

/// The warnings about an object that was patched, or the refusal of it.
pub(crate) fn judge(
    resource: &Resource,
    object: &mut Value,
    duplicates: &[String],
    strictness: Strictness,
) -> Result<Vec<String>, String> {
    let mut mistakes = duplicates.to_vec();
    mistakes.extend(unknown(resource, object));
    strictness.judge(mistakes)
}

/// An object without a kind is what the address says; one with another kind is refused.
fn name_kind(resource: &Resource, object: &mut Value) -> Result<(), Status> {
    let expected = resource.api_version();
    match (meta::kind(object).unwrap_or_default(), meta::api_version(object).unwrap_or_default()) {
        ("", "") if resource.custom().is_none() => {}
        (kind, version) if kind == &*resource.kind && version == expected => {}
        (kind, version) if kind == &*resource.kind && !version.is_empty() => {
            return Err(fault::bad_request(format!(
                "the API version in the data ({version}) does not match the expected API version ({expected})"
            )));
        }
        ("", version) if resource.custom().is_none() && version == expected => {}
        (kind, "") if kind == &*resource.kind && resource.custom().is_none() => {}
        (kind, version) if resource.custom().is_some() && version == expected && !kind.is_empty() => {
            let mut problems = Problems::new();
            problems.push(FieldError::invalid(fault::at("kind"), kind, format!("must be {}", resource.kind)));
            let name = meta::name(object).unwrap_or_default();
            return Err(Status::invalid(Grouped::new(&resource.group, kind), name, &problems));
        }
        (kind, version) => {
            return Err(fault::bad_request(format!(
                "{kind} in version {version:?} cannot be handled as a {}: expected apiVersion {expected} and kind {}",
                resource.kind, resource.kind
            )));
        }
    }
    object["kind"] = (&*resource.kind).into();
    object["apiVersion"] = expected.into();
    Ok(())
}

/// Brings a document into the form in which its kind is kept, or says which field has a type that it cannot have.
pub(crate) fn settle(call: &Call, object: &mut Value) -> Result<(), String> {
    let resource = &call.resource;
    if resource.custom().is_some() {
        return check_metadata(object);
    }
    if typed::knows(&resource.group, &resource.kind) {
        typed::round_trip(&resource.group, &resource.kind, object)?;
    } else {
        // In the schemas of a CRD a null may mean something.
        if &*resource.kind != "CustomResourceDefinition" {
            drop_nulls(object);
        }
        check_metadata(object)?;
        if let Some(schema) = openapi::shape_of(resource) {
            schema.mistyped(object)?;
        }
    }
    resource.rules().unreadable(object).map_or(Ok(()), Err)
}

/// Removes nulls, which say nothing about a built-in kind.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            map.retain(|_, value| !value.is_null());
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// Metadata has the same types everywhere, and everything else relies on them.
fn check_metadata(object: &Value) -> Result<(), String> {
    let Some(metadata) = object.get("metadata") else { return Ok(()) };
    let wrong = |field: &str, is: &Value, kind: &str| {
        let is = go::json_kind(is);
        Err(format!(
            "json: cannot unmarshal {is} into Go struct field ObjectMeta.metadata{field} of type {kind}"
        ))
    };
    if metadata.is_null() {
        return Ok(());
    }
    if !metadata.is_object() {
        return wrong("", metadata, "v1.ObjectMeta");
    }
    for field in ["name", "generateName", "namespace", "uid", "resourceVersion"] {
        if let Some(value) = metadata.get(field).filter(|value| !value.is_string() && !value.is_null()) {
            return wrong(&format!(".{field}"), value, "string");
        }
    }
    for field in ["labels", "annotations"] {
        match metadata.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::Object(map)) => {
                if let Some(value) = map.values().find(|value| !value.is_string() && !value.is_null()) {
                    return wrong(&format!(".{field}"), value, "string");
                }
            }
            Some(value) => return wrong(&format!(".{field}"), value, "map[string]string"),
        }
    }
    for (field, items_are) in
        [("finalizers", Value::is_string as fn(&Value) -> bool), ("ownerReferences", Value::is_object)]
    {
        match metadata.get(field) {
            None | Some(Value::Null) => {}
            Some(Value::Array(items)) => {
                if let Some(value) = items.iter().find(|item| !items_are(item)) {
                    return wrong(&format!(".{field}"), value, "string");
                }
            }
            Some(value) => return wrong(&format!(".{field}"), value, "[]string"),
        }
    }
    Ok(())
}

/// The fields that nobody knows, as the texts that warnings have. A custom resource is pruned of them.
fn unknown(resource: &Resource, object: &mut Value) -> Vec<String> {
    match resource.custom() {
        Some(custom) => custom.prune(object),
        None => openapi::shape_of(resource).map(|schema| schema.unknown_fields(object)).unwrap_or_default(),
    }
}

/// Brings an object into the shape of its schema, and says what is wrong with it.
pub(crate) fn shape(
    resource: &Resource,
    object: &mut Value,
    old: Option<&Value>,
    sub: Option<Sub>,
) -> Problems {
    match resource.custom() {
        Some(custom) => custom.shape(object, old, sub),
        None => {
            // It has been read before: a webhook that made nonsense of it is told when the object is checked.
            let _ = typed::round_trip(&resource.group, &resource.kind, object);
            Problems::new()
        }
    }
}
