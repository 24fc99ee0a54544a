//! What may happen next, and what it costs.

use safepoint_core::{Applied, Health, Key, Mode, Stage};

use super::{Action, Crash, Input, World};
use crate::setting::{Budget, Setting};

impl World {
    /// Everything that may happen next.
    #[must_use]
    pub fn options(&self, setting: &Setting) -> Vec<Action> {
        let left = &self.left;
        let mut actions = Vec::new();
        for workload in 0..setting.plans.len() {
            if left.pushes > 0 {
                actions.push(Action::Push(workload));
            }
            if left.rearms > 0 {
                actions.push(Action::Rearm(workload));
            }
            let ready = |key: &Key, uid: &_| {
                self.machine.view.get(key).is_some_and(|shown| shown.uid == *uid && shown.ready)
            };
            if self.cluster.clone().control(setting, workload, ready) {
                actions.push(Action::Control(workload));
            }
        }
        if left.config_pushes > 0 {
            actions.push(Action::PushConfig);
        }
        if left.config_moves > 0 {
            actions.push(Action::MoveConfig);
        }
        if left.force_deletes > 0 {
            let terminating = self.cluster.pods.iter().filter(|(_, pod)| pod.deleting);
            actions.extend(terminating.map(|(key, _)| Action::ForceDelete(key.clone())));
        }
        if left.crashes > 0 {
            actions.push(Action::Crash);
            // To the gate a reboot differs from a crash in what the clocks say, and in nothing else.
            if setting.budget.jumps > 0 {
                actions.push(Action::Reboot);
            }
        }
        for input in self.inputs(setting) {
            if left.crashes > 0 {
                actions.push(Action::Tell(input.clone(), Crash::AfterCommit));
                actions.push(Action::Tell(input.clone(), Crash::AfterFirstEffect));
            }
            actions.push(Action::Tell(input, Crash::No));
        }
        actions
    }

    fn inputs(&self, setting: &Setting) -> Vec<Input> {
        let left = &self.left;
        let mut inputs = Vec::new();
        let disagreements = self.disagreements(setting);
        if !disagreements.is_empty() || self.gate.mode() == Mode::Thawing {
            inputs.push(Input::Relist);
        }
        inputs.extend(disagreements.into_iter().map(Input::Observe));
        for (key, shown) in &self.machine.view {
            if shown.ending {
                inputs.push(Input::Ended(key.clone()));
            } else if !shown.ready || !self.is_reported(key) {
                inputs.push(Input::Ready(key.clone()));
            }
            if left.late > 0 && shown.before.is_some() {
                inputs.push(Input::Late(key.clone()));
            }
        }
        let mut offer = |allowed: bool, input: Input| inputs.extend(allowed.then_some(input));
        let frozen = self.gate.holds().values().any(|hold| hold.is_freeze() && hold.in_force());
        let held = self.gate.holds().values().any(|hold| !hold.is_freeze());
        offer(left.stale > 0 && self.history.stale.is_some(), Input::Stale);
        offer(left.holds > 0, Input::Hold);
        offer(held, Input::Drop);
        offer(left.freezes > 0, Input::Freeze);
        offer(frozen, Input::Thaw);
        offer(frozen && left.overrides > 0, Input::OverrideThaw);
        offer(left.jumps > 0, Input::Jump);
        offer(left.ticks > 0, Input::Tick);
        offer(left.ages > 0, Input::Age);
        for workload in 0..setting.plans.len() {
            offer(left.releases > 0, Input::Release(workload));
            offer(held && left.overrides > 0, Input::OverrideRelease(workload));
        }
        inputs
    }

    /// Whether the gate has been told that this is ready.
    fn is_reported(&self, key: &Key) -> bool {
        let applied = self.gate.slots().get(key).and_then(|slot| slot.applied.as_ref());
        matches!(applied, Some(Applied { stage: Stage::Delivered(Health::Ready), .. }))
    }

    /// What is left after an action.
    pub(super) fn spend(&self, action: &Action) -> Budget {
        let mut left = self.left;
        let spent = match action {
            Action::Push(_) => Some(&mut left.pushes),
            Action::PushConfig => Some(&mut left.config_pushes),
            Action::MoveConfig => Some(&mut left.config_moves),
            Action::ForceDelete(_) => Some(&mut left.force_deletes),
            Action::Rearm(_) => Some(&mut left.rearms),
            Action::Crash | Action::Reboot => Some(&mut left.crashes),
            Action::Control(_) => None,
            Action::Tell(input, crash) => {
                if *crash != Crash::No {
                    left.crashes = left.crashes.saturating_sub(1);
                }
                match input {
                    Input::Stale => Some(&mut left.stale),
                    Input::Hold => Some(&mut left.holds),
                    Input::Freeze => Some(&mut left.freezes),
                    Input::Release(_) => Some(&mut left.releases),
                    Input::OverrideThaw | Input::OverrideRelease(_) => Some(&mut left.overrides),
                    Input::Late(_) => Some(&mut left.late),
                    Input::Jump => Some(&mut left.jumps),
                    Input::Tick => Some(&mut left.ticks),
                    Input::Age => Some(&mut left.ages),
                    Input::Observe(_)
                    | Input::Relist
                    | Input::Ready(_)
                    | Input::Ended(_)
                    | Input::Drop
                    | Input::Thaw => None,
                }
            }
        };
        if let Some(spent) = spent {
            *spent = spent.saturating_sub(1);
        }
        left
    }
}
