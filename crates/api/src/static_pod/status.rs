//! How far an upgrade has come, and what became of each node.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::limits;

/// How far an upgrade has come. The numbers count nodes and belong to `observedGeneration`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct StaticPodStatus {
    /// The generation of the spec that this belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Nodes that run the static pod.
    #[serde(default)]
    pub desired_number: i32,
    /// Nodes that run it at the wanted revision.
    #[serde(default)]
    pub upgraded_number: i32,
    /// Nodes on which it is ready, at whatever revision.
    #[serde(default)]
    pub ready_number: i32,
    /// Nodes that are put off because they are not ready, frozen or held. They are caught up when they return.
    #[serde(default)]
    pub deferred_number: i32,
    /// Nodes on which the upgrade was tried and rolled back.
    #[serde(default)]
    pub failed_number: i32,
    /// Nodes on which the upgrade is under way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upgrading_number: Option<i32>,
    /// How far the canaries are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary_phase: Option<CanaryPhase>,
    /// The revision that all nodes had last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current_revision: Option<String>,
    /// The revision that is wanted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_revision: Option<String>,
    /// What became of each node. In a large fleet the upgraded ones are left out first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::NODES))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["node".into()]))]
    pub nodes: Vec<NodeUpgrade>,
    /// There are more nodes than `nodes` shows.
    #[serde(default)]
    pub nodes_truncated: bool,
    /// `Success`, `Upgrading` and `Failed`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CONDITIONS))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// What became of one node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct NodeUpgrade {
    /// The node.
    pub node: String,
    /// Where it stands.
    pub state: NodeUpgradeState,
    /// Why, as one word for programs, such as `NodeFrozen`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// Why, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
    /// How often the wanted revision has been tried.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub attempts: Option<i32>,
    /// When a node that has failed is tried again. Left out, it is not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<Time>,
}

/// How far the canaries are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum CanaryPhase {
    /// Not every one is upgraded and ready.
    Upgrading,
    /// All are, and have to be for a while.
    Watching,
    /// One has failed. The other nodes stay as they are.
    Failed,
    /// No node of the set is a canary, or all that are, are put off.
    Absent,
    /// They are well, and the others follow.
    Passed,
}

/// Where a node stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum NodeUpgradeState {
    /// Its turn has not come, or its owner has not applied the upgrade yet.
    Pending,
    /// The upgrade is under way on it.
    Upgrading,
    /// It runs the wanted revision.
    Upgraded,
    /// It is put off, not failed: not ready, frozen or held. It is caught up when it returns.
    Deferred,
    /// The upgrade was tried and rolled back.
    Failed,
}
