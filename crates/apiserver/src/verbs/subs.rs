//! Acts on objects that have addresses of their own: bind, evict, request a token.

use http::StatusCode;
use jiff::SignedDuration;
use safepoint_machinery::meta;
use safepoint_machinery::status::{FieldError, Grouped, Reason, Status};
use safepoint_store::Key;
use serde_json::{Value, json};

use super::delete::{Deletion, delete_object};
use super::write::{Intent, dry_run};
use super::{Call, metadata};
use crate::admission::{GroupVersionKind, Operation};
use crate::clock;
use crate::fault::{self, Problems, at};
use crate::http::{Content, Reply};
use crate::identity::{self, Change, Reference, TokenFor};
use crate::kinds::{self, text};

/// Gives a pod to a node.
pub(crate) async fn bind(call: &Call, content: &Content) -> Result<Reply, Status> {
    let binding = read(call, content, "Binding", "v1")?;
    if meta::name(&binding) != Some(call.name.as_str()) {
        return Err(fault::bad_request("name in URL does not match name in Binding object"));
    }
    let node = text(&binding, "/target/name").to_owned();
    if node.is_empty() {
        let mut problems = Problems::new();
        problems.push(FieldError::required(at("target.name"), ""));
        return Err(Status::invalid(Grouped::core("Binding"), &call.name, &problems));
    }
    let kind = text(&binding, "/target/kind");
    if !matches!(kind, "" | "Node") {
        let why =
            format!("target.kind: Unsupported value: {kind:?}: supported values: \"Node\", \"<empty>\"");
        return Err(Status::new(500, Reason::Unknown, why));
    }
    let intent = Intent::of(call, Operation::Create)?;
    ask_webhooks(call, &intent, &binding).await?;
    let conflict = |name: &str, why: &str| Status::conflict(Grouped::core("pods/binding"), name, why);
    let uid = meta::uid(&binding).unwrap_or_default().to_owned();
    let now = call.api.0.clock.text();
    let main = call.main();
    main.act(&intent, |pod| {
        let name = meta::name(pod).unwrap_or_default();
        if !uid.is_empty() && meta::uid(pod) != Some(uid.as_str()) {
            let is = meta::uid(pod).unwrap_or_default();
            let why = format!("Precondition failed: UID in precondition: {uid}, UID in object meta: {is}");
            return Err(conflict(name, &why));
        }
        if meta::deletion_timestamp(pod).is_some() {
            return Err(conflict(name, &format!("pod {name} is being deleted, cannot be assigned to a host")));
        }
        if kinds::items(&pod["spec"], "schedulingGates").next().is_some() {
            return Err(conflict(name, &format!("pod {name} has non-empty .spec.schedulingGates")));
        }
        let bound = text(pod, "/spec/nodeName");
        if !bound.is_empty() {
            return Err(conflict(name, &format!("pod {name} is already assigned to node {bound:?}")));
        }
        let mut pod = pod.clone();
        pod["spec"]["nodeName"] = node.as_str().into();
        for (key, value) in meta::annotations(&binding) {
            let annotations = metadata::of(&mut pod).entry("annotations").or_insert_with(|| json!({}));
            annotations[key] = value.into();
        }
        set_condition(&mut pod, json!({ "type": "PodScheduled", "status": "True", "lastProbeTime": null, "lastTransitionTime": now }));
        Ok(pod)
    })
    .await?;
    Ok(Reply::ok(
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 }),
    )
    .with_code(StatusCode::CREATED))
}

