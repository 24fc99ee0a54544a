//! When something is over: a grant that has run its course, a freeze that may be acknowledged, a thaw that is done.

use std::collections::BTreeSet;

use crate::event::{Answer, Effect, Refusal};
use crate::freeze::{Blocker, BlockerReason, Phase, Subject, Thaw, blocker_of};
use crate::grant::{Grant, GrantEnd, Target};
use crate::guard::Guard;
use crate::hold::HoldKind;
use crate::object::{Key, Kind};
use crate::text::HoldId;
use crate::workload::Workload;

use super::{Cause, Gate, Turn, Verdict};

/// What a thaw lists again. Static pods are read from this machine and are never stale.
const RESYNCED: [Kind; 3] = [Kind::Pod, Kind::ConfigMap, Kind::Secret];

// === impl Gate ===

impl Gate {
    /// Runs until nothing follows from anything any more.
    pub(super) fn run_to_rest(&mut self, turn: &mut Turn) {
        loop {
            self.decide(turn);
            for workload in std::mem::take(&mut turn.workloads) {
                if self.grants.get(&workload).is_some_and(|grant| self.is_used_up(&workload, grant)) {
                    self.close_grant(turn, &workload, GrantEnd::Settled);
                }
            }
            self.progress_freeze(turn);
            self.progress_thaw(turn);
            if turn.todo.is_empty() && turn.workloads.is_empty() {
                return;
            }
        }
    }

    pub(super) fn close_grant(&mut self, turn: &mut Turn, workload: &Workload, how: GrantEnd) {
        self.grants.remove(workload);
        self.audit(turn, None, format!("the release of {workload} is over ({how:?})"), None);
        turn.effects.push(Effect::GrantClosed(workload.clone(), how));
        self.touch_grant(turn, workload);
    }

    /// Whether a workload has settled on what was released. Between two waves of a rollout it has not: old pods are
    /// still there, or something that was stopped has not come back.
    fn is_used_up(&self, workload: &Workload, grant: &Grant) -> bool {
        let sums = self.index.workloads.get(workload);
        let settled = sums.is_none_or(|sums| sums.unsettled == 0 && sums.leaving == 0);
        let arrived = match &grant.target {
            Target::Revision(revision) => {
                sums.is_some_and(|sums| sums.revisions.len() == 1 && sums.revisions.contains_key(revision))
            }
            // A pod that nobody replaces has no successor: its end was all there was to it.
            Target::FirstSuccessor => {
                !workload.is_replaced_when_stopped() && sums.is_none_or(|sums| sums.leaving == 0)
            }
            Target::InPlace => true,
        };
        let updated = grant.updates.iter().all(|(key, digest)| {
            let Some(slot) = self.slots.get(key) else { return true };
            let applied = slot.applied.as_ref().map(|applied| &applied.version.digest);
            let wanted = slot.wanted.as_ref().map(|wanted| &wanted.digest);
            // Moved on: what was released is not wanted any more, and what is wanted was not released.
            (applied == digest.as_ref() && slot.is_settled()) || wanted != digest.as_ref()
        });
        let waiting = || {
            self.pending_of(workload).iter().any(|key| {
                let slot = &self.slots[key];
                slot.pending(key.kind).is_some_and(|change| grant.covers(key, slot, change))
            })
        };
        settled && arrived && updated && !self.is_awaited(workload) && !waiting()
    }

    /// Pending changes of a workload's pods and of the configuration that they use.
    pub(crate) fn pending_of(&self, workload: &Workload) -> BTreeSet<Key> {
        let Some(sums) = self.index.workloads.get(workload) else { return BTreeSet::new() };
        let mut pending = sums.pending.clone();
        let configs = self.index.pending_configs.iter();
        pending.extend(configs.filter(|key| self.users_of(key).any(|(_, user)| user == workload)).cloned());
        pending
    }

    /// Everything that stands against a freeze, in a stable order.
    #[must_use]
    pub fn blockers(&self) -> Vec<Blocker> {
        let objects = self.index.unsettled.iter().filter_map(|key| blocker_of(key, &self.slots[key]));
        let workload = |workload: &Workload, message: &str| Blocker {
            reason: BlockerReason::ReplacementPending,
            subject: Subject::Workload(workload.clone()),
            message: message.into(),
        };
        let open = self.grants.iter().filter(|(_, grant)| !grant.expired);
        let released = open.map(|(released, _)| workload(released, "is being upgraded"));
        let missing = self.replacements.keys().filter(|missing| self.is_awaited(missing));
        let missing =
            missing.map(|missing| workload(missing, "was stopped and its successor is not here yet"));
        let silent =
            self.config.parts.iter().filter(|part| !self.parts.contains_key(*part)).map(|part| Blocker {
                reason: BlockerReason::NotReady,
                subject: Subject::Part(part.clone()),
                message: "has not reported that it is ready".into(),
            });
        let reported = self.parts.values().flatten().cloned();
        let all: BTreeSet<Blocker> =
            objects.chain(released).chain(missing).chain(silent).chain(reported).collect();
        all.into_iter().collect()
    }

