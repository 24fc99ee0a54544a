//! What the rules say about the pods that ask.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, MicroTime};
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::limits;

/// What the rules say. It is written before it counts: nobody is let go by something that is not here.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodTransitionRuleStatus {
    /// When something of this has changed last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_time: Option<MicroTime>,
    /// The generation of the spec that this belongs to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How many pods are selected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selected_number: Option<i32>,
    /// How many of them ask and are refused. One that is refused in both stages counts once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub refused_number: Option<i32>,
    /// The pods that are selected, by name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::TARGETS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub targets: Vec<String>,
    /// How far webhooks are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::RULES))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub rule_states: Vec<RuleState>,
    /// What is said about each pod that asks. A pod that asks in both stages is here twice.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::DETAILS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub details: Vec<PodTransitionDetail>,
    /// `Readable`: whether all rules can be read. Those that cannot be stand in the way.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::CONDITIONS))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["type".into()]))]
    pub conditions: Vec<Condition>,
}

/// How far the webhook of a rule is.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleState {
    /// The rule.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// What its webhook is doing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook_status: Option<WebhookStatus>,
}

/// What a webhook is doing.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookStatus {
    /// Tasks that it has taken on. A hub that starts anew goes on asking about them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::TASKS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub task_states: Vec<TaskInfo>,
    /// Tasks that are over. Read where KusionStack has written it; not written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::TASKS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub history: Vec<TaskInfo>,
}

/// A task that a webhook has taken on.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskInfo {
    /// Its id, which the webhook has given it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub task_id: String,
    /// Pods that it is not done with.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::TARGETS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub processing: Vec<String>,
    /// Pods that it has agreed to.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::TARGETS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub approved: Vec<String>,
    /// When it began.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub begin_time: Option<MicroTime>,
    /// When it was asked about last.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_time: Option<MicroTime>,
    /// What it said then.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
}

/// What the rules say about a pod in a stage.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct PodTransitionDetail {
    /// The pod.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The stage: `PreCheck` or `PostCheck`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub stage: String,
    /// Whether all rules agree.
    #[serde(default)]
    pub passed: bool,
    /// Those that do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::RULES))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub passed_rules: Vec<String>,
    /// Those that do not, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::RULES))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub reject_info: Vec<RejectInfo>,
}

/// Why a rule does not agree.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RejectInfo {
    /// The rule.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub rule_name: String,
    /// Why.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
}
