//! Changes that wait, and the releases that let some of them through.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits;
use crate::WorkloadRef;

/// A change that the cluster wants and the gate keeps back.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct HeldChange {
    /// The kind of the object: `Pod`, `ConfigMap`, `Secret` or `StaticPod`.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name. Not unique in the list: the stop of a pod and the start of its successor may share it.
    pub name: String,
    /// The workload the change belongs to. Absent for a ConfigMap or Secret that several use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadRef>,
    /// What would happen.
    pub change: Change,
    /// The revision that runs now, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from_revision: Option<String>,
    /// The revision that is wanted, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to_revision: Option<String>,
    /// Since when it waits.
    pub since: Time,
    /// Why it waits: the same sentence that `safepoint why` prints.
    pub why: String,
    /// The ids of the holds that cover it, or the key of the annotation that does.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::HOLDS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub held_by: Vec<String>,
}

/// What a change would do.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum Change {
    /// A pod that does not run yet would start.
    Start,
    /// A running pod would be changed in place.
    Update,
    /// A running pod would be stopped: deleted, evicted, or driven out by a taint.
    Stop,
    /// A ConfigMap or Secret that a running pod uses would change.
    Config,
}

/// An open grant: a release that has not run its course yet.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// The workload whose upgrade may pass.
    pub workload: WorkloadRef,
    /// The revision that may pass; a still newer one may not. Absent until the first successor is seen, where a
    /// controller deletes before it creates.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// When it was opened.
    pub since: Time,
    /// When it closes even if the workload has not settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Time>,
    /// Who released: the id of an order, or a local caller.
    pub by: String,
}
