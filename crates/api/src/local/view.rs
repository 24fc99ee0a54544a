//! What the agent shows of itself.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::WorkloadRef;
use crate::node_gate::{Blocker, GateState, HeldChange, Hold, ModuleStatus, NodeGateStatus};

/// The agent and its gate, as one page.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeStatus {
    /// The node.
    pub node: String,
    /// The way to the cluster.
    pub uplink: Uplink,
    /// How many pods run here because the gate admitted them.
    pub pods: i32,
    /// The same as in the status of the NodeGate, with nothing cut off.
    #[serde(flatten)]
    pub gate: NodeGateStatus,
}

/// The way to the cluster.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Uplink {
    /// Whether the cluster can be reached. The gate decides the same without it.
    pub connected: bool,
    /// Since when that is so; absent before the first attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// What is wrong, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Every change that waits, oldest first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ChangeList {
    /// The changes.
    pub items: Vec<HeldChange>,
}

/// Why something waits, or that it does not.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Why {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name.
    pub name: String,
    /// What is true of it, in one word.
    pub verdict: Verdict,
    /// The same as a sentence: what is held, by whom, since when, and what would end it.
    pub sentence: String,
    /// The change that waits, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub change: Option<HeldChange>,
    /// The holds that keep it back, with who and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<Hold>,
    /// What would let it through, each a command or an event; all of them have to happen.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub until: Vec<String>,
}

/// What is true of a pod.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum Verdict {
    /// What runs is what is wanted.
    Settled,
    /// Nothing is held, and it is not ready yet.
    Unsettled,
    /// A change waits.
    Held,
}

/// The holds on the node, oldest first.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct HoldList {
    /// The holds.
    pub items: Vec<Hold>,
}

/// A hold that stands.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HoldTaken {
    /// The hold.
    pub hold: Hold,
    /// What was under way within its scope: the hold may have caught it half done.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub in_flight: Vec<Blocker>,
}

/// A hold that is over, or out of force for a while.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct HoldDropped {
    /// Its name.
    pub id: String,
    /// When it is in force again, if an override has only suspended it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_until: Option<Time>,
}

/// Whether the node is frozen, and by whom.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FreezeState {
    /// What the gate does.
    pub state: GateState,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// The freeze that this answers, where one was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<String>,
    /// The freezes that stand, oldest first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub holds: Vec<Hold>,
    /// What stands between the barrier and a complete freeze.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blockers: Vec<Blocker>,
}

/// What a release has let through.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Released {
    /// The workloads whose upgrade may pass. Empty if nothing waited.
    pub workloads: Vec<WorkloadRef>,
    /// The workloads that stay held, and by which holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub held: Vec<KeptBack>,
}

/// A workload that a release did not let through.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptBack {
    /// The workload.
    pub workload: WorkloadRef,
    /// The holds that keep it back.
    pub holds: Vec<String>,
}

/// The parts of the agent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct ModuleList {
    /// The modules, by name.
    pub items: Vec<ModuleStatus>,
}
