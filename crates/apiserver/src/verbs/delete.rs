//! Delete: at once, after a grace period, or when the last finalizer is gone.

use jiff::{SignedDuration, Timestamp};
use safepoint_machinery::meta;
use safepoint_machinery::status::{FieldError, Grouped, Status};
use safepoint_store::{Expect, Key, Object, Write, WriteError};
use serde_json::{Value, json};

use super::write::Intent;
use super::{Call, list, metadata};
use crate::admission::Operation;
use crate::api::Api;
use crate::clock;
use crate::fault::{self, Problems, at};
use crate::http::{Content, Query, Reply};
use crate::identity::Change;
use crate::kinds;
use crate::resource::Resource;

/// Waits until the dependents are without an owner.
pub(crate) const ORPHAN: &str = "orphan";
/// Waits until the dependents are gone.
pub(crate) const FOREGROUND: &str = "foregroundDeletion";

/// How an object is to be deleted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Deletion {
    pub(crate) grace: Option<i64>,
    pub(crate) uid: Option<String>,
    pub(crate) revision: Option<String>,
    pub(crate) propagation: Option<Propagation>,
    pub(crate) dry_run: bool,
}

/// What becomes of what the object owns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Propagation {
    Background,
    Foreground,
    Orphan,
}

/// What a deletion does to an object now.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Remove,
    /// It goes at once, and its deletion is written on it before: who watches a pod sees both.
    MarkAndRemove(Value),
    /// It stays, with its deletion written on it.
    Mark(Value),
    /// Its deletion has begun before and this one adds nothing.
    Nothing,
}

/// The namespaces that a cluster cannot be without.
pub(crate) fn is_protected(call: &Call) -> bool {
    &*call.resource.collection == "namespaces"
        && matches!(call.name.as_str(), "default" | "kube-public" | "kube-system")
}

/// Deletes one object.
pub(crate) async fn delete(call: &Call, content: &Content) -> Result<Reply, Status> {
    let deletion = Deletion::read(content, &call.query)?;
    let mut intent = Intent::of(call, Operation::Delete)?;
    intent.dry_run = deletion.dry_run;
    intent.options = deletion.to_options();
    let key = call.resource.key(&call.namespace, &call.name);
    let (object, gone) = delete_object(call, &key, &deletion, &intent).await?;
    if gone && !call.resource.rules().shows_deleted() {
        return Ok(Reply::ok(success(&call.resource, &object)));
    }
    call.show(object)
}

/// Deletes an object after webhooks were asked. Says how it looked last, and whether it is gone.
pub(crate) async fn delete_object(
    call: &Call,
    key: &Key,
    deletion: &Deletion,
    intent: &Intent,
) -> Result<(Value, bool), Status> {
    let resource = &call.resource;
    loop {
        let current = call.api.0.store.get(key).ok_or_else(|| fault::not_found(resource, &key.name))?;
        let object = list::parse(resource, &current)?;
        deletion.check(resource, &current)?;
        call.restrict(Change { old: Some(&object), new: None })?;
        let mut attributes = call.attributes(intent, None, Some(object));
        attributes.name = key.name.to_string();
        call.mutate(&mut attributes, |_| {}).await?;
        call.validate(&attributes).await?;
        match execute(&call.api, resource, &current, deletion).await {
            Ok((stored, gone)) => return Ok((resource.to_served(stored), gone)),
            // It changed while we looked: look again. Preconditions are checked against what is there then.
            Err(WriteError::Conflict { .. } | WriteError::NotFound) => {}
            Err(error) => return Err(fault::from_write(resource, &key.name, &error)),
        }
    }
}

/// Deletes an object on behalf of the server itself. One that is gone, or another by now, is no error.
pub(crate) async fn delete_as_server(
    api: &Api,
    resource: &Resource,
    key: &Key,
    deletion: &Deletion,
) -> Result<(), WriteError> {
    loop {
        let Some(current) = api.0.store.get(key) else { return Ok(()) };
        if deletion.check(resource, &current).is_err() {
            return Ok(());
        }
        match execute(api, resource, &current, deletion).await {
            Ok(_) => return Ok(()),
            Err(WriteError::Conflict { .. } | WriteError::NotFound) => {}
            Err(error) => return Err(error),
        }
    }
}

