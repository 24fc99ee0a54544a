//! What a plan says: what to do, how each node stands, and how it all stands.

use serde::{Deserialize, Serialize};

use super::seen::{Failure, Work};
use crate::text::Text;
use crate::time::Timestamp;

/// What to do now, and how everything stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Plan {
    /// Tasks to start, in this order.
    pub start: Vec<Start>,
    /// Tasks to remove. Starts come first: a retry is there before the failure that it is counted from is gone.
    pub remove: Vec<Removal>,
    /// Nodes whose owners are to be told of the wanted revision.
    pub mark: Vec<Text>,
    /// Nodes whose owners are to be told that there is nothing to upgrade.
    pub unmark: Vec<Text>,
    /// Nodes on which the wanted revision is to be staged.
    pub stage: Vec<Text>,
    /// Every node of the set, by name.
    pub nodes: Vec<Node>,
    /// How many stand where.
    pub counts: Counts,
    /// How far the canaries are.
    pub promotion: Promotion,
    /// How it all stands.
    pub verdict: Verdict,
    /// The verdict as a sentence.
    pub why: String,
    /// When to plan again although nothing has happened.
    pub again: Option<Timestamp>,
}

/// A task to start.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Start {
    /// Where.
    pub node: Text,
    /// What it has to do.
    pub work: Work,
    /// The how manieth it is, from one. Part of its name: who starts the same again finds it there.
    pub attempt: u32,
}

/// A task to remove.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Removal {
    /// On which node.
    pub node: Text,
    /// The task's name.
    pub task: Text,
    /// Why.
    pub reason: RemovalReason,
}

/// Why a task is removed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum RemovalReason {
    /// It is done and its outcome shows on the pod, or a later attempt has taken its place.
    Finished,
    /// It is for something that is not wanted any more, or was forgotten by a restart.
    Superseded,
    /// It has not begun, and now nothing may begin there.
    Recalled,
}

/// How one node stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Node {
    /// The node.
    pub name: Text,
    /// Where it stands.
    pub state: State,
    /// How often what is wanted has been tried on it.
    pub attempts: u32,
    /// Why the last try failed, also while the next one is under way.
    pub failure: Option<Failure>,
}

/// Where a node stands.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum State {
    /// It runs the wanted revision, and where the node is ready the pod is well.
    Upgraded,
    /// It is under way.
    Upgrading(Progress),
    /// Its turn has not come.
    Waiting(Wait),
    /// It is put off. It is caught up when it returns.
    Deferred(Deferral),
    /// It was tried and has failed.
    Failed(Then),
}

/// How far a node is that is under way.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Progress {
    /// Its task has not begun.
    Starting,
    /// Its task runs.
    Running,
    /// A task of an earlier revision runs and is waited for.
    FinishingEarlier,
    /// Its task is done, and the pod does not show it yet.
    Unseen,
    /// It runs the wanted revision, and the pod is not well yet.
    Settling,
}

/// What a node waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Wait {
    /// A place in the window.
    Window,
    /// The canaries.
    Canaries,
    /// The end of a pause.
    Pause,
    /// A new template or a restart, because too many have failed.
    Stop,
    /// The removal of an earlier task.
    Removal,
    /// Its owner.
    Owner,
}

/// Why a node is put off.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Deferral {
    /// It is not ready.
    NotReady,
    /// It is frozen.
    Frozen,
    /// It is about to be frozen.
    Freezing,
    /// Its static pod is held.
    Held {
        /// By whom.
        by: Text,
    },
    /// It is cordoned, and the order says to leave those alone.
    Cordoned,
}

/// What follows a failure.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Then {
    /// Another try.
    RetryAt(Timestamp),
    /// Nothing, at this revision.
    GivenUp,
    /// What the node's owner does.
    Owner,
}

/// How many nodes stand where.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub struct Counts {
    /// Nodes of the set.
    pub total: usize,
    /// Pods that are ready on nodes that are ready, at whatever revision.
    pub ready: usize,
    /// Nodes in [`State::Upgraded`].
    pub upgraded: usize,
    /// Nodes in [`State::Upgrading`], those that this plan starts included.
    pub upgrading: usize,
    /// Nodes in [`State::Waiting`].
    pub waiting: usize,
    /// Nodes in [`State::Deferred`].
    pub deferred: usize,
    /// Nodes in [`State::Failed`].
    pub failed: usize,
    /// Those of them that will be tried again.
    pub retrying: usize,
    /// Places in the window.
    pub places: usize,
    /// How many of them are taken. It may be more than there are: pods that are down by themselves take places too.
    pub taken: usize,
}

/// How far the canaries are.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Promotion {
    /// There is no word of canaries in the order.
    NoCanaries,
    /// Not every canary is upgraded and ready.
    Upgrading,
    /// All are, and have to be for a while.
    Watching {
        /// Until when.
        until: Timestamp,
    },
    /// A canary has failed. The others stay as they are.
    Failed {
        /// Which.
        node: Text,
    },
    /// No node of the set is a canary, or all that are, are put off.
    Absent,
    /// They are well, and the others follow.
    Passed,
}

/// How it all stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Verdict {
    /// Every node that is not put off runs the wanted revision.
    Success,
    /// Something is under way, or waits for its turn.
    Upgrading,
    /// Some nodes have failed, and nothing more will happen by itself.
    Failed,
    /// The order is paused.
    Paused,
    /// Too many nodes have failed.
    Stopped,
}
