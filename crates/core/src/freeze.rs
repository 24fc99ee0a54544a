//! The node's mode, and what stands against a freeze.
//!
//! `Open → Freezing → Frozen → Thawing → Open`. `Freezing` is a barrier: nothing new is admitted from its first instant,
//! what is in flight may finish. Checking whether the node is settled and then setting a flag would race with the next
//! event; a barrier does not.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::object::{Health, Key, Kind, Slot, Stage};
use crate::text::{PartName, Text};
use crate::time::Stamp;
use crate::workload::Workload;

/// The freeze as it is on record. Absent: no freeze is in force.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Phase {
    /// The barrier is up, something is still in flight.
    Freezing {
        /// Since when.
        since: Stamp,
    },
    /// Settled, and acknowledged to the holder.
    Frozen {
        /// Since when.
        since: Stamp,
    },
}

/// A thaw under way.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Thaw {
    /// Waiting for a complete list of these kinds: what was seen before the freeze may be hours old.
    Resyncing(BTreeSet<Kind>),
    /// Changes flow again; over when each of these, which were pending when the list was complete, has settled or is
    /// held for a reason of its own.
    Verifying(BTreeSet<Key>),
}

/// What the node is doing, as it is shown to people and to the cluster.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Mode {
    /// Changes are decided one by one.
    Open,
    /// The barrier is up.
    Freezing,
    /// Nothing changes.
    Frozen,
    /// The freeze is over, the node catches up.
    Thawing,
}

/// A stable code for what stands against a freeze. Clients match on it: codes are added, never renamed.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum BlockerReason {
    /// A part that has to enforce or record the freeze is not ready.
    NotReady,
    /// An upgrade of the host, the agent or a static pod is under way.
    UpgradeInProgress,
    /// Something was stopped to be replaced, and what follows is not there yet.
    ReplacementPending,
    /// A pod has been admitted and is neither ready nor finished.
    PodUnsettled,
    /// An image of an admitted pod is being pulled.
    PullInProgress,
    /// An admitted ConfigMap or Secret has not reached its pods yet.
    ConfigPending,
    /// An eviction, a preemption or a shutdown has been decided.
    DisruptionInProgress,
}

/// What a blocker is about.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Subject {
    /// An object.
    Object(Key),
    /// A workload.
    Workload(Workload),
    /// A part of the agent or of the host.
    Part(PartName),
}

/// One thing that stands against a freeze.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Blocker {
    /// The kind of it.
    pub reason: BlockerReason,
    /// What it is about.
    pub subject: Subject,
    /// What is going on, for people.
    pub message: Text,
}

/// Names what is in the way at one object, if anything is.
#[must_use]
pub(crate) fn blocker_of(key: &Key, slot: &Slot) -> Option<Blocker> {
    let (reason, message) = match (slot.applied.as_ref()?.stage, key.kind) {
        (Stage::Ending, Kind::ConfigMap | Kind::Secret) => {
            (BlockerReason::ConfigPending, "has not been taken from its pods yet")
        }
        (Stage::Ending, Kind::Pod | Kind::StaticPod) => (BlockerReason::ReplacementPending, "is ending"),
        (Stage::Delivered(Health::Ready | Health::Finished), _) => return None,
        (Stage::Delivered(_), Kind::ConfigMap | Kind::Secret) => {
            (BlockerReason::ConfigPending, "has not reached its pods yet")
        }
        (Stage::Delivered(Health::Pulling), _) => (BlockerReason::PullInProgress, "is pulling its image"),
        (Stage::Delivered(Health::Unready), _) => (BlockerReason::PodUnsettled, "is not ready"),
        (Stage::Delivered(Health::Starting), _) => (BlockerReason::PodUnsettled, "is starting"),
        (Stage::Delivered(Health::Unknown), _) => {
            (BlockerReason::PodUnsettled, "has not been reported since the agent started")
        }
    };
    Some(Blocker { reason, subject: Subject::Object(key.clone()), message: message.into() })
}

// === impl Phase ===

impl Phase {
    /// Since when the node is in this phase.
    #[must_use]
    pub const fn since(self) -> Stamp {
        match self {
            Self::Freezing { since } | Self::Frozen { since } => since,
        }
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Freezing => "freezing",
            Self::Frozen => "frozen",
            Self::Thawing => "thawing",
        })
    }
}

impl fmt::Display for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Object(key) => key.fmt(f),
            Self::Workload(workload) => workload.fmt(f),
            Self::Part(part) => part.fmt(f),
        }
    }
}

impl fmt::Display for Blocker {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} ({:?})", self.subject, self.message, self.reason)
    }
}
