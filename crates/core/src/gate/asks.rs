//! What people and programs ask for, and who may.
//!
//! The two sides, this machine and the cluster, veto each other: neither drops what the other holds. An override puts a
//! hold out of force for a stated time and reason; it is on record before it acts, and the hold comes back by itself.

use std::collections::BTreeSet;

use crate::event::{Alarm, Answer, Ask, Effect, LeaseAsk, Order, Override, Refusal, Request, RequestId};
use crate::freeze::{Blocker, Phase, Subject};
use crate::hold::{Barrier, Hold, HoldKind, Holder, Lease, Scope, Suspension};
use crate::text::{HoldId, Text};
use crate::time::Span;
use crate::workload::Workload;

use super::recover::UNREADABLE;
use super::{Gate, Turn};

mod release;

/// Orders that were decided are remembered so that a resent one is not decided twice; the cluster keeps far fewer.
const ORDERS_REMEMBERED: usize = 64;

/// Whether a request would let something through.
const fn opens(ask: &Ask) -> bool {
    match ask {
        Ask::Drop { .. } | Ask::Thaw | Ask::ThawOnly(_) | Ask::Release { .. } => true,
        Ask::Hold { .. } | Ask::Freeze { .. } | Ask::Renew { .. } => false,
    }
}

/// A hold that is asked for, whatever its kind.
struct Wish<'a> {
    id: &'a HoldId,
    reason: Text,
    scope: Scope,
    lease: Option<LeaseAsk>,
    kind: HoldKind,
}

// === impl Gate ===

impl Gate {
    pub(super) fn answer(&mut self, turn: &mut Turn, request: Request) {
        let id = request.id;
        if let Some(answer) = self.carry_out(turn, request) {
            turn.effects.push(Effect::Answer(id, answer));
        }
    }

    /// Carries out a request. No answer yet means that it waits for the node to settle.
    fn carry_out(&mut self, turn: &mut Turn, request: Request) -> Option<Answer> {
        let Request { id, caller, order, overriding, ask } = request;
        if let Some(order) = &order {
            if self.decided.contains(&order.id) {
                return Some(Answer::DecidedBefore);
            }
            // Not remembered: the next delivery may find a clock that can be trusted.
            if self.is_past(order, &ask) {
                return Some(Answer::Refused(Refusal::OrderExpired));
            }
        }
        if let Some(order) = order {
            self.remember_order(turn, order);
        }
        if self.sealed && opens(&ask) {
            return Some(Answer::Refused(Refusal::Sealed));
        }
        if overriding.as_ref().is_some_and(|over| over.reason.trim().is_empty() || over.length == Span::ZERO)
        {
            return Some(Answer::Refused(Refusal::OverrideIncomplete));
        }
        Some(match ask {
            Ask::Hold { id, reason, scope, lease } => {
                self.take(turn, &caller, Wish { id: &id, reason, scope, lease, kind: HoldKind::Plain })
            }
            Ask::Freeze { id: hold, reason, lease, settle, keep_barrier } => {
                let barrier = Barrier { deadline: self.clock.age().after(settle), keep: keep_barrier };
                let kind = HoldKind::FreezeAsked(barrier);
                let wish = Wish { id: &hold, reason, scope: Scope::Node, lease, kind };
                return self.freeze(turn, id, &caller, wish);
            }
            Ask::Renew { id, length } => self.renew(turn, &caller, &id, length),
            Ask::Drop { id } => self.drop_hold(turn, &caller, &id, overriding.as_ref()),
            Ask::Thaw => self.thaw(turn, &caller, None, overriding.as_ref()),
            Ask::ThawOnly(ids) => self.thaw(turn, &caller, Some(&ids), overriding.as_ref()),
            Ask::Release { what, revision } => {
                self.release(turn, &caller, what, revision.as_ref(), overriding.as_ref())
            }
        })
    }

    /// However it is decided, it is decided now: an order that found nothing to do must not find something tomorrow.
    fn remember_order(&mut self, turn: &mut Turn, order: Order) {
        self.decided.push(order.id);
        let surplus = self.decided.len().saturating_sub(ORDERS_REMEMBERED);
        self.decided.drain(..surplus);
        turn.node = true;
    }

