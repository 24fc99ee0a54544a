//! One step of a world: the gate is told something, what comes of it is made durable and then visible, and the invariants
//! that speak about steps are checked on the way.

use safepoint_core::{
    Alarm, Answer, Ask, Change, ChangeKind, Config, Effect, Event, Gate, Guard, HoldId, Key, Mode, Outcome,
    Request, Sighting,
};

use super::cluster::number;
use super::{Crash, Input, World};
use crate::history::workload_of;
use crate::invariants::{self, Invariant};
use crate::setting::Setting;

// === impl World ===

impl World {
    pub(super) fn tell(&mut self, setting: &Setting, off: Option<Guard>, input: &Input, crash: Crash) {
        let before = self.clone();
        self.pass_time(input);
        let event = self.event(setting, input);
        let Outcome { records, effects } = self.gate.step(event.clone(), self.now);
        records.into_iter().for_each(|record| self.journal.put(record));
        self.remember(setting, input, &event, &effects);
        let visible = match crash {
            Crash::No => effects.len(),
            Crash::AfterCommit => 0,
            Crash::AfterFirstEffect => effects.len().min(1),
        };
        for effect in &effects[..visible] {
            self.show(setting, effect);
        }
        if crash != Crash::No {
            self.restart(setting, off, &effects);
        }
        for effect in &effects {
            match effect {
                Effect::GrantClosed(workload, _) => {
                    self.history.releases.remove(&usize::from(number(&workload.name)));
                }
                Effect::Alarm(Alarm::ReleaseExpired(workload)) => {
                    let release = self.history.releases.get_mut(&usize::from(number(&workload.name)));
                    release.into_iter().for_each(|release| release.expired = true);
                }
                _ => {}
            }
        }
        self.check(
            Invariant::Frozen,
            invariants::invariant_a_freeze_ends_only_when_told(&before, self, setting, input),
        );
        let promises = invariants::invariant_no_promise_is_lost(self);
        self.check(Invariant::Crash, promises);
    }

    /// Notes what is on record now, whether anybody has been told or not.
    fn remember(&mut self, setting: &Setting, input: &Input, event: &Event, effects: &[Effect]) {
        if let (Event::Observed { sightings, complete }, false) = (event, *input == Input::Stale) {
            let mut missing: Vec<Key> = Vec::new();
            if !complete.is_empty() {
                missing.extend(self.history.known.keys().cloned());
                self.history.resyncing = false;
            }
            for sighting in sightings {
                let (key, version) = match sighting {
                    Sighting::Present(key, version) => (key, Some(version.clone())),
                    Sighting::Gone(key, _) => (key, None),
                };
                missing.retain(|known| known != key);
                self.history.saw(&self.machine, key, version);
            }
            for key in missing {
                self.history.saw(&self.machine, &key, None);
            }
        }
        match event {
            Event::Ended { key, .. } => self.end(key),
            Event::Reported { key, digest, .. } => {
                if let Some(shown) = self.machine.view.get_mut(key).filter(|shown| shown.digest == *digest) {
                    (shown.ready, shown.has_run) = (true, true);
                    shown.before = None;
                }
            }
            _ => {}
        }
        let answer = effects.iter().find_map(|effect| match effect {
            Effect::Answer(_, answer) => Some(answer),
            _ => None,
        });
        // A barrier falls when the freeze is given up or its time is over, and in no other way.
        let may_fall = matches!(input, Input::Thaw | Input::OverrideThaw | Input::Freeze | Input::Age);
        if may_fall && self.gate.mode() != Mode::Freezing {
            self.history.barrier = None;
        }
        match (input, answer) {
            (Input::Freeze, _) if self.gate.mode() == Mode::Freezing && self.history.barrier.is_none() => {
                self.history.barrier = Some(self.history.in_flight(&self.machine));
                self.history.lease_up = false;
            }
            (Input::Freeze, _) => self.history.lease_up = false,
            (Input::Drop, Some(_)) => {
                let kept = self.gate.holds();
                self.history.holds.retain(|id, _| asked_to_drop(event) != Some(id) || kept.contains_key(id));
            }
            (Input::Thaw | Input::OverrideThaw, Some(Answer::Thawing)) => {
                self.history.resyncing |= self.history.frozen;
                self.history.frozen = false;
            }
            (Input::Release(workload), Some(Answer::Released { workloads, .. })) if !workloads.is_empty() => {
                self.history.released(setting, &self.machine, *workload, false);
            }
            (Input::OverrideRelease(workload), Some(Answer::Released { .. })) => {
                self.history.released(setting, &self.machine, *workload, true);
            }
            (Input::Age, _) => {
                self.history.lease_up = true;
                self.forget_owed();
                if setting.leased && self.history.frozen && self.gate.mode() != Mode::Frozen {
                    self.history.frozen = false;
                    self.history.resyncing = true;
                }
            }
            _ => {}
        }
    }