/// Deletes a pod unless something speaks against it. There are no disruption budgets here: only webhooks can.
pub(crate) async fn evict(call: &Call, content: &Content) -> Result<Reply, Status> {
    let eviction = read(call, content, "Eviction", "policy/v1")?;
    let intent = Intent::of(call, Operation::Create)?;
    let options =
        eviction.get("deleteOptions").filter(|options| !options.is_null()).cloned().unwrap_or(json!({}));
    let options = Content { kind: "application/json".to_owned(), bytes: options.to_string().into() };
    let mut deletion = Deletion::read(&options, &call.query)?;
    deletion.dry_run |= intent.dry_run;
    ask_webhooks(call, &intent, &eviction).await?;
    let key = call.resource.key(&call.namespace, &call.name);
    let mut intent = Intent::of(call, Operation::Delete)?;
    intent.dry_run = deletion.dry_run;
    intent.options = deletion.to_options();
    let main = call.main();
    let now = call.api.0.clock.text();
    let exists = call.api.0.store.get(&key).ok_or_else(|| fault::not_found(&call.resource, &call.name))?;
    if !exists.tags.field("spec.nodeName").is_empty() {
        // Whoever looks at the pod while it ends can tell why.
        main.act(&intent, |pod| {
            call.restrict(Change { old: Some(pod), new: None })?;
            let mut pod = pod.clone();
            set_condition(
                &mut pod,
                json!({
                    "type": "DisruptionTarget", "status": "True", "reason": "EvictionByEvictionAPI",
                    "message": "Eviction API: evicting", "lastProbeTime": null, "lastTransitionTime": now,
                }),
            );
            Ok(pod)
        })
        .await?;
    }
    delete_object(&main, &key, &deletion, &intent).await?;
    Ok(Reply::ok(
        json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201 }),
    )
    .with_code(StatusCode::CREATED))
}

/// Issues a token for a service account.
pub(crate) async fn token(call: &Call, content: &Content) -> Result<Reply, Status> {
    let mut request = read(call, content, "TokenRequest", "authentication.k8s.io/v1")?;
    if !matches!(request["spec"], Value::Object(_) | Value::Null) {
        return Err(fault::bad_request("the spec of a TokenRequest is an object"));
    }
    let account = call
        .api
        .fetch(&call.resource, &call.namespace, &call.name)
        .ok_or_else(|| fault::not_found(&call.resource, &call.name))?;
    kinds::set_default(&mut request["spec"], "expirationSeconds", 3600);
    let seconds = request.pointer("/spec/expirationSeconds").and_then(Value::as_i64).unwrap_or(3600);
    check_duration(seconds)?;
    let pod = bound_pod(call, &request)?;
    identity::restrict_token_request(&call.user, &call.name, &request, pod.as_ref())
        .map_err(|why| fault::forbidden(&call.resource, &call.name, &why.to_string()))?;
    let intent = Intent::of(call, Operation::Create)?;
    ask_webhooks(call, &intent, &request).await?;
    let audiences = kinds::items(&request["spec"], "audiences")
        .filter_map(|audience| Some(audience.as_str()?.to_owned()));
    let wanted = TokenFor {
        namespace: call.namespace.clone(),
        service_account: reference(&account),
        audiences: audiences.collect(),
        valid: SignedDuration::from_secs(seconds),
        node: pod.as_ref().and_then(|pod| node_of(call, pod)),
        pod: pod.as_ref().map(reference),
    };
    let now = call.api.0.clock.now();
    let issued = call.api.0.identity.service_accounts.issue(wanted, now);
    request["spec"]["audiences"] = issued.claims.aud.clone().into();
    request["metadata"] = json!({
        "name": call.name, "namespace": call.namespace, "creationTimestamp": clock::time(now),
    });
    request["status"] = json!({ "token": issued.token, "expirationTimestamp": clock::time(issued.expires) });
    Ok(Reply::ok(request).with_code(StatusCode::CREATED))
}

fn reference(object: &Value) -> Reference {
    Reference {
        name: meta::name(object).unwrap_or_default().to_owned(),
        uid: meta::uid(object).unwrap_or_default().to_owned(),
    }
}

fn node_of(call: &Call, pod: &Value) -> Option<Reference> {
    let name = Some(text(pod, "/spec/nodeName")).filter(|name| !name.is_empty())?;
    let uid = call.api.0.store.get(&Key::new("nodes", "", name)).map(|node| node.tags.uid.clone());
    Some(Reference { name: name.to_owned(), uid: uid.unwrap_or_default() })
}

fn check_duration(seconds: i64) -> Result<(), Status> {
    let why = match seconds {
        ..600 => "may not specify a duration less than 10 minutes",
        600..=4_294_967_296 => return Ok(()),
        _ => "may not specify a duration larger than 2^32 seconds",
    };
    let mut problems = Problems::new();
    problems.push(FieldError::invalid(at("spec.expirationSeconds"), seconds, why));
    Err(Status::invalid(Grouped::new("authentication.k8s.io", "TokenRequest"), "", &problems))
}

