//! Inputs as events, with the time they take.

use std::collections::BTreeSet;

use safepoint_core::{
    Ask, Digest, Event, Health, HoldId, Holder, Key, LeaseAsk, OnExpiry, Origin, Override, Released, Request,
    RequestId, Scope, Sighting, Span,
};

use super::cluster::{config_key, workload};
use super::{DAY, Input, LEASE, LISTED, MOMENT, World, YEAR};
use crate::history::workload_of;
use crate::setting::Setting;

impl World {
    pub(super) fn pass_time(&mut self, input: &Input) {
        if *input == Input::Jump {
            self.now.wall.0 += YEAR;
        }
        let passed = match input {
            Input::Tick => MOMENT,
            Input::Age => DAY,
            _ => Span::ZERO,
        };
        self.now.monotonic.0 += passed.0;
        self.now.wall.0 += i64::try_from(passed.0).unwrap_or_default();
    }

    pub(super) fn event(&self, setting: &Setting, input: &Input) -> Event {
        match input {
            Input::Observe(key) => observed(vec![self.sighting(setting, key)]),
            Input::Relist => Event::Observed {
                sightings: self
                    .cluster
                    .versions(setting)
                    .into_iter()
                    .map(|(key, version)| Sighting::Present(key, version))
                    .collect(),
                complete: LISTED.into(),
            },
            Input::Stale => {
                let stale = self.history.stale.clone().map(|(key, version)| Sighting::Present(key, version));
                observed(stale.into_iter().collect())
            }
            Input::Ready(key) => self.report(key, &self.machine.view[key].digest),
            Input::Late(key) => {
                let shown = &self.machine.view[key];
                self.report(key, shown.before.as_ref().unwrap_or(&shown.digest))
            }
            Input::Ended(key) => Event::Ended { key: key.clone(), uid: self.machine.view[key].uid.clone() },
            Input::Hold => Self::ask(Ask::Hold {
                id: HoldId::from(format!("hold-{}", self.left.holds)),
                reason: "mission".into(),
                scope: match self.left.holds % 2 {
                    0 => Scope::Workload(workload(0, &setting.plans[0])),
                    _ => Scope::Node,
                },
                lease: None,
            }),
            Input::Drop => {
                let plain = self.gate.holds().iter().find(|(_, hold)| !hold.is_freeze());
                Self::ask(Ask::Drop { id: plain.map_or_else(|| HoldId::from("none"), |(id, _)| id.clone()) })
            }
            Input::Freeze => Self::ask(Ask::Freeze {
                id: HoldId::from(format!("freeze-{}", self.left.freezes)),
                reason: "mission".into(),
                lease: setting.leased.then_some(LeaseAsk { length: LEASE, on_expiry: OnExpiry::ThawIfSafe }),
                settle: if self.left.freezes.is_multiple_of(2) { Span::from_mins(1) } else { Span::ZERO },
                keep_barrier: setting.keep_barrier,
            }),
            Input::Thaw => Self::ask(Ask::Thaw),
            Input::Release(number) => Self::ask(release(setting, *number)),
            Input::OverrideThaw => Self::overriding(Ask::Thaw),
            Input::OverrideRelease(number) => Self::overriding(release(setting, *number)),
            Input::Jump | Input::Tick | Input::Age => Event::Ticked,
        }
    }

    fn report(&self, key: &Key, digest: &Digest) -> Event {
        let uid = self.machine.view[key].uid.clone();
        Event::Reported { key: key.clone(), uid, digest: digest.clone(), health: Health::Ready }
    }

    /// What the cluster has under this name now.
    fn sighting(&self, setting: &Setting, key: &Key) -> Sighting {
        match (self.cluster.version(setting, key), self.gate.slots().get(key)) {
            (Some(version), _) => Sighting::Present(key.clone(), version),
            (None, Some(slot)) => {
                let uid = slot.versions().last().map_or_else(|| "none".into(), |version| version.uid.clone());
                Sighting::Gone(key.clone(), uid)
            }
            (None, None) => Sighting::Gone(key.clone(), "none".into()),
        }
    }

    fn ask(ask: Ask) -> Event {
        let caller = Holder { name: "flight-control".into(), origin: Origin::Local };
        Event::Asked(Request { id: RequestId(0), caller, order: None, overriding: None, ask })
    }

    fn overriding(ask: Ask) -> Event {
        let caller = Holder { name: "admin".into(), origin: Origin::Remote };
        let overriding = Some(Override { reason: "recall".into(), length: Span::from_mins(5) });
        Event::Asked(Request { id: RequestId(0), caller, order: None, overriding, ask })
    }

    /// Names that the gate and the cluster do not agree about.
    pub(super) fn disagreements(&self, setting: &Setting) -> BTreeSet<Key> {
        let known = self.gate.slots().keys().cloned();
        let keys: BTreeSet<Key> =
            known.chain(self.cluster.pods.keys().cloned()).chain([config_key()]).collect();
        let configured = setting.plans.iter().any(|plan| plan.configured);
        keys.into_iter()
            .filter(|key| workload_of(key).is_some() || configured)
            .filter(|key| {
                let wanted = self.gate.slots().get(key).and_then(|slot| slot.wanted.as_ref());
                self.cluster.version(setting, key).as_ref() != wanted
            })
            .collect()
    }
}

fn observed(sightings: Vec<Sighting>) -> Event {
    Event::Observed { sightings, complete: BTreeSet::new() }
}

fn release(setting: &Setting, number: usize) -> Ask {
    Ask::Release { what: Released::Workload(workload(number, &setting.plans[number])), revision: None }
}
