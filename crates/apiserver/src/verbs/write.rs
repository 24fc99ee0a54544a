//! The way of every write: shape, rules, the say of webhooks, the store.
//!
//! [`Call::admit`] takes an object as its author wants it and returns it as it will be kept, or says what is wrong.
//! Nothing is visible before the store has made it durable.

use std::collections::BTreeMap;

use safepoint_machinery::meta;
use safepoint_machinery::status::{FieldError, Reason, Status};
use safepoint_store::{Change, Expect, Object, Write, WriteError};
use serde_json::{Value, json};

use super::select::{ENDING, OWNERS};
use super::shape::{self, Strictness};
use super::{Call, metadata};
use crate::admission::{self, GroupVersionKind, GroupVersionResource, Operation, Warnings};
use crate::api::Api;
use crate::custom;
use crate::fault::{self, Problems, at};
use crate::http::body::LARGEST_BODY;
use crate::identity;
use crate::resource::{Resource, Sub};

/// How often a write that does not name a revision is tried against a moving object.
const TRIES: usize = 64;

/// What a write is besides its object.
pub(crate) struct Intent {
    pub(crate) operation: Operation,
    /// The options that webhooks are shown: `CreateOptions`, `UpdateOptions`, …
    pub(crate) options: Value,
    pub(crate) dry_run: bool,
    pub(crate) strictness: Strictness,
    /// Whether the object is what a patch has made: another uid in it is a mistake, no precondition.
    is_patch: bool,
}

// === impl Intent ===

impl Intent {
    pub(crate) fn of(call: &Call, operation: Operation) -> Result<Intent, Status> {
        Self::new(call, operation, false)
    }

    pub(crate) fn of_patch(call: &Call) -> Result<Intent, Status> {
        Self::new(call, Operation::Update, true)
    }

    fn new(call: &Call, operation: Operation, is_patch: bool) -> Result<Intent, Status> {
        let kind = match operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete | Operation::Connect => "DeleteOptions",
        };
        // Refusals call the options of a patch by their name; webhooks see a patch as an update.
        let named = if is_patch { "PatchOptions" } else { kind };
        let dry_run = dry_run(call.query.all("dryRun"), named)?;
        let strictness = Strictness::parse(call.query.get("fieldValidation"), named)?;
        let mut options = json!({ "kind": kind, "apiVersion": "meta.k8s.io/v1" });
        for name in ["fieldManager", "fieldValidation"] {
            if let Some(value) = call.query.get(name) {
                options[name] = value.into();
            }
        }
        if dry_run {
            options["dryRun"] = json!(["All"]);
        }
        Ok(Intent { operation, options, dry_run, strictness, is_patch })
    }
}

/// Reads `dryRun`, which is either absent or `All`.
pub(crate) fn dry_run(values: &[String], options: &str) -> Result<bool, Status> {
    if values.iter().all(|value| value == "All") {
        return Ok(!values.is_empty());
    }
    let mut problems = Problems::new();
    problems.push(FieldError::not_supported(at("dryRun"), Value::from(values), &["All"]));
    Err(fault::options(options, &problems))
}

// === impl Call ===