    /// After a day nobody waits for a successor any more, except where an end is still under way; and a surge is over
    /// when one pod is left.
    fn forget_owed(&mut self) {
        for (workload, owed) in &mut self.history.owed {
            let pods = || self.machine.view.iter().filter(|(key, _)| workload_of(key) == Some(*workload));
            let ending = pods().any(|(_, shown)| shown.ending);
            if !ending && (*owed > 0 || pods().count() <= 1) {
                *owed = 0;
            }
        }
    }

    /// The hold that was just asked for counts from now on; its name and scope are those of the event.
    fn acknowledge_hold(&mut self) {
        let id = HoldId::from(format!("hold-{}", self.left.holds));
        self.history.holds.insert(id, self.left.holds.is_multiple_of(2).then_some(0));
    }

    fn end(&mut self, key: &Key) {
        if let Some(shown) = self.machine.view.remove(key) {
            self.history.armed.remove(&shown.uid);
            // A pod that has ended does not come back; configuration may be given again.
            self.history.known.retain(|known, it| !known.kind.runs() || it.uid != shown.uid);
            self.cluster.remove(key, &shown.uid);
        }
    }

    /// Lets one effect become visible.
    fn show(&mut self, setting: &Setting, effect: &Effect) {
        match effect {
            Effect::Admit(change) => self.admit(setting, change),
            Effect::Discard { key, uid } => self.cluster.remove(key, uid),
            Effect::Answer(_, answer) => {
                self.check(
                    Invariant::Settled,
                    invariants::invariant_a_freeze_is_acknowledged_only_when_settled(self, answer),
                );
                match answer {
                    Answer::Holding { .. } => self.acknowledge_hold(),
                    Answer::Frozen { .. } => {
                        self.history.frozen = true;
                        self.history.barrier = None;
                    }
                    Answer::Released { workloads, .. } => {
                        for workload in workloads {
                            let number = usize::from(number(&workload.name));
                            if let Some(release) = self.history.releases.get_mut(&number) {
                                release.acknowledged = true;
                            }
                        }
                    }
                    Answer::Refused(_)
                    | Answer::Renewed
                    | Answer::Dropped { .. }
                    | Answer::Thawing
                    | Answer::StillFrozen { .. }
                    | Answer::DecidedBefore => {}
                }
            }
            Effect::Held { .. }
            | Effect::NoLongerHeld { .. }
            | Effect::Relist
            | Effect::ModeIs(_)
            | Effect::GrantClosed(..)
            | Effect::Alarm(_) => {}
        }
    }

    fn admit(&mut self, setting: &Setting, change: &Change) {
        self.check(Invariant::Frozen, invariants::invariant_nothing_is_admitted_while_frozen(self, change));
        self.check(
            Invariant::Held,
            invariants::invariant_nothing_held_is_admitted_unreleased(self, setting, change),
        );
        self.check(
            Invariant::Converges,
            invariants::invariant_ends_come_before_starts(self, setting, change),
        );
        self.check(Invariant::Dead, invariants::invariant_the_dead_never_start(self, change));
        self.machine.carry_out(change);
        let armed =
            self.history.known.get(&change.key).is_some_and(|known| known.uid == change.uid && known.hold);
        // What runs now is the admitted version, with the annotation that it has.
        match (change.kind, armed) {
            (ChangeKind::Start | ChangeKind::Update, true) => {
                self.history.armed.insert(change.uid.clone());
            }
            (ChangeKind::Start | ChangeKind::Update, false) => drop(self.history.armed.remove(&change.uid)),
            (ChangeKind::Stop, _) => {}
        }
        let Some(workload) = workload_of(&change.key) else { return };
        let mut pods = self.machine.view.keys().filter(|key| workload_of(key) == Some(workload));
        let beside = pods.any(|key| *key != change.key);
        let Some(owed) = self.history.owed.get_mut(&workload) else { return };
        match change.kind {
            ChangeKind::Stop => *owed += 1,
            // A start that comes before the end that it is for is owed back.
            ChangeKind::Start if *owed > 0 || beside => *owed -= 1,
            ChangeKind::Start | ChangeKind::Update => {}
        }
    }

    /// The agent comes back: the gate from the journal, and the doors show what it has on record.
    pub(super) fn restart(&mut self, setting: &Setting, off: Option<Guard>, interrupted: &[Effect]) {
        self.gate = Gate::recover(Config::default(), self.journal.clone(), self.now).without(off);
        let difference = self.machine.difference(&self.gate);
        self.check(
            Invariant::Crash,
            invariants::invariant_a_restart_changes_nothing_else(&difference, interrupted),
        );
        for change in &difference {
            self.admit(setting, change);
        }
    }
}

fn asked_to_drop(event: &Event) -> Option<&HoldId> {
    match event {
        Event::Asked(Request { ask: Ask::Drop { id }, .. }) => Some(id),
        _ => None,
    }
}
