//! Static pods of the node: what is in place, what waits, and what became of the last swap.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The static pods of the node, by namespace and name.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct StaticPodList {
    /// The static pods.
    pub items: Vec<StaticPodState>,
}

/// One static pod of the node.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StaticPodState {
    /// The pod's namespace.
    pub namespace: String,
    /// The pod's name, without that of the node.
    pub name: String,
    /// Where it stands, in one word.
    pub phase: StaticPodPhase,
    /// The file of its manifest in the kubelet's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// The manifest that is in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub current: Option<ManifestState>,
    /// The manifest that is to follow: it waits, or is being put in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<ManifestState>,
    /// Why it waits, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// What became of the last swap.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last: Option<StaticPodOutcome>,
}

/// Where a static pod stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum StaticPodPhase {
    /// What is in place is what is wanted.
    Settled,
    /// Another manifest waits, or the end.
    Held,
    /// A manifest is being put in place, and its pod is looked at.
    Upgrading,
    /// The manifest is being taken away.
    Removing,
}

/// One manifest of a static pod.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ManifestState {
    /// The revision that the manifest says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The digest of the manifest's text.
    pub digest: String,
    /// Whether it lies ready on the node with its images, so that the cluster is not needed to apply it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub staged: bool,
    /// The images that are on the node for it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
}

/// What became of a swap. The words are those of the upgrade task's last message.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct StaticPodOutcome {
    /// In one word, such as `Upgraded` or `RolledBack`.
    pub code: String,
    /// Why the new manifest was taken back, if it was, such as `CrashLoop`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
    /// The same as a sentence.
    pub message: String,
    /// The revision that is in place now.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// What was done, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<StaticPodStep>,
    /// 0 done, 1 failed, 3 refused, 4 rolled back, 5 somebody has to look, 6 superseded.
    pub exit_code: u8,
    /// The digest of the manifest that was tried; absent where one was to be taken away.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tried: Option<String>,
    /// When it ended.
    pub at: Time,
}

/// One thing that was done.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
pub struct StaticPodStep {
    /// When.
    pub at: String,
    /// What.
    pub what: String,
}

/// A manifest for this node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PutStaticPod {
    /// The manifest, as YAML or JSON. It says its revision in the annotation `openyurt.io/static-pod-hash`.
    pub manifest: String,
    /// The file in the kubelet's folder, with or without `.yaml`. Left out: the one that is there, else the pod's name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// What to do with it.
    #[serde(default)]
    pub mode: PutMode,
}

/// What to do with a manifest.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum PutMode {
    /// Put it in the place of the one that is there, as soon as the gate lets it pass.
    #[default]
    Upgrade,
    /// Put it where none is, as soon as the gate lets it pass.
    Install,
    /// Lay it ready. It waits until the node's owner applies it with `POST …/upgrade`.
    Stage,
}

/// Which earlier manifest to go back to.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RollBack {
    /// Its revision. Left out: the newest one that is not in place.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
}

/// How to take a static pod away.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemoveStaticPod {
    /// Wait for the gate like any other change. Otherwise it is refused now what would have to wait.
    #[serde(default)]
    pub may_wait: bool,
}

/// The manifests of a static pod that were good, the oldest first.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub struct StaticPodHistory {
    /// The manifests.
    pub items: Vec<KeptManifest>,
}

/// A manifest that was good.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct KeptManifest {
    /// In which order they were kept.
    pub number: u64,
    /// The revision that the manifest says it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// The digest of the manifest's text.
    pub digest: String,
    /// When it was kept.
    pub at: Time,
    /// Whether it is in place now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_place: bool,
}
