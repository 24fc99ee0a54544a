//! Update: PUT of a whole object.

use http::StatusCode;
use safepoint_machinery::meta;
use safepoint_machinery::status::{FieldError, Status};
use serde_json::Value;

use super::create;
use super::write::{Intent, check_uid};
use super::{Call, metadata, shape};
use crate::admission::Operation;
use crate::fault::{self, Problems, at};
use crate::http::{Content, Reply};

/// Replaces an object, or the part of it that the address names.
pub(crate) async fn put(call: &Call, content: &Content) -> Result<Reply, Status> {
    if call.name.is_empty() {
        return Err(fault::not_allowed());
    }
    let intent = Intent::of(call, Operation::Update)?;
    let mut object = shape::read(call, content, intent.strictness)?;
    same_object(call, &mut object)?;
    let rules = call.resource.rules();
    let key = call.resource.key(&call.namespace, &call.name);
    let current = call.api.0.store.get(&key);
    let is_there = current.is_some();
    if !is_there && call.sub.is_none() && rules.creates_on_update() {
        let intent = Intent::of(call, Operation::Create)?;
        if meta::uid(&object).is_some_and(|uid| !uid.is_empty()) {
            return Err(fault::conflict(
                &call.resource,
                &call.name,
                "Precondition failed: the object is not there",
            ));
        }
        metadata::of(&mut object).remove("resourceVersion");
        let object = create::create_object(call, object, &intent).await?;
        return Ok(call.show(object)?.with_code(StatusCode::CREATED));
    }
    if let Some(current) = &current {
        check_uid(&call.resource, &call.name, &object, current)?;
    }
    if is_there && !names_revision(&object) && rules.needs_revision() && call.sub.is_none() {
        return Err(revision_required(call));
    }
    let object = call.change(&intent, |_| Ok(object.clone())).await?;
    call.show(object)
}

/// Whether an object says which revision it was made from.
pub(crate) fn names_revision(object: &Value) -> bool {
    meta::resource_version(object).is_some_and(|revision| !revision.is_empty() && revision != "0")
}

/// The refusal of a write that would not notice what others have written.
pub(crate) fn revision_required(call: &Call) -> Status {
    let mut problems = Problems::new();
    problems.push(FieldError::invalid(at("metadata.resourceVersion"), 0, "must be specified for an update"));
    fault::invalid(&call.resource, &call.name, &problems)
}

/// The refusal of an object that does not say its name.
pub(crate) fn nameless(call: &Call) -> Status {
    fault::bad_request(format!(
        "the name of the object ({} based on URL) was undeterminable: name must be provided",
        call.name
    ))
}

/// The body and the address must name the same object.
pub(crate) fn same_object(call: &Call, object: &mut Value) -> Result<(), Status> {
    match meta::name(object).unwrap_or_default() {
        "" => {
            return Err(nameless(call));
        }
        name if name != call.name => {
            return Err(fault::bad_request(format!(
                "the name of the object ({name}) does not match the name on the URL ({})",
                call.name
            )));
        }
        _ => {}
    }
    create::same_namespace(call, object)
}
