//! The hub: it sees, plans and acts, as the planner's documentation says a driver has to.

use safepoint_core::rollout::{Phase, Plan, Rule, Seen, Task, plan_without};

use super::Fleet;
use crate::rollout::invariants::{self, Invariant};
use crate::rollout::setting::Setting;

// === impl Fleet ===

impl Fleet {
    /// What there is to see of a machine.
    pub(super) fn seen(&self, setting: &Setting, number: usize) -> Seen {
        let canary = number + setting.canaries >= setting.machines;
        self.machines[number].seen(&format!("m{number:02}"), canary)
    }

    /// What the hub sees, with what it remembers.
    #[must_use]
    pub fn view(&mut self, setting: &Setting, off: Option<Rule>) -> Vec<Seen> {
        let mut version = self.version;
        let mut view = Vec::with_capacity(self.machines.len());
        for (number, machine) in self.machines.iter().enumerate() {
            view.push(match &machine.late {
                Some((late, as_of)) => {
                    version = version.min(*as_of);
                    // Whether it shall have the pod is the hub's own knowledge.
                    Seen { wanted: machine.wanted, ..Seen::clone(late) }
                }
                None => self.seen(setting, number),
            });
        }
        if off != Some(Rule::RememberStarts) {
            self.started.merge(&mut view, version);
        }
        view
    }

    /// Plans and acts. A hub that dies does so after its first start.
    pub(in crate::rollout) fn plan(&mut self, setting: &Setting, off: Option<Rule>, dies: bool) -> Plan {
        let order = self.order(setting);
        let view = self.view(setting, off);
        let plan = plan_without(&order, &view, self.now, off);
        self.widest = self.widest.max(plan.counts.places);
        for start in plan.start.iter().take(if dies { 1 } else { usize::MAX }) {
            let number = index_of(&start.node);
            for (invariant, holds) in invariants::of_a_start(self, &order, &view, start) {
                self.check(invariant, holds);
            }
            let name = format!("{}-{:?}-{}-{}", start.node, start.work, order.target, start.attempt);
            let task = Task {
                name: name.into(),
                work: start.work,
                revision: order.target.clone(),
                attempt: start.attempt,
                phase: Phase::Waiting,
                removing: false,
            };
            // The same start made twice finds itself: a name is taken once.
            if self.machines[number].tasks.iter().all(|known| known.name != task.name) {
                self.machines[number].tasks.push(task.clone());
                self.version += 1;
                self.started.note(&start.node, task, Some(self.version));
            }
        }
        if !dies {
            self.remove(&plan, &view);
            let left = invariants::invariant_nothing_is_left_to_begin_where_nothing_may(self, &order);
            self.check(Invariant::Recall, left);
        }
        plan
    }

    /// Removes what is still what was seen: a deletion names the object and its version, not only its name.
    fn remove(&mut self, plan: &Plan, view: &[Seen]) {
        for removal in &plan.remove {
            let number = index_of(&removal.node);
            let seen = view[number].tasks.iter().find(|task| task.name == removal.task);
            let tasks = &mut self.machines[number].tasks;
            let Some(index) = tasks.iter().position(|task| task.name == removal.task) else { continue };
            let same = seen.is_some_and(|seen| seen.phase == tasks[index].phase);
            match tasks[index].phase {
                Phase::Waiting | Phase::Running => {
                    tasks[index].removing |= seen.is_some_and(|seen| seen.phase == Phase::Waiting);
                }
                Phase::Succeeded { .. } | Phase::Failed(_) if same => drop(tasks.remove(index)),
                Phase::Succeeded { .. } | Phase::Failed(_) => {}
            }
        }
    }
}

/// The number of a machine.
pub(in crate::rollout) fn index_of(node: &str) -> usize {
    node[1..].parse().expect("machines are named here")
}
