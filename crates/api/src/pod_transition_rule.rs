//! `PodTransitionRule`: what has to be true before a pod goes out of service, and before it comes back.
//!
//! The group, the kind, every field and the status are KusionStack's, so that rules written for it are taken as they are and
//! programs that read the status find what they know. Added are the checks that KusionStack makes in a webhook, and to the
//! status how many pods there are, and conditions, which say that a rule cannot be read.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

pub use self::status::{
    PodTransitionDetail, PodTransitionRuleStatus, RejectInfo, RuleState, TaskInfo, WebhookStatus,
};
pub use self::webhook::{ClientConfig, Parameter, ParameterSource, Poll, RuleWebhook};

mod status;
mod webhook;

/// How long the lists of a `PodTransitionRule` may be.
pub mod limits {
    /// Rules of one object.
    pub const RULES: usize = 128;
    /// Conditions of one rule.
    pub const RULE_CONDITIONS: usize = 32;
    /// Parameters that a webhook is sent about each pod.
    pub const PARAMETERS: usize = 64;
    /// Pods named in the status. An object in etcd may have 1.5 MB.
    pub const TARGETS: usize = 5_000;
    /// Pods whose details are shown. Those that are refused come first.
    pub const DETAILS: usize = 1_000;
    /// Tasks of one webhook.
    pub const TASKS: usize = 256;
    /// Conditions in the status.
    pub const CONDITIONS: usize = 16;
}

/// Which pods, and what has to be true of them.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, CustomResource, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::duplicated_attributes, reason = "two printer columns may well have the same type")]
#[kube(
    group = "apps.kusionstack.io",
    version = "v1alpha1",
    kind = "PodTransitionRule",
    namespaced,
    doc = "What has to be true before pods go out of service for an operation, and before they come back.",
    status = "PodTransitionRuleStatus",
    derive = "PartialEq",
    shortname = "ptr",
    printcolumn(name = "Pods", type_ = "integer", json_path = ".status.selectedNumber"),
    printcolumn(name = "Refused", type_ = "integer", json_path = ".status.refusedNumber"),
    printcolumn(
        name = "Readable",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Readable")].status"#
    ),
    printcolumn(name = "Changed", type_ = "date", json_path = ".status.updateTime"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(
        name = "Message",
        type_ = "string",
        json_path = r#".status.conditions[?(@.type=="Readable")].message"#,
        priority = "1"
    )
)]
pub struct PodTransitionRuleSpec {
    /// Which pods of the namespace this is about.
    pub selector: LabelSelector,
    /// What has to be true of them. All of it has to be.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::RULES))]
    #[x_kube(merge_strategy = ListMerge::Map(vec!["name".into()]))]
    pub rules: Vec<TransitionRule>,
}

/// One rule: exactly one of `availablePolicy`, `labelCheck` and `webhook`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new(
        "(has(self.availablePolicy) ? 1 : 0) + (has(self.labelCheck) ? 1 : 0) + (has(self.webhook) ? 1 : 0) == 1"
    )
    .message("must have exactly one of availablePolicy, labelCheck and webhook")
)]
pub struct TransitionRule {
    /// The name of the rule, by which the status tells of it and a pod can skip it.
    #[schemars(length(min = 1, max = 253))]
    pub name: String,
    /// Whether the rule is switched off.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub disabled: bool,
    /// When the rule is asked: `PreCheck`, before a pod goes out of service, which is meant if this is left out, or
    /// `PostCheck`, before it comes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(max = 16))]
    #[x_kube(
        validation = Rule::new("self == 'PreCheck' || self == 'PostCheck'").message("must be PreCheck or PostCheck")
    )]
    pub stage: Option<String>,
    /// Conditions under which the rule applies. There are none that anybody can meet: a rule that has some never applies, as
    /// with KusionStack.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::RULE_CONDITIONS))]
    #[x_kube(merge_strategy = ListMerge::Atomic)]
    pub conditions: Vec<String>,
    /// Which of the pods this rule is about; if left out, all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub filter: Option<TransitionRuleFilter>,
    /// Enough pods have to stay in service.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub available_policy: Option<AvailablePolicy>,
    /// The pod has to have labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_check: Option<LabelCheck>,
    /// A webhook has to agree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub webhook: Option<RuleWebhook>,
}

/// Which pods a rule is about.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct TransitionRuleFilter {
    /// By their labels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub label_selector: Option<LabelSelector>,
}

/// How many pods may be out of service at once.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.maxUnavailableValue) || has(self.minAvailableValue)")
        .message("must have maxUnavailableValue or minAvailableValue")
)]
pub struct AvailablePolicy {
    /// At most so many pods are out of service, as a number or as a share of all, rounded up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 11))]
    // A number is told from a text by comparing it with its text, because not every evaluator knows `type()`.
    #[x_kube(
        validation = Rule::new(
            "string(self).matches('^[0-9]+$') ? self != string(self) : string(self).matches('^[0-9]+%$')"
        )
        .message("must be a number from 0 up or a share such as 30%")
    )]
    pub max_unavailable_value: Option<IntOrString>,
    /// A field of KusionStack that nobody reads, there or here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_unavailable_policy: Option<AdaptivePolicy>,
    /// At least so many pods are in service, as a number or as a share of all, rounded down.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 11))]
    #[x_kube(
        validation = Rule::new(
            "string(self).matches('^[0-9]+$') ? self != string(self) : string(self).matches('^[0-9]+%$')"
        )
        .message("must be a number from 0 up or a share such as 30%")
    )]
    pub min_available_value: Option<IntOrString>,
    /// A field of KusionStack that nobody reads, there or here.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub min_available_policy: Option<AdaptivePolicy>,
}

/// A number that grows with the number of pods. Not read.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct AdaptivePolicy {
    /// A coefficient and a power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub exp_func: Option<ExpFunc>,
}

/// `coeff * x ^ pow`. Not read.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExpFunc {
    /// The coefficient.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub coeff: Option<String>,
    /// The power.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pow: Option<String>,
}

/// Labels that a pod has to have.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct LabelCheck {
    /// Which.
    pub requires: LabelSelector,
}