    /// An old order must not open anything, and whether it is old only a clock that is trusted can say. One that closes
    /// is obeyed all the same.
    fn is_past(&self, order: &Order, ask: &Ask) -> bool {
        let now = self.clock.last();
        order.expires.is_some_and(|expires| opens(ask) && (!now.trusted || now.wall > expires))
    }

    fn take(&mut self, turn: &mut Turn, caller: &Holder, wish: Wish<'_>) -> Answer {
        let Wish { id, reason, scope, lease, kind } = wish;
        if lease.is_some_and(|lease| lease.length == Span::ZERO) {
            return Answer::Refused(Refusal::EmptyLease);
        }
        let known = self.holds.get(id);
        // Nobody takes the gate's own freeze over, whatever they call themselves.
        if let Some(known) = known
            && (known.holder != *caller
                || known.is_freeze() == matches!(kind, HoldKind::Plain)
                || id.as_str() == UNREADABLE)
        {
            return Answer::Refused(Refusal::NameTaken { by: known.holder.clone() });
        }
        if let Some(suspension) = known.and_then(|known| known.suspended.as_ref()) {
            return Answer::Refused(Refusal::Overridden { until: suspension.until });
        }
        let since = known.map_or_else(|| self.clock.stamp(), |known| known.since);
        let lease = lease.map(|ask| Lease {
            length: ask.length,
            ends: self.clock.age().after(ask.length),
            on_expiry: ask.on_expiry,
        });
        let order = self.next_order(turn);
        self.audit(turn, Some(caller), format!("hold {id} on {scope}"), Some(&reason));
        let holder = caller.clone();
        let in_flight = self.in_flight_within(&scope);
        let hold = Hold { kind, holder, reason, scope, since, lease, orphaned: None, suspended: None, order };
        self.put_hold(turn, id, Some(hold));
        Answer::Holding { in_flight }
    }

    /// What a hold on this scope may catch half done.
    fn in_flight_within(&self, scope: &Scope) -> Vec<Blocker> {
        let covers = |workload: &Workload| match scope {
            Scope::Node => true,
            Scope::Workload(held) => held.includes(workload),
            Scope::Namespace(namespace) => workload.namespace == *namespace,
            Scope::Pod { .. } | Scope::Selector { .. } => false,
        };
        let within = |subject: &Subject| match subject {
            Subject::Object(key) => self.slots.get(key).is_some_and(|slot| scope.covers(key, slot)),
            Subject::Workload(workload) => covers(workload),
            Subject::Part(_) => false,
        };
        self.blockers().into_iter().filter(|blocker| within(&blocker.subject)).collect()
    }

    /// Takes a freeze and puts the barrier up. The answer comes when the node has settled, or has not in time.
    fn freeze(
        &mut self,
        turn: &mut Turn,
        request: RequestId,
        caller: &Holder,
        mut wish: Wish<'_>,
    ) -> Option<Answer> {
        let id = wish.id.clone();
        // Asked for again: a freeze that was acknowledged stays so.
        let known = self.holds.get(&id).map(|known| known.kind);
        if known == Some(HoldKind::Freeze) && matches!(self.phase, Some(Phase::Frozen { .. })) {
            wish.kind = HoldKind::Freeze;
        }
        let acknowledged = wish.kind == HoldKind::Freeze;
        match (self.take(turn, caller, wish), self.phase) {
            (Answer::Holding { .. }, Some(Phase::Frozen { since })) if acknowledged => {
                Some(Answer::Frozen { since })
            }
            (Answer::Holding { .. }, _) => {
                self.waiting.entry(id).or_default().push(request);
                self.refresh_phase(turn);
                None
            }
            (refused, _) => Some(refused),
        }
    }

