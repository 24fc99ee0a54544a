//! How nodes are upgraded.

use std::collections::BTreeMap;

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
    /// Nodes that go first. The others follow when all of them that are not put off, and at least one, have been ready at the
    /// new revision for a while; a canary that has failed keeps the others from following.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub canary: Option<Canary>,
    /// Starts nothing more when more nodes than this have failed at the wanted revision, as a number or as a share of the
    /// nodes. A new template, or `restartedAt`, begins anew. Left out, failures stop nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("maxLength" = 4))]
    #[x_kube(
        validation = Rule::new(
            "string(self).matches('^(0|[1-9][0-9]*)$') ? self != string(self) : string(self).matches('^(0|[1-9][0-9]?|100)%$')"
        )
        .message("must be a number from 0 up or a share from 0% to 100%")
    )]
    pub stop_after_failed: Option<IntOrString>,
    /// How nodes that have failed are tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry: Option<Retry>,
    /// How long the pod has to be ready before it counts as available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 86_400))]
    pub min_ready_seconds: Option<i32>,
    /// What is done with cordoned nodes; if left out, they are upgraded: a static pod is not scheduled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cordoned: Option<CordonedNodes>,
    /// Nodes that get the static pod if they lack it. Left out, it is upgraded where it is and nobody is given it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub install: Option<Install>,
}

/// Nodes that go first.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Canary {
    /// Labels that a node has to have to be one.
    #[x_kube(validation = Rule::new("self.size() > 0").message("must name a label: nodes that all go first are no canaries"))]
    #[schemars(extend("maxProperties" = 32))]
    pub node_selector: BTreeMap<String, String>,
    /// How long they have to be ready at the new revision before the others follow; if left out, no longer than
    /// `minReadySeconds`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 604_800))]
    pub wait_seconds: Option<i32>,
}

/// How nodes that have failed are tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Retry {
    /// How often, after the first try; if left out, three times. Then the node has failed for this revision.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0, max = 100))]
    pub limit: Option<i32>,
    /// How long after the first failure, twice as long after each further one; if left out, 30 seconds, and never more than
    /// half an hour unless this is more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1, max = 86_400))]
    pub backoff_seconds: Option<i32>,
}

/// Nodes that get the static pod if they lack it.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Install {
    /// Labels that a node has to have. None at all: every node.
    #[schemars(extend("maxProperties" = 32))]
    pub node_selector: BTreeMap<String, String>,
    /// What becomes of a pod that was installed by this on a node that is not picked any more; if left out, it stays.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unselected: Option<Unselected>,
}

/// What becomes of an installed pod on a node that is not picked any more.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum Unselected {
    /// It stays, and is upgraded like those that were there before.
    Keep,
    /// It is taken away.
    Remove,
}

/// What is done with cordoned nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum CordonedNodes {
    /// They are upgraded like others.
    Upgrade,
    /// They are put off until they are uncordoned.
    Defer,
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
        Self {
            type_: StrategyType::default(),
            max_unavailable: a_tenth(),
            canary: None,
            stop_after_failed: None,
            retry: None,
            min_ready_seconds: None,
            cordoned: None,
            install: None,
        }
    }
}

/// OpenYurt's default.
fn a_tenth() -> IntOrString {
    IntOrString::String("10%".into())
}
