//! The built-in kinds, one row each, and what a kind may say about its objects.
//!
//! A new kind is a row in [`table`] and, where it has rules of its own, a file below `kinds/`.

mod amounts;
mod bindings;
mod check;
mod config;
mod containers;
mod crd;
mod event;
mod hooks;
mod lease;
mod namespace;
mod node;
mod pod;
mod pod_change;
mod service;
mod texts;
mod volumes;

use std::sync::Arc;

use safepoint_machinery::names;
use serde_json::Value;

use crate::fault::Problems;
use crate::resource::{Nature, Resource, Sub};
use crate::table::Column;

/// What a kind says about its objects. The default is an object without rules: any fields, a DNS subdomain for a name.
pub(crate) trait Rules: Send + Sync {
    /// Turns an object of the store into one of this version.
    fn unpack(&self, _object: &mut Value) {}
    /// The way back.
    fn pack(&self, _object: &mut Value) {}
    /// Whether the two above change nothing.
    fn serves_as_stored(&self) -> bool {
        true
    }
    /// Why an object cannot be read, beyond the types of its fields: a quantity that is none, bytes that are no base64.
    fn unreadable(&self, _object: &Value) -> Option<String> {
        None
    }
    /// Fills in what was left out. Run on everything that is written.
    fn default(&self, _object: &mut Value) {}
    /// Prepares a new object: what a client may not set is unset.
    fn begin(&self, _object: &mut Value) {}
    /// Prepares a changed object: what a client may not change is taken from the old one.
    fn carry(&self, _new: &mut Value, _old: &Value) {}
    /// Prepares a change through `status`. The rest of the object has been taken from the old one already.
    fn carry_status(&self, _new: &mut Value, _old: &Value) {}
    /// Says what is wrong with an object.
    fn check(&self, _object: &Value, _problems: &mut Problems) {}
    /// Says what is wrong with a new object only.
    fn check_new(&self, _object: &Value, _problems: &mut Problems) {}
    /// Says what is wrong with a change through `status`.
    fn check_status(&self, _new: &Value, _old: &Value, _problems: &mut Problems) {}
    /// Says what is wrong with a change.
    fn check_change(&self, _new: &Value, _old: &Value, _problems: &mut Problems) {}
    /// Says what is wrong with a name.
    fn check_name(&self, name: &str, _is_prefix: bool) -> Vec<String> {
        names::dns1123_subdomain(name)
    }
    /// The part of an object whose changes are counted in `metadata.generation`; `None` for kinds that do not count.
    fn counted(&self) -> Option<&'static str> {
        None
    }
    /// The fields that a field selector may name, besides the name and the namespace.
    fn fields(&self) -> &'static [&'static str] {
        &[]
    }
    /// The value of a field that is not simply what the object has there.
    fn field(&self, _object: &Value, _field: &str) -> Option<String> {
        None
    }
    /// What a field is called in the store, where this is another view of the same objects.
    fn stored_field(&self, field: &str) -> String {
        field.to_owned()
    }
    /// Whether a PUT to a name that is not there creates the object.
    fn creates_on_update(&self) -> bool {
        false
    }
    /// Whether a PUT must say which revision it replaces.
    fn needs_revision(&self) -> bool {
        false
    }
    /// How long an object that is being deleted may go on, where it is not deleted at once.
    fn grace(&self, _object: &Value) -> Option<i64> {
        None
    }
    /// Whether a deletion is answered with the object and not with a `Status`.
    fn shows_deleted(&self) -> bool {
        false
    }
    /// Whether its table begins with the name.
    fn leads_with_name(&self) -> bool {
        true
    }
    /// The columns of its table, after the name.
    fn columns(&self) -> Vec<Column> {
        vec![Column::age()]
    }
    /// What a program should know about an object's row: that it is finished, for example.
    fn row_conditions(&self, _object: &Value) -> Vec<Value> {
        Vec::new()
    }
    /// The cells of an object's row, in the order of the columns.
    fn cells(&self, object: &Value, now: jiff::Timestamp) -> Vec<Value> {
        vec![crate::table::age(object, now)]
    }
}

/// A kind without rules of its own.
struct Plain;

impl Rules for Plain {}

