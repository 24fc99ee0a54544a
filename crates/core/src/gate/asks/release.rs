//! Releases: opening a grant for what is pending.

use std::collections::{BTreeMap, BTreeSet};

use crate::event::{Alarm, Answer, Effect, Override, Refusal, Released};
use crate::gate::{Cause, Gate, Turn, Verdict};
use crate::grant::{Grant, Target};
use crate::hold::{Holder, Origin};
use crate::object::{ChangeKind, Key, Slot, Version};
use crate::text::{HoldId, Revision};
use crate::time::Timestamp;
use crate::workload::Workload;

// === impl Gate ===

impl Gate {
    pub(super) fn release(
        &mut self,
        turn: &mut Turn,
        caller: &Holder,
        what: Released,
        revision: Option<&Revision>,
        over: Option<&Override>,
    ) -> Answer {
        if self.phase.is_some() {
            return Answer::Refused(Refusal::Frozen { by: self.freezes().cloned().collect() });
        }
        let single = !matches!(what, Released::Node);
        let is_set = matches!(&what, Released::Workload(workload) if workload.is_whole_set());
        let asked = match what {
            Released::Workload(workload) => {
                // Between its stop and its start a workload has no pod here, but its grant is open.
                let known = self.index.workloads.range(workload.ordinals()).map(|(known, _)| known);
                let released = self.grants.range(workload.ordinals()).map(|(released, _)| released);
                let found: BTreeSet<Workload> = known.chain(released).cloned().collect();
                (!found.is_empty()).then_some(found)
            }
            Released::Pod(key) => {
                self.slots.get(&key).and_then(Slot::workload).cloned().map(|found| [found].into())
            }
            Released::Node => Some(self.workloads_with_pending()),
        };
        let Some(asked) = asked else { return Answer::Refused(Refusal::NotFound) };

        if let Some(revision) = revision {
            for workload in &asked {
                let pending = self.pending_of(workload);
                let found = self.pending_revision(workload, &pending);
                if !pending.is_empty() && found != Some(revision) {
                    let (workload, pending) = (workload.clone(), found.cloned());
                    return Answer::Refused(Refusal::AnotherRevision { workload, pending });
                }
            }
        }
        let (mut workloads, mut held) = (Vec::new(), Vec::new());
        let (mut idle, mut first) = (Vec::new(), None);
        for workload in asked {
            let pending = self.pending_of(&workload);
            let by = if over.is_some() { Vec::new() } else { self.holders_of(&pending) };
            if !by.is_empty() {
                held.push((workload, by));
            } else if (over.is_none() || pending.is_empty()) && self.is_released_already(&workload, &pending)
            {
                // Asked again while the first is under way: an open grant is neither renewed nor narrowed by that. An
                // override is meant for the holds of now and opens a new one.
                workloads.push(workload);
            } else if !pending.is_empty() {
                self.open_grant(turn, caller, &workload, &pending, over);
                first.get_or_insert(workload.clone());
                workloads.push(workload);
            } else {
                idle.push(workload);
            }
        }
        if is_set {
            let grant = first.and_then(|first| self.grants.get(&first).cloned());
            workloads.extend(
                grant.map(|grant| self.open_grants_of_later_ordinals(turn, &grant, idle)).unwrap_or_default(),
            );
            workloads.sort();
        }
        if workloads.is_empty() && (single || held.is_empty()) {
            let by: BTreeSet<HoldId> = held.into_iter().flat_map(|(_, by)| by).collect();
            return Answer::Refused(self.refusal(caller, by.into_iter().collect()));
        }
        Answer::Released { workloads, held }
    }

    fn refusal(&self, caller: &Holder, by: Vec<HoldId>) -> Refusal {
        let vetoed = |id: &HoldId| self.holds.get(id).is_some_and(|hold| hold.holder.origin == Origin::Local);
        match by.is_empty() {
            true => Refusal::NothingPending,
            false if caller.origin == Origin::Remote && by.iter().any(vetoed) => Refusal::Vetoed { by },
            false => Refusal::HeldBy { by },
        }
    }

    fn is_released_already(&self, workload: &Workload, pending: &BTreeSet<Key>) -> bool {
        self.grants.get(workload).is_some_and(|grant| {
            pending.iter().all(|key| {
                let slot = &self.slots[key];
                slot.pending(key.kind).is_some_and(|change| grant.covers(key, slot, change))
            })
        })
    }

    fn workloads_with_pending(&self) -> BTreeSet<Workload> {
        let pods = self.index.pending.iter().filter_map(|key| self.slots.get(key)?.workload());
        let configs = self.index.pending_configs.iter();
        let users = configs.flat_map(|key| self.users_of(key)).map(|(_, workload)| workload);
        pods.chain(users).cloned().collect()
    }

    /// Who holds any of these changes.
    pub(crate) fn holders_of(&self, pending: &BTreeSet<Key>) -> Vec<HoldId> {
        let verdicts = pending.iter().filter_map(|key| self.verdict(key));
        let causes = verdicts.flat_map(|(_, verdict)| match verdict {
            Verdict::Held(causes) => causes,
            Verdict::Admitted => Vec::new(),
        });
        let holders: BTreeSet<HoldId> = causes
            .filter_map(|cause| match cause {
                Cause::Held(id) => Some(id),
                Cause::Frozen
                | Cause::Barrier
                | Cause::Resyncing
                | Cause::Annotated(_)
                | Cause::Predecessor
                | Cause::Room => None,
            })
            .collect();
        holders.into_iter().collect()
    }

