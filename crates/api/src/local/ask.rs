//! What can be asked of the agent.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::node_gate::{Lease, Override, Scope};
use crate::{PodRef, Span, WorkloadRef};

/// What an id looks like: the same as in a NodeGate, because it stands in paths and in shell commands.
const ID: &str = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";

/// Holds changes back from now on.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TakeHold {
    /// The name under which it is renewed and dropped. Left out, the agent makes one up and says it in its answer. A
    /// program that may be restarted chooses its own, so that it finds its hold again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = ID))]
    pub id: Option<String>,
    /// Who holds, in a word that means something to an operator, such as `flight-control`. Left out, it is the user. The
    /// agent adds the caller's uid, which nobody can make up: the hold is shown as held by `flight-control (uid 1000)`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub holder: Option<String>,
    /// Why, in words for the person who asks why nothing happens.
    #[schemars(length(min = 1, max = 1024))]
    pub reason: String,
    /// What it covers.
    pub scope: Scope,
    /// How long, if it is not to last until it is dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
}

/// Shows that the holder lives; also how an orphaned hold is taken up again.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RenewHold {
    /// Who renews: the same word as when it was taken, from the same user. The process may be another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub holder: Option<String>,
    /// A new length, counted from now. Left out, the old one.
    #[serde(default, rename = "for", skip_serializing_if = "Option::is_none")]
    pub duration: Option<Span>,
}

/// Freezes the node. The answer comes when it is frozen or cannot be: until then the request waits.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TakeFreeze {
    /// The freeze's name. Left out, the agent makes one up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = ID))]
    pub id: Option<String>,
    /// Who wants it. Left out, it is the user. The agent adds the caller's uid.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub holder: Option<String>,
    /// Why.
    #[schemars(length(min = 1, max = 1024))]
    pub reason: String,
    /// How long, if it is not to last until it is ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
    /// How long the node may take to settle behind the barrier. Left out: it is settled now, or the freeze is refused.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Span>,
    /// Keep the barrier up after a refusal, until the node settles; it is frozen then.
    #[serde(default)]
    pub hold_barrier: bool,
}

/// Lets pending upgrades through: exactly one of `pod`, `workload` and `node`.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Release {
    /// The workload of this pod, old or new.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pod: Option<PodRef>,
    /// This workload.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workload: Option<WorkloadRef>,
    /// Everything on the node that waits.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub node: bool,
    /// Only this revision, as `GET /v1/changes` shows it. Left out: the one that is pending. Not with `node`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub revision: Option<String>,
    /// Put the holds that stand against it out of force for a while, on record.
    #[serde(default, rename = "override", skip_serializing_if = "Option::is_none")]
    pub override_: Option<Override>,
}

/// The body of what ends something: it may be left out altogether.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Overriding {
    /// Put the other side's hold out of force for a while, on record. Without, the other side's hold stands.
    #[serde(default, rename = "override", skip_serializing_if = "Option::is_none")]
    pub override_: Option<Override>,
}
