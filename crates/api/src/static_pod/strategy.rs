//! How nodes are upgraded.

use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How nodes are upgraded.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct UpgradeStrategy {
    /// Who decides when a node is upgraded: the cluster or the node's owner.
    #[serde(default, rename = "type")]
    pub type_: StrategyType,
    /// For `AdvancedRollingUpdate`: how many nodes may be without the pod at once, as a number or as a share of the
    /// nodes that run it, rounded up.
    // Said to be not nullable, which optional fields are otherwise: only then does the API server put the default in the
    // place of a null, and a null that was stored could not be read.
    #[serde(default = "a_tenth")]
    #[schemars(extend("nullable" = false, "maxLength" = 4))]
    // A number is told from a text by comparing it with its text, because not every evaluator knows `type()`.
    #[x_kube(
        validation = Rule::new(
            "string(self).matches('^[1-9][0-9]*$') ? self != string(self) : string(self).matches('^([1-9][0-9]?|100)%$')"
        )
        .message("must be a number from 1 up or a share from 1% to 100%")
    )]
    pub max_unavailable: IntOrString,
}

/// Who decides when a node is upgraded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum StrategyType {
    /// The cluster slides a window over the ready nodes; those that are not ready, frozen or held are caught up later.
    #[default]
    AdvancedRollingUpdate,
    /// Nodes are told that an upgrade is there, and get it beforehand; each node's owner applies it.
    #[serde(rename = "OTA")]
    Ota,
}

// === impl UpgradeStrategy ===

impl Default for UpgradeStrategy {
    fn default() -> Self {
        Self { type_: StrategyType::default(), max_unavailable: a_tenth() }
    }
}

/// OpenYurt's default.
fn a_tenth() -> IntOrString {
    IntOrString::String("10%".into())
}
