//! The wish that a node be frozen.

use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ID;
use crate::Span;

/// Nothing on the node shall change, until this is taken back or its lease ends.
///
/// The node first raises a barrier: nothing new is admitted, what is under way may finish. Frozen is what it says once
/// everything has settled. What stands in the way is listed in the status as blockers.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[x_kube(
    validation = Rule::new("!has(self.lease) || has(self.id)")
        .message("a freeze with a lease needs an id: without one the node cannot tell a new freeze from one that has ended")
        .reason(Reason::FieldValueRequired)
)]
pub struct Freeze {
    /// Tells this freeze from an earlier one. A freeze whose lease has ended is not taken again under the same id,
    /// however often it is applied. Needed with a lease only.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 63), regex(pattern = ID))]
    pub id: Option<String>,
    /// Why, in words for the person who asks why nothing happens.
    #[schemars(length(min = 1, max = 1024))]
    #[x_kube(validation = Rule::new("self.trim() != ''").message("say why").reason(Reason::FieldValueRequired))]
    pub reason: String,
    /// Who wants it. Left out, the node shows the hub.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(length(min = 1, max = 253))]
    pub holder: Option<String>,
    /// How long the node may take to settle. Left out, the agent's own configuration decides.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deadline: Option<Span>,
    /// What happens when the deadline passes and something is still under way. True: the barrier stays up until the
    /// node has settled. False: the barrier is taken down, and the node tries again later.
    // A refusal that opens the gate again would leave a moving machine unprotected just when it asked for protection.
    #[serde(default = "yes")]
    pub hold_barrier: bool,
    /// Fixes the end beforehand. Without a lease a freeze never ends by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease: Option<Lease>,
}

/// When a freeze ends by itself.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// How long it lasts, counted from the moment the node took it, on the node's own clock. Making it longer under
    /// the same id extends the freeze.
    #[serde(rename = "for")]
    pub duration: Span,
    /// What happens then.
    #[serde(default)]
    pub on_expiry: OnExpiry,
}

/// What happens when a lease ends. There is no "thaw whatever happens".
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize, JsonSchema)]
pub enum OnExpiry {
    /// The node thaws if every configured safety signal says that it is safe now. Otherwise as with `Stay`. An agent cannot
    /// be given signals yet, and where there is none, none objects: the node thaws.
    ThawIfSafe,
    /// The node stays frozen, marked orphaned, with an alarm. An agent reads any word that it does not know as this one.
    #[default]
    #[serde(other)]
    Stay,
}

// === impl Freeze ===

impl Freeze {
    /// A freeze for a reason, with everything else as it is when a manifest says nothing about it.
    pub fn new(reason: impl Into<String>) -> Self {
        Self {
            id: None,
            reason: reason.into(),
            holder: None,
            deadline: None,
            hold_barrier: yes(),
            lease: None,
        }
    }
}

const fn yes() -> bool {
    true
}