    fn is_settled(&self) -> bool {
        self.index.unsettled.is_empty()
            && self.grants.values().all(|grant| grant.expired)
            && !self.replacements.keys().any(|workload| self.is_awaited(workload))
            && self.config.parts.iter().all(|part| self.parts.contains_key(part))
            && self.parts.values().all(Vec::is_empty)
    }

    /// Freezes that are in force.
    pub(super) fn freezes(&self) -> impl Iterator<Item = &HoldId> {
        self.holds.iter().filter(|(_, hold)| hold.is_freeze() && hold.in_force()).map(|(id, _)| id)
    }

    /// Puts the barrier up with the first freeze and ends the freeze with the last.
    pub(super) fn refresh_phase(&mut self, turn: &mut Turn) {
        let frozen = self.freezes().next().is_some();
        match (frozen, self.phase) {
            (true, None) => self.phase = Some(Phase::Freezing { since: self.clock.stamp() }),
            (false, Some(Phase::Frozen { .. })) => {
                self.phase = None;
                if self.guards(Guard::RelistOnThaw) {
                    self.thaw = Some(Thaw::Resyncing(RESYNCED.into()));
                    turn.effects.push(Effect::Relist);
                }
            }
            // The barrier was never acknowledged as a freeze: what was seen behind it is as fresh as ever.
            (false, Some(Phase::Freezing { .. })) => self.phase = None,
            (true, Some(_)) | (false, None) => return,
        }
        turn.node = true;
        turn.todo.extend(self.index.pending.iter().cloned());
    }

    fn progress_freeze(&mut self, turn: &mut Turn) {
        let Some(phase) = self.phase else { return };
        let settled = match phase {
            Phase::Frozen { .. } => true,
            Phase::Freezing { .. } => self.is_settled() || !self.guards(Guard::WaitUntilSettled),
        };
        let asked: Vec<_> = self
            .holds
            .iter()
            .filter(|(_, hold)| hold.in_force())
            .filter_map(|(id, hold)| match hold.kind {
                HoldKind::FreezeAsked(barrier) => Some((id.clone(), barrier)),
                HoldKind::Plain | HoldKind::Freeze => None,
            })
            .collect();
        if settled {
            if let Phase::Freezing { .. } = phase {
                self.phase = Some(Phase::Frozen { since: self.clock.stamp() });
                turn.node = true;
            }
            for (id, _) in asked {
                self.acknowledge(turn, &id);
            }
            return;
        }
        let age = self.clock.age();
        for (id, barrier) in asked.into_iter().filter(|(_, barrier)| barrier.deadline <= age) {
            let refusal = Refusal::Unsettled { blockers: self.blockers(), barrier_kept: barrier.keep };
            self.tell_waiting(turn, &id, &Answer::Refused(refusal));
            if !barrier.keep {
                self.audit(
                    turn,
                    None,
                    format!("freeze {id} was refused: the node did not settle in time"),
                    None,
                );
                self.put_hold(turn, &id, None);
            }
        }
        self.refresh_phase(turn);
    }

    fn acknowledge(&mut self, turn: &mut Turn, id: &HoldId) {
        let Some(mut hold) = self.holds.get(id).cloned() else { return };
        hold.kind = HoldKind::Freeze;
        self.audit(
            turn,
            Some(&hold.holder.clone()),
            format!("the node is frozen by {id}"),
            Some(&hold.reason.clone()),
        );
        self.put_hold(turn, id, Some(hold));
        let since = self.phase.map_or_else(|| self.clock.stamp(), Phase::since);
        self.tell_waiting(turn, id, &Answer::Frozen { since });
    }

    /// A thaw is over when all that it had to catch up with has settled, or is held for a reason of its own. A pod that
    /// was failing before has no part in it.
    fn progress_thaw(&mut self, turn: &mut Turn) {
        let Some(Thaw::Verifying(open)) = &self.thaw else { return };
        let unfinished = |key: &&Key| self.index.unsettled.contains(*key) || self.is_passable(key);
        let left: BTreeSet<Key> = open.iter().filter(unfinished).cloned().collect();
        if left.len() != open.len() {
            self.thaw = (!left.is_empty()).then_some(Thaw::Verifying(left));
            turn.node = true;
        } else if open.is_empty() {
            self.thaw = None;
            turn.node = true;
        }
    }

    /// Whether the change of an object is only waiting for its turn.
    fn is_passable(&self, key: &Key) -> bool {
        match self.verdict(key) {
            Some((_, Verdict::Held(causes))) => causes.iter().all(|cause| *cause == Cause::Predecessor),
            Some((_, Verdict::Admitted)) => true,
            None => false,
        }
    }
}
