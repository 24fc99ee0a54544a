//! What an admin tells a node to do once, and what the node answers.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ID;
use crate::{PodRef, Span, WorkloadRef};

/// Something to do once: exactly one of `release` and `thaw`. The node writes an order down before it obeys and
/// remembers the id, so that it is obeyed at most once however often it is delivered. That is also why an order never
/// changes under its id.
// The two acts are optional fields and not one enum: an agent older than a third act still reads the order and can
// refuse it by name, instead of failing to read the whole NodeGate.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.release) != has(self.thaw)")
        .message("an order says exactly one thing: release or thaw")
)]
pub struct Order {
    /// The order's name, chosen by whoever gives it and used once.
    #[schemars(length(min = 1, max = 63), regex(pattern = ID))]
    pub id: String,
    /// After this the node refuses it: an order that waited for a machine to come home may no longer be meant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires: Option<Time>,
    /// Let one workload's pending upgrade through.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    /// End node-wide freezes that were taken on the node itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thaw: Option<Thaw>,
    /// Obey even if a holder on the node vetoes it.
    #[serde(default, rename = "override", skip_serializing_if = "Option::is_none")]
    pub override_: Option<Override>,
}

/// Lets one workload's pending upgrade through as one unit: the stop of the old and the start of the new.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("has(self.workload) != has(self.pod)")
        .message("name what to release: either a workload or a pod")
)]
pub struct Release {
    /// The workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[x_kube(
        validation = Rule::new("!has(self.ordinal) || self.kind == 'StatefulSet'")
            .message("only the replicas of a StatefulSet have an ordinal")
    )]
    pub workload: Option<WorkloadRef>,
    /// A pod of the workload, old or new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodRef>,
    /// Only this revision, as the status shows it. Left out: the one that is pending when the order arrives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub revision: Option<String>,
}

/// Ends freezes that were taken on the node itself. The cluster's own is ended by taking `spec.freeze` out.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Thaw {
    /// The ids of the freezes to end, as the status shows them. Left out: every freeze.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 16), inner(length(min = 1, max = 253)))]
    #[x_kube(merge_strategy = ListMerge::Set)]
    pub holds: Option<Vec<String>>,
}

/// Sets a local veto aside. It is written to the node's log before it acts.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Override {
    /// Why the person on the ground is not heard.
    #[schemars(length(min = 1, max = 1024))]
    #[x_kube(validation = Rule::new("self.trim() != ''").message("say why").reason(Reason::FieldValueRequired))]
    pub reason: String,
    /// For how long. After that the veto counts again.
    #[serde(rename = "for")]
    pub duration: Span,
}

/// What the node answered to an order.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct OrderAnswer {
    /// The order's id.
    pub id: String,
    /// What became of it.
    pub phase: OrderPhase,
    /// Why not, as one word for programs: `Expired`, `NothingHeld`, `NotUnderstood`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The answer as a sentence.
    pub message: String,
    /// When the node decided.
    pub at: Time,
}

/// What became of an order.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum OrderPhase {
    /// It was written down and obeyed.
    Obeyed,
    /// It cannot be obeyed.
    Refused,
    /// A local holder does not allow it.
    Vetoed,
}
