//! The machine's state as people see it.

use std::sync::Arc;

use crate::{
    ctx::Report,
    exit::Exit,
    health::{Health, ModuleHealth, State},
};

use super::{
    Machine,
    slot::{Phase, Rest, Slot},
};

impl Machine {
    pub(crate) fn health(&self) -> Health {
        let modules =
            (0..self.slots.len()).map(|id| (self.slots[id].spec.name.into(), self.module_health(id)));
        let mut critical = self.slots.iter().filter(|slot| slot.spec.critical);
        Health {
            // A stuck critical module always is a reason to leave, so there is nothing else to look at.
            live: !matches!(self.exit, Some(Exit::Escalated { .. })),
            ready: critical.all(Slot::is_serving),
            profile: self.rules.profile,
            module_restart: self.rules.module_restart,
            modules: modules.collect(),
        }
    }

    fn module_health(&self, id: usize) -> ModuleHealth {
        let slot = &self.slots[id];
        ModuleHealth {
            state: self.state(id),
            critical: slot.spec.critical,
            restarts: slot.restarts,
            consecutive_failures: slot.attempt,
            failures: slot.failures.share(),
            policy: Arc::clone(&self.rules.policies[id]),
        }
    }

    fn state(&self, id: usize) -> State {
        let slot = &self.slots[id];
        let leaving = self.exit.is_some();
        match (&slot.phase, &slot.looks_for) {
            (Phase::Ending { then: Rest::Waiting { .. } }, Some(what)) if !leaving => waiting_for(what),
            (Phase::Ending { .. }, _) => State::Stopping,
            (Phase::Running(running), looks_for) => match (&running.report, looks_for) {
                (Report::Starting, Some(what)) | (Report::WaitingFor(what), _) => waiting_for(what),
                (Report::Starting, None) => State::Starting { since: running.since.wall },
                (Report::Ready, _) => State::Ready,
                (Report::Degraded(reason), _) => State::Degraded { reason: reason.clone() },
            },
            (Phase::Resting(Rest::Stopped | Rest::Waiting { .. }), looks_for) => {
                match (looks_for, self.obstacle(id)) {
                    _ if leaving => State::Stopped,
                    (Some(what), _) => waiting_for(what),
                    (None, Some(other)) => waiting_for(self.slots[other].spec.name),
                    (None, None) => State::Stopped,
                }
            }
            (Phase::Resting(Rest::Backoff { until, cause }), _) => {
                State::Backoff { attempt: slot.attempt, until: until.wall, cause: cause.clone() }
            }
            (Phase::Resting(Rest::Failed { cause, .. }), _) => State::Failed { cause: cause.clone() },
            (Phase::Resting(Rest::Completed), _) => State::Completed,
        }
    }
}

fn waiting_for(what: &str) -> State {
    State::WaitingFor { what: what.into() }
}
