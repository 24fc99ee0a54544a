//! What the gate looks up instead of walking over every object. Derived from the slots and rebuilt from them.
//!
//! It is what makes a step cost as much as the change, not as much as the node: see `docs/benchmarks.md`.

use std::collections::{BTreeMap, BTreeSet};

use crate::object::{Key, Kind, Needs, Slot};
use crate::text::{Revision, Text};
use crate::workload::Workload;

use super::turn::Turn;

/// Lookups over all slots.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Index {
    /// Objects with a change that has not been admitted.
    pub(super) pending: BTreeSet<Key>,
    /// Those of them that are configuration: usually none.
    pub(super) pending_configs: BTreeSet<Key>,
    /// Objects that the machine is in the middle of.
    pub(super) unsettled: BTreeSet<Key>,
    /// Which running pods use a ConfigMap or Secret.
    pub(super) users: BTreeMap<Key, BTreeSet<Key>>,
    /// How many pods that are gone from the API are ending: nobody but this machine counts their resources any more.
    pub(super) private: u32,
    /// How many pods that are gone from the API are kept running.
    pub(super) kept: u32,
    /// What all pods that run take of the machine.
    pub(super) taken: Needs,
    /// Sums over the pods of each workload.
    pub(super) workloads: BTreeMap<Workload, Sums>,
}

/// Sums over the pods of one workload on this node.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Sums {
    pub(super) members: BTreeSet<Key>,
    pub(super) pending: BTreeSet<Key>,
    /// Running pods that carry the hold annotation.
    pub(super) armed: u32,
    /// Running pods that are on their way out, delivered or not.
    pub(super) leaving: u32,
    /// Those of them whose end was delivered.
    pub(super) ending: u32,
    pub(super) unsettled: u32,
    /// How many pods of each revision run, not counting those that have finished.
    pub(super) revisions: BTreeMap<Revision, u32>,
}

/// Whether any is armed, how many leave, how many of these are ending, whether none runs.
type Facts = (bool, u32, u32, bool);

// === impl Index ===

impl Index {
    /// Replaces what one slot contributes. Returns the ConfigMaps and Secrets whose users have changed with it, and puts
    /// the workload's other pending objects on the list when something changed that their verdicts depend on.
    pub(super) fn replace(&mut self, key: &Key, old: &Slot, new: &Slot, turn: &mut Turn) -> Vec<Key> {
        let before = self.decisive(old).into_iter().chain(self.decisive(new)).collect::<Vec<_>>();
        let (private, kept) = (self.private, self.kept);
        self.subtract(key, old);
        self.add(key, new);
        // Only now: a workload that is taken out and put back costs more than all the rest.
        if let Some(workload) = old.workload()
            && self.workloads.get(workload).is_some_and(|sums| sums.members.is_empty())
        {
            self.workloads.remove(workload);
        }
        // Where nothing is kept, room is the scheduler's business.
        if (private > 0 && self.private == 0) || kept > 0 {
            turn.todo.extend(self.pending.iter().cloned());
        }
        for (workload, facts) in before {
            if self.facts(&workload) != facts
                && let Some(sums) = self.workloads.get(&workload)
            {
                turn.todo.extend(sums.pending.iter().cloned());
                turn.todo.extend(self.pending_configs.iter().cloned());
            }
        }
        let versions = [old, new].into_iter().filter_map(|slot| slot.applied.as_ref());
        versions.flat_map(|applied| applied.version.uses.iter().cloned()).collect()
    }

    pub(super) fn add(&mut self, key: &Key, slot: &Slot) {
        let pending = slot.pending(key.kind).is_some();
        if pending {
            self.pending.insert(key.clone());
        }
        if pending && !key.kind.runs() {
            self.pending_configs.insert(key.clone());
        }
        if !slot.is_settled() {
            self.unsettled.insert(key.clone());
        }
        for config in slot.applied.iter().flat_map(|applied| applied.version.uses.iter()) {
            self.users.entry(config.clone()).or_default().insert(key.clone());
        }
        self.private += u32::from(slot.is_private_end(key.kind));
        self.kept += u32::from(slot.is_private(key.kind));
        for (name, amount) in needs(key, slot) {
            let taken = self.taken.entry(name.clone()).or_default();
            *taken = taken.saturating_add(*amount);
        }
        let Some(workload) = slot.workload() else { return };
        let sums = self.workloads.entry(workload.clone()).or_default();
        sums.members.insert(key.clone());
        if pending {
            sums.pending.insert(key.clone());
        }
        sums.leaving += u32::from(slot.is_leaving(key.kind));
        sums.ending += u32::from(slot.is_ending());
        sums.unsettled += u32::from(!slot.is_settled());
        if let Some(applied) = &slot.applied {
            sums.armed += u32::from(applied.version.hold);
            if !applied.is_finished() {
                *sums.revisions.entry(applied.version.revision.clone()).or_default() += 1;
            }
        }
    }

    fn subtract(&mut self, key: &Key, slot: &Slot) {
        self.pending.remove(key);
        self.pending_configs.remove(key);
        self.unsettled.remove(key);
        for config in slot.applied.iter().flat_map(|applied| applied.version.uses.iter()) {
            if let Some(users) = self.users.get_mut(config) {
                users.remove(key);
                if users.is_empty() {
                    self.users.remove(config);
                }
            }
        }
        self.private -= u32::from(slot.is_private_end(key.kind));
        self.kept -= u32::from(slot.is_private(key.kind));
        for (name, amount) in needs(key, slot) {
            if let Some(taken) = self.taken.get_mut(name) {
                *taken = taken.saturating_sub(*amount);
            }
        }
        let Some(workload) = slot.workload() else { return };
        let Some(sums) = self.workloads.get_mut(workload) else { return };
        sums.members.remove(key);
        sums.pending.remove(key);
        sums.leaving -= u32::from(slot.is_leaving(key.kind));
        sums.ending -= u32::from(slot.is_ending());
        sums.unsettled -= u32::from(!slot.is_settled());
        if let Some(applied) = &slot.applied {
            sums.armed -= u32::from(applied.version.hold);
            if !applied.is_finished()
                && let Some(count) = sums.revisions.get_mut(&applied.version.revision)
            {
                *count -= 1;
                if *count == 0 {
                    sums.revisions.remove(&applied.version.revision);
                }
            }
        }
    }

    /// The sums of a workload that the verdicts on its other pods depend on.
    fn facts(&self, workload: &Workload) -> Facts {
        let facts = |sums: &Sums| (sums.armed > 0, sums.leaving, sums.ending, sums.revisions.is_empty());
        self.workloads.get(workload).map_or((false, 0, 0, true), facts)
    }

    fn decisive(&self, slot: &Slot) -> Option<(Workload, Facts)> {
        let workload = slot.workload()?;
        Some((workload.clone(), self.facts(workload)))
    }
}

/// What the pod of a slot takes of the machine.
fn needs<'a>(key: &Key, slot: &'a Slot) -> impl Iterator<Item = (&'a Text, &'a u64)> {
    let running = slot.applied.as_ref().filter(|applied| key.kind == Kind::Pod && !applied.is_finished());
    running.into_iter().flat_map(|applied| applied.version.needs.iter())
}
