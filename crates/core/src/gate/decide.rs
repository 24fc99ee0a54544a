//! The verdict on one pending change, and its admission.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::event::Effect;
use crate::freeze::{Phase, Thaw};
use crate::grant::{Grant, Target};
use crate::guard::Guard;
use crate::hold::Hold;
use crate::object::{ChangeKind, Health, Held, HeldBy, Key, Kind, Needs, Slot, Stage, Version};
use crate::text::HoldId;
use crate::workload::Workload;

use super::{Gate, Turn};

/// What the names of the host's ports begin with in [`Needs`](crate::object::Needs).
pub const PORT: &str = "port/";

/// Why a change is held. A change may be held by several causes at once; all of them are named.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub enum Cause {
    /// The node is frozen.
    Frozen,
    /// The node is freezing and this change was not in flight.
    Barrier,
    /// The node has thawed and has not been told the whole newest state yet.
    Resyncing,
    /// A holder holds it.
    Held(HoldId),
    /// The running or the wanted pod carries the hold annotation and no release covers this change. For configuration:
    /// this workload uses it and carries the annotation; there may be several.
    Annotated(Workload),
    /// Something of the same name or workload has to end first.
    Predecessor,
    /// A pod that is gone from the cluster is kept running, and there is no room for this one beside it.
    Room,
}

/// The decision on a pending change.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Verdict {
    /// It may pass.
    Admitted,
    /// It is held, and why; never empty.
    Held(Vec<Cause>),
}

// === impl Cause ===

impl Cause {
    const fn kind(&self) -> HeldBy {
        match self {
            Self::Frozen | Self::Barrier | Self::Resyncing => HeldBy::Node,
            Self::Held(_) => HeldBy::Holder,
            Self::Annotated(_) => HeldBy::Annotation,
            Self::Predecessor | Self::Room => HeldBy::Predecessor,
        }
    }
}

// === impl Gate ===

impl Gate {
    /// Decides about the pending change of one object; none when nothing is pending there.
    #[must_use]
    pub fn verdict(&self, key: &Key) -> Option<(ChangeKind, Verdict)> {
        let slot = self.slots.get(key)?;
        let change = slot.pending(key.kind)?;
        let causes = self.causes(key, slot, change);
        Some((change, if causes.is_empty() { Verdict::Admitted } else { Verdict::Held(causes) }))
    }

    /// Everything that holds a change, in the order in which it is looked at: the node, holders, the annotation, order.
    fn causes(&self, key: &Key, slot: &Slot, change: ChangeKind) -> Vec<Cause> {
        let mut causes = Vec::new();
        if change == ChangeKind::Stop && !self.guards(Guard::HoldStops) {
            return causes;
        }
        match self.phase {
            Some(Phase::Frozen { .. }) => causes.push(Cause::Frozen),
            Some(Phase::Freezing { .. })
                if !self.is_in_flight(key, slot, change) && self.guards(Guard::RaiseTheBarrier) =>
            {
                causes.push(Cause::Barrier);
            }
            Some(Phase::Freezing { .. }) | None => {}
        }
        // A new freeze may come before the last thaw has caught up: what was known then is no fresher for it.
        // Manifests are read from this machine and are never stale.
        if matches!(self.thaw, Some(Thaw::Resyncing(_))) && key.kind != Kind::StaticPod {
            causes.push(Cause::Resyncing);
        }
        causes.extend(self.covering_holds(key, slot, change).map(|id| Cause::Held(id.clone())));
        causes.extend(self.arming_workloads(key, slot, change).into_iter().map(Cause::Annotated));
        if change == ChangeKind::Start
            && self.waits_for_an_end(key, slot)
            && self.guards(Guard::EndBeforeStart)
        {
            causes.push(Cause::Predecessor);
        }
        if change == ChangeKind::Start && self.index.kept > 0 && !self.fits(key, slot) {
            causes.push(Cause::Room);
        }
        causes
    }

