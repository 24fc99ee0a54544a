//! What happens because time has passed: leases, overrides, releases and waits that are up.
//!
//! Nothing here opens the gate for want of a word: a lease that is up ends a hold only if its holder asked for that
//! beforehand and every safety signal agrees.

use crate::event::{Alarm, Answer, Effect, Reading, Refusal};
use crate::freeze::Thaw;
use crate::grant::GrantEnd;
use crate::hold::{Barrier, Hold, HoldKind, OnExpiry};
use crate::text::HoldId;
use crate::time::{Age, Span};
use crate::workload::Workload;

use super::turn::SAVE_AGE_EVERY;
use super::{Gate, Turn};

/// How many releases may outlive their time. Each is a workload that was stopped here and never came back.
const LINGERING_GRANTS: usize = 64;

// === impl Gate ===

impl Gate {
    /// How long the driver may wait for an event before it must send [`Event::Ticked`](crate::event::Event::Ticked).
    #[must_use]
    pub fn wake_after(&self) -> Option<Span> {
        let save = self.counts_down().then(|| self.saved.after(SAVE_AGE_EVERY));
        let due = self.due().chain(save).filter(|due| *due > self.clock.age()).min();
        due.map(|due| due.since(self.clock.age()))
    }

    /// Whether anything is counted down: then the age is put on record from time to time.
    pub(super) fn counts_down(&self) -> bool {
        self.due().any(|due| due > self.clock.age())
    }

    fn due(&self) -> impl Iterator<Item = Age> {
        let holds = self.holds.values().flat_map(Hold::due);
        let grants = self.grants.values().map(|grant| grant.closes);
        let replacements = self.replacements.values().map(|replacement| replacement.until);
        holds.chain(grants).chain(replacements).filter(|due| *due != Age(u64::MAX))
    }

    pub(super) fn meet_deadlines(&mut self, turn: &mut Turn) {
        let age = self.clock.age();
        for id in self.holds_where(|hold| hold.suspended.as_ref().is_some_and(|off| off.until <= age)) {
            self.rearm(turn, &id);
        }
        for id in self.holds_where(|hold| hold.lease.is_some_and(|lease| lease.ends <= age)) {
            self.expire(turn, &id);
        }
        let given_up: Vec<_> = self
            .replacements
            .iter()
            .filter(|(workload, replacement)| {
                let sums = self.index.workloads.get(*workload);
                // A surge is over when one revision is left; an end that is still under way is waited for.
                let busy = sums.is_some_and(|sums| {
                    sums.ending > 0 || (replacement.missing < 0 && sums.revisions.len() > 1)
                });
                // What a release has stopped is not forgotten while the release is on record.
                let over = replacement.until <= age && !self.grants.contains_key(*workload);
                !busy && (over || replacement.missing <= 0)
            })
            .map(|(workload, _)| workload.clone())
            .collect();
        for workload in given_up {
            self.replacements.remove(&workload);
            self.touch_replacement(turn, &workload);
        }
        // A release whose successor nobody waits for any more may be used up.
        let waited = self.replacements.iter().filter(|(_, replacement)| replacement.until <= age);
        turn.workloads.extend(waited.map(|(workload, _)| workload.clone()));
        // Nothing can be used up before the thaw has caught up; the time begins to count then.
        if !matches!(self.thaw, Some(Thaw::Resyncing(_))) {
            let overdue = self.grants.iter().filter(|(_, grant)| grant.closes <= age);
            let overdue: Vec<_> = overdue.map(|(workload, _)| workload.clone()).collect();
            for workload in overdue {
                self.expire_grant(turn, &workload);
            }
        }
    }

    /// Closes a release whose time is up. If that would leave the workload stopped, it stays for the missing starts only:
    /// what was stopped because somebody released it is not left lying because the cluster took too long.
    fn expire_grant(&mut self, turn: &mut Turn, workload: &Workload) {
        let stopped =
            self.is_missing(workload) || (workload.is_replaced_when_stopped() && self.is_stopped(workload));
        let lingering = self.grants.values().filter(|grant| grant.expired).count();
        let Some(grant) = self.grants.get_mut(workload) else { return };
        if !grant.expired {
            turn.effects.push(Effect::Alarm(Alarm::ReleaseExpired(workload.clone())));
        }
        if !stopped || (!grant.expired && lingering >= LINGERING_GRANTS) {
            self.close_grant(turn, workload, GrantEnd::Expired);
        } else if !grant.expired {
            grant.expired = true;
            self.touch_grant(turn, workload);
        }
    }

    fn holds_where(&self, due: impl Fn(&Hold) -> bool) -> Vec<HoldId> {
        self.holds.iter().filter(|(_, hold)| due(hold)).map(|(id, _)| id.clone()).collect()
    }

    /// An override is over: the hold is in force again. A freeze comes back as a barrier that stays until settled.
    fn rearm(&mut self, turn: &mut Turn, id: &HoldId) {
        let Some(mut hold) = self.holds.get(id).cloned() else { return };
        hold.suspended = None;
        if hold.is_freeze() {
            hold.kind = HoldKind::FreezeAsked(Barrier { deadline: Age(u64::MAX), keep: true });
        }
        hold.order = self.next_order(turn);
        self.audit(turn, None, format!("the override of hold {id} is over"), None);
        self.put_hold(turn, id, Some(hold));
        self.refresh_phase(turn);
    }

    fn expire(&mut self, turn: &mut Turn, id: &HoldId) {
        let Some(mut hold) = self.holds.get(id).cloned() else { return };
        let ends = hold.lease.is_some_and(|lease| lease.on_expiry == OnExpiry::ThawIfSafe);
        if ends && self.is_safe() {
            self.audit(turn, None, format!("the lease of hold {id} is up and it is safe"), None);
            self.remove_hold(turn, id);
            self.refresh_phase(turn);
        } else if hold.orphaned.is_none() {
            hold.orphaned = Some(self.clock.stamp());
            self.audit(turn, None, format!("the lease of hold {id} is up and it stays, orphaned"), None);
            turn.effects.push(Effect::Alarm(Alarm::Orphaned(id.clone())));
            self.put_hold(turn, id, Some(hold));
        }
    }

    /// Whether every configured signal says safe, now. Missing, old and unknown readings are not safe.
    fn is_safe(&self) -> bool {
        self.config.signals.iter().all(|signal| {
            self.signals.get(signal).is_some_and(|(reading, read)| {
                *reading == Reading::Safe && self.clock.age().since(*read) <= self.config.signal_ttl
            })
        })
    }

    /// Takes a hold off the record. Whoever still waits for its freeze is told that it was not reached.
    pub(super) fn remove_hold(&mut self, turn: &mut Turn, id: &HoldId) {
        self.put_hold(turn, id, None);
        if self.waiting.contains_key(id) {
            let refusal = Refusal::Unsettled { blockers: self.blockers(), barrier_kept: false };
            self.tell_waiting(turn, id, &Answer::Refused(refusal));
        }
    }

    pub(super) fn tell_waiting(&mut self, turn: &mut Turn, id: &HoldId, answer: &Answer) {
        for request in self.waiting.remove(id).into_iter().flatten() {
            turn.effects.push(Effect::Answer(request, answer.clone()));
        }
    }
}