/// The pod that a token is bound to: it must be there, and be the one that was meant.
fn bound_pod(call: &Call, request: &Value) -> Result<Option<Value>, Status> {
    let reference = &request["spec"]["boundObjectRef"];
    if reference.is_null() {
        return Ok(None);
    }
    let (kind, name, uid) = (text(reference, "/kind"), text(reference, "/name"), text(reference, "/uid"));
    if kind != "Pod" {
        return Err(fault::bad_request(format!(
            "cannot bind token to object of type {kind}: the embedded API binds tokens to pods"
        )));
    }
    let pods = call.api.0.registry.get().find("", "v1", "pods");
    let pod = pods.and_then(|pods| call.api.fetch(&pods, &call.namespace, name));
    let pod = pod.ok_or_else(|| Status::not_found(Grouped::core("pods"), name))?;
    let is = meta::uid(&pod).unwrap_or_default();
    if !uid.is_empty() && uid != is {
        let why = format!(
            "the UID in the bound object reference ({uid}) does not match the UID in record. The object might have been deleted and then recreated"
        );
        return Err(Status::conflict(Grouped::core("Pod"), name, &why));
    }
    let account = text(&pod, "/spec/serviceAccountName");
    if account != call.name {
        return Err(fault::bad_request(format!(
            "cannot bind token for serviceaccount {:?} to pod running with different serviceaccount name.",
            call.name
        )));
    }
    Ok(Some(pod))
}

fn read(call: &Call, content: &Content, kind: &str, version: &str) -> Result<Value, Status> {
    let mut object = content.object()?;
    if !object.is_object() {
        return Err(fault::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind})"
        )));
    }
    match (meta::kind(&object), meta::api_version(&object)) {
        (None | Some(""), None | Some("")) => {}
        (Some(is), Some(at)) if is == kind && at == version => {}
        (is, at) => {
            return Err(fault::bad_request(format!(
                "{} in version {:?} cannot be handled as a {kind}",
                is.unwrap_or_default(),
                at.unwrap_or_default()
            )));
        }
    }
    object["kind"] = kind.into();
    object["apiVersion"] = version.into();
    if let Some(name) = meta::name(&object).filter(|name| !name.is_empty() && *name != call.name) {
        return Err(fault::bad_request(format!(
            "name in URL ({}) does not match name in {kind} object ({name})",
            call.name
        )));
    }
    if let Some(namespace) = meta::namespace(&object).filter(|at| !at.is_empty() && *at != call.namespace) {
        return Err(fault::bad_request(format!(
            "the namespace of the provided object ({namespace}) does not match the namespace sent on the request"
        )));
    }
    dry_run(call.query.all("dryRun"), "CreateOptions")?;
    Ok(object)
}

async fn ask_webhooks(call: &Call, intent: &Intent, object: &Value) -> Result<(), Status> {
    let mut attributes = call.attributes(intent, Some(object.clone()), None);
    if let (Some(kind), Some(version)) = (meta::kind(object), meta::api_version(object)) {
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        attributes.kind = GroupVersionKind::new(group, version, kind);
    }
    call.mutate(&mut attributes, |_| {}).await?;
    call.validate(&attributes).await
}

/// Sets a condition of a pod, in the place of an older one of its type.
fn set_condition(pod: &mut Value, condition: Value) {
    let conditions =
        pod["status"].as_object_mut().map(|status| status.entry("conditions").or_insert_with(|| json!([])));
    if let Some(Value::Array(conditions)) = conditions {
        conditions.retain(|other| other.get("type") != condition.get("type"));
        conditions.push(condition);
    }
}

impl Call {
    /// The same request to the object itself.
    pub(crate) fn main(&self) -> Call {
        Call {
            api: self.api.clone(),
            user: self.user.clone(),
            resource: std::sync::Arc::clone(&self.resource),
            namespace: self.namespace.clone(),
            name: self.name.clone(),
            sub: None,
            query: self.query.clone(),
            accept: self.accept,
            notes: self.notes.clone(),
        }
    }
}
