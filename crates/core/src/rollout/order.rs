//! What a fleet owner wants: the spec of a `StaticPod`, as the planner reads it.

use serde::{Deserialize, Serialize};

use crate::text::Revision;
use crate::time::{Span, Timestamp};

/// What is wanted, and how to get there.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Order {
    /// The revision that every node of the set shall run.
    pub target: Revision,
    /// Who decides when a node is upgraded.
    pub strategy: Strategy,
    /// How many nodes may be down at once by our doing. A share is rounded up, so that more than none is at least one.
    pub budget: Share,
    /// Starts nothing. What has begun is finished.
    pub paused: bool,
    /// Canaries go first.
    pub canary: Option<Canary>,
    /// Ends it when more nodes than this have failed at this revision.
    pub stop: Option<Share>,
    /// How nodes that have failed are tried again.
    pub retry: Retry,
    /// How long a pod has to be ready before it counts as well.
    pub min_ready: Span,
    /// What is done with cordoned nodes.
    pub cordoned: Cordoned,
    /// A node that has been away for so long gives its place back, even if the upgrade is half done on it. Until then it
    /// keeps it: the upgrade may be what it went away of.
    pub lost_after: Span,
    /// How long the end of a task may be ahead of what is seen of the pod. After it, a pod that a task says to have
    /// upgraded and that is not, has failed.
    pub report_within: Span,
    /// What failed before this moment is forgotten: a roll-out that was stopped or given up begins anew.
    pub restarted: Option<Timestamp>,
}

/// Who decides when a node is upgraded.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Strategy {
    /// The cluster, by a window that slides over the nodes.
    Rolling,
    /// The owner of each node. Nothing is started.
    Ota,
}

/// A number of nodes, or a share of those of the set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Share {
    /// So many.
    Number(u32),
    /// So many in a hundred.
    Percent(u32),
}

/// Canaries: which nodes they are is said of each node.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Canary {
    /// How long their pods have to be ready at the new revision before other nodes follow.
    pub wait: Span,
}

/// How nodes that have failed are tried again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Retry {
    /// How often, after the first try.
    pub limit: u32,
    /// How long after the first failure. It doubles with each further one.
    pub base: Span,
    /// The longest it gets.
    pub cap: Span,
}

/// What is done with cordoned nodes. A static pod is not scheduled, so cordoning does not stop it by itself.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Cordoned {
    /// They are upgraded like others.
    Upgrade,
    /// They are put off.
    Defer,
}

// === impl Order ===

impl Order {
    /// An order with the defaults that a fleet owner gets who says nothing else.
    #[must_use]
    pub fn new(target: Revision) -> Self {
        Self {
            target,
            strategy: Strategy::Rolling,
            budget: Share::Percent(10),
            paused: false,
            canary: None,
            stop: None,
            retry: Retry::default(),
            min_ready: Span::ZERO,
            cordoned: Cordoned::Upgrade,
            lost_after: Span::from_mins(10),
            report_within: Span::from_mins(2),
            restarted: None,
        }
    }
}

// === impl Share ===

impl Share {
    /// How many nodes that is of so many, rounded up.
    #[must_use]
    pub const fn of(self, total: usize) -> usize {
        match self {
            Self::Number(number) => number as usize,
            Self::Percent(percent) => total.saturating_mul(percent as usize).div_ceil(100),
        }
    }

    /// Whether so many are more than this share. Nothing is rounded: three of ten are not more than 30%.
    pub(super) const fn is_exceeded_by(self, count: usize, total: usize) -> bool {
        match self {
            Self::Number(number) => count > number as usize,
            Self::Percent(percent) => count.saturating_mul(100) > total.saturating_mul(percent as usize),
        }
    }
}

// === impl Retry ===

impl Default for Retry {
    fn default() -> Self {
        Self { limit: 3, base: Span::from_secs(30), cap: Span::from_mins(30) }
    }
}

impl Retry {
    /// How long to wait after the failure of this attempt, which counts from one.
    #[must_use]
    pub fn after(&self, attempt: u32) -> Span {
        // Sixty doublings of a millisecond are longer than anybody waits.
        let doublings = attempt.saturating_sub(1).min(60);
        Span(self.base.0.saturating_mul(1 << doublings).min(self.cap.0.max(self.base.0)))
    }
}