impl Call {
    /// Decides whether an object may be kept. `old` is what is there now.
    pub(crate) async fn admit(
        &self,
        mut object: Value,
        old: Option<&Value>,
        intent: &Intent,
    ) -> Result<Value, Status> {
        let resource = &self.resource;
        shape::shape(resource, &mut object, old, self.sub);
        resource.rules().default(&mut object);
        let mut attributes = self.attributes(intent, Some(object), old.cloned());
        let rules = resource.rules();
        let reshape = |object: &mut Value| {
            shape::shape(resource, object, old, self.sub);
            rules.default(object);
        };
        self.mutate(&mut attributes, reshape).await?;
        let mut object = attributes.object.take().unwrap_or_default();
        if metadata::forget_repeated_owners(&mut object) {
            self.note(vec![
                "metadata.ownerReferences contains duplicate entries; API server dedups owner references"
                    .to_owned(),
            ]);
        }
        if old.is_none() {
            // What a new object is follows from what webhooks have made of it: a pod's quality of service, for example.
            rules.begin(&mut object);
        }
        let mut problems = shape::shape(resource, &mut object, old, self.sub);
        if let Some(old) = old {
            metadata::count_change(&mut object, old, resource);
        }
        metadata::check(&object, resource, &mut problems);
        if let Some(old) = old {
            metadata::check_change(&object, old, &mut problems);
        }
        match (self.sub, old) {
            (None, None) => {
                rules.check(&object, &mut problems);
                rules.check_new(&object, &mut problems);
            }
            (None, Some(old)) => {
                rules.check(&object, &mut problems);
                rules.check_change(&object, old, &mut problems);
            }
            (Some(_), Some(old)) => rules.check_status(&object, old, &mut problems),
            (Some(_), None) => {}
        }
        if is_crd(resource) && self.sub.is_none() {
            custom::check_schemas(&object, &mut problems);
        }
        if !problems.is_empty() {
            return Err(fault::invalid(resource, meta::name(&object).unwrap_or_default(), &problems));
        }
        if is_crd(resource) {
            custom::remember_stored_version(&mut object);
        }
        self.restrict(identity::Change { old, new: Some(&object) })?;
        // Patches can make more of an object than any body could bring.
        if object.to_string().len() > LARGEST_BODY {
            return Err(fault::too_large(LARGEST_BODY));
        }
        attributes.object = Some(object);
        self.validate(&attributes).await?;
        Ok(attributes.object.unwrap_or_default())
    }

    /// Lets webhooks change an object. What they warn of reaches the client even if one refuses.
    pub(crate) async fn mutate(
        &self,
        attributes: &mut admission::Attributes,
        shape: impl Fn(&mut Value) + Send + Sync,
    ) -> Result<(), Status> {
        let mut warnings = Warnings::default();
        let outcome = self.api.0.webhooks.mutate(attributes, &mut warnings, shape).await;
        self.note(warnings.into_texts());
        outcome
    }

    /// Lets webhooks refuse a write.
    pub(crate) async fn validate(&self, attributes: &admission::Attributes) -> Result<(), Status> {
        let mut warnings = Warnings::default();
        let outcome = self.api.0.webhooks.validate(attributes, &mut warnings).await;
        self.note(warnings.into_texts());
        outcome
    }

    /// What webhooks are told.
    pub(crate) fn attributes(
        &self,
        intent: &Intent,
        object: Option<Value>,
        old: Option<Value>,
    ) -> admission::Attributes {
        let resource = &self.resource;
        let name = if self.name.is_empty() {
            object.as_ref().and_then(meta::name).unwrap_or_default().to_owned()
        } else {
            self.name.clone()
        };
        let namespace_labels = if resource.namespaced {
            self.api.namespace_labels(&self.namespace)
        } else if &*resource.collection == "namespaces" {
            object.as_ref().or(old.as_ref()).map(meta::labels).unwrap_or_default()
        } else {
            BTreeMap::new()
        };
        let registry = self.api.0.registry.get();
        admission::Attributes {
            operation: intent.operation,
            kind: GroupVersionKind::new(&resource.group, &resource.version, &resource.kind),
            resource: GroupVersionResource::new(&resource.group, &resource.version, &resource.plural),
            subresource: self.sub.map(|sub| sub.name().to_owned()),
            namespace: if &*resource.collection == "namespaces" {
                name.clone()
            } else {
                self.namespace.clone()
            },
            name,
            namespaced: resource.namespaced,
            user_info: self.user.to_user_info(),
            object,
            old_object: old,
            options: Some(intent.options.clone()),
            dry_run: intent.dry_run,
            namespace_labels,
            equivalents: registry
                .equivalents(resource)
                .map(|other| GroupVersionResource::new(&other.group, &other.version, &other.plural))
                .collect(),
        }
    }

    /// What a node may write of the objects that it may touch.
    pub(crate) fn restrict(&self, change: identity::Change<'_>) -> Result<(), Status> {
        identity::restrict(&self.user, &self.asked("", &[]), change, &self.api.facts())
            .map_err(|why| fault::forbidden(&self.resource, &self.name, &why.to_string()))
    }

