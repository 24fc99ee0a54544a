//! A webhook that has to agree.

use k8s_openapi::api::core::v1::ObjectFieldSelector;
use kube::KubeSchema;
use serde::{Deserialize, Serialize};

use super::limits;

/// A webhook that has to agree.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct RuleWebhook {
    /// Where it is.
    pub client_config: ClientConfig,
    /// `Ignore` or `Fail`. A field of KusionStack that nobody reads, there or here: a webhook that cannot be asked stands in the
    /// way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure_policy: Option<String>,
    /// What it is told about each pod.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::PARAMETERS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub parameters: Vec<Parameter>,
}

/// Where a webhook is.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ClientConfig {
    /// Its address, which the question is posted to.
    #[schemars(length(max = 2048))]
    #[x_kube(
        validation = Rule::new("self.startsWith('https://') || self.startsWith('http://')")
            .message("must begin with https:// or http://")
    )]
    pub url: String,
    /// Who has signed its certificate: certificates in PEM, in base64. Left out, who the machine of the hub trusts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    /// How it is asked about a task that it has taken on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub poll: Option<Poll>,
}

/// How a webhook is asked about a task that it has taken on.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Poll {
    /// The address that is asked, with the task in its query.
    #[schemars(length(max = 2048))]
    #[x_kube(
        validation = Rule::new("self.startsWith('https://') || self.startsWith('http://')")
            .message("must begin with https:// or http://")
    )]
    pub url: String,
    /// The key of the task in the query; if left out, `task-id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub raw_query_key: Option<String>,
    /// Who has signed its certificate: certificates in PEM, in base64. Left out, who the machine of the hub trusts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca_bundle: Option<String>,
    /// How long between two questions; if left out, 5 seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub interval_seconds: Option<i64>,
    /// How long the task may take; if left out, 60 seconds. Then it is given up and asked for again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 604_800))]
    pub timeout_seconds: Option<i64>,
}

/// Something that a webhook is told about each pod.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Parameter {
    /// Under which key.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub key: String,
    /// This text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Or, where there is no text, something of the pod.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub value_from: Option<ParameterSource>,
}

/// Something of a pod.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ParameterSource {
    /// A field of KusionStack that nobody reads, there or here.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub type_: Option<String>,
    /// A field of it, such as `metadata.labels['app']` or `status.podIP`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub field_ref: Option<ObjectFieldSelector>,
}
