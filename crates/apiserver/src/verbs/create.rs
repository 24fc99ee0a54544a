//! Create.

use http::StatusCode;
use safepoint_machinery::meta;
use safepoint_machinery::status::{Grouped, Reason, Status};
use safepoint_store::{Change, Expect, Key, Write, WriteError};
use serde_json::{Value, json};

use super::shape;
use super::write::Intent;
use super::{Call, metadata};
use crate::admission::Operation;
use crate::api::Api;
use crate::fault;
use crate::http::{Content, Reply};
use crate::resource::Resource;

/// How often another name is drawn when a generated one is taken.
const DRAWS: usize = 8;

/// Creates the object in the body.
pub(crate) async fn create(call: &Call, content: &Content) -> Result<Reply, Status> {
    if !call.name.is_empty() {
        return Err(fault::not_allowed());
    }
    if call.resource.namespaced && call.namespace.is_empty() {
        return Err(fault::bad_request("an empty namespace may not be set during creation"));
    }
    let intent = Intent::of(call, Operation::Create)?;
    let object = shape::read(call, content, intent.strictness)?;
    let object = create_object(call, object, &intent).await?;
    Ok(call.show(object)?.with_code(StatusCode::CREATED))
}

/// Creates an object that has been read.
pub(crate) async fn create_object(call: &Call, mut object: Value, intent: &Intent) -> Result<Value, Status> {
    let resource = &call.resource;
    same_namespace(call, &mut object)?;
    if meta::resource_version(&object).is_some_and(|revision| !revision.is_empty() && revision != "0") {
        let why = "resourceVersion should not be set on objects to be created";
        return Err(Status::new(500, Reason::Unknown, why));
    }
    let stem = match (meta::name(&object), meta::generate_name(&object)) {
        (Some(name), _) if !name.is_empty() => None,
        (_, Some(stem)) if !stem.is_empty() => Some(stem.to_owned()),
        _ => None,
    };
    if stem.is_none() {
        let name = meta::name(&object).unwrap_or_default();
        // A webhook is not asked about something that is there already; and nobody is asked about a missing namespace.
        if !name.is_empty() && call.api.0.store.get(&resource.key(&call.namespace, name)).is_some() {
            return Err(fault::already_exists(resource, name));
        }
    }
    check_namespace(call, &object)?;
    if resource.custom().is_some_and(|custom| custom.is_ending()) {
        let why = "create not allowed while custom resource definition is terminating";
        return Err(Status::new(405, Reason::MethodNotAllowed, why));
    }
    metadata::begin(&mut object, resource, call.api.0.clock.now());
    metadata::tidy(&mut object);
    for _ in 0..DRAWS {
        let mut draft = object.clone();
        if let Some(stem) = &stem {
            metadata::of(&mut draft).insert("name".to_owned(), metadata::generated(stem).into());
        }
        // What was left out is filled in before a kind looks at what a new object is.
        shape::shape(resource, &mut draft, None, None);
        resource.rules().default(&mut draft);
        if resource.has(crate::resource::Sub::Status)
            && (resource.custom().is_some() || !keeps_status(resource))
        {
            crate::kinds::remove(&mut draft, "status");
        }
        resource.rules().begin(&mut draft);
        let admitted = call.admit(draft, None, intent).await?;
        if intent.dry_run {
            return Ok(admitted);
        }
        let name = meta::name(&admitted).unwrap_or_default().to_owned();
        let write = Write {
            key: resource.key(&call.namespace, &name),
            expect: Expect::Absent,
            change: Change::Put(resource.to_stored(admitted)),
        };
        match call.api.0.store.write(write).await {
            Ok(committed) => {
                call.api.after_write(resource, &committed.object, false);
                // A namespace that ended just now has not seen it: the controllers look again.
                let place = Key::new("namespaces", "", call.namespace.as_str());
                if resource.namespaced && call.api.0.store.get(&place).is_none() {
                    call.api.0.bell.notify_one();
                }
                let object = super::list::parse(resource, &committed.object)?;
                return Ok(object);
            }
            Err(WriteError::Exists) if stem.is_some() => {}
            Err(error) => return Err(fault::from_write(resource, &name, &error)),
        }
    }
    Err(fault::already_exists(resource, stem.as_deref().unwrap_or_default()))
}

/// A node comes with its status: the kubelet that registers it has it already.
fn keeps_status(resource: &Resource) -> bool {
    &*resource.collection == "nodes"
}

/// The body and the address must name the same namespace. What is outside of namespaces has none, whatever it says.
pub(crate) fn same_namespace(call: &Call, object: &mut Value) -> Result<(), Status> {
    if !call.resource.namespaced {
        metadata::of(object).remove("namespace");
        return Ok(());
    }
    if meta::namespace(object).is_some_and(|said| !said.is_empty() && said != call.namespace) {
        let why = "the namespace of the provided object does not match the namespace sent on the request";
        return Err(fault::bad_request(why));
    }
    metadata::of(object).insert("namespace".to_owned(), call.namespace.as_str().into());
    Ok(())
}

/// Nothing begins in a namespace that is missing or ending.
pub(crate) fn check_namespace(call: &Call, object: &Value) -> Result<(), Status> {
    if !call.resource.namespaced {
        return Ok(());
    }
    let namespace = call.api.0.store.get(&Key::new("namespaces", "", call.namespace.as_str()));
    match namespace {
        None => Err(Status::not_found(Grouped::core("namespaces"), &call.namespace)),
        Some(namespace) if namespace.tags.field("status.phase") == "Terminating" => {
            let name = meta::name(object).unwrap_or_default();
            let why = format!(
                "unable to create new content in namespace {} because it is being terminated",
                call.namespace
            );
            let mut status = fault::forbidden(&call.resource, name, &why);
            fault::add_cause(
                &mut status,
                "NamespaceTerminating",
                &format!("namespace {} is being terminated", call.namespace),
                "metadata.namespace",
            );
            Err(status)
        }
        Some(_) => Ok(()),
    }
}

/// Creates an object on behalf of the server itself. One that is there already is left as it is.
pub(crate) async fn create_as_server(
    api: &Api,
    resource: &Resource,
    mut object: Value,
) -> Result<(), String> {
    metadata::begin(&mut object, resource, api.0.clock.now());
    object["apiVersion"] = resource.api_version().into();
    object["kind"] = json!(&*resource.kind);
    resource.rules().default(&mut object);
    resource.rules().begin(&mut object);
    let key =
        resource.key(meta::namespace(&object).unwrap_or_default(), meta::name(&object).unwrap_or_default());
    match api.0.store.write(Write { key, expect: Expect::Absent, change: Change::Put(object) }).await {
        Ok(_) | Err(WriteError::Exists) => Ok(()),
        Err(error) => Err(error.to_string()),
    }
}