    /// Changes an object that is there. `make` is given the object as it is and says what it should become; it is asked
    /// again if somebody else was faster and the client did not insist on a revision.
    pub(crate) async fn change(
        &self,
        intent: &Intent,
        make: impl Fn(&Value) -> Result<Value, Status>,
    ) -> Result<Value, Status> {
        let key = self.resource.key(&self.namespace, &self.name);
        let store = &self.api.0.store;
        for _ in 0..TRIES {
            let current = store.get(&key).ok_or_else(|| fault::not_found(&self.resource, &self.name))?;
            let old = super::list::parse(&self.resource, &current)?;
            let wanted = make(&old)?;
            if !intent.is_patch {
                check_uid(&self.resource, &self.name, &wanted, &current)?;
            }
            let insists = check_revision(&self.resource, &self.name, &wanted, &current)?;
            let mut new = wanted;
            self.carry(&mut new, &old);
            metadata::tidy(&mut new);
            let mut object = self.admit(new, Some(&old), intent).await?;
            metadata::of(&mut object)
                .insert("resourceVersion".to_owned(), current.revision.to_string().into());
            // A write that changes nothing is no write: no new revision, no event.
            if object == old {
                return Ok(old);
            }
            if intent.dry_run {
                return Ok(object);
            }
            match self.keep(&current, object).await {
                Ok(object) => return Ok(object),
                Err(WriteError::Conflict { .. } | WriteError::NotFound) if !insists => {}
                Err(error) => return Err(fault::from_write(&self.resource, &self.name, &error)),
            }
        }
        Err(fault::modified(&self.resource, &self.name))
    }

    /// Changes an object as an act on it does (a pod is bound), past the rules for what people may write.
    pub(crate) async fn act(
        &self,
        intent: &Intent,
        make: impl Fn(&Value) -> Result<Value, Status>,
    ) -> Result<(), Status> {
        let key = self.resource.key(&self.namespace, &self.name);
        for _ in 0..TRIES {
            let current =
                self.api.0.store.get(&key).ok_or_else(|| fault::not_found(&self.resource, &self.name))?;
            let new = make(&super::list::parse(&self.resource, &current)?)?;
            if intent.dry_run {
                return Ok(());
            }
            match self.keep(&current, new).await {
                Ok(_) => return Ok(()),
                Err(WriteError::Conflict { .. } | WriteError::NotFound) => {}
                Err(error) => return Err(fault::from_write(&self.resource, &self.name, &error)),
            }
        }
        Err(fault::modified(&self.resource, &self.name))
    }

    /// Takes from the old object what this address may not change.
    fn carry(&self, new: &mut Value, old: &Value) {
        let rules = self.resource.rules();
        new["apiVersion"] = self.resource.api_version().into();
        new["kind"] = (&*self.resource.kind).into();
        match self.sub {
            Some(Sub::Status) => {
                let status = new.get("status").cloned();
                if self.resource.custom().is_some() {
                    *new = old.clone();
                } else {
                    // Built-in kinds let a status writer change labels and annotations too.
                    let written = new.clone();
                    *new = old.clone();
                    for field in ["labels", "annotations", "finalizers"] {
                        match meta::field(&written, field) {
                            Some(value) => metadata::of(new).insert(field.to_owned(), value.clone()),
                            None => metadata::of(new).remove(field),
                        };
                    }
                }
                match status {
                    Some(status) => new["status"] = status,
                    None => crate::kinds::remove(new, "status"),
                }
                rules.carry_status(new, old);
            }
            Some(Sub::Finalize) => {
                let finalizers = new.pointer("/spec/finalizers").cloned();
                *new = old.clone();
                new["spec"]["finalizers"] = finalizers.unwrap_or_else(|| json!([]));
            }
            _ => {
                metadata::carry(new, old);
                if self.resource.has(Sub::Status) {
                    crate::kinds::take_from(new, old, "status");
                }
                rules.carry(new, old);
            }
        }
    }

    /// Makes a changed object durable. An object whose deletion waited only for its finalizers goes with the last of them.
    async fn keep(&self, current: &Object, object: Value) -> Result<Value, WriteError> {
        let key = current.key.clone();
        let stored = self.resource.to_stored(object);
        let finished = is_finished(&self.resource, &current.json, &stored);
        // Who watches sees it go as it was, with its last finalizer.
        let change = if finished { Change::Delete(None) } else { Change::Put(stored.clone()) };
        let write = Write { key, expect: Expect::Revision(current.revision), change };
        let committed = self.api.0.store.write(write).await?;
        self.api.after_write(&self.resource, &committed.object, finished);
        if finished {
            return Ok(self.resource.to_served(stored));
        }
        Ok(super::list::parse(&self.resource, &committed.object).unwrap_or_default())
    }
}

