//! Get and list.

use std::sync::Arc;

use bytes::Bytes;
use safepoint_machinery::status::{Reason, Status};
use safepoint_store::{Object, RevisionError};
use serde_json::{Value, json};

use super::Call;
use super::pages::{self, Page, Wanted};
use super::select::Selection;
use crate::fault;
use crate::http::{Form, Reply};
use crate::resource::Resource;
use crate::table::{self, Include};

/// One object.
pub(crate) fn get(call: &Call) -> Result<Reply, Status> {
    let current = call.api.0.store.revision();
    if let Some(wanted) = pages::revision_or_500(call.query.get("resourceVersion"))?
        && wanted > current
    {
        return Err(pages::too_large(wanted, current));
    }
    let key = call.resource.key(&call.namespace, &call.name);
    let object = call.api.0.store.get(&key).ok_or_else(|| fault::not_found(&call.resource, &call.name))?;
    if call.accept.form == Form::Plain && call.resource.serves_as_stored(&object) {
        return Ok(Reply::json(call.resource.text(&object.json)));
    }
    form_object(call, parse(&call.resource, &object)?)
}

/// One object in the form that was asked for.
pub(crate) fn form_object(call: &Call, object: Value) -> Result<Reply, Status> {
    Ok(Reply::ok(match call.accept.form {
        Form::Plain => object,
        Form::Metadata => table::partial(object, "PartialObjectMetadata"),
        Form::MetadataList => {
            return Err(wrong_form("PartialObjectMetadataList", "not a list", &call.resource.kind));
        }
        Form::Table => {
            let metadata = json!({ "resourceVersion": object.pointer("/metadata/resourceVersion") });
            table::render(
                &call.resource,
                vec![object],
                &metadata,
                include(call)?,
                call.api.0.clock.now(),
                true,
            )
        }
    }))
}

/// Some objects.
pub(crate) fn list(call: &Call) -> Result<Reply, Status> {
    let page = Page::parse(&call.query)?;
    let selection = Selection::of(call)?;
    let store = &call.api.0.store;
    let listing = match page.wanted {
        Wanted::AtLeast(revision) => {
            let listing = store.list(&selection.scope, None, usize::MAX);
            if revision > listing.revision {
                return Err(page.refuse(RevisionError::Future { current: listing.revision }));
            }
            listing
        }
        Wanted::Exactly(revision) => {
            store.list_at(&selection.scope, revision, None, usize::MAX).map_err(|error| page.refuse(error))?
        }
    };
    let mut objects: Vec<Arc<Object>> = listing.objects;
    if let Some((namespace, name)) = &page.after {
        let last = call.resource.key(namespace, name);
        objects.retain(|object| object.key > last);
    }
    if selection.is_narrow() {
        objects.retain(|object| selection.matches(object));
    }
    let remaining = objects.len().saturating_sub(page.limit);
    objects.truncate(page.limit);
    let mut metadata = json!({ "resourceVersion": listing.revision.to_string() });
    if remaining > 0
        && let Some(last) = objects.last()
    {
        metadata["continue"] = pages::continue_after(listing.revision, &last.key).into();
        // What a selector would leave of the rest is not counted, as in Kubernetes.
        if !selection.is_narrow() {
            metadata["remainingItemCount"] = remaining.into();
        }
    }
    form_list(call, &objects, &metadata)
}

fn form_list(call: &Call, objects: &[Arc<Object>], metadata: &Value) -> Result<Reply, Status> {
    let resource = &call.resource;
    let parsed =
        || objects.iter().map(|object| parse(resource, object)).collect::<Result<Vec<Value>, Status>>();
    match call.accept.form {
        Form::Plain => {
            let texts = objects
                .iter()
                .map(|object| item(resource, object))
                .collect::<Result<Vec<Bytes>, Status>>()?;
            Ok(Reply::json(join(resource, &texts, metadata)))
        }
        Form::Metadata => Err(wrong_form("PartialObjectMetadata", "a list", &resource.list_kind)),
        Form::MetadataList => {
            let items: Vec<Value> =
                parsed()?.into_iter().map(|object| table::partial(object, "PartialObjectMetadata")).collect();
            Ok(Reply::ok(json!({
                "kind": "PartialObjectMetadataList", "apiVersion": "meta.k8s.io/v1", "metadata": metadata, "items": items,
            })))
        }
        Form::Table => {
            let now = call.api.0.clock.now();
            Ok(Reply::ok(table::render(resource, parsed()?, metadata, include(call)?, now, true)))
        }
    }
}

fn wrong_form(wanted: &str, is: &str, kind: &str) -> Status {
    let why = format!("you requested {wanted}, but the requested object is {is} (*core.{kind})");
    Status::new(406, Reason::NotAcceptable, why)
}

/// The text of an object in a list. Most are there as they are stored.
fn item(resource: &Resource, object: &Object) -> Result<Bytes, Status> {
    if resource.serves_as_stored(object) {
        return Ok(object.json.clone());
    }
    let mut item = parse(resource, object)?;
    if resource.custom().is_none() {
        crate::kinds::remove(&mut item, "kind");
        crate::kinds::remove(&mut item, "apiVersion");
    }
    Ok(item.to_string().into())
}

/// The text of a list, put together from the texts of its objects.
fn join(resource: &Resource, objects: &[Bytes], metadata: &Value) -> Bytes {
    let head = format!(
        "{{\"kind\":\"{}\",\"apiVersion\":\"{}\",\"metadata\":{metadata},\"items\":[",
        resource.list_kind,
        resource.api_version(),
    );
    let size = head.len() + 3 + objects.iter().map(|object| object.len() + 1).sum::<usize>();
    let mut text = Vec::with_capacity(size);
    text.extend_from_slice(head.as_bytes());
    for (index, object) in objects.iter().enumerate() {
        if index > 0 {
            text.push(b',');
        }
        text.extend_from_slice(object);
    }
    text.extend_from_slice(b"]}\n");
    Bytes::from(text)
}

/// An object as its endpoint shows it.
pub(crate) fn parse(resource: &Resource, object: &Object) -> Result<Value, Status> {
    let value = serde_json::from_slice(&object.json)
        .map_err(|error| fault::internal(format!("the stored object {} is not JSON: {error}", object.key)))?;
    Ok(resource.to_served(value))
}

pub(crate) fn include(call: &Call) -> Result<Include, Status> {
    Include::parse(&call.query).ok_or_else(|| {
        let value = call.query.get("includeObject").unwrap_or_default();
        fault::bad_request(format!(
            "Unable to convert to Table as requested: includeObject: Invalid value: {value:?}: must be 'Metadata', \
             'Object', 'None', or empty"
        ))
    })
}
