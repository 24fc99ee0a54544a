//! Every decision of the supervisor, pure: which module starts, stops, waits or is given up, and when.
//!
//! The same history of events always gives the same effects; the driver ([`supervisor`](crate::supervisor))
//! does the waiting and carries the effects out, in order. A module is a [`Slot`] that goes round like this:
//!
//! ```text
//!            Start                    Ended, or a deadline passed                  Gone
//! Resting ──────────► Running ────────────────────────────────────► Ending ──────────────► Resting
//! (stopped, backoff, waiting, failed, completed)             (its tasks are being ended)
//! ```
//!
//! After every event two steps run for all modules: `expire` (which deadlines have passed?) and `settle` (who
//! may be cancelled or started now?). So no event has to think of the order of starts and stops.

use std::{mem, sync::Arc, time::Duration};

use crate::{
    backoff::Jitter,
    clock::Moment,
    ctx::Report,
    exit::Exit,
    failure::{Failure, Ring},
    graph::Graph,
    module::Spec,
    policy::{Policy, Profile},
    scope::{End, Teardown},
};
use slot::{Overdue, Phase, Rest, Slot, Trouble};

mod ends;
mod slot;
mod view;

/// What happened.
#[derive(Debug)]
pub(crate) enum Event {
    /// Time has passed, or a module was heard (see [`Machine::hear`]).
    Woke,
    Ended {
        id: usize,
        end: End,
    },
    Gone {
        id: usize,
        teardown: Teardown,
    },
    RestartAsked {
        id: usize,
    },
    Reconfigured(Rules),
    StopAsked,
}

/// What the driver has to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Effect {
    Start {
        id: usize,
    },
    Cancel {
        id: usize,
    },
    Record {
        id: usize,
        failure: Failure,
    },
    /// Only to tell: the module waits for something that it did not wait for before.
    Wait {
        id: usize,
        what: String,
        cause: String,
    },
    /// Only to tell: the process is being left.
    Escalate {
        module: &'static str,
        cause: String,
    },
}

/// The configuration, checked.
#[derive(Debug)]
pub(crate) struct Rules {
    pub(crate) module_restart: bool,
    pub(crate) profile: Profile,
    /// In the order of the modules.
    pub(crate) policies: Vec<Arc<Policy>>,
}

pub(crate) struct Machine {
    /// Module numbers are those of the graph.
    graph: Graph,
    slots: Vec<Slot>,
    rules: Rules,
    jitter: Jitter,
    /// Set once we are on the way out.
    exit: Option<Exit>,
    effects: Vec<Effect>,
}

/// Whether a module can be restarted by request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Restartable {
    Yes,
    /// Its old tasks still block their threads; a second set would share their files and sockets.
    Stuck,
    /// Everything is being stopped.
    Exiting,
}

// === impl Machine ===

impl Machine {
    pub(crate) fn new(graph: Graph, modules: Vec<(Spec, Ring)>, rules: Rules, jitter: Jitter) -> Self {
        let slots = modules.into_iter().map(|(spec, failures)| Slot::new(spec, failures)).collect();
        Self { graph, slots, rules, jitter, exit: None, effects: vec![] }
    }

    /// Takes in what a module has said, and when it last gave a sign of life. Decides nothing; to be called
    /// for every run before every [`step`](Self::step).
    pub(crate) fn hear(&mut self, id: usize, report: Option<Report>, last_beat: Duration, now: Moment) {
        self.slots[id].credit_health(&self.rules.policies[id], now.at);
        self.slots[id].hear(report, last_beat, now);
    }

    pub(crate) fn step(&mut self, event: Event, now: Moment) -> Vec<Effect> {
        match event {
            Event::Woke => {}
            Event::Ended { id, end } => self.ended(id, end, now),
            Event::Gone { id, teardown } => self.gone(id, teardown, now),
            Event::RestartAsked { id } => self.restart(id),
            Event::Reconfigured(rules) => self.reconfigure(rules),
            Event::StopAsked => self.leave(Exit::Stopped),
        }
        self.expire(now);
        self.settle(now);
        mem::take(&mut self.effects)
    }

    /// The next time at which something has to be decided even if nothing happens.
    pub(crate) fn next_deadline(&self) -> Option<Duration> {
        let deadlines =
            self.slots.iter().zip(&self.rules.policies).filter_map(|(slot, policy)| slot.deadline(policy));
        deadlines.min()
    }

