//! The `scale` of a custom resource: how many are wanted and how many are there, in one form for all kinds.

use safepoint_machinery::meta;
use safepoint_machinery::status::{FieldError, Grouped, Status};
use serde_json::{Value, json};

use super::patch;
use super::write::Intent;
use super::{Call, metadata};
use crate::admission::Operation;
use crate::custom::Scale;
use crate::fault::{self, Problems, at};
use crate::http::{Content, Form, Reply};
use crate::table::{self, Column};

/// The scale of an object.
pub(crate) fn get(call: &Call) -> Result<Reply, Status> {
    let object = call
        .api
        .fetch(&call.resource, &call.namespace, &call.name)
        .ok_or_else(|| fault::not_found(&call.resource, &call.name))?;
    form(call, show(rule(call)?, &object))
}

/// Changes how many are wanted.
pub(crate) async fn change(call: &Call, verb: &str, content: &Content) -> Result<Reply, Status> {
    let rule = rule(call)?;
    let intent = Intent::of(call, Operation::Update)?;
    let patch_form = if verb == "patch" { Some(patch::Form::of(call, content)?) } else { None };
    let body: Value = if patch_form.is_some() { content.json()? } else { content.object()? };
    let main = call.main();
    let changed = main
        .change(&intent, |old| {
            let wanted = match patch_form {
                Some(form) => patch::patched(form, &show(rule, old), &body, "autoscaling/v1", "Scale")?,
                None => body.clone(),
            };
            let replicas = match wanted.pointer("/spec/replicas") {
                None | Some(Value::Null) => 0,
                Some(value) => value
                    .as_i64()
                    .ok_or_else(|| fault::bad_request("spec.replicas must be a whole number"))?,
            };
            if replicas < 0 {
                let mut problems = Problems::new();
                let text = "should be a non-negative integer";
                problems.push(FieldError::invalid(at("spec.replicas"), replicas, text));
                return Err(Status::invalid(Grouped::new("autoscaling", "Scale"), &call.name, &problems));
            }
            let mut new = old.clone();
            set(&mut new, &rule.wanted, replicas.into());
            // Whoever names a revision means it.
            match meta::resource_version(&wanted).filter(|revision| !revision.is_empty()) {
                Some(revision) => {
                    metadata::of(&mut new).insert("resourceVersion".to_owned(), revision.into())
                }
                None => metadata::of(&mut new).remove("resourceVersion"),
            };
            Ok(new)
        })
        .await?;
    form(call, show(rule, &changed))
}

/// A scale in the form that was asked for.
fn form(call: &Call, scale: Value) -> Result<Reply, Status> {
    if call.accept.form != Form::Table {
        return Ok(Reply::ok(scale));
    }
    let now = call.api.0.clock.now();
    let columns = [
        Column { format: "name".to_owned(), ..Column::new("Name", "string", "The name of the object.") },
        Column::new("Desired", "integer", "How many are wanted."),
        Column::new("Available", "integer", "How many are there."),
        Column::age(),
    ];
    let cells = json!([
        meta::name(&scale),
        scale["spec"]["replicas"],
        scale["status"]["replicas"],
        table::age(&scale, now)
    ]);
    Ok(Reply::ok(json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1",
        "metadata": { "resourceVersion": meta::resource_version(&scale) },
        "columnDefinitions": columns.iter().map(Column::to_value).collect::<Vec<_>>(),
        "rows": [{ "cells": cells, "object": table::partial(scale, "PartialObjectMetadata") }],
    })))
}

fn rule(call: &Call) -> Result<&Scale, Status> {
    call.resource.custom().and_then(|custom| custom.scale.as_ref()).ok_or_else(fault::not_allowed)
}

fn show(rule: &Scale, object: &Value) -> Value {
    let number = |path: &str| object.pointer(&pointer(path)).and_then(Value::as_i64).unwrap_or(0);
    let mut metadata = json!({});
    for field in ["name", "namespace", "uid", "resourceVersion", "creationTimestamp"] {
        if let Some(value) = meta::field(object, field) {
            metadata[field] = value.clone();
        }
    }
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1", "metadata": metadata,
        "spec": { "replicas": number(&rule.wanted) }, "status": { "replicas": number(&rule.there) },
    });
    if let Some(selector) = rule.selector.as_ref().and_then(|path| object.pointer(&pointer(path))) {
        scale["status"]["selector"] = selector.clone();
    }
    scale
}

/// `.spec.replicas` as a JSON pointer.
fn pointer(path: &str) -> String {
    path.replace('.', "/")
}

fn set(object: &mut Value, path: &str, value: Value) {
    let mut place = object;
    for part in path.split('.').filter(|part| !part.is_empty()) {
        if !place.is_object() {
            *place = json!({});
        }
        place = &mut place[part];
    }
    *place = value;
}
