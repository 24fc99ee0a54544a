//! What the gate on a node says about itself.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::hold::{Blocker, Hold};
use super::limits;
use super::module::ModuleStatus;
use super::order::OrderAnswer;
use super::pending::{Grant, HeldChange};

/// What the gate on the node does and why. Written by the node's agent on transitions only.
// There is no heartbeat in it, which every agent would have to write for ever: the kubelet's lease passes through the
// agent, so a silent agent already shows as a node that is not ready.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeGateStatus {
    /// The generation of the spec that this answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// What the gate does now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<GateState>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// Who holds the node: the holder of its oldest node-wide hold.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub holder: Option<String>,
    /// The reason that this holder gave.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// A hold outlived its holder or its lease. The node stays closed, and somebody must look.
    #[serde(default)]
    pub orphaned: bool,
    /// The holds on the node, oldest first; 64 at most are shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::HOLDS))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["id".into()]))]
    pub holds: Vec<Hold>,
    /// What stands between the barrier and a complete freeze; 64 at most are shown.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::BLOCKERS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub blockers: Vec<Blocker>,
    /// How many changes are held.
    #[serde(default)]
    pub held_count: i32,
    /// The held changes, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::HELD))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub held: Vec<HeldChange>,
    /// There are more held changes than `held` shows; ask the node for the rest.
    #[serde(default)]
    pub held_truncated: bool,
    /// Releases that have not run their course yet.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::GRANTS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub grants: Vec<Grant>,
    /// The answers to the orders in the spec.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::ORDERS))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["id".into()]))]
    pub orders: Vec<OrderAnswer>,
    /// The parts of the agent.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::MODULES))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub modules: Vec<ModuleStatus>,
    /// The version of the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_version: Option<String>,
    /// For `kubectl wait`: `ChangeFreeze`, with the same reason and message as on the Node.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CONDITIONS))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// What a gate does.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum GateState {
    /// No node-wide hold. Single workloads may still be held.
    Open,
    /// The barrier is up: nothing new is admitted, what is under way may finish.
    Freezing,
    /// Everything has settled and nothing changes.
    Frozen,
    /// The last node-wide hold is gone; what was missed is being applied, the newest only.
    Thawing,
}
