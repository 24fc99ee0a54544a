//! What may happen next.

use safepoint_core::rollout::{Gate, Phase, Presence, Wanted};

use super::{Action, Fleet, Machine};
use crate::rollout::setting::Chances;

// === impl Fleet ===

impl Fleet {
    /// Everything that may happen now.
    #[must_use]
    pub fn options(&self) -> Vec<Action> {
        let left = self.left;
        let mut options = vec![Action::Plan];
        let mut may = |chance: u8, action| {
            if chance > 0 {
                options.push(action);
            }
        };
        may(left.pushes, Action::Push);
        may(left.crashes, Action::PlanAndDie);
        may(left.restarts, Action::Restart);
        // Neither an outcome on a machine that is there nor a view is late by an hour: `report_within` is chosen so.
        let late = |machine: &Machine| {
            machine.late.is_some() || (machine.coming.is_some() && machine.presence == Presence::Ready)
        };
        may(if self.machines.iter().any(late) { 0 } else { left.ages }, Action::Age);
        may(if self.paused { 1 } else { left.pauses }, Action::Pause(!self.paused));
        for (number, machine) in self.machines.iter().enumerate() {
            if machine.late.is_some() {
                may(1, Action::Catch(number));
            } else {
                may(left.lags, Action::Lag(number));
            }
            for wanted in [Wanted::IfPresent, Wanted::Yes, Wanted::No] {
                may(if machine.wanted == wanted { 0 } else { left.wishes }, Action::Want(number, wanted));
            }
            let frozen = machine.gate != Gate::Open;
            may(if frozen { 1 } else { left.freezes }, Action::Freeze(number, !frozen));
            if machine.presence == Presence::Ready {
                may(left.losses, Action::Leave(number));
            } else {
                may(1, Action::Return(number));
            }
            may(if machine.is_steady() { left.sick } else { 0 }, Action::Sicken(number));
            for action in machine.moves(number) {
                may(if matches!(action, Action::End(_, false)) { left.failures } else { 1 }, action);
            }
        }
        options
    }

    /// What may still happen after an action.
    pub(super) fn spend(&self, action: Action) -> Chances {
        let mut left = self.left;
        let chance = match action {
            Action::Push => &mut left.pushes,
            Action::Pause(true) => &mut left.pauses,
            Action::Restart => &mut left.restarts,
            Action::Want(..) => &mut left.wishes,
            Action::PlanAndDie => &mut left.crashes,
            Action::Lag(_) => &mut left.lags,
            Action::End(_, false) => &mut left.failures,
            Action::Sicken(_) => &mut left.sick,
            Action::Freeze(_, true) => &mut left.freezes,
            Action::Leave(_) => &mut left.losses,
            Action::Age => &mut left.ages,
            Action::Plan
            | Action::Pause(false)
            | Action::Catch(_)
            | Action::Begin(_)
            | Action::Gone(_)
            | Action::End(_, true)
            | Action::Show(_)
            | Action::Ready(_)
            | Action::Freeze(_, false)
            | Action::Return(_) => return left,
        };
        *chance = chance.saturating_sub(1);
        left
    }
}

// === impl Machine ===

impl Machine {
    /// Nothing of ours goes on, and the pod is ready.
    fn is_steady(&self) -> bool {
        !self.ours && self.coming.is_none() && self.pod.is_some_and(|(_, ready)| ready.is_some())
    }

    /// What the machine may do by itself.
    #[must_use]
    pub fn moves(&self, number: usize) -> Vec<Action> {
        let mut moves = Vec::new();
        if self.tasks.iter().any(|task| task.removing && task.phase == Phase::Waiting) {
            moves.push(Action::Gone(number));
        }
        if self.presence != Presence::Ready {
            return moves;
        }
        let running = self.task(&Phase::Running).is_some();
        // Its own gate keeps a task from beginning. What has begun goes on: a freeze waits for it.
        let waiting = self.task(&Phase::Waiting).is_some();
        if waiting && !running && self.coming.is_none() && self.gate == Gate::Open {
            moves.push(Action::Begin(number));
        }
        if running {
            moves.extend([Action::End(number, true), Action::End(number, false)]);
        }
        if self.coming.is_some() {
            moves.push(Action::Show(number));
        } else if !running && self.pod.is_some_and(|(_, ready)| ready.is_none()) {
            moves.push(Action::Ready(number));
        }
        moves
    }
}
