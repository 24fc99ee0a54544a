//! The types of a NodeGate, by name.
//!
//! A definition of Kubernetes has no references, so the types that stand in one describe themselves in full wherever they
//! are used. Here a client generator wants each of them once and by name. What only an API server understands is left out,
//! and so are the limits of a NodeGate's lists: the node API cuts nothing off.

use safepoint_api::node_gate::{
    Blocker, Grant, HeldChange, Hold, Lease, ModuleFailure, ModuleStatus, OrderAnswer, Override, Scope,
};
use safepoint_api::{ObjectRef, PodRef, WorkloadRef};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

/// Where a name stands in the document.
const PLACE: &str = "#/components/schemas/";

/// Keys that mean something to an API server only.
const SERVERS: [&str; 4] =
    ["x-kubernetes-list-type", "x-kubernetes-list-map-keys", "x-kubernetes-validations", "maxItems"];

/// Gives every type of a NodeGate a name, in the schemas and in what uses them.
pub(super) fn named(mut schemas: Map<String, Value>, paths: &mut Value) -> Map<String, Value> {
    // Innermost first, so that the outer ones are compared as they look by then.
    let mut known: Vec<(&str, Value)> = Vec::new();
    for (name, mut schema) in [
        ("PodRef", of::<PodRef>()),
        ("WorkloadRef", of::<WorkloadRef>()),
        ("ObjectRef", of::<ObjectRef>()),
        ("Override", of::<Override>()),
        ("Lease", of::<Lease>()),
        ("Scope", of::<Scope>()),
        ("Hold", of::<Hold>()),
        ("Blocker", of::<Blocker>()),
        ("HeldChange", of::<HeldChange>()),
        ("Grant", of::<Grant>()),
        ("OrderAnswer", of::<OrderAnswer>()),
        ("ModuleFailure", of::<ModuleFailure>()),
        ("ModuleStatus", of::<ModuleStatus>()),
    ] {
        for (_, inner) in schema.as_object_mut().into_iter().flatten() {
            replace(inner, &known);
        }
        known.push((name, schema));
    }
    for schema in schemas.values_mut() {
        replace(schema, &known);
    }
    replace(paths, &known);
    schemas.extend(known.into_iter().map(|(name, schema)| (name.to_owned(), schema)));
    schemas
}

fn of<T: JsonSchema>() -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<T>().to_value();
    if let Some(fields) = schema.as_object_mut() {
        fields.remove("title");
        fields.remove("components");
    }
    schema
}

/// Replaces what is one of the known types by its name, from the inside out.
fn replace(value: &mut Value, known: &[(&str, Value)]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| replace(item, known)),
        Value::Object(fields) => {
            fields.retain(|key, _| !SERVERS.contains(&key.as_str()));
            fields.values_mut().for_each(|field| replace(field, known));
            let Some((name, schema, optional)) = name_of(fields, known) else { return };
            let mut reference = json!({ "$ref": format!("{PLACE}{name}") });
            if optional {
                reference = json!({ "anyOf": [reference, { "type": "null" }] });
            }
            // What is said of a field is kept; what is said of the type stands with the type.
            if let Some(description) =
                fields.remove("description").filter(|said| Some(said) != schema.get("description"))
            {
                reference["description"] = description;
            }
            *value = reference;
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Which type this is, if it is one, and whether it may be absent.
fn name_of<'a>(
    fields: &Map<String, Value>,
    known: &'a [(&'a str, Value)],
) -> Option<(&'a str, &'a Value, bool)> {
    let properties = fields.get("properties")?;
    let optional = fields.get("type")? == &json!(["object", "null"]);
    let same = |schema: &Value| {
        schema.get("properties") == Some(properties) && schema.get("required") == fields.get("required")
    };
    known.iter().find(|(_, schema)| same(schema)).map(|(name, schema)| (*name, schema, optional))
}