    /// Why we are done, once we are.
    pub(crate) fn finished(&self) -> Option<&Exit> {
        self.exit.as_ref().filter(|_| !self.slots.iter().any(Slot::is_alive))
    }

    pub(crate) fn is_leaving(&self) -> bool {
        self.exit.is_some()
    }

    pub(crate) fn policy(&self, id: usize) -> &Policy {
        &self.rules.policies[id]
    }

    pub(crate) fn failures(&self, id: usize) -> Ring {
        self.slots[id].failures.clone()
    }

    /// Whether a restart can be asked for.
    pub(crate) fn can_restart(&self, id: usize) -> Restartable {
        match self.slots[id].phase {
            _ if self.exit.is_some() => Restartable::Exiting,
            Phase::Resting(Rest::Failed { stuck: true, .. }) => Restartable::Stuck,
            _ => Restartable::Yes,
        }
    }

    fn restart(&mut self, id: usize) {
        if self.can_restart(id) != Restartable::Yes {
            return;
        }
        let slot = &mut self.slots[id];
        slot.attempt = 0;
        slot.looks_for = None;
        match &mut slot.phase {
            Phase::Resting(rest) | Phase::Ending { then: rest } => *rest = Rest::Stopped,
            Phase::Running(_) => slot.doom(),
        }
        self.doom_those_that_require(id);
    }

    /// New values hold from the next decision on; a failure that was final under the old
    /// ones gets another chance.
    fn reconfigure(&mut self, rules: Rules) {
        self.rules = rules;
        for slot in &mut self.slots {
            if let Phase::Resting(rest @ Rest::Failed { stuck: false, .. }) = &mut slot.phase {
                *rest = Rest::Stopped;
                slot.attempt = 0;
            }
        }
    }

    fn doom_those_that_require(&mut self, id: usize) {
        for other in self.graph.restarted_with(id) {
            self.slots[other].doom();
        }
    }

    /// The first reason to leave is the one that counts.
    fn leave(&mut self, exit: Exit) {
        self.exit.get_or_insert(exit);
        self.slots.iter_mut().for_each(Slot::doom);
    }

    /// Ends the waits that are over and the modules whose deadlines have passed.
    fn expire(&mut self, now: Moment) {
        for id in 0..self.slots.len() {
            let policy = Arc::clone(&self.rules.policies[id]);
            self.slots[id].end_wait(now.at);
            let trouble = match self.slots[id].overdue(&policy, now.at) {
                Overdue::Nothing => continue,
                Overdue::Ready => Trouble::not_ready(policy.start_deadline),
                Overdue::Heartbeat(deadline) => Trouble::hang(deadline),
            };
            self.fail(id, trouble, now);
            self.effects.push(Effect::Cancel { id });
        }
    }

    /// Cancels and starts whatever may be by now.
    fn settle(&mut self, now: Moment) {
        for id in (0..self.slots.len()).rev() {
            if self.slots[id].doomed
                && !self.graph.dependents(id).into_iter().any(|other| self.slots[other].is_going())
            {
                self.slots[id].doomed = false;
                self.slots[id].phase = Phase::Ending { then: Rest::Stopped };
                self.effects.push(Effect::Cancel { id });
            }
        }
        for id in 0..self.slots.len() {
            if self.may_start(id) {
                self.slots[id].start(now);
                self.effects.push(Effect::Start { id });
            }
        }
        if self.exit.is_none() && !self.slots.iter().any(Slot::has_a_future) {
            // A process in which nothing runs, and nothing will, helps nobody by staying.
            let exit = self.slots.iter().find_map(Slot::failed).map_or(Exit::Completed, |(module, cause)| {
                self.effects.push(Effect::Escalate { module, cause: cause.into() });
                Exit::Escalated { module: module.into(), cause: cause.into() }
            });
            self.exit = Some(exit);
        }
    }

    fn may_start(&self, id: usize) -> bool {
        let wants_to = matches!(self.slots[id].phase, Phase::Resting(Rest::Stopped));
        wants_to && self.exit.is_none() && self.obstacle(id).is_none()
    }

    /// The module that keeps this one from starting.
    fn obstacle(&self, id: usize) -> Option<usize> {
        let missing = self.graph.needs(id).iter().copied().find(|need| !self.slots[*need].is_serving());
        // Whoever was built on the old run must be gone before there is a new one.
        missing
            .or_else(|| self.graph.restarted_with(id).into_iter().find(|other| self.slots[*other].is_alive()))
    }
}

#[cfg(test)]
mod tests;
