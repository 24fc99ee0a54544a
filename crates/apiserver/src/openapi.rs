//! The schemas of what is served: as documents for `kubectl explain`, and as shapes that bodies are compared with.
//!
//! Schemas of built-in kinds come from the `k8s-openapi` crate, texts included. Documents are made when somebody asks,
//! shapes when the first object of a kind is written: neither costs anything at the start.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use axum::body::Body;
use axum::response::Response;
use http::header::{CONTENT_TYPE, HeaderValue};
use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::authentication::v1::{SelfSubjectReview, TokenReview};
use k8s_openapi::api::authorization::v1::{
    LocalSubjectAccessReview, SelfSubjectAccessReview, SelfSubjectRulesReview, SubjectAccessReview,
};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{
    Binding, ConfigMap, Event, Namespace, Node, Pod, Secret, Service, ServiceAccount,
};
use k8s_openapi::api::events::v1::Event as NewEvent;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use safepoint_schema::{Options, Outcome, Schema};
use schemars::generate::{SchemaGenerator, SchemaSettings};
use serde_json::{Map, Value, json};

use crate::api::Api;
use crate::registry::Registry;
use crate::resource::Resource;

/// Adds a kind's schema, and those that it refers to, to a generator.
type Add = fn(&mut SchemaGenerator) -> schemars::Schema;

fn add_of(group: &str, kind: &str) -> Option<Add> {
    fn add<T: schemars::JsonSchema>(generator: &mut SchemaGenerator) -> schemars::Schema {
        generator.subschema_for::<T>()
    }
    Some(match (group, kind) {
        ("", "Binding") => add::<Binding>,
        ("", "ConfigMap") => add::<ConfigMap>,
        ("", "Event") => add::<Event>,
        ("", "Namespace") => add::<Namespace>,
        ("", "Node") => add::<Node>,
        ("", "Pod") => add::<Pod>,
        ("", "Secret") => add::<Secret>,
        ("", "Service") => add::<Service>,
        ("", "ServiceAccount") => add::<ServiceAccount>,
        ("admissionregistration.k8s.io", "MutatingWebhookConfiguration") => {
            add::<MutatingWebhookConfiguration>
        }
        ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration") => {
            add::<ValidatingWebhookConfiguration>
        }
        ("apiextensions.k8s.io", "CustomResourceDefinition") => add::<CustomResourceDefinition>,
        ("authentication.k8s.io", "SelfSubjectReview") => add::<SelfSubjectReview>,
        ("authentication.k8s.io", "TokenReview") => add::<TokenReview>,
        ("authorization.k8s.io", "LocalSubjectAccessReview") => add::<LocalSubjectAccessReview>,
        ("authorization.k8s.io", "SelfSubjectAccessReview") => add::<SelfSubjectAccessReview>,
        ("authorization.k8s.io", "SelfSubjectRulesReview") => add::<SelfSubjectRulesReview>,
        ("authorization.k8s.io", "SubjectAccessReview") => add::<SubjectAccessReview>,
        ("coordination.k8s.io", "Lease") => add::<Lease>,
        ("events.k8s.io", "Event") => add::<NewEvent>,
        _ => return None,
    })
}

// === shapes ===

/// What the objects of a built-in kind look like.
pub(crate) struct Shape(Schema);

/// The shape of a built-in kind, compiled when it is first asked for.
pub(crate) fn shape_of(resource: &Resource) -> Option<Arc<Shape>> {
    /// By group and kind.
    type Known = HashMap<(String, String), Arc<Shape>>;
    static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);
    let key = (resource.group.to_string(), resource.kind.to_string());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(shape) = known.get(&key) {
        return Some(Arc::clone(shape));
    }
    let mut generator = generator();
    let root = add_of(&resource.group, &resource.kind)?(&mut generator);
    let mut document = root.to_value();
    let mut definitions = generator.take_definitions(true);
    for any in ["JSON", "JSONSchemaPropsOrArray", "JSONSchemaPropsOrBool", "JSONSchemaPropsOrStringArray"] {
        let name = format!("io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.{any}");
        // Written down as objects, but anything goes.
        if let Some(definition) = definitions.get_mut(&name) {
            *definition = json!({ "x-kubernetes-preserve-unknown-fields": true });
        }
    }
    document["$defs"] = Value::Object(definitions);
    let shape = Arc::new(Shape(Schema::from_json_schema(&document)));
    known.insert(key, Arc::clone(&shape));
    Some(shape)
}

impl Shape {
    /// The fields of an object that its kind does not have, in the words of a warning.
    pub(crate) fn unknown_fields(&self, object: &Value) -> Vec<String> {
        self.look(object).unknown_fields
    }

    /// The first field whose value is of a type that it cannot have, in the words of Kubernetes.
    pub(crate) fn mistyped(&self, object: &Value) -> Result<(), String> {
        match self.look(object).problems.into_iter().next() {
            None => Ok(()),
            Some(problem) => Err(problem.detail),
        }
    }