/// The built-in kinds.
pub(crate) fn table() -> Vec<Arc<Resource>> {
    use Sub::{Binding, Eviction, Finalize, Status, Token};
    const CORE: &str = "";
    const EVENTS: &str = "events.k8s.io";
    const EXTENSIONS: &str = "apiextensions.k8s.io";
    const HOOKS: &str = "admissionregistration.k8s.io";
    vec![
        row(CORE, "bindings", "Binding", &bindings::Bindings).posted(),
        row(CORE, "configmaps", "ConfigMap", &config::ConfigMaps).short(&["cm"]),
        row(CORE, "events", "Event", &event::CoreEvents).short(&["ev"]),
        row(CORE, "namespaces", "Namespace", &namespace::Namespaces)
            .short(&["ns"])
            .cluster()
            .subs(&[Finalize, Status]),
        row(CORE, "nodes", "Node", &node::Nodes).short(&["no"]).cluster().subs(&[Status]),
        row(CORE, "pods", "Pod", &pod::Pods).short(&["po"]).in_all().subs(&[Binding, Eviction, Status]),
        row(CORE, "secrets", "Secret", &config::Secrets),
        row(CORE, "serviceaccounts", "ServiceAccount", &config::ServiceAccounts)
            .short(&["sa"])
            .subs(&[Token]),
        row(CORE, "services", "Service", &service::Services).short(&["svc"]).in_all().subs(&[Status]),
        row(HOOKS, "mutatingwebhookconfigurations", "MutatingWebhookConfiguration", &hooks::MUTATING)
            .category("api-extensions")
            .cluster(),
        row(HOOKS, "validatingwebhookconfigurations", "ValidatingWebhookConfiguration", &hooks::VALIDATING)
            .category("api-extensions")
            .cluster(),
        row(EXTENSIONS, "customresourcedefinitions", "CustomResourceDefinition", &crd::Crds)
            .short(&["crd", "crds"])
            .category("api-extensions")
            .cluster()
            .subs(&[Status]),
        row("authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview", &Plain).cluster().posted(),
        row("authentication.k8s.io", "tokenreviews", "TokenReview", &Plain).cluster().posted(),
        row("authorization.k8s.io", "localsubjectaccessreviews", "LocalSubjectAccessReview", &Plain).posted(),
        row("authorization.k8s.io", "selfsubjectaccessreviews", "SelfSubjectAccessReview", &Plain)
            .cluster()
            .posted(),
        row("authorization.k8s.io", "selfsubjectrulesreviews", "SelfSubjectRulesReview", &Plain)
            .cluster()
            .posted(),
        row("authorization.k8s.io", "subjectaccessreviews", "SubjectAccessReview", &Plain).cluster().posted(),
        row("coordination.k8s.io", "leases", "Lease", &lease::Leases),
        row(EVENTS, "events", "Event", &event::NewEvents).short(&["ev"]).kept_in("events"),
    ]
    .into_iter()
    .map(|row| Arc::new(row.0))
    .collect()
}

struct Row(Resource);

fn row(group: &str, plural: &str, kind: &str, rules: &'static dyn Rules) -> Row {
    let collection = if group.is_empty() { plural.to_owned() } else { format!("{plural}.{group}") };
    Row(Resource {
        group: group.into(),
        version: "v1".into(),
        plural: plural.into(),
        singular: kind.to_lowercase().into(),
        kind: kind.into(),
        list_kind: format!("{kind}List").into(),
        short_names: Vec::new(),
        categories: Vec::new(),
        namespaced: true,
        collection: collection.into(),
        subs: Vec::new(),
        stored: true,
        nature: Nature::Builtin(rules),
    })
}

impl Row {
    fn cluster(mut self) -> Row {
        self.0.namespaced = false;
        self
    }

    fn short(mut self, names: &[&str]) -> Row {
        self.0.short_names = names.iter().map(|name| (*name).into()).collect();
        self
    }

    fn category(mut self, name: &str) -> Row {
        self.0.categories.push(name.into());
        self
    }

    fn in_all(self) -> Row {
        self.category("all")
    }

    fn subs(mut self, subs: &[Sub]) -> Row {
        self.0.subs = subs.to_vec();
        self
    }

    /// It is posted and answered, and not kept.
    fn posted(mut self) -> Row {
        self.0.stored = false;
        self
    }

    /// It is another view of a collection.
    fn kept_in(mut self, collection: &str) -> Row {
        self.0.collection = collection.into();
        self
    }
}

/// Sets a field that is missing or null.
pub(crate) fn set_default(object: &mut Value, field: &str, value: impl Into<Value>) {
    if let Some(map) = object.as_object_mut()
        && map.get(field).is_none_or(Value::is_null)
    {
        map.insert(field.to_owned(), value.into());
    }
}

/// The items of a list below an object, for change; nothing if there is no such list.
pub(crate) fn items_mut<'a>(object: &'a mut Value, field: &str) -> impl Iterator<Item = &'a mut Value> {
    object.get_mut(field).and_then(Value::as_array_mut).into_iter().flatten()
}

/// The items of a list below an object.
pub(crate) fn items<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    object.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// A text below an object; empty if it is not there.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Makes a field what it is in another object, or removes it.
pub(crate) fn take_from(new: &mut Value, old: &Value, field: &str) {
    let Some(map) = new.as_object_mut() else { return };
    match old.get(field) {
        Some(value) => map.insert(field.to_owned(), value.clone()),
        None => map.remove(field),
    };
}

/// Removes a field.
pub(crate) fn remove(object: &mut Value, field: &str) {
    if let Some(map) = object.as_object_mut() {
        map.remove(field);
    }
}

/// The rules of the objects in a collection, as the store keeps them. Custom resources have none here.
pub(crate) fn of_collection(collection: &str) -> &'static dyn Rules {
    match collection {
        "pods" => &pod::Pods,
        "nodes" => &node::Nodes,
        "namespaces" => &namespace::Namespaces,
        "secrets" => &config::Secrets,
        "services" => &service::Services,
        "events" => &event::CoreEvents,
        _ => &Plain,
    }
}
