//! `StaticPod`: one static pod on many nodes, and how its manifest is upgraded.
//!
//! The kind, its fields and its strategies are those of the OpenYurt proposal. Added are what a fleet owner misses
//! there: the generation that the counts belong to, what became of each node and why, revisions, and a pause.
//! Without `install` only nodes that already run the static pod are managed. Canaries, an automatic stop, retries and first
//! installs are optional fields of the strategy.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

pub use self::revision::revision;
pub use self::status::{CanaryPhase, NodeUpgrade, NodeUpgradeState, StaticPodStatus};
pub use self::strategy::{Canary, CordonedNodes, Install, Retry, StrategyType, Unselected, UpgradeStrategy};
pub use self::template::{PodTemplate, TemplateMetadata};

mod revision;
mod status;
mod strategy;
mod template;

/// How long the lists and names of a `StaticPod` may be.
pub mod limits {
    /// The name of a manifest's file without `.yaml`. With 255 bytes in a file's name, this leaves room for all that nodes put
    /// behind it.
    pub const MANIFEST_NAME: usize = 200;
    /// Nodes shown in the status. An object in etcd may have 1.5 MB; this many nodes with a sentence each take a tenth.
    pub const NODES: usize = 500;
    /// Conditions in the status.
    pub const CONDITIONS: usize = 16;
}

/// Which static pod, what it shall become, and how nodes are upgraded.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, CustomResource, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::duplicated_attributes, reason = "two printer columns may well have the same type")]
#[kube(
    group = "safepoint.dev",
    version = "v1alpha1",
    kind = "StaticPod",
    namespaced,
    doc = "A static pod that runs on many nodes, and how its manifest is upgraded on them.",
    status = "StaticPodStatus",
    derive = "PartialEq",
    // Not `spod`: the Security Profiles Operator has it.
    shortname = "stpod",
    category = "safepoint",
    printcolumn(name = "Strategy", type_ = "string", json_path = ".spec.upgradeStrategy.type"),
    printcolumn(
        name = "Status",
        type_ = "string",
        // Several conditions may be true at once; the reason of all is the one word for how it stands.
        json_path = r#".status.conditions[?(@.type=="Success")].reason"#
    ),
    printcolumn(name = "Desired", type_ = "integer", json_path = ".status.desiredNumber"),
    printcolumn(name = "Upgraded", type_ = "integer", json_path = ".status.upgradedNumber"),
    printcolumn(name = "Upgrading", type_ = "integer", json_path = ".status.upgradingNumber"),
    printcolumn(name = "Ready", type_ = "integer", json_path = ".status.readyNumber"),
    printcolumn(name = "Deferred", type_ = "integer", json_path = ".status.deferredNumber"),
    printcolumn(name = "Failed", type_ = "integer", json_path = ".status.failedNumber"),
    printcolumn(name = "Paused", type_ = "boolean", json_path = ".spec.paused"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp"),
    printcolumn(name = "Revision", type_ = "string", json_path = ".status.updateRevision", priority = "1")
)]
#[x_kube(
    validation = Rule::new(
        "!has(self.template.metadata) || !has(self.template.metadata.name) || self.template.metadata.name == self.staticPodName"
    )
    .message("template.metadata.name must be left out or equal staticPodName")
)]
pub struct StaticPodSpec {
    /// The name of the static pod on each node, without the node's name that its mirror pod carries. The pod lives in
    /// the namespace of this object.
    #[schemars(
        length(min = 1, max = 253),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    #[x_kube(validation = Rule::new("self == oldSelf").message("cannot change: another static pod is another object"))]
    pub static_pod_name: String,
    /// The name of the manifest file in the kubelet's folder, without `.yaml`.
    #[schemars(length(min = 1, max = limits::MANIFEST_NAME))]
    #[x_kube(
        validation = Rule::new("self.matches('^[A-Za-z0-9_][A-Za-z0-9._-]*$')")
            .message("must be a file name: letters, digits, '.', '_' and '-', without a folder and not starting with a dot"),
        validation = Rule::new("!self.endsWith('.yaml')").message("leave out .yaml: it is added"),
        validation = Rule::new("self == oldSelf")
            .message("cannot change: the pod of the old file would run on beside the new one")
    )]
    pub static_pod_manifest: String,
    /// How nodes are upgraded.
    #[serde(default)]
    pub upgrade_strategy: UpgradeStrategy,
    /// What the static pod shall be.
    pub template: PodTemplate,
    /// How many earlier revisions are kept to go back to.
    #[serde(default = "default_history")]
    #[schemars(range(min = 0, max = 100))]
    pub revision_history_limit: i32,
    /// Starts no further upgrade. Those under way are finished.
    #[serde(default)]
    pub paused: bool,
    /// Failures before this moment are forgotten: nodes that were given up are tried again, and a roll-out that was stopped
    /// goes on. Set it to the present to begin anew with the same template. A moment that is yet to come does so when it comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub restarted_at: Option<Time>,
}

const fn default_history() -> i32 {
    10
}
