//! Kinds that a case defines for itself.
//!
//! Every case has an API group of its own, so definitions of different cases never meet.

use anyhow::Result;
use serde_json::{Value, json};

use crate::{call::Call, cx::Cx, objects::with};

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A kind that is defined and served: `Gadget` in version `v1` of the case's own group.
pub(crate) struct Gadgets {
    group: String,
}

/// The API group of a case.
pub(crate) fn group(cx: &Cx) -> String {
    format!("g{}.conformance.example", cx.id())
}

/// A definition of gadgets, with this schema for their one version, and with `more` merged into that version.
pub(crate) fn definition(cx: &Cx, schema: Value, more: Value) -> Value {
    let mut version = json!({"name": "v1", "served": true, "storage": true, "schema": {}});
    version["schema"]["openAPIV3Schema"] = schema;
    let (group, version) = (group(cx), with(version, more));
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("gadgets.{group}")},
        "spec": {"group": group, "scope": "Namespaced", "versions": [version],
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"}}})
}

/// A schema of an object whose `spec` has these properties, and with a `status` that takes anything.
pub(crate) fn spec(properties: Value) -> Value {
    let mut schema = json!({"type": "object", "properties": {
        "spec": {"type": "object"},
        "status": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}});
    schema["properties"]["spec"]["properties"] = properties;
    schema
}

/// A schema that takes anything.
pub(crate) fn anything() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// The path of a definition, or of all of them.
pub(crate) fn definitions(rest: &str) -> String {
    format!("{DEFINITIONS}{rest}")
}

// === impl Gadgets ===

impl Gadgets {
    /// Defines gadgets with this schema.
    pub(crate) async fn define(cx: &Cx, schema: Value) -> Result<Gadgets> {
        Gadgets::defined_by(cx, &definition(cx, schema, json!({}))).await
    }

    /// Creates a definition and waits until its versions are served.
    pub(crate) async fn defined_by(cx: &Cx, body: &Value) -> Result<Gadgets> {
        let made = cx.create_for_now(DEFINITIONS, body).await?;
        let name = made.text("/metadata/name")?;
        let query = format!("?fieldSelector=metadata.name%3D{name}&resourceVersion={}", made.revision()?);
        let mut watch = cx.watch(definitions(&query)).await?;
        watch.until(|event| has_condition(&event.object.value, "Established", "True")).await?;
        let gadgets = Gadgets { group: group(cx) };
        let versions = made.list("/spec/versions")?.iter().filter(|version| version["served"] == true);
        for version in versions.filter_map(|version| version["name"].as_str()) {
            // A definition is established a moment before its paths answer.
            let path = format!("/apis/{}/{version}/{}", gadgets.group, made.text("/spec/names/plural")?);
            cx.until(Call::get(path), |reply| reply.clone().code(200).map(drop)).await?;
        }
        Ok(gadgets)
    }

    /// The API group.
    pub(crate) fn group(&self) -> &str {
        &self.group
    }

    /// A path in the namespace of the case: `gadgets/a`.
    pub(crate) fn path(&self, cx: &Cx, rest: &str) -> String {
        self.path_in(cx, "v1", rest)
    }

    /// A path in another version.
    pub(crate) fn path_in(&self, cx: &Cx, version: &str, rest: &str) -> String {
        cx.group(&format!("{}/{version}", self.group), rest)
    }

    /// A gadget with this spec.
    pub(crate) fn gadget(&self, name: &str, spec: Value) -> Value {
        let group_version = format!("{}/v1", self.group);
        let mut gadget = json!({"apiVersion": group_version, "kind": "Gadget", "metadata": {"name": name}});
        gadget["spec"] = spec;
        gadget
    }
}

/// Whether an object has this condition with this status.
pub(crate) fn has_condition(object: &Value, kind: &str, status: &str) -> bool {
    let conditions = object.pointer("/status/conditions").and_then(Value::as_array);
    conditions.is_some_and(|all| all.iter().any(|c| c["type"] == kind && c["status"] == status))
}
