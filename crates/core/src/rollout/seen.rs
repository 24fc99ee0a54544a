//! What is seen of one node: the node itself, its gate, its static pod, and the upgrade tasks on it.

use serde::{Deserialize, Serialize};

use crate::text::{Revision, Text};
use crate::time::Timestamp;

/// What is seen of one node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Seen {
    /// The node.
    pub node: Text,
    /// Whether it is there.
    pub presence: Presence,
    /// It is cordoned.
    pub cordoned: bool,
    /// What its gate says.
    pub gate: Gate,
    /// It is a canary.
    pub canary: bool,
    /// Whether it shall have the pod.
    pub wanted: Wanted,
    /// Its static pod, as its mirror pod shows it.
    pub pod: Pod,
    /// The upgrade tasks on it. More than one where a retry has just been made and the failed task is not removed yet.
    pub tasks: Vec<Task>,
    /// The revision that is staged on it for its owner.
    pub staged: Option<Revision>,
    /// The revision that its owner has been told of.
    pub marked: Option<Revision>,
}

/// Whether a node is there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Presence {
    /// It is ready.
    Ready,
    /// It is not ready, or nobody knows.
    Away {
        /// Since when.
        since: Timestamp,
    },
}

/// What the gate of a node says about changes to its static pod.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Gate {
    /// There is no agent on the node, so nobody keeps anything back.
    Unknown,
    /// Nothing is kept back.
    Open,
    /// A freeze is on its way: nothing new may begin.
    Freezing,
    /// The node is frozen.
    Frozen,
    /// The static pod is held.
    Held {
        /// By whom.
        by: Text,
    },
}

/// Whether a node shall have the pod.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Wanted {
    /// It is upgraded where it is, and nobody is given it.
    IfPresent,
    /// The node gets it if it lacks it.
    Yes,
    /// It is taken away.
    No,
}

/// A static pod as its mirror pod shows it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Pod {
    /// There is none.
    Absent,
    /// There is one.
    Present {
        /// The revision it carries. None where it carries none, which is old: a pod of before there were revisions. A
        /// driver that finds such a pod to be what the template says may say that it has the revision.
        revision: Option<Revision>,
        /// Since when it is ready, if it is.
        ready: Option<Timestamp>,
    },
}

/// An upgrade task on a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Task {
    /// Its name, which is the driver's. It is never taken apart here: a node's name may be part of a pod's.
    pub name: Text,
    /// What it is there for.
    pub work: Work,
    /// The revision that it brings. Without meaning where the pod is taken away.
    pub revision: Revision,
    /// The how manieth it is for this revision on this node, from one.
    pub attempt: u32,
    /// How far it has come.
    pub phase: Phase,
    /// Its removal has been ordered, and it is not gone yet.
    pub removing: bool,
}

/// What a task is there for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Work {
    /// Put another manifest in the place of the one that is there.
    Upgrade,
    /// Put a manifest where there is none.
    Install,
    /// Take the manifest away.
    Remove,
}

/// How far a task has come.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Phase {
    /// Not begun: its container has not started.
    Waiting,
    /// Begun. It keeps a journal on the node and is not interrupted.
    Running,
    /// It says that the pod is ready at the revision.
    Succeeded {
        /// When it ended.
        at: Timestamp,
    },
    /// It has failed and put the old manifest back.
    Failed(Failure),
}

/// Why a task has failed.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// One word for programs, such as `RolledBack`.
    pub code: Text,
    /// A sentence.
    pub text: Text,
    /// When.
    pub at: Timestamp,
}

// === impl Seen ===

impl Seen {
    /// A ready node without an agent that runs the pod at this revision since ever, with nothing under way.
    #[must_use]
    pub fn running(node: &str, revision: Revision) -> Self {
        Self {
            node: node.into(),
            presence: Presence::Ready,
            cordoned: false,
            gate: Gate::Unknown,
            canary: false,
            wanted: Wanted::IfPresent,
            pod: Pod::Present { revision: Some(revision), ready: Some(Timestamp::default()) },
            tasks: Vec::new(),
            staged: None,
            marked: None,
        }
    }
}

// === impl Pod ===

impl Pod {
    pub(super) const fn is_present(&self) -> bool {
        matches!(self, Self::Present { .. })
    }

    pub(super) fn has(&self, wanted: &Revision) -> bool {
        matches!(self, Self::Present { revision: Some(revision), .. } if revision == wanted)
    }

    pub(super) const fn ready_since(&self) -> Option<Timestamp> {
        match self {
            Self::Present { ready, .. } => *ready,
            Self::Absent => None,
        }
    }
}

// === impl Task ===

impl Task {
    pub(super) const fn is_finished(&self) -> bool {
        match self.phase {
            Phase::Waiting | Phase::Running => false,
            Phase::Succeeded { .. } | Phase::Failed(_) => true,
        }
    }

    /// When it ended, if it did.
    pub(super) const fn ended(&self) -> Option<Timestamp> {
        match &self.phase {
            Phase::Waiting | Phase::Running => None,
            Phase::Succeeded { at } | Phase::Failed(Failure { at, .. }) => Some(*at),
        }
    }
}
