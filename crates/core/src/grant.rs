//! Grants: what a release lets through.
//!
//! A release is for one workload and lets its pending upgrade through as one unit: the stop of the old, the start of
//! the new, and the follow-up waves of the same rollout whose pods nobody has seen yet. It is bound to the revision that
//! was pending when it was given, so that what is pushed afterwards is held again.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::hold::Holder;
use crate::object::{ChangeKind, Key, Slot, Version};
use crate::text::{Digest, Revision, Text, Uid};
use crate::time::{Age, Span, Stamp, Timestamp};

/// Which pods of the workload a grant lets start.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Target {
    /// Those of one revision.
    Revision(Revision),
    /// Those of the first revision to show up: a DaemonSet deletes before it creates, so at the time of the release
    /// nobody knows what will come.
    FirstSuccessor,
    /// None: only changes in place were pending.
    InPlace,
}

/// An open release.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Grant {
    /// What may start.
    pub target: Target,
    /// Pods whose end was pending when the release was given.
    pub stops: BTreeSet<Uid>,
    /// Changes in place, of pods and of their configuration, that were pending then: by the digest that may be applied,
    /// none where the object was to go.
    #[serde(with = "crate::record::pairs")]
    pub updates: BTreeMap<Key, Option<Digest>>,
    /// Revisions that ran here when it was given: a pod of one of these that comes later replaces one that was lost, it
    /// is not newer.
    pub running: BTreeSet<Revision>,
    /// When the youngest pod of the released revision was created: a pod of another revision born later supersedes it.
    pub born: Timestamp,
    /// Whether a newer revision has shown up since. What was begun is finished, no further old pod is given up for it.
    pub superseded: bool,
    /// Whether it also opens what holders had held before it.
    pub overrides: bool,
    /// Who released.
    pub by: Holder,
    /// Why it overrides, if it does.
    pub reason: Option<Text>,
    /// When it was given.
    pub opened: Stamp,
    /// How long it was given for.
    pub length: Span,
    /// When it closes even if the workload has not settled.
    pub closes: Age,
    /// Whether that time is over. It is kept as long as closing it would leave a workload stopped, and lets nothing
    /// through but the starts that are missing.
    pub expired: bool,
    /// Its place in the order of holds and releases.
    pub order: u64,
}

/// A workload of which something was stopped and what follows has not arrived.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Replacement {
    /// How many pods were stopped for which none has started; below nothing where starts came first.
    pub missing: i32,
    /// When the gate stops to wait for them: the successor may have been scheduled elsewhere, or the workload scaled down.
    pub until: Age,
}

/// How a grant ended.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum GrantEnd {
    /// The workload settled on what was released.
    Settled,
    /// Its deadline passed first.
    Expired,
}

// === impl Grant ===

impl Grant {
    /// Whether the grant lets a pending change of its workload through.
    #[must_use]
    pub fn covers(&self, key: &Key, slot: &Slot, change: ChangeKind) -> bool {
        let listed = || {
            let wanted = slot.wanted.as_ref().map(|wanted| wanted.digest.clone());
            self.updates.get(key) == Some(&wanted)
        };
        match (change, &self.target) {
            (ChangeKind::Update | ChangeKind::Stop, _) if self.expired => false,
            (ChangeKind::Update, _) => listed(),
            (ChangeKind::Start, _) if !key.kind.runs() => listed(),
            (ChangeKind::Stop, _) if !key.kind.runs() => listed(),
            (ChangeKind::Start, Target::Revision(revision)) => {
                slot.wanted.as_ref().is_some_and(|wanted| wanted.revision == *revision)
            }
            (ChangeKind::Start, Target::FirstSuccessor | Target::InPlace) => false,
            (ChangeKind::Stop, target) => {
                slot.applied.as_ref().is_some_and(|applied| self.covers_stop(&applied.version, slot, target))
            }
        }
    }

    /// Whether this version of another revision is newer than what was released.
    #[must_use]
    pub fn is_superseded_by(&self, wanted: &Version) -> bool {
        match &self.target {
            Target::Revision(revision) => {
                wanted.revision != *revision
                    && wanted.born >= self.born
                    && !self.running.contains(&wanted.revision)
            }
            Target::FirstSuccessor | Target::InPlace => false,
        }
    }

    fn covers_stop(&self, running: &Version, slot: &Slot, target: &Target) -> bool {
        let listed = self.stops.contains(&running.uid);
        match target {
            // A running pod of the released revision is not old: its end belongs to a newer change. Nor is an old pod
            // given up when what would follow under its name may not start: that would leave nothing running.
            Target::Revision(revision) => {
                let successor = slot.wanted.as_ref().filter(|wanted| wanted.uid != running.uid);
                let followed = successor.is_none_or(|wanted| wanted.revision == *revision);
                followed && (listed || (running.revision != *revision && !self.superseded))
            }
            Target::FirstSuccessor | Target::InPlace => listed,
        }
    }
}