async fn execute(
    api: &Api,
    resource: &Resource,
    current: &Object,
    deletion: &Deletion,
) -> Result<(Value, bool), WriteError> {
    let stored: Value = serde_json::from_slice(&current.json).unwrap_or_default();
    let (mark, removes) = match decide(resource, &stored, deletion, api.0.clock.now()) {
        Step::Nothing => return Ok((stored, false)),
        Step::Remove => (None, true),
        Step::Mark(marked) => (Some(marked), false),
        Step::MarkAndRemove(marked) => (Some(marked), true),
    };
    if deletion.dry_run {
        return Ok((mark.unwrap_or(stored), removes));
    }
    let change = match (mark, removes) {
        (Some(marked), true) => safepoint_store::Change::PutAndDelete(marked),
        (Some(marked), false) => safepoint_store::Change::Put(marked),
        (None, _) => safepoint_store::Change::Delete(None),
    };
    let write = Write { key: current.key.clone(), expect: Expect::Revision(current.revision), change };
    let committed = api.0.store.write(write).await?;
    api.after_write(resource, &committed.object, removes);
    let last = serde_json::from_slice(&committed.object.json).unwrap_or(stored);
    Ok((last, removes))
}

/// Pure: what a deletion does to an object.
fn decide(resource: &Resource, object: &Value, deletion: &Deletion, now: Timestamp) -> Step {
    if &*resource.collection == "namespaces" {
        return decide_namespace(object, deletion, now);
    }
    let mut marked = object.clone();
    let grace = match begin(resource, object, &mut marked, deletion, now) {
        Grace::Pending => return Step::Nothing,
        Grace::None => None,
        Grace::Seconds(seconds) => Some(seconds),
    };
    let finalizers = finalizers(object, deletion.propagation);
    let waits = !finalizers.is_empty();
    set_finalizers(&mut marked, finalizers);
    match grace {
        Some(seconds) if seconds > 0 || waits => Step::Mark(marked),
        Some(_) => Step::MarkAndRemove(marked),
        None if !waits => Step::Remove,
        None => {
            let due = meta::deletion_timestamp(object).and_then(|due| due.parse().ok());
            mark(&mut marked, due.map_or(now, |due: Timestamp| due.min(now)), 0);
            if due.is_none() {
                raise_generation(&mut marked);
            }
            if marked == *object { Step::Nothing } else { Step::Mark(marked) }
        }
    }
}

/// A namespace ends when its contents have: it has finalizers of its own for that.
fn decide_namespace(object: &Value, deletion: &Deletion, now: Timestamp) -> Step {
    let finalizers = finalizers(object, deletion.propagation);
    if finalizers.is_empty() && kinds::items(&object["spec"], "finalizers").next().is_none() {
        return Step::Remove;
    }
    let mut marked = object.clone();
    set_finalizers(&mut marked, finalizers);
    if meta::deletion_timestamp(object).is_none() {
        metadata::of(&mut marked).insert("deletionTimestamp".to_owned(), clock::time(now).into());
    }
    marked["status"]["phase"] = "Terminating".into();
    if marked == *object { Step::Nothing } else { Step::Mark(marked) }
}

/// How an object that is asked for it goes on until it is deleted.
enum Grace {
    /// Its kind knows no grace, or it has used up what it had.
    None,
    /// It has been granted before, and nothing about that changes.
    Pending,
    /// It is granted now.
    Seconds(i64),
}