/// Whether an object was to be deleted, and nothing holds it any more.
fn is_finished(resource: &Resource, old: &[u8], new: &Value) -> bool {
    let old: Value = serde_json::from_slice(old).unwrap_or_default();
    meta::deletion_timestamp(&old).is_some()
        && meta::finalizers(new).is_empty()
        && meta::deletion_grace_period_seconds(&old).unwrap_or(0) == 0
        && (&*resource.collection != "namespaces"
            || new.pointer("/spec/finalizers").and_then(Value::as_array).is_none_or(Vec::is_empty))
}

/// Refuses a write that was meant for another object of the name.
pub(crate) fn check_uid(
    resource: &Resource,
    name: &str,
    wanted: &Value,
    current: &Object,
) -> Result<(), Status> {
    if let Some(uid) = meta::uid(wanted).filter(|uid| !uid.is_empty())
        && uid != current.tags.uid
    {
        let why = format!(
            "Precondition failed: UID in precondition: {uid}, UID in object meta: {}",
            current.tags.uid
        );
        return Err(fault::conflict(resource, name, &why));
    }
    Ok(())
}

/// Checks the revision that a client names, and says whether it named one.
fn check_revision(resource: &Resource, name: &str, wanted: &Value, current: &Object) -> Result<bool, Status> {
    match meta::resource_version(wanted).filter(|revision| !revision.is_empty() && *revision != "0") {
        None => Ok(false),
        Some(revision) if revision == current.revision.to_string() => Ok(true),
        Some(revision) if revision.parse::<u64>().is_err() => {
            // Kubernetes has no better answer.
            let why = format!("strconv.ParseUint: parsing {revision:?}: invalid syntax");
            Err(Status::new(500, Reason::Unknown, why))
        }
        Some(_) => Err(fault::modified(resource, name)),
    }
}

fn is_crd(resource: &Resource) -> bool {
    &*resource.collection == "customresourcedefinitions.apiextensions.k8s.io"
}

impl Api {
    /// What every write leaves to do: CRDs change what is served, deletions leave work.
    pub(crate) fn after_write(&self, resource: &Resource, object: &Object, gone: bool) {
        if is_crd(resource) {
            self.refresh_registry();
        }
        self.0.webhooks.refresh_after(self, resource);
        let has = |field: &str| !object.tags.field(field).is_empty();
        if gone || has(OWNERS) || has(ENDING) || is_crd(resource) || &*resource.collection == "namespaces" {
            self.0.bell.notify_one();
        }
    }

    pub(crate) fn namespace_labels(&self, name: &str) -> BTreeMap<String, String> {
        let key = safepoint_store::Key::new("namespaces", "", name);
        self.0.store.get(&key).map(|namespace| namespace.tags.labels.clone()).unwrap_or_default()
    }
}

/// Changes an object on behalf of the server itself: no webhook is asked, no rule is applied.
///
/// `make` returns `None` if there is nothing to change.
pub(crate) async fn change_as_server(
    api: &Api,
    resource: &Resource,
    key: &safepoint_store::Key,
    make: impl Fn(Value) -> Option<Value>,
) -> Result<(), WriteError> {
    for _ in 0..TRIES {
        let Some(current) = api.0.store.get(key) else { return Ok(()) };
        let Ok(value) = serde_json::from_slice::<Value>(&current.json) else { return Ok(()) };
        let Some(new) = make(value) else { return Ok(()) };
        let gone = is_finished(resource, &current.json, &new);
        let change = if gone { Change::Delete(None) } else { Change::Put(new) };
        let write = Write { key: key.clone(), expect: Expect::Revision(current.revision), change };
        match api.0.store.write(write).await {
            Err(WriteError::Conflict { .. }) => {}
            Err(error) => return Err(error),
            Ok(committed) => {
                api.after_write(resource, &committed.object, gone);
                return Ok(());
            }
        }
    }
    Ok(())
}