    fn running_revisions(&self, workload: &Workload) -> BTreeSet<Revision> {
        let sums = self.index.workloads.get(workload);
        sums.map(|sums| sums.revisions.keys().cloned().collect()).unwrap_or_default()
    }

    /// The youngest of the pods that wait to follow another one.
    fn newest_successor(&self, workload: &Workload, pending: &BTreeSet<Key>) -> Option<&Version> {
        let running_revisions = self.running_revisions(workload);
        let successors = pending.iter().filter(|key| key.kind.runs()).filter_map(|key| {
            let slot = &self.slots[key];
            let running = slot.applied.as_ref().map(|applied| &applied.version.uid);
            slot.wanted.as_ref().filter(|wanted| !wanted.deleting && running != Some(&wanted.uid))
        });
        // A pod of a revision that runs here already replaces one that was lost; it is not what is waited for.
        successors.max_by_key(|version| (!running_revisions.contains(&version.revision), version.born))
    }

    /// The revision that a release would let through: of what follows, else of what changes in place.
    fn pending_revision(&self, workload: &Workload, pending: &BTreeSet<Key>) -> Option<&Revision> {
        let in_place = || {
            let changed = pending.iter().filter_map(|key| {
                let wanted = self.slots[key].wanted.as_ref().filter(|wanted| !wanted.deleting)?;
                Some((key.kind.runs(), wanted.born, wanted))
            });
            changed.max_by_key(|(runs, born, _)| (*runs, *born)).map(|(_, _, wanted)| wanted)
        };
        self.newest_successor(workload, pending).or_else(in_place).map(|version| &version.revision)
    }

    /// A StatefulSet is upgraded one ordinal after the other, and the next is not asked for before the last one is ready.
    /// Who releases the whole of it means those as well, on the revision that the first of them gets.
    fn open_grants_of_later_ordinals(
        &mut self,
        turn: &mut Turn,
        first: &Grant,
        idle: Vec<Workload>,
    ) -> Vec<Workload> {
        if first.target == Target::InPlace {
            return Vec::new();
        }
        for workload in &idle {
            let members = self.index.workloads.get(workload).into_iter().flat_map(|sums| &sums.members);
            let running = members.filter_map(|key| self.slots.get(key)?.applied.as_ref());
            let stops = running.map(|applied| applied.version.uid.clone()).collect();
            let running = self.running_revisions(workload);
            let grant = Grant { stops, running, updates: BTreeMap::new(), ..first.clone() };
            self.audit(turn, Some(&first.by), format!("{workload} released"), first.reason.as_ref());
            self.grants.insert(workload.clone(), grant);
            self.touch_grant(turn, workload);
        }
        idle
    }

    /// Opens a grant for exactly what is pending now, and for what will follow from it.
    fn open_grant(
        &mut self,
        turn: &mut Turn,
        caller: &Holder,
        workload: &Workload,
        pending: &BTreeSet<Key>,
        over: Option<&Override>,
    ) {
        let mut stops = BTreeSet::new();
        let mut updates = BTreeMap::new();
        let overridden = self.holders_of(pending);
        let length = over.map_or(self.config.grant_length, |over| over.length.min(self.config.grant_length));
        for key in pending {
            let slot = &self.slots[key];
            let running = slot.applied.as_ref().map(|applied| &applied.version);
            let digest = slot.wanted.as_ref().map(|wanted| wanted.digest.clone());
            match slot.pending(key.kind) {
                Some(ChangeKind::Stop) if key.kind.runs() => {
                    stops.extend(running.map(|running| running.uid.clone()));
                }
                Some(ChangeKind::Start) if key.kind.runs() => {}
                Some(_) => drop(updates.insert(key.clone(), digest)),
                None => {}
            }
        }
        let newest = self.newest_successor(workload, pending);
        let born = newest.map_or(Timestamp::default(), |newest| newest.born);
        let target = match newest {
            Some(newest) => Target::Revision(newest.revision.clone()),
            None if stops.is_empty() => Target::InPlace,
            None => Target::FirstSuccessor,
        };
        let grant = Grant {
            target,
            stops,
            updates,
            running: self.running_revisions(workload),
            born,
            superseded: false,
            overrides: over.is_some(),
            by: caller.clone(),
            reason: over.map(|over| over.reason.clone()),
            opened: self.clock.stamp(),
            length,
            closes: self.clock.age().after(length),
            expired: false,
            order: self.next_order(turn),
        };
        self.audit(turn, Some(caller), format!("{workload} released"), over.map(|over| &over.reason));
        for id in &overridden {
            let what = format!("hold {id} overridden for the release of {workload}");
            self.audit(turn, Some(caller), what, over.map(|over| &over.reason));
            turn.effects.push(Effect::Alarm(Alarm::Overridden(id.clone())));
        }
        self.grants.insert(workload.clone(), grant);
        self.touch_grant(turn, workload);
    }
}