    fn look(&self, object: &Value) -> Outcome {
        self.0.admit(&mut object.clone(), None, Options::field_validation())
    }
}

fn generator() -> SchemaGenerator {
    SchemaSettings::draft2020_12().into_generator()
}

// === documents ===

/// `/openapi/v3`: where the document of each group and version is.
pub(crate) fn index(api: &Api) -> Value {
    let registry = api.0.registry.get();
    let mut paths = Map::new();
    let mut versions: Vec<(Arc<str>, Arc<str>)> =
        registry.all().map(|resource| (Arc::clone(&resource.group), Arc::clone(&resource.version))).collect();
    versions.dedup();
    for (group, version) in versions {
        let place =
            if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
        // Clients keep a document until its address changes: custom ones change with their CRDs.
        let state: Vec<String> = registry
            .of_version(&group, &version)
            .filter_map(|resource| Some(resource.custom()?.revision().to_owned()))
            .collect();
        let hash = format!("{}-{}", env!("CARGO_PKG_VERSION"), state.join("-"));
        paths.insert(
            place.clone(),
            json!({ "serverRelativeURL": format!("/openapi/v3/{place}?hash={hash}") }),
        );
    }
    json!({ "paths": paths })
}

/// `/openapi/v2`, as protobuf: a document with nothing in it.
///
/// kubectl asks for it when it does not find a kind in the documents of version 3, lists for example, and takes what it
/// does not find here for not to be checked by the client. The server checks everything anyway.
pub(crate) fn version_two() -> Response {
    let field = |number: u8, content: &[u8]| {
        let length = u8::try_from(content.len()).expect("the texts below are short");
        [&[number << 3 | 2, length], content].concat()
    };
    let info =
        [field(1, b"Safepoint embedded Kubernetes API"), field(2, env!("CARGO_PKG_VERSION").as_bytes())]
            .concat();
    let document = [field(1, b"2.0"), field(2, &info), field(8, b"")].concat();
    let mut response = Response::new(Body::from(document));
    let kind = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

/// The document of a group and version; `None` if it is not served.
pub(crate) fn document(api: &Api, group: &str, version: &str) -> Option<Value> {
    let registry: Arc<Registry> = api.0.registry.get();
    let resources: Vec<&Arc<Resource>> = registry.of_version(group, version).collect();
    if resources.is_empty() {
        return None;
    }
    let mut generator = generator();
    let mut schemas = Map::new();
    let mut paths = Map::new();
    for resource in &resources {
        let reference = match resource.custom() {
            None => add_of(group, &resource.kind)
                .map(|add| add(&mut generator).to_value())
                .and_then(|schema| Some(schema.get("$ref")?.as_str()?.rsplit('/').next()?.to_owned())),
            Some(_) => {
                let name = schema_name(resource);
                schemas.insert(name.clone(), custom_schema(api, resource, &mut generator));
                Some(name)
            }
        };
        if let Some(reference) = reference {
            add_paths(resource, &reference, &mut paths);
        }
    }
    for (name, schema) in generator.take_definitions(true) {
        schemas.entry(name).or_insert(schema);
    }
    for resource in &resources {
        let name = paths_reference(&paths, resource);
        if let Some(schema) = name.and_then(|name| schemas.get_mut(&name)) {
            schema["x-kubernetes-group-version-kind"] = json!([{ "group": &*resource.group, "version": &*resource.version, "kind": &*resource.kind }]);
        }
    }
    schemas.iter_mut().for_each(|(name, schema)| forgive(name, schema));
    let mut document = json!({
        "openapi": "3.0.0",
        "info": { "title": "Safepoint embedded Kubernetes API", "version": env!("CARGO_PKG_VERSION") },
        "paths": paths,
        "components": { "schemas": schemas },
    });
    rewrite(&mut document);
    Some(document)
}

/// The Rust types of k8s-openapi require a few fields that Kubernetes does not.
fn forgive(name: &str, schema: &mut Value) {
    const REFERENCES: [&str; 8] = [
        "LocalObjectReference",
        "ConfigMapEnvSource",
        "ConfigMapKeySelector",
        "ConfigMapProjection",
        "ConfigMapVolumeSource",
        "SecretEnvSource",
        "SecretKeySelector",
        "SecretProjection",
    ];
    let kind = name.rsplit('.').next().unwrap_or_default();
    if let Some(required) = schema.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|field| field != "metadata" && !(field == "name" && REFERENCES.contains(&kind)));
    }
}

/// The name under which a custom kind's schema stands: the group turned round, as Kubernetes does it.
fn schema_name(resource: &Resource) -> String {
    let group: Vec<&str> = resource.group.rsplit('.').collect();
    format!("{}.{}.{}", group.join("."), resource.version, resource.kind)
}

