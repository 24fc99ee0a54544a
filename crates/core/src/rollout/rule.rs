//! The rules of the planner, by name, so that the model can be shown to need each of them.

use serde::{Deserialize, Serialize};

/// One thing the planner does to keep its promises.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Rule {
    /// A task that is not finished takes a place.
    CountTasks,
    /// That holds for a task of another revision too.
    CountSuperseded,
    /// A task that is being removed takes its place until it is gone.
    CountRemoved,
    /// A pod that is not ready on a ready node takes a place.
    CountUnready,
    /// A task that has succeeded takes its place until the pod shows it.
    CountUnseen,
    /// A node whose old pod is down anyway is started within the budget all the same.
    BoundTheSick,
    /// A node has one task at a time.
    OneTaskEach,
    /// Nodes that are away, frozen or held are put off.
    Defer,
    /// A node that is lost while its task runs is put off too: nobody waits for it.
    DeferTheLost,
    /// A task that has not begun is removed where nothing would be started now.
    Recall,
    /// A pause starts nothing.
    Pause,
    /// What failed at another revision is forgotten.
    ForgetOldFailures,
    /// A failed task takes no place.
    FailuresDoNotBlock,
    /// A failure is on record until the pod is well at the revision and has been so for a while.
    KeepFailures,
    /// A node that has failed waits before it is tried again.
    BackOff,
    /// A node is given up after so many tries.
    GiveUp,
    /// Canaries come first and have to be well.
    CanariesFirst,
    /// Too many failures end it.
    StopAtShare,
    /// What was started and is not seen yet is remembered. This one is the driver's, through [`Started`](super::Started).
    RememberStarts,
}

/// Which rules are kept: all of them, unless the model has taken one out.
#[derive(Clone, Copy, Default)]
pub(super) struct Rules {
    #[cfg(feature = "mutants")]
    off: Option<Rule>,
}

// === impl Rule ===

impl Rule {
    /// Every rule.
    pub const ALL: [Self; 19] = [
        Self::CountTasks,
        Self::CountSuperseded,
        Self::CountRemoved,
        Self::CountUnready,
        Self::CountUnseen,
        Self::BoundTheSick,
        Self::OneTaskEach,
        Self::Defer,
        Self::DeferTheLost,
        Self::Recall,
        Self::Pause,
        Self::ForgetOldFailures,
        Self::FailuresDoNotBlock,
        Self::KeepFailures,
        Self::BackOff,
        Self::GiveUp,
        Self::CanariesFirst,
        Self::StopAtShare,
        Self::RememberStarts,
    ];
}

// === impl Rules ===

impl Rules {
    #[cfg(feature = "mutants")]
    pub(super) const fn without(off: Option<Rule>) -> Self {
        Self { off }
    }

    #[cfg(feature = "mutants")]
    pub(super) fn keep(self, rule: Rule) -> bool {
        self.off != Some(rule)
    }

    #[cfg(not(feature = "mutants"))]
    #[expect(clippy::unused_self, reason = "with the feature there is something to look at")]
    pub(super) const fn keep(self, _: Rule) -> bool {
        true
    }
}
