//! A few machines, a hub, and everything that may happen to them.

mod hub;
mod machine;
mod options;

use safepoint_core::rollout::{Gate, Order, Presence, Rule, Started, Wanted};
use safepoint_core::{Revision, Span, Timestamp};
use serde::{Deserialize, Serialize};

use super::invariants::{self, Broken, Invariant};
use super::setting::{Chances, Setting};
pub(super) use hub::index_of;
pub use machine::Machine;

/// An hour: no deadline survives it.
pub const AGE: Span = Span::from_mins(60);

/// Everything there is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Fleet {
    /// What may still happen.
    pub left: Chances,
    /// The time.
    pub now: Timestamp,
    /// The number of the wanted revision.
    pub target: u8,
    /// Whether the order is paused.
    pub paused: bool,
    /// When failures were forgotten last.
    pub restarted: Option<Timestamp>,
    /// The machines.
    pub machines: Vec<Machine>,
    /// What the hub has started and not seen. It dies with the hub.
    pub started: Started,
    /// Counts creations, as the versions of the cluster do.
    pub version: u64,
    /// The widest the window has been.
    pub widest: usize,
    /// The first invariant that did not hold.
    pub broken: Option<Broken>,
}

/// Something that may happen. Machines are numbered.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Action {
    /// Somebody pushes a new template.
    Push,
    /// Somebody pauses, or ends the pause.
    Pause(bool),
    /// Somebody restarts the order.
    Restart,
    /// Somebody changes whether a machine shall have the pod.
    Want(usize, Wanted),
    /// The hub plans and acts.
    Plan,
    /// The hub plans, starts one task, and dies. The next one lists everything.
    PlanAndDie,
    /// What the hub sees of a machine stops being current.
    Lag(usize),
    /// It is current again.
    Catch(usize),
    /// A task begins.
    Begin(usize),
    /// A task that was removed before it had begun is gone.
    Gone(usize),
    /// A running task ends, well or not.
    End(usize, bool),
    /// The outcome of a task shows on the pod.
    Show(usize),
    /// The pod gets ready.
    Ready(usize),
    /// The pod goes unready by itself.
    Sicken(usize),
    /// The machine is frozen (every other time: held) or let go.
    Freeze(usize, bool),
    /// The machine goes away.
    Leave(usize),
    /// It is back.
    Return(usize),
    /// An hour passes.
    Age,
}

// === impl Fleet ===

impl Fleet {
    /// A fleet at rest: every machine runs the revision before the wanted one, and is ready.
    #[must_use]
    pub fn new(setting: &Setting) -> Self {
        Self {
            left: setting.chances,
            now: Timestamp(0),
            target: 1,
            paused: false,
            restarted: None,
            machines: vec![Machine::default(); setting.machines],
            started: Started::default(),
            version: 0,
            widest: 0,
            broken: None,
        }
    }

    /// The order as it is now.
    #[must_use]
    pub fn order(&self, setting: &Setting) -> Order {
        Order {
            target: revision(self.target),
            paused: self.paused,
            restarted: self.restarted,
            ..setting.order.clone()
        }
    }

    /// What comes of an action. The invariants are checked on the way.
    #[must_use]
    pub fn after(&self, setting: &Setting, off: Option<Rule>, action: Action) -> Self {
        let mut fleet = self.clone();
        fleet.left = self.spend(action);
        fleet.act(setting, off, action);
        let within = invariants::invariant_no_more_are_down_by_our_doing_than_the_budget(&fleet);
        fleet.check(Invariant::Budget, within);
        let tries = invariants::invariant_no_machine_is_tried_too_often(&fleet, setting);
        fleet.check(Invariant::Retry, tries);
        // A hub whose view is current has nothing to remember: states that differ in that alone are one.
        if fleet.machines.iter().all(|machine| machine.late.is_none()) {
            fleet.started.listed();
            fleet.version = 0;
        }
        fleet
    }

    fn act(&mut self, setting: &Setting, off: Option<Rule>, action: Action) {
        let now = self.now;
        match action {
            Action::Push => {
                self.target += 1;
                self.forget();
            }
            Action::Pause(paused) => self.paused = paused,
            Action::Restart => {
                // After everything that has failed so far.
                self.now.0 += 1;
                self.restarted = Some(self.now);
                self.forget();
                // Whoever begins anew forgets the places of what has failed, too.
                let over = |machine: &&mut Machine| machine.ours && !machine.is_busy();
                self.machines.iter_mut().filter(over).for_each(Machine::write_off);
            }
            Action::Want(number, wanted) => {
                self.machines[number].wanted = wanted;
                self.machines[number].tries = 0;
            }
            Action::Plan => drop(self.plan(setting, off, false)),
            Action::PlanAndDie => {
                drop(self.plan(setting, off, true));
                self.started.listed();
                self.machines.iter_mut().for_each(|machine| machine.late = None);
            }
            Action::Lag(number) => {
                let view = self.seen(setting, number);
                self.machines[number].late = Some((Box::new(view), self.version));
            }
            Action::Catch(number) => self.machines[number].late = None,
            Action::Freeze(number, frozen) => {
                let gate = if self.left.freezes.is_multiple_of(2) {
                    Gate::Frozen
                } else {
                    Gate::Held { by: "mission-control".into() }
                };
                self.machines[number].gate = if frozen { gate } else { Gate::Open };
            }
            Action::Leave(number) => self.machines[number].presence = Presence::Away { since: now },
            Action::Return(number) => self.machines[number].presence = Presence::Ready,
            Action::Age => {
                self.now = Timestamp(now.0.saturating_add_unsigned(AGE.0));
                // From here on their places may be given to others, whatever they bring when they return.
                let away = |machine: &&mut Machine| matches!(machine.presence, Presence::Away { .. });
                self.machines.iter_mut().filter(away).for_each(Machine::write_off);
            }
            Action::Begin(number) => self.machines[number].begin(),
            Action::Gone(number) => self.machines[number].gone(),
            Action::End(number, well) => {
                let target = self.target;
                self.machines[number].end(well, now, target);
            }
            Action::Show(number) => self.machines[number].show(),
            Action::Ready(number) => self.machines[number].get_ready(now),
            Action::Sicken(number) => self.machines[number].sicken(),
        }
    }

    /// What has failed so far does not count any more.
    fn forget(&mut self) {
        self.machines.iter_mut().for_each(|machine| machine.tries = 0);
    }

    pub(super) fn check(&mut self, invariant: Invariant, holds: Result<(), String>) {
        if let (Err(why), None) = (holds, &self.broken) {
            self.broken = Some(Broken { invariant, why });
        }
    }
}

/// The name of a revision.
pub(super) fn revision(number: u8) -> Revision {
    Revision::from(format!("r{number}"))
}

/// The number of a revision.
pub(super) fn number(revision: &Revision) -> u8 {
    revision.as_str()[1..].parse().expect("revisions are made here")
}
