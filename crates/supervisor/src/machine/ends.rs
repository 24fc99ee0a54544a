//! What follows when a run of a module comes to its end.

use std::{mem, sync::Arc, time::Duration};

use crate::{
    backoff,
    clock::Moment,
    exit::Exit,
    failure::FailureKind,
    fault::Fault,
    module::Kind,
    policy::RestartType,
    scope::{End, Teardown},
};

use super::{
    Effect, Machine,
    slot::{Phase, Rest, Trouble, Verdict},
};

/// How often a module that ended because something is missing looks again. Together with its start this stays
/// well within the second that a recovery may take.
const DEPENDENCY_RETRY: Duration = Duration::from_millis(500);

impl Machine {
    pub(super) fn ended(&mut self, id: usize, end: End, now: Moment) {
        let slot = &mut self.slots[id];
        if !matches!(slot.phase, Phase::Running(_)) {
            // We had ended it already, and it was faster than the news of that.
            return;
        }
        match end {
            End::Completed if slot.spec.kind == Kind::OneShot => self.complete(id, now),
            End::Completed => self.fail(id, Trouble::unexpected_return(), now),
            End::Faulty { fault: Fault::Dependency { name, cause }, .. } => {
                if slot.looks_for.as_ref() != Some(&name) {
                    self.effects.push(Effect::Wait { id, what: name.clone(), cause });
                    slot.looks_for = Some(name);
                }
                self.end(id, Rest::Waiting { retry_at: now.at + DEPENDENCY_RETRY });
            }
            End::Faulty { task, fault: Fault::Transient(cause) } => {
                self.fail(id, Trouble::fault(FailureKind::Transient, task, cause), now);
            }
            End::Faulty { task, fault: Fault::Permanent(cause) } => {
                self.fail(id, Trouble::fault(FailureKind::Permanent, task, cause), now);
            }
            End::Panicked { task, panic } => self.fail(id, Trouble::panic(task, panic), now),
        }
    }

    fn complete(&mut self, id: usize, now: Moment) {
        let policy = &self.rules.policies[id];
        let slot = &mut self.slots[id];
        slot.attempt = 0;
        slot.looks_for = None;
        let then = match policy.restart_type {
            RestartType::OnFailure => Rest::Completed,
            RestartType::Always => {
                let until = now + self.jitter.spread(backoff::wait(policy, 1), policy.jitter);
                Rest::Backoff { until, cause: "completed, and restartType is Always".into() }
            }
        };
        slot.phase = Phase::Ending { then };
        slot.doomed = false;
    }

    pub(super) fn gone(&mut self, id: usize, teardown: Teardown, now: Moment) {
        if let Teardown::Stuck { tasks } = teardown {
            self.fail(id, Trouble::stuck(&tasks), now);
        }
        let slot = &mut self.slots[id];
        match mem::replace(&mut slot.phase, Phase::Resting(Rest::Stopped)) {
            Phase::Ending { then } => slot.phase = Phase::Resting(then),
            // What was stuck has gone after all: it may be restarted now.
            Phase::Resting(Rest::Failed { cause, .. }) => {
                slot.phase = Phase::Resting(Rest::Failed { cause, stuck: false });
            }
            Phase::Running(_) | Phase::Resting(_) => {
                unreachable!("a tree goes away only after its module has ended")
            }
        }
    }

    /// A failure: remembers it, decides what follows, and takes down those that are
    /// restarted together with it.
    pub(super) fn fail(&mut self, id: usize, trouble: Trouble, now: Moment) {
        let policy = Arc::clone(&self.rules.policies[id]);
        let slot = &mut self.slots[id];
        slot.attempt += 1;
        slot.looks_for = None;
        let pressure = slot.recent.add(now.at, policy.intensity);
        let verdict = slot.verdict(trouble.kind, pressure, &policy, self.rules.module_restart);
        let wait = match verdict {
            // No start follows any more, whatever the verdict is.
            _ if self.exit.is_some() => None,
            Verdict::Restart => Some(backoff::wait(&policy, slot.attempt)),
            Verdict::Pause => Some(policy.intensity.window.max(backoff::wait(&policy, slot.attempt))),
            Verdict::GiveUp | Verdict::Escalate => None,
        };
        let wait = wait.map(|wait| self.jitter.spread(wait, policy.jitter));
        let stuck = trouble.kind == FailureKind::Stuck;
        let failure = trouble.into_failure(now.wall, slot.attempt, wait);
        let (cause, module) = (failure.cause.clone(), slot.spec.name);
        slot.failures.push(failure.clone());
        self.effects.push(Effect::Record { id, failure });
        let then = match wait {
            Some(wait) => Rest::Backoff { until: now + wait, cause: cause.clone() },
            None => Rest::Failed { cause: cause.clone(), stuck },
        };
        self.end(id, then);
        if verdict == Verdict::Escalate && self.exit.is_none() {
            self.effects.push(Effect::Escalate { module, cause: cause.clone() });
            self.leave(Exit::Escalated { module: module.into(), cause });
        }
    }

    /// The module is ending, and those that require it have to as well.
    fn end(&mut self, id: usize, then: Rest) {
        self.slots[id].phase = Phase::Ending { then };
        self.slots[id].doomed = false;
        self.doom_those_that_require(id);
    }
}