    /// Holders' holds that keep this change back. A freeze is not among them, it is the node's mode.
    fn covering_holds<'a>(
        &'a self,
        key: &'a Key,
        slot: &'a Slot,
        change: ChangeKind,
    ) -> impl Iterator<Item = &'a HoldId> {
        let overrides = move |workload: &Workload, hold: &Hold| {
            self.grants.get(workload).is_some_and(|grant| {
                // An override has its time: after it the hold is in force again, also over what was left undone.
                grant.overrides
                    && !grant.expired
                    && hold.order < grant.order
                    && grant.covers(key, slot, change)
            })
        };
        let opened = move |side: &Key, workload: Option<&Workload>, hold: &Hold| match workload {
            Some(workload) => overrides(workload, hold),
            // Configuration has no workload of its own: a release of any that uses it opens what covers it by name.
            None => side == key && self.users_of(key).any(|(_, workload)| overrides(workload, hold)),
        };
        let holds = self.holds.iter().filter(|(_, hold)| !hold.is_freeze() && hold.in_force());
        holds
            .filter(move |(_, hold)| {
                self.covered_sides(key, slot, change).any(|(side, workload)| {
                    hold.scope.covers(side, &self.slots[side]) && !opened(side, workload, hold)
                })
            })
            .map(|(id, _)| id)
    }

    /// The objects whose holds count for a change: the object itself, and for configuration the pods that it would change.
    fn covered_sides<'a>(
        &'a self,
        key: &'a Key,
        slot: &'a Slot,
        change: ChangeKind,
    ) -> impl Iterator<Item = (&'a Key, Option<&'a Workload>)> {
        let users = self.changed_users(key, change).map(|(pod, workload)| (pod, Some(workload)));
        std::iter::once((key, slot.workload())).chain(users)
    }

    /// The pods that a change of configuration would change. One that was let through and waits for its configuration to
    /// start with is not changed by it: without it, it could never start.
    fn changed_users(&self, config: &Key, change: ChangeKind) -> impl Iterator<Item = (&Key, &Workload)> {
        self.users_of(config)
            .filter(move |(pod, _)| change != ChangeKind::Start || !self.is_waiting_to_start(pod))
    }

    /// Whether a pod is known not to run yet. One that is merely not ready runs, one that nobody has reported may, and one that
    /// begins anew after an update, a crash or a start of the machine has its configuration.
    fn is_waiting_to_start(&self, pod: &Key) -> bool {
        let applied = self.slots.get(pod).and_then(|slot| slot.applied.as_ref());
        applied.is_some_and(|applied| {
            !applied.has_run && matches!(applied.stage, Stage::Delivered(Health::Starting | Health::Pulling))
        })
    }

    /// The running pods that use a ConfigMap or Secret, with their workloads.
    pub(super) fn users_of(&self, config: &Key) -> impl Iterator<Item = (&Key, &Workload)> {
        let users = self.index.users.get(config).into_iter().flatten();
        users.filter_map(|pod| Some((pod, self.slots.get(pod)?.workload()?)))
    }

    /// The workloads whose hold annotation keeps this change back and that no release covers it for. A pod has one;
    /// configuration has as many as use it.
    fn arming_workloads(&self, key: &Key, slot: &Slot, change: ChangeKind) -> BTreeSet<Workload> {
        let released = |workload: &Workload| {
            self.grants
                .get(workload)
                .is_some_and(|grant| self.grant_covers(workload, grant, key, slot, change))
        };
        let is_armed =
            |workload: &Workload| self.index.workloads.get(workload).is_some_and(|sums| sums.armed > 0);
        if !key.kind.runs() {
            let users = self.changed_users(key, change).map(|(_, workload)| workload);
            return users.filter(|workload| is_armed(workload) && !released(workload)).cloned().collect();
        }
        let Some(workload) = slot.workload() else { return BTreeSet::new() };
        let allowed = |version: &Version| {
            change == ChangeKind::Start
                && version.first_install_allowed
                && self.is_first_install(workload, &version.revision)
        };
        let first = change == ChangeKind::Start && slot.wanted.as_ref().is_some_and(allowed);
        let armed = !first && (slot.versions().any(|version| version.hold) || is_armed(workload));
        (armed && !released(workload)).then(|| workload.clone()).into_iter().collect()
    }

    fn grant_covers(
        &self,
        workload: &Workload,
        grant: &Grant,
        key: &Key,
        slot: &Slot,
        change: ChangeKind,
    ) -> bool {
        if !self.guards(Guard::BindGrantsToARevision) && key.kind.runs() {
            return true;
        }
        grant.covers(key, slot, change) && (!grant.expired || self.is_stopped(workload))
    }

    /// Whether a change belongs to something that was under way before the barrier went up: an open release, which is
    /// one unit, a workload that has been stopped and not been started again, or configuration that a pod which was let
    /// through waits for.
    fn is_in_flight(&self, key: &Key, slot: &Slot, change: ChangeKind) -> bool {
        if !key.kind.runs() {
            let awaited = |pod: &Key| change == ChangeKind::Start && self.is_waiting_to_start(pod);
            return self.users_of(key).any(|(pod, workload)| {
                let grant = self.grants.get(workload);
                awaited(pod)
                    || grant.is_some_and(|grant| self.grant_covers(workload, grant, key, slot, change))
            });
        }
        slot.workload().is_some_and(|workload| {
            let grant = self.grants.get(workload);
            let released = grant.is_some_and(|grant| self.grant_covers(workload, grant, key, slot, change));
            released || (change == ChangeKind::Start && self.is_missing(workload))
        })
    }

    /// Whether something of this workload was stopped for which nothing has started yet.
    pub(super) fn is_missing(&self, workload: &Workload) -> bool {
        self.replacements.get(workload).is_some_and(|replacement| replacement.missing > 0)
    }

    /// Whether a successor is still waited for, rather than only let through when it comes.
    pub(super) fn is_awaited(&self, workload: &Workload) -> bool {
        let ending = || self.index.workloads.get(workload).is_some_and(|sums| sums.ending > 0);
        self.replacements.get(workload).is_some_and(|replacement| {
            replacement.missing > 0 && (self.clock.age() < replacement.until || ending())
        })
    }

    /// Whether a workload would be left stopped, in part or altogether, if nothing more of it could start.
    pub(super) fn is_stopped(&self, workload: &Workload) -> bool {
        self.is_missing(workload)
            || self.index.workloads.get(workload).is_none_or(|sums| sums.revisions.is_empty())
    }

    /// The kubelet counts a pod that is still ending. A start that it sees too early is refused for good, and two pods
    /// of one name would run at once. What can only be there once waits even for an end that is still held; of the rest,
    /// a held end keeps its own place and the others need not wait for it. A pod that is gone from the API makes room
    /// that the scheduler gives to anybody, so everybody waits for its end.
    fn waits_for_an_end(&self, key: &Key, slot: &Slot) -> bool {
        let Some(workload) = slot.workload().filter(|_| key.kind.runs()) else { return false };
        let sums = self.index.workloads.get(workload);
        let leaving =
            sums.is_some_and(|sums| if workload.is_single() { sums.leaving > 0 } else { sums.ending > 0 });
        leaving || self.index.private > 0
    }

    /// The machine counts a pod that is gone from the API and kept running, the scheduler does not: it may have given the
    /// same room to somebody else, and who is shown to a kubelet that has no room is refused for good.
    fn fits(&self, key: &Key, slot: &Slot) -> bool {
        let Some(wanted) = slot.wanted.as_ref().filter(|_| key.kind == Kind::Pod) else { return true };
        wanted.needs.iter().all(|(name, amount)| {
            let room = if name.starts_with(PORT) { Some(&1) } else { self.room.get(name) };
            let taken = self.index.taken.get(name).copied().unwrap_or_default();
            room.is_none_or(|room| taken.saturating_add(*amount) <= *room)
        })
    }

    /// Takes note of what the machine has, and decides again what may have waited for it.
    pub(super) fn measure(&mut self, turn: &mut Turn, room: Needs) {
        if self.room != room {
            self.room = room;
            turn.node = true;
            turn.todo.extend(self.index.pending.iter().cloned());
        }
    }

    /// Decides everything on the list until nothing is left on it.
    pub(super) fn decide(&mut self, turn: &mut Turn) {
        while !turn.todo.is_empty() {
            let mut batch: Vec<_> = std::mem::take(&mut turn.todo).into_iter().collect();
            // Ends come before starts, and a pod's configuration before the pod.
            batch.sort_by_key(|key| {
                let change = self.slots.get(key).and_then(|slot| slot.pending(key.kind));
                (key.kind.runs() && change != Some(ChangeKind::Stop), change)
            });
            // A newer revision counts before any end that comes in the same list is decided.
            for key in &batch {
                self.bind_grant(turn, key);
            }
            for key in batch {
                self.decide_one(turn, &key);
            }
        }
    }

    fn decide_one(&mut self, turn: &mut Turn, key: &Key) {
        let was = self.slots.get(key).and_then(|slot| slot.held);
        let held = match self.verdict(key) {
            Some((change, Verdict::Admitted)) => {
                self.admit(turn, key, change);
                None
            }
            Some((_, Verdict::Held(causes))) => causes.first().map(Cause::kind),
            None => None,
        };
        match (held, was) {
            (Some(by), Some(held)) if held.by == by => {}
            (Some(by), _) => {
                let since = was.map_or_else(|| self.clock.stamp(), |held| held.since);
                turn.effects.push(Effect::Held { key: key.clone(), by });
                self.change_slot(turn, key, |slot| slot.held = Some(Held { since, by }));
            }
            (None, Some(_)) => {
                turn.effects.push(Effect::NoLongerHeld { key: key.clone() });
                self.change_slot(turn, key, |slot| slot.held = None);
            }
            (None, None) => {}
        }
    }

    /// What was released together gets the same revision.
    fn bind_later_ordinals(&mut self, turn: &mut Turn, workload: &Workload, order: u64, first: &Version) {
        let set = Workload { ordinal: None, ..workload.clone() };
        let later = self
            .grants
            .range_mut(set.ordinals())
            .filter(|(_, grant)| grant.order == order && grant.target == Target::FirstSuccessor);
        let mut bound = Vec::new();
        for (workload, grant) in later {
            grant.target = Target::Revision(first.revision.clone());
            grant.born = first.born;
            bound.push(workload.clone());
        }
        for workload in bound {
            self.touch_grant(turn, &workload);
        }
    }

    /// Binds a release that waits for its successor to the first one that shows up, and notices a newer one.
    fn bind_grant(&mut self, turn: &mut Turn, key: &Key) {
        let Some(slot) = self.slots.get(key).filter(|_| key.kind.runs()) else { return };
        let running = slot.applied.as_ref().map(|applied| &applied.version.uid);
        let successor = slot.wanted.as_ref().filter(|wanted| Some(&wanted.uid) != running);
        let (Some(workload), Some(successor)) = (slot.workload().cloned(), successor.cloned()) else {
            return;
        };
        let Some(grant) = self.grants.get_mut(&workload) else { return };
        if grant.target == Target::FirstSuccessor {
            grant.target = Target::Revision(successor.revision.clone());
            grant.born = successor.born;
            let order = grant.order;
            self.bind_later_ordinals(turn, &workload, order, &successor);
        } else if grant.is_superseded_by(&successor) && !grant.superseded {
            grant.superseded = true;
        } else {
            return;
        }
        self.touch_grant(turn, &workload);
    }
}
