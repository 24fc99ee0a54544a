//! How an operation ended, for whoever asked: a person, the agent, or the hub, which reads it from the task's end.
//!
//! Every operation ends in one [`Outcome`]. Its [`Code`] is for programs, its sentence for people. A task's process ends with
//! [`Outcome::exit_code`] and leaves [`Outcome::termination_message`] behind, which the hub reads with [`Outcome::parse`].

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

#[cfg(test)]
mod tests;

/// What the kubelet keeps of a termination message.
pub const LONGEST_MESSAGE: usize = 4096;

/// How an operation ended.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Outcome {
    /// What became of it.
    pub code: Code,
    /// Why the new manifest was taken back, if it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<Cause>,
    /// The same in words.
    pub message: String,
    /// The revision that the manifest has now, if it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub revision: Option<String>,
    /// What was done, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Step>,
}

/// One thing that was done.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Step {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: String,
}

/// What became of an operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Code {
    /// The new manifest is in place, and its pod was ready for long enough.
    Upgraded,
    /// The manifest was what it should be already.
    Unchanged,
    /// The manifest is new on this node, and its pod was ready for long enough.
    Installed,
    /// The manifest is gone, and so is the pod.
    Uninstalled,
    /// Refused: there is no such manifest on this node.
    ManifestMissing,
    /// Refused: there is such a manifest already.
    ManifestExists,
    /// Refused: what has the manifest's name is not a file, or not one that can be read.
    NotAFile,
    /// Refused: what has the manifest's name is a link that leads out of the kubelet's folder.
    LinkLeadsOut,
    /// Refused: the manifest is that of another pod.
    OtherPod,
    /// Refused: what should be put in place is not the manifest of a pod.
    ManifestInvalid,
    /// Refused: what should be put in place does not say its revision.
    RevisionMissing,
    /// Refused: somebody has changed the manifest since.
    ManifestChanged,
    /// Refused: somebody else is at work on this manifest.
    Busy,
    /// Refused: nothing is staged.
    NothingStaged,
    /// Refused: no other manifest of this pod is kept.
    NoHistory,
    /// Refused: neither kubelet nor container runtime can be asked what runs, so nothing could be verified.
    CannotSee,
    /// Refused: it is not known where the kubelet's manifests are.
    FolderUnknown,
    /// Refused: an image cannot be had.
    ImageUnavailable,
    /// The new pod was no good: the old manifest is in place again, and its pod was ready for long enough.
    RolledBack,
    /// The same, but the old pod was not seen ready again. Somebody has to look.
    RolledBackNotReady,
    /// It was interrupted before anything had changed, too long ago to go on.
    Abandoned,
    /// Somebody else has changed the manifest meanwhile. Theirs stays.
    Superseded,
    /// The manifest is gone, but the pod still runs.
    StillRunning,
    /// Something could not be read or written. Asked again, it goes on where it was.
    Failed,
}

/// Why a manifest was taken back.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Cause {
    /// A container ends again and again.
    CrashLoop,
    /// A container was restarted.
    Restarted,
    /// The pod has ended, or the kubelet refuses to run it.
    Ended,
    /// An image cannot be had.
    ImageUnavailable,
    /// A container cannot be started.
    CannotStart,
    /// It runs, but was not ready in time.
    NotReady,
    /// It was not seen in time.
    NotSeen,
    /// The verification was interrupted again and again: the new pod may be why.
    Interrupted,
    /// Somebody else has put the old manifest back.
    PutBack,
}

/// The kinds of codes. Each is the exit code of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    /// 0: as wanted.
    Done,
    /// 1: something could not be read or written.
    Failed,
    /// 3: nothing was touched. (2 is for a command line that cannot be understood.)
    Refused,
    /// 4: all is as before.
    RolledBack,
    /// 5: somebody has to look.
    NeedsHelp,
    /// 6: somebody else's wish stands.
    Superseded,
}

// === impl Code ===

impl Code {
    /// Of which kind it is.
    pub const fn class(self) -> Class {
        match self {
            Self::Upgraded | Self::Unchanged | Self::Installed | Self::Uninstalled => Class::Done,
            Self::ManifestMissing
            | Self::ManifestExists
            | Self::NotAFile
            | Self::LinkLeadsOut
            | Self::OtherPod
            | Self::ManifestInvalid
            | Self::RevisionMissing
            | Self::ManifestChanged
            | Self::Busy
            | Self::NothingStaged
            | Self::NoHistory
            | Self::CannotSee
            | Self::FolderUnknown
            | Self::ImageUnavailable => Class::Refused,
            Self::RolledBack | Self::Abandoned => Class::RolledBack,
            Self::RolledBackNotReady | Self::StillRunning => Class::NeedsHelp,
            Self::Superseded => Class::Superseded,
            Self::Failed => Class::Failed,
        }
    }

    /// Whether the same may well work later, without anybody changing the manifest.
    pub const fn may_be_tried_again(self) -> bool {
        matches!(self, Self::Busy | Self::CannotSee | Self::ImageUnavailable | Self::Abandoned | Self::Failed)
    }
}

// === impl Class ===

impl Class {
    /// The exit code of a process that ends so.
    pub const fn exit_code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Failed => 1,
            Self::Refused => 3,
            Self::RolledBack => 4,
            Self::NeedsHelp => 5,
            Self::Superseded => 6,
        }
    }
}

// === impl Outcome ===

impl Outcome {
    /// An outcome without steps.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, cause: None, message: message.into(), revision: None, steps: Vec::new() }
    }

    /// Whether it ended as wanted.
    pub fn is_done(&self) -> bool {
        self.code.class() == Class::Done
    }

    /// The exit code of a process that ends so.
    pub const fn exit_code(&self) -> u8 {
        self.code.class().exit_code()
    }

    /// What a task writes where the kubelet looks for its last words. Never longer than the kubelet keeps: steps are left
    /// out from the beginning, then the sentence is cut.
    pub fn termination_message(&self) -> String {
        let mut shown = self.clone();
        loop {
            // A structure of texts cannot fail to be written.
            let text = serde_json::to_string(&shown).unwrap_or_default();
            if text.len() <= LONGEST_MESSAGE {
                return text;
            }
            if shown.steps.is_empty() {
                // Each time round it gets shorter: a revision that is longer than this is none of ours.
                shown.revision = shown.revision.filter(|it| it.len() <= 256);
                let half = shown.message.floor_char_boundary(shown.message.len() / 2);
                shown.message.truncate(half);
            } else {
                shown.steps.remove(0);
            }
        }
    }

    /// Reads a termination message. What somebody else has written is none.
    pub fn parse(text: &str) -> Option<Self> {
        serde_json::from_str(text.trim()).ok()
    }
}
