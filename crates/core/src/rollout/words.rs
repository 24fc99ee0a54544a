//! What a state is called: one word for programs, one sentence for people.

use std::fmt;

use super::outcome::{Deferral, Node, Progress, State, Then, Wait};

// === impl State ===

impl State {
    /// Why the node stands there, as one word for programs. Nothing is to be explained of a node that is upgraded; of one
    /// that has failed, the word is the failure's own.
    #[must_use]
    pub const fn reason(&self) -> Option<&'static str> {
        Some(match self {
            Self::Upgraded | Self::Failed(_) => return None,
            Self::Upgrading(Progress::Starting) => "TaskStarting",
            Self::Upgrading(Progress::Running) => "TaskRunning",
            Self::Upgrading(Progress::FinishingEarlier) => "EarlierTaskRunning",
            Self::Upgrading(Progress::Unseen) => "PodNotSeen",
            Self::Upgrading(Progress::Settling) => "PodNotReady",
            Self::Waiting(Wait::Window) => "WindowFull",
            Self::Waiting(Wait::Canaries) => "CanariesFirst",
            Self::Waiting(Wait::Pause) => "Paused",
            Self::Waiting(Wait::Stop) => "Stopped",
            Self::Waiting(Wait::Removal) => "EarlierTaskRemoving",
            Self::Waiting(Wait::Owner) => "OwnerDecides",
            Self::Deferred(Deferral::NotReady) => "NodeNotReady",
            Self::Deferred(Deferral::Frozen) => "NodeFrozen",
            Self::Deferred(Deferral::Freezing) => "NodeFreezing",
            Self::Deferred(Deferral::Held { .. }) => "NodeHeld",
            Self::Deferred(Deferral::Cordoned) => "NodeCordoned",
        })
    }
}

impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Upgraded => "it runs the wanted revision",
            Self::Upgrading(Progress::Starting) => "its upgrade task has not begun",
            Self::Upgrading(Progress::Running) => "its upgrade task runs",
            Self::Upgrading(Progress::FinishingEarlier) => "the task of an earlier revision is waited for",
            Self::Upgrading(Progress::Unseen) => "its upgrade task is done, and the pod does not show it yet",
            Self::Upgrading(Progress::Settling) => {
                "it runs the wanted revision, and the pod is not ready for long enough"
            }
            Self::Waiting(Wait::Window) => "it waits for a place in the window",
            Self::Waiting(Wait::Canaries) => "it waits for the canaries",
            Self::Waiting(Wait::Pause) => "the order is paused",
            Self::Waiting(Wait::Stop) => "the order is stopped, because too many have failed",
            Self::Waiting(Wait::Removal) => "an earlier task is being removed",
            Self::Waiting(Wait::Owner) => "its owner decides when it is upgraded",
            Self::Deferred(Deferral::NotReady) => "the node is not ready",
            Self::Deferred(Deferral::Frozen) => "the node is frozen",
            Self::Deferred(Deferral::Freezing) => "the node is about to be frozen",
            Self::Deferred(Deferral::Held { by }) => return write!(f, "{by} holds the static pod"),
            Self::Deferred(Deferral::Cordoned) => "the node is cordoned",
            Self::Failed(Then::RetryAt(at)) => return write!(f, "it is tried again at {at}"),
            Self::Failed(Then::GivenUp) => "it is not tried again at this revision",
            Self::Failed(Then::Owner) => "its owner decides whether it is tried again",
        })
    }
}

// === impl Node ===

impl Node {
    /// Why the node stands where it does, as one word for programs.
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        match (&self.state, &self.failure) {
            (State::Failed(_), Some(failure)) => Some(&failure.code),
            (state, _) => state.reason(),
        }
    }
}

impl fmt::Display for Node {
    /// Why the node stands where it does, as a sentence. The last failure is part of it, whatever came after it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.failure {
            Some(failure) => {
                write!(f, "attempt {} failed: {}; {}", self.attempts.max(1), failure.text, self.state)
            }
            None => write!(f, "{}", self.state),
        }
    }
}