fn custom_schema(api: &Api, resource: &Resource, generator: &mut SchemaGenerator) -> Value {
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
    let crd = format!("{}.{}", resource.plural, resource.group);
    let crds = api.0.registry.get().of_kind("apiextensions.k8s.io", "CustomResourceDefinition");
    let crd = crds.and_then(|crds| api.fetch(&crds, "", &crd)).unwrap_or_default();
    let mut schema = crate::kinds::items(&crd["spec"], "versions")
        .find(|version| version["name"] == json!(&*resource.version))
        .map(|version| version["schema"]["openAPIV3Schema"].clone())
        .filter(Value::is_object)
        .unwrap_or_else(|| json!({ "type": "object" }));
    let string = |text: &str| json!({ "type": "string", "description": text });
    schema["properties"]["apiVersion"] = string("The group and version of this object's kind.");
    schema["properties"]["kind"] = string("The kind of this object.");
    let mut metadata = generator.subschema_for::<ObjectMeta>().to_value();
    metadata["description"] = "Standard object's metadata.".into();
    schema["properties"]["metadata"] = metadata;
    schema
}

/// What clients look for in a path: which kind it is about, and which parameters a write takes.
fn add_paths(resource: &Resource, reference: &str, paths: &mut Map<String, Value>) {
    let base = match (&*resource.group, &*resource.version) {
        ("", version) => format!("/api/{version}"),
        (group, version) => format!("/apis/{group}/{version}"),
    };
    let kind = json!({ "group": &*resource.group, "version": &*resource.version, "kind": &*resource.kind });
    let operation = |action: &str, parameters: &[&str]| {
        let parameters: Vec<Value> = parameters
            .iter()
            .map(|name| json!({ "name": name, "in": "query", "schema": { "type": "string", "uniqueItems": true } }))
            .collect();
        json!({
            "x-kubernetes-action": action,
            "x-kubernetes-group-version-kind": kind,
            "parameters": parameters,
            "responses": { "200": {
                "description": "OK",
                "content": { "application/json": { "schema": { "$ref": format!("#/$defs/{reference}") } } },
            } },
        })
    };
    const WRITE: &[&str] = &["dryRun", "fieldManager", "fieldValidation"];
    let place = if resource.namespaced { format!("{base}/namespaces/{{namespace}}") } else { base.clone() };
    let collection = format!("{place}/{}", resource.plural);
    if !resource.stored {
        paths.insert(collection, json!({ "post": operation("post", WRITE) }));
        return;
    }
    const LIST: &[&str] =
        &["labelSelector", "fieldSelector", "limit", "continue", "resourceVersion", "watch"];
    if resource.namespaced {
        paths.insert(format!("{base}/{}", resource.plural), json!({ "get": operation("list", LIST) }));
    }
    paths.insert(
        collection.clone(),
        json!({
            "get": operation("list", LIST), "post": operation("post", WRITE),
            "delete": operation("deletecollection", &["dryRun", "labelSelector", "fieldSelector"]),
        }),
    );
    paths.insert(
        format!("{collection}/{{name}}"),
        json!({
            "get": operation("get", &[]), "put": operation("put", WRITE), "patch": operation("patch", WRITE),
            "delete": operation("delete", &["dryRun", "gracePeriodSeconds", "propagationPolicy"]),
        }),
    );
}

/// The schema that a resource's paths refer to.
fn paths_reference(paths: &Map<String, Value>, resource: &Resource) -> Option<String> {
    let kind = json!({ "group": &*resource.group, "version": &*resource.version, "kind": &*resource.kind });
    paths.values().find_map(|path| {
        let post = path.get("post").or_else(|| path.get("get"))?;
        (post["x-kubernetes-group-version-kind"] == kind).then_some(())?;
        let reference = post.pointer("/responses/200/content/application~1json/schema/$ref")?.as_str()?;
        reference.rsplit('/').next().map(str::to_owned)
    })
}

/// Turns JSON Schema into the dialect of OpenAPI 3.0: other places for references, no lists of types.
fn rewrite(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if let Some(Value::String(reference)) = map.get_mut("$ref") {
                *reference = reference.replace("#/$defs/", "#/components/schemas/");
                if map.len() > 1 {
                    // A reference has no neighbours in OpenAPI 3.0.
                    let reference = map.remove("$ref").unwrap_or_default();
                    map.insert("allOf".to_owned(), json!([{ "$ref": reference }]));
                }
            }
            if let Some(Value::Array(types)) = map.get("type") {
                let named: Vec<Value> = types.iter().filter(|kind| *kind != "null").cloned().collect();
                if named.len() < types.len() {
                    map.insert("nullable".to_owned(), true.into());
                }
                if let Some(first) = named.into_iter().next() {
                    map.insert("type".to_owned(), first);
                }
            }
            map.values_mut().for_each(rewrite);
        }
        Value::Array(items) => items.iter_mut().for_each(rewrite),
        _ => {}
    }
}
