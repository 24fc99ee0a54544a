//! The pod that a manifest describes.

use std::collections::BTreeMap;

use kube::KubeSchema;
use schemars::{Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// A pod template.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodTemplate {
    /// Labels and annotations of the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<TemplateMetadata>,
    /// The spec of the pod, as for any pod.
    // Kept as it came and not as a typed pod spec: a type knows the fields of one Kubernetes version, and a manifest
    // that was written through it would silently lose every newer one.
    #[schemars(schema_with = "pod_spec")]
    pub spec: Map<String, Value>,
}

/// What a template may say about the pod beside its spec.
///
/// No namespace, which is that of the object, and no uid: the kubelet takes the uid in a manifest for the pod's own,
/// and a changed manifest under an old uid is not restarted properly.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TemplateMetadata {
    /// The pod's name; if given, the same as `staticPodName`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 253))]
    pub name: Option<String>,
    /// Labels of the pod.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: BTreeMap<String, String>,
    /// Annotations of the pod.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub annotations: BTreeMap<String, String>,
}

/// Only what no pod can be without is checked here; the rest is the kubelet's to judge.
fn pod_spec(_: &mut SchemaGenerator) -> Schema {
    json_schema!({
        "type": "object",
        "required": ["containers"],
        "properties": {
            "containers": {
                "type": "array",
                "minItems": 1,
                "items": {
                    "type": "object",
                    "required": ["name"],
                    "properties": { "name": { "type": "string", "minLength": 1 } },
                    "x-kubernetes-preserve-unknown-fields": true,
                },
            },
        },
        "x-kubernetes-preserve-unknown-fields": true,
    })
}
