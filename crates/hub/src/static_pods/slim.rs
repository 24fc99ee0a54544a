//! Pods and nodes with the few fields that matter here.
//!
//! The pods of a namespace on ten thousand nodes are read as they come: what nobody asks for is not even taken out of the
//! text. Whatever is missing is taken for absent; nothing here fails because of a strange object of somebody else.

use std::collections::BTreeMap;

use k8s_openapi::ClusterResourceScope;
use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use safepoint_core::Timestamp;
use serde::Deserialize;

use crate::slim::of_core;

/// So late may a watch be, and a moment that is kept to the second.
const LATE_MILLIS: i64 = 5_000;

/// A pod.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct SlimPod {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: SlimPodSpec,
    #[serde(default)]
    pub(crate) status: SlimPodStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SlimPodSpec {
    pub(crate) node_name: Option<String>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SlimPodStatus {
    pub(crate) phase: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) conditions: Option<Vec<SlimCondition>>,
    pub(crate) container_statuses: Option<Vec<SlimContainer>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SlimContainer {
    pub(crate) state: Option<SlimState>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SlimState {
    pub(crate) running: Option<serde::de::IgnoredAny>,
    pub(crate) terminated: Option<SlimTerminated>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SlimTerminated {
    pub(crate) exit_code: i32,
    pub(crate) reason: Option<String>,
    pub(crate) message: Option<String>,
    pub(crate) finished_at: Option<Time>,
}

/// A condition of a pod or of a node.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct SlimCondition {
    #[serde(rename = "type")]
    pub(crate) type_: String,
    pub(crate) status: String,
    pub(crate) message: Option<String>,
    pub(crate) last_transition_time: Option<Time>,
}

/// A node.
#[derive(Clone, Debug, Default, Deserialize)]
pub(crate) struct SlimNode {
    pub(crate) metadata: ObjectMeta,
    #[serde(default)]
    pub(crate) spec: SlimNodeSpec,
    #[serde(default)]
    pub(crate) status: SlimNodeStatus,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SlimNodeSpec {
    pub(crate) unschedulable: Option<bool>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct SlimNodeStatus {
    pub(crate) conditions: Option<Vec<SlimCondition>>,
}

// === impl SlimPod ===

impl SlimPod {
    pub(crate) fn condition(&self, kind: &str) -> Option<&SlimCondition> {
        self.status.conditions.iter().flatten().find(|condition| condition.type_ == kind)
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&str> {
        text(self.metadata.annotations.as_ref(), key)
    }

    pub(crate) fn label(&self, key: &str) -> Option<&str> {
        text(self.metadata.labels.as_ref(), key)
    }
}

// === impl SlimNode ===

impl SlimNode {
    pub(crate) fn condition(&self, kind: &str) -> Option<&SlimCondition> {
        self.status.conditions.iter().flatten().find(|condition| condition.type_ == kind)
    }
}

fn text<'a>(all: Option<&'a BTreeMap<String, String>>, key: &str) -> Option<&'a str> {
    all?.get(key).map(String::as_str)
}

/// A moment of Kubernetes as the planner counts it.
pub(crate) fn moment(time: &Time) -> Timestamp {
    Timestamp(time.0.as_millisecond())
}

/// A moment that a node has written, or that at which it was seen, where that is much later: spans that are counted from it
/// would be over on a node whose clock is behind. Nothing is known of when something happened that a list shows.
pub(crate) fn not_long_before(said: Timestamp, seen: Option<Timestamp>) -> Timestamp {
    seen.filter(|seen| seen.0.saturating_sub(said.0) > LATE_MILLIS).unwrap_or(said)
}

of_core!(SlimPod, "Pod", "pods", NamespaceResourceScope);
of_core!(SlimNode, "Node", "nodes", ClusterResourceScope);
