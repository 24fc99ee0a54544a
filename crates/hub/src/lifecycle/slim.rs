//! A pod with the few fields that the lifecycle looks at. Everything else of it is not even taken out of the text.

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Deserialize;

use crate::slim::of_core;

/// A pod.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SlimPod {
    pub(crate) metadata: ObjectMeta,
    pub(crate) spec: SlimSpec,
    pub(crate) status: SlimStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SlimSpec {
    pub(crate) readiness_gates: Option<Vec<SlimGate>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SlimGate {
    pub(crate) condition_type: String,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SlimStatus {
    pub(crate) phase: Option<String>,
    pub(crate) conditions: Option<Vec<SlimCondition>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SlimCondition {
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) status: String,
}

of_core!(SlimPod, "Pod", "pods", NamespaceResourceScope);