/// Grants an object its last seconds.
fn begin(
    resource: &Resource,
    object: &Value,
    marked: &mut Value,
    deletion: &Deletion,
    now: Timestamp,
) -> Grace {
    let Some(default) = resource.rules().grace(object) else { return Grace::None };
    // Nobody can ask for less than nothing; Kubernetes makes one second of it.
    let wanted = deletion.grace.map(|seconds| if seconds < 0 { 1 } else { seconds });
    let after =
        |begin: Timestamp, seconds| begin.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(begin);
    let Some(due) = meta::deletion_timestamp(object) else {
        let ended = matches!(kinds::text(object, "/status/phase"), "Succeeded" | "Failed");
        let runs = !ended && !kinds::text(object, "/spec/nodeName").is_empty();
        let seconds = if runs { wanted.unwrap_or(default) } else { 0 };
        mark(marked, after(now, seconds), seconds);
        raise_generation(marked);
        return Grace::Seconds(seconds);
    };
    // A second deletion can only make it sooner.
    match (wanted, meta::deletion_grace_period_seconds(object).unwrap_or(0)) {
        (_, 0) => Grace::None,
        (Some(seconds), granted) if seconds < granted => {
            let due = after(due.parse().unwrap_or(now), seconds - granted);
            // What is over by now lasts for another second, so that whoever ends it learns of it.
            let (due, seconds) = if due < now { (now, seconds.min(1)) } else { (due, seconds) };
            mark(marked, due, seconds);
            Grace::Seconds(seconds)
        }
        _ => Grace::Pending,
    }
}

fn mark(object: &mut Value, due: Timestamp, grace: i64) {
    let metadata = metadata::of(object);
    metadata.insert("deletionTimestamp".to_owned(), clock::time(due).into());
    metadata.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
}

fn raise_generation(object: &mut Value) {
    if let Some(generation) = meta::generation(object).filter(|generation| *generation > 0) {
        metadata::of(object).insert("generation".to_owned(), (generation + 1).into());
    }
}

fn set_finalizers(object: &mut Value, finalizers: Vec<Value>) {
    let metadata = metadata::of(object);
    if finalizers.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".to_owned(), finalizers.into());
    }
}

fn finalizers(object: &Value, propagation: Option<Propagation>) -> Vec<Value> {
    let mut names: Vec<&str> = meta::finalizers(object);
    let (add, drop): (Option<&str>, &[&str]) = match propagation {
        Some(Propagation::Orphan) => (Some(ORPHAN), &[FOREGROUND]),
        Some(Propagation::Foreground) => (Some(FOREGROUND), &[ORPHAN]),
        Some(Propagation::Background) => (None, &[ORPHAN, FOREGROUND]),
        None => (None, &[]),
    };
    names.retain(|name| !drop.contains(name));
    if let Some(add) = add
        && !names.contains(&add)
    {
        names.push(add);
    }
    names.into_iter().map(Value::from).collect()
}

