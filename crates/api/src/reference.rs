//! How objects of the cluster are named in specs and status.

use kube::KubeSchema;
use serde::{Deserialize, Serialize};

/// What a change belongs to: the top controller of a pod, a bare pod, or a static pod.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct WorkloadRef {
    /// The kind of the controller, such as `Deployment`, `DaemonSet` or `StatefulSet`; `Pod` for a pod that nobody
    /// controls; `StaticPod` for a pod from a manifest file on the node.
    #[schemars(length(min = 1, max = 63))]
    pub kind: String,
    /// The namespace.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// The name of the controller, of the bare pod or of the static pod (without the node's name).
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Which replica of a StatefulSet: each is upgraded on its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub ordinal: Option<i32>,
}

/// One pod, by name. Which workload it belongs to is for the node to know.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodRef {
    /// The namespace.
    #[schemars(length(min = 1, max = 63))]
    pub namespace: String,
    /// The pod's name.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
}

/// Any object that stands in the way of something.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectRef {
    /// The kind, such as `Pod` or `ConfigMap`; for a part of the agent itself, `Part`.
    pub kind: String,
    /// The namespace, where the kind has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// The name.
    pub name: String,
}
