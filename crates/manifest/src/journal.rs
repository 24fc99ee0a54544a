//! What is written down before each step of a swap, so that whoever comes next knows what was meant.
//!
//! The journal holds both manifests as a whole: there is no moment at which it and a backup beside it could disagree. It is
//! replaced in one piece before the step that it announces, and stays after the last one as the record of it.

use std::collections::BTreeSet;
use std::path::Path;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::durable;
use crate::manifest::Digest;
use crate::names::{FileName, PodKey};
use crate::outcome::{Cause, Code};
use crate::place::Content;
use crate::stop::Stop;

const VERSION: u32 = 1;
/// How many manifests that have run are remembered. The kubelet forgets their containers much sooner.
const REMEMBERED: usize = 32;

/// One swap.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Journal {
    pub(crate) version: u32,
    pub(crate) operation: Operation,
    pub(crate) key: PodKey,
    pub(crate) file: FileName,
    /// What is put back if the new one is no good. Not always what is replaced: that may be a manifest that an interrupted
    /// swap has put there and nobody has verified.
    pub(crate) old: Option<Content>,
    /// What is replaced.
    pub(crate) from: Option<Digest>,
    pub(crate) new: Option<Content>,
    pub(crate) phase: Phase,
    pub(crate) prepared: Timestamp,
    /// How often a verification of the new pod has begun.
    pub(crate) tries: u32,
    /// The pods that ran before: none of them is the new one.
    pub(crate) before: BTreeSet<String>,
    /// The pods that were seen of the new manifest: none of them is the old one.
    pub(crate) after: BTreeSet<String>,
    /// The manifests that have run here before, the latest last. Their pods come back with their old uids, and the kubelet
    /// goes on counting their restarts where it was.
    #[serde(default)]
    pub(crate) ran: Vec<Digest>,
}

/// What somebody wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Operation {
    /// Another manifest for a pod that is there.
    Upgrade,
    /// A manifest for a pod that is not.
    Install,
    /// No manifest any more.
    Uninstall,
    /// A manifest that was there before.
    Rollback,
}

/// How far it is. The phase says what may have happened, never more than what is on the disk.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Phase {
    /// The new manifest is about to be put in place.
    Prepared,
    /// It is in place; its pod is being looked at.
    Replaced,
    /// It is no good: the old one is about to be put back.
    Undoing(Failure),
    /// The old one is in place again; its pod is being looked at.
    Restored(Failure),
    /// Over: the new one stays.
    Verified,
    /// Over: the old one is back.
    RolledBack { failure: Failure, ready: bool },
    /// Over: somebody else has written the manifest.
    Superseded,
    /// Over: nothing has happened, and that too long ago.
    Abandoned,
}

/// Why a pod is no good.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Failure {
    /// For programs.
    pub cause: Cause,
    /// For people.
    pub detail: String,
}

// === impl Failure ===

impl Failure {
    /// A cause and a sentence.
    pub fn new(cause: Cause, detail: impl Into<String>) -> Self {
        Self { cause, detail: detail.into() }
    }
}

// === impl Phase ===

impl Phase {
    /// Whether nothing remains to be done.
    pub(crate) const fn is_over(&self) -> bool {
        match self {
            Self::Prepared | Self::Replaced | Self::Undoing(_) | Self::Restored(_) => false,
            Self::Verified | Self::RolledBack { .. } | Self::Superseded | Self::Abandoned => true,
        }
    }

    /// The phase in a word.
    pub(crate) const fn name(&self) -> &'static str {
        match self {
            Self::Prepared => "Prepared",
            Self::Replaced => "Replaced",
            Self::Undoing(_) => "Undoing",
            Self::Restored(_) => "Restored",
            Self::Verified => "Verified",
            Self::RolledBack { .. } => "RolledBack",
            Self::Superseded => "Superseded",
            Self::Abandoned => "Abandoned",
        }
    }
}

// === impl Journal ===

impl Journal {
    pub(crate) fn prepare(
        operation: Operation,
        key: &PodKey,
        file: &FileName,
        old: Option<Content>,
        new: Option<Content>,
        now: Timestamp,
    ) -> Self {
        Self {
            version: VERSION,
            operation,
            key: key.clone(),
            file: file.clone(),
            from: old.as_ref().map(|it| it.digest.clone()),
            old,
            new,
            phase: Phase::Prepared,
            prepared: now,
            tries: 0,
            before: BTreeSet::new(),
            after: BTreeSet::new(),
            ran: Vec::new(),
        }
    }

    /// What has run here once this swap is over, bounded.
    pub(crate) fn has_run(&self) -> Vec<Digest> {
        let mut ran = self.ran.clone();
        ran.extend(self.old_digest().into_iter().chain(self.new_digest()).cloned());
        ran.drain(..ran.len().saturating_sub(REMEMBERED));
        ran
    }

    pub(crate) fn old_digest(&self) -> Option<&Digest> {
        self.old.as_ref().map(|it| &it.digest)
    }

    pub(crate) fn new_digest(&self) -> Option<&Digest> {
        self.new.as_ref().map(|it| &it.digest)
    }

    pub(crate) fn load(path: &Path) -> Result<Option<Self>, Stop> {
        let Some(text) = durable::read(path).map_err(Stop::io("read", path))? else { return Ok(None) };
        let bad = |why: String| {
            let why = format!(
                "the journal {} cannot be understood ({why}): look at the manifest, then remove the journal",
                path.display()
            );
            Stop::new(Code::Failed, why)
        };
        let journal: Self = serde_json::from_str(&text).map_err(|error| bad(error.to_string()))?;
        if journal.version != VERSION {
            return Err(bad(format!("it is of version {}", journal.version)));
        }
        for content in journal.old.iter().chain(&journal.new) {
            if Digest::of(content.text.as_bytes()) != content.digest {
                return Err(bad("a manifest in it is not the one that was written".into()));
            }
        }
        Ok(Some(journal))
    }

    pub(crate) fn save(&self, path: &Path) -> Result<(), Stop> {
        let text = serde_json::to_vec(self).map_err(|error| Stop::io("write", path)(error.into()))?;
        durable::write(path, &text).map_err(Stop::io("write", path))
    }
}