/// What is answered when an object is gone.
fn success(resource: &Resource, object: &Value) -> Value {
    let mut details = json!({
        "name": meta::name(object), "kind": &*resource.plural, "uid": meta::uid(object),
    });
    if !resource.group.is_empty() {
        details["group"] = json!(&*resource.group);
    }
    json!({ "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details })
}

// === impl Deletion ===

impl Deletion {
    /// The deletion of an object just as it was looked at. If somebody has changed it meanwhile, it is left alone.
    pub(crate) fn of(object: &Object) -> Deletion {
        Deletion {
            uid: Some(object.tags.uid.clone()),
            revision: Some(object.revision.to_string()),
            ..Deletion::default()
        }
    }

    /// Reads the options from the body or, without one, from the query.
    pub(crate) fn read(content: &Content, query: &Query) -> Result<Deletion, Status> {
        let options = if content.bytes.is_empty() { from_query(query)? } else { content.object()? };
        let kind = meta::kind(&options).unwrap_or("DeleteOptions");
        if kind != "DeleteOptions" {
            return Err(fault::bad_request(format!(
                "decoded object cannot be converted to DeleteOptions: it is a {kind}"
            )));
        }
        let mut problems = Problems::new();
        let orphan = options.get("orphanDependents").and_then(Value::as_bool);
        let propagation = match options.get("propagationPolicy").and_then(Value::as_str) {
            None | Some("") => None,
            Some("Background") => Some(Propagation::Background),
            Some("Foreground") => Some(Propagation::Foreground),
            Some("Orphan") => Some(Propagation::Orphan),
            Some(other) => {
                let known = ["Background", "Foreground", "Orphan", "nil"];
                problems.push(FieldError::not_supported(at("propagationPolicy"), other, &known));
                None
            }
        };
        if orphan.is_some() && options.get("propagationPolicy").is_some_and(|policy| !policy.is_null()) {
            let text = "orphanDependents and deletionPropagation cannot be both set";
            problems.push(FieldError::invalid(
                at("propagationPolicy"),
                options["propagationPolicy"].clone(),
                text,
            ));
        }
        let dry: Vec<String> =
            kinds::items(&options, "dryRun").filter_map(|item| Some(item.as_str()?.to_owned())).collect();
        if let Some(other) = dry.iter().find(|item| *item != "All") {
            problems.push(FieldError::not_supported(at("dryRun"), other.as_str(), &["All"]));
        }
        if !problems.is_empty() {
            return Err(fault::options("DeleteOptions", &problems));
        }
        let condition = |name: &str| {
            options.pointer(&format!("/preconditions/{name}")).and_then(Value::as_str).map(str::to_owned)
        };
        Ok(Deletion {
            grace: options.get("gracePeriodSeconds").and_then(Value::as_i64),
            uid: condition("uid"),
            revision: condition("resourceVersion"),
            propagation: propagation.or(match orphan {
                Some(true) => Some(Propagation::Orphan),
                Some(false) => Some(Propagation::Background),
                None => None,
            }),
            dry_run: !dry.is_empty(),
        })
    }

    /// The options as webhooks see them.
    pub(crate) fn to_options(&self) -> Value {
        let mut options = json!({ "kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1" });
        if let Some(grace) = self.grace {
            options["gracePeriodSeconds"] = grace.into();
        }
        if let Some(propagation) = self.propagation {
            options["propagationPolicy"] = format!("{propagation:?}").into();
        }
        if self.dry_run {
            options["dryRun"] = json!(["All"]);
        }
        for (name, value) in [("uid", &self.uid), ("resourceVersion", &self.revision)] {
            if let Some(value) = value {
                options["preconditions"][name] = value.as_str().into();
            }
        }
        options
    }

    /// Whether the object is the one that was meant.
    fn check(&self, resource: &Resource, current: &Object) -> Result<(), Status> {
        let revision = current.revision.to_string();
        let conditions =
            [("UID", &self.uid, &current.tags.uid), ("ResourceVersion", &self.revision, &revision)];
        for (what, wanted, is) in conditions {
            if let Some(wanted) = wanted.as_ref().filter(|wanted| *wanted != is) {
                let likely = if what == "UID" { "deleted and then recreated" } else { "modified" };
                let why = format!(
                    "the {what} in the precondition ({wanted}) does not match the {what} in record ({is}). The object \
                     might have been {likely}"
                );
                return Err(Status::conflict(
                    Grouped::new(&resource.group, &resource.kind),
                    &current.key.name,
                    &why,
                ));
            }
        }
        Ok(())
    }
}

fn from_query(query: &Query) -> Result<Value, Status> {
    let mut options = json!({});
    if let Some(text) = query.get("gracePeriodSeconds") {
        let seconds: i64 = text.parse().map_err(|_| {
            fault::bad_request(format!("unable to parse gracePeriodSeconds {text:?}: it is no number"))
        })?;
        options["gracePeriodSeconds"] = seconds.into();
    }
    if let Some(policy) = query.get("propagationPolicy") {
        options["propagationPolicy"] = policy.into();
    }
    if query.get("orphanDependents").is_some() {
        options["orphanDependents"] = query.is_on("orphanDependents").into();
    }
    let dry = query.all("dryRun");
    if !dry.is_empty() {
        options["dryRun"] = dry.into();
    }
    Ok(options)
}
