//! What keeps changes back, and what keeps a freeze from being complete.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::freeze::OnExpiry;
use crate::{ObjectRef, PodRef, WorkloadRef};

/// A hold on the node. Holds add up: a change passes when none covers it.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hold {
    /// The name under which it is renewed and dropped.
    pub id: String,
    /// Who holds.
    pub holder: String,
    /// Whether it was taken on the node or ordered by the cluster.
    pub origin: Origin,
    /// Why.
    pub reason: String,
    /// What it covers.
    pub scope: Scope,
    /// Since when.
    pub since: Time,
    /// When its lease ends, by the node's clock as far as the node can tell. Absent: it never ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Time>,
    /// What happens then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub on_expiry: Option<OnExpiry>,
    /// The holder is gone or the lease ended where it was not safe to let go. It still holds; somebody must look.
    #[serde(default)]
    pub orphaned: bool,
    /// An override has put it out of force until then; after that it holds again by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspended_until: Option<Time>,
}

/// Where a hold comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum Origin {
    /// Taken on the node, through its socket. Only such a hold can veto.
    Local,
    /// Ordered by the cluster.
    Remote,
}

/// What a hold covers. Beside `kind`, the fields that belong to it are set and no others.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Scope {
    /// What kind of thing.
    pub kind: ScopeKind,
    /// For `Namespace`, and for a `Selector` that is limited to one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// For `Workload`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadRef>,
    /// For `Pod`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodRef>,
    /// For `Selector`: the labels of the pods, as one writes them for kubectl.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}

/// The kinds of [`Scope`], widest first.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum ScopeKind {
    /// Everything on the node: a freeze.
    Node,
    /// Every pod of a namespace.
    Namespace,
    /// Every pod with certain labels.
    Selector,
    /// Every pod of one workload.
    Workload,
    /// One pod.
    Pod,
}

/// What stands between the barrier and a complete freeze.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Blocker {
    /// One word for programs, such as `UpgradeInProgress` or `PodUnsettled`.
    pub reason: String,
    /// What is not settled.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<ObjectRef>,
    /// What is missing, as a sentence.
    pub message: String,
    /// Since when.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Time>,
}