    fn renew(&mut self, turn: &mut Turn, caller: &Holder, id: &HoldId, length: Option<Span>) -> Answer {
        let Some(mut hold) = self.holds.get(id).cloned() else { return Answer::Refused(Refusal::NotFound) };
        if hold.holder != *caller {
            return Answer::Refused(Refusal::NameTaken { by: hold.holder });
        }
        // A hold without end is not given one in passing.
        if length == Some(Span::ZERO) || (length.is_some() && hold.lease.is_none()) {
            return Answer::Refused(Refusal::EmptyLease);
        }
        if let Some(lease) = &mut hold.lease {
            lease.length = length.unwrap_or(lease.length);
            lease.ends = self.clock.age().after(lease.length);
        }
        if hold.orphaned.take().is_some() {
            self.audit(turn, Some(caller), format!("hold {id} has its holder back"), None);
        }
        self.put_hold(turn, id, Some(hold));
        Answer::Renewed
    }

    fn drop_hold(
        &mut self,
        turn: &mut Turn,
        caller: &Holder,
        id: &HoldId,
        over: Option<&Override>,
    ) -> Answer {
        let Some(hold) = self.holds.get(id) else { return Answer::Refused(Refusal::NotFound) };
        let until = match (hold.holder.origin == caller.origin, over) {
            (true, _) => {
                self.audit(turn, Some(caller), format!("hold {id} dropped"), over.map(|over| &over.reason));
                self.remove_hold(turn, id);
                None
            }
            (false, Some(over)) => {
                self.suspend(turn, caller, id, over);
                Some(self.clock.age().after(over.length))
            }
            (false, None) => return Answer::Refused(Refusal::Vetoed { by: vec![id.clone()] }),
        };
        self.refresh_phase(turn);
        Answer::Dropped { until }
    }

    fn thaw(
        &mut self,
        turn: &mut Turn,
        caller: &Holder,
        only: Option<&BTreeSet<HoldId>>,
        over: Option<&Override>,
    ) -> Answer {
        let is_freeze = |id: &HoldId| self.holds.get(id).is_some_and(Hold::is_freeze);
        if only.is_some_and(|only| !only.iter().all(is_freeze)) {
            return Answer::Refused(Refusal::NotFound);
        }
        // The caller's own freezes end for good, also one that an override has put out of force for a while.
        let meant = |id: &HoldId| only.is_none_or(|only| only.contains(id));
        let freezes = self.holds.iter().filter(|(id, hold)| hold.is_freeze() && meant(id));
        let (mine, others): (Vec<_>, Vec<_>) =
            freezes.partition(|(_, hold)| hold.holder.origin == caller.origin);
        let mine: Vec<HoldId> = mine.into_iter().map(|(id, _)| id.clone()).collect();
        let others: Vec<HoldId> =
            others.into_iter().filter(|(_, hold)| hold.in_force()).map(|(id, _)| id.clone()).collect();
        if mine.is_empty() && !others.is_empty() && over.is_none() {
            return Answer::Refused(Refusal::Vetoed { by: others });
        }
        for id in &mine {
            self.audit(turn, Some(caller), format!("freeze {id} ended"), over.map(|over| &over.reason));
            self.remove_hold(turn, id);
        }
        if let Some(over) = over {
            for id in &others {
                self.suspend(turn, caller, id, over);
            }
        }
        self.refresh_phase(turn);
        let by: Vec<HoldId> = self.freezes().cloned().collect();
        if by.is_empty() { Answer::Thawing } else { Answer::StillFrozen { by } }
    }

    /// Puts the other side's hold out of force for a while.
    fn suspend(&mut self, turn: &mut Turn, caller: &Holder, id: &HoldId, over: &Override) {
        let Some(mut hold) = self.holds.get(id).cloned() else { return };
        let until = self.clock.age().after(over.length);
        hold.suspended = Some(Suspension { until, by: caller.clone(), reason: over.reason.clone() });
        let what = format!("hold {id} of {} overridden for {}", hold.holder.name, over.length);
        self.audit(turn, Some(caller), what, Some(&over.reason));
        turn.effects.push(Effect::Alarm(Alarm::Overridden(id.clone())));
        self.put_hold(turn, id, Some(hold));
        if self.waiting.contains_key(id) {
            self.tell_waiting(turn, id, &Answer::Refused(Refusal::Overridden { until }));
        }
    }
}
