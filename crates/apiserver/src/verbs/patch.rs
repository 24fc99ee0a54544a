//! Patch, in the three forms that are served. Server-side apply is refused in plain words.

use safepoint_machinery::meta;
use safepoint_machinery::patch::{self as patches, merge_keys};
use safepoint_machinery::status::{Details, FieldError, Grouped, Reason, Status};
use serde_json::Value;

use super::Call;
use super::shape::{self, Strictness};
use super::update::{self, same_object};
use super::write::Intent;
use crate::fault::{self, Problems, at};
use crate::http::{Content, Reply};

const APPLY: &str = "server-side apply is not served by the embedded API: use a client-side `kubectl apply`, or a JSON, \
                     merge or strategic merge patch; a Kubernetes cluster serves it";

/// Changes an object as the body says.
pub(crate) async fn patch(call: &Call, content: &Content) -> Result<Reply, Status> {
    if call.name.is_empty() {
        return Err(fault::not_allowed());
    }
    let intent = Intent::of_patch(call)?;
    let form = Form::of(call, content)?;
    let patch: Value = serde_json::from_slice(&content.bytes)
        .map_err(|error| fault::bad_request(format!("error decoding patch: {error}")))?;
    let duplicates = safepoint_schema::duplicate_fields(&content.bytes);
    let object =
        call.change(&intent, |old| apply(call, form, old, &patch, &duplicates, intent.strictness)).await?;
    call.show(object)
}

/// The result of a patch, as if it had been PUT.
fn apply(
    call: &Call,
    form: Form,
    old: &Value,
    patch: &Value,
    duplicates: &[String],
    strictness: Strictness,
) -> Result<Value, Status> {
    let mut new = patched(form, old, patch, &call.resource.api_version(), &call.resource.kind)?;
    let unusable = |why: String| {
        let mut problems = Problems::new();
        problems.push(FieldError::invalid(at("patch"), patch.to_string(), why));
        Status::invalid(Grouped::core(""), "", &problems)
    };
    keep_kind(call, form, &mut new, old, unusable)?;
    shape::settle(call, &mut new).map_err(unusable)?;
    call.note(shape::judge(&call.resource, &mut new, duplicates, strictness).map_err(unusable)?);
    same_object(call, &mut new)?;
    // A revision that was in the object is no precondition; one that the patch brings is.
    if meta::resource_version(&new) == meta::resource_version(old) && !names_revision(form, patch) {
        super::metadata::of(&mut new).remove("resourceVersion");
    } else if call.sub.is_none() && call.resource.rules().needs_revision() && !update::names_revision(&new) {
        return Err(update::revision_required(call));
    }
    // Of a sub-resource no metadata is taken over, so that nobody else would notice.
    if let Some(uid) = meta::uid(&new).filter(|uid| call.sub.is_some() && Some(*uid) != meta::uid(old)) {
        let mut problems = Problems::new();
        problems.push(FieldError::invalid(at("metadata.uid"), uid, "field is immutable"));
        return Err(fault::invalid(&call.resource, &call.name, &problems));
    }
    Ok(new)
}

/// A patch cannot make another kind of an object. What it leaves empty is what the address says.
fn keep_kind(
    call: &Call,
    form: Form,
    new: &mut Value,
    old: &Value,
    unusable: impl Fn(String) -> Status,
) -> Result<(), Status> {
    if !new.is_object() {
        return Err(unusable("what is left is no object".to_owned()));
    }
    for field in ["kind", "apiVersion"] {
        let was = old.get(field).cloned().unwrap_or_default();
        match new.get(field) {
            Some(is) if *is == was => continue,
            // Without a version Kubernetes finds nothing in the document, not even a name.
            None | Some(Value::Null) if is_version_of_builtin(call, form, field) => {
                return Err(update::nameless(call));
            }
            Some(Value::String(is)) if is.is_empty() && is_version_of_builtin(call, form, field) => {
                return Err(update::nameless(call));
            }
            None | Some(Value::Null) => {}
            Some(Value::String(is)) if is.is_empty() => {}
            Some(Value::String(_)) if form == Form::Strategic => {}
            Some(is) if call.resource.custom().is_some() => {
                return Err(fault::bad_request(format!(
                    "a patch cannot change the {field} of an object to {is}: it is {was}"
                )));
            }
            Some(is) => {
                return Err(unusable(format!(
                    "a patch cannot change the {field} of an object to {is}: it is {was}"
                )));
            }
        }
        new[field] = was;
    }
    Ok(())
}

fn is_version_of_builtin(call: &Call, form: Form, field: &str) -> bool {
    field == "apiVersion" && form != Form::Strategic && call.resource.custom().is_none()
}

/// Whether the author of a patch has said which revision it is for.
fn names_revision(form: Form, patch: &Value) -> bool {
    match form {
        Form::Json => patch.as_array().into_iter().flatten().any(|operation| {
            operation.get("path").and_then(Value::as_str) == Some("/metadata/resourceVersion")
        }),
        Form::Merge | Form::Strategic => meta::resource_version(patch).is_some(),
    }
}

/// What a patch makes of a document.
pub(crate) fn patched(
    form: Form,
    old: &Value,
    patch: &Value,
    api_version: &str,
    kind: &str,
) -> Result<Value, Status> {
    let patched = match form {
        Form::Json => patches::json(old, patch),
        Form::Merge => patches::merge(old, patch),
        Form::Strategic => match merge_keys::of(api_version, kind) {
            Some(keys) => patches::strategic(old, patch, keys),
            None => return Err(fault::unsupported_media_type("415: Unsupported Media Type")),
        },
    };
    patched.map_err(|error| error.status())
}

/// How a patch is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    Merge,
    Strategic,
}

impl Form {
    pub(crate) fn of(call: &Call, content: &Content) -> Result<Form, Status> {
        match content.kind.as_str() {
            "application/json-patch+json" => Ok(Form::Json),
            "application/merge-patch+json" => Ok(Form::Merge),
            // Custom resources have no merge keys.
            "application/strategic-merge-patch+json" if call.resource.custom().is_none() => {
                Ok(Form::Strategic)
            }
            "application/apply-patch+yaml" | "application/apply-patch+cbor" => {
                Err(fault::unsupported_media_type(APPLY))
            }
            "application/strategic-merge-patch+json" => Err(fault::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json-patch+json, application/merge-patch+json",
            )),
            _ => Err(Status::new(415, Reason::UnsupportedMediaType, "415: Unsupported Media Type")
                .about(Details::default())),
        }
    }
}
