//! What the probes of a container find, and what follows from it.
//!
//! A startup probe is asked until it succeeds once; only then the others begin. A liveness probe that fails has
//! the container stopped, which its restart policy then takes up. A readiness probe is only reported.

use tracing::info;

use super::{
    Event, PodTask,
    unit::{Abort, Life, Role},
};
use crate::{
    clock,
    probe::{Asked, Counter, Timing},
    spec::{Probe, seconds},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Startup,
    Liveness,
    Readiness,
}

impl PodTask {
    /// Gives every container that is up the probes it is due, once.
    pub(super) fn probe(&mut self) {
        for index in 0..self.units.len() {
            let unit = &self.units[index];
            if !matches!(unit.life, Life::Running { up: true, .. }) || unit.role == Role::Init {
                continue;
            }
            if !unit.checks.started {
                self.ask(index, Kind::Startup);
            } else if unit.probes.is_empty() {
                self.ask(index, Kind::Liveness);
                self.ask(index, Kind::Readiness);
            }
        }
    }

    pub(super) fn probed(&mut self, container: &str, attempt: u32, probe: Kind, outcome: Result<(), String>) {
        let (uid, grace) = (self.uid.clone(), self.pod.grace());
        let Some(unit) = self.unit_mut(container, attempt) else { return };
        info!(uid, container, attempt, ?probe, ?outcome, "a probe changed its mind");
        match (probe, outcome) {
            (Kind::Startup, Ok(())) => {
                unit.checks.started = true;
                // Its own task is among them, and the others are due now.
                unit.probes.clear();
            }
            (Kind::Readiness, outcome) => unit.checks.ready = outcome.is_ok(),
            (Kind::Liveness, Ok(())) => {}
            (Kind::Startup | Kind::Liveness, Err(message)) => {
                let (asked, name) = match probe {
                    Kind::Startup => (&unit.spec.startup_probe, "Startup"),
                    Kind::Liveness | Kind::Readiness => (&unit.spec.liveness_probe, "Liveness"),
                };
                let own = asked.as_ref().and_then(|probe| probe.termination_grace_period_seconds);
                unit.to_stop = Some((own.map_or(grace, seconds), format!("{name} probe failed: {message}")));
            }
        }
    }

    fn ask(&mut self, index: usize, kind: Kind) {
        let unit = &self.units[index];
        let probe: Option<&Probe> = match kind {
            Kind::Startup => unit.spec.startup_probe.as_ref(),
            Kind::Liveness => unit.spec.liveness_probe.as_ref(),
            Kind::Readiness => unit.spec.readiness_probe.as_ref(),
        };
        let (Some(probe), Some(attempt), Some(folder)) = (probe, unit.attempt, unit.run_folder()) else {
            return;
        };
        if kind == Kind::Startup && !unit.probes.is_empty() {
            return;
        }
        let Life::Running { started, .. } = &unit.life else { return };
        let Some(asked) = Asked::of(&probe.handler, &unit.spec, &folder) else { return };
        let timing = Timing::new(probe, clock::since(started.at, clock::now()));
        // A container that was ready before a restart of ours is ready until a probe says otherwise.
        let known = match kind {
            Kind::Readiness => Some(unit.checks.ready),
            Kind::Liveness => Some(true),
            Kind::Startup => None,
        };
        let mut counter = Counter::new(probe, known);
        let (sender, container) = (self.sender.clone(), unit.name.clone());
        let task = self.tasks.spawn(async move {
            let mut ticks = timing.ticks();
            loop {
                ticks.tick().await;
                let outcome = asked.ask(timing.timeout).await;
                if let Some(verdict) = counter.count(outcome.is_ok()) {
                    if !verdict && kind != Kind::Readiness {
                        counter.forget();
                    }
                    let event = Event::Probed { container: container.clone(), attempt, probe: kind, outcome };
                    if sender.send(event).is_err() || (kind == Kind::Startup && verdict) {
                        return;
                    }
                }
            }
        });
        self.units[index].probes.push(Abort(task));
    }
}
