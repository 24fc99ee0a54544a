//! Every interleaving of a small fleet.

use std::fmt::Write as _;
use std::sync::Arc;

use safepoint_core::rollout::Rule;
use stateright::{Checker, HasDiscoveries, Model, Property};

use super::fleet::{Action, Fleet};
use super::invariants::{Broken, invariant_a_quiet_fleet_comes_to_rest};
use super::setting::Setting;

/// A small fleet as a model that can be explored.
#[derive(Clone, Debug)]
pub struct SmallFleet {
    /// The fleet's bound.
    pub setting: Arc<Setting>,
    /// The rule that is missing, if one is.
    pub off: Option<Rule>,
}

/// What came of an exploration.
#[derive(Debug)]
pub struct Found {
    /// How many distinct states were seen.
    pub states: usize,
    /// How deep the search went.
    pub depth: usize,
    /// A shortest run to a state in which an invariant does not hold.
    pub counterexample: Option<(Broken, Vec<Action>)>,
}

impl Model for SmallFleet {
    type State = Fleet;
    type Action = Action;

    fn init_states(&self) -> Vec<Fleet> {
        vec![Fleet::new(&self.setting)]
    }

    fn actions(&self, fleet: &Fleet, actions: &mut Vec<Action>) {
        // What comes after a broken invariant proves nothing more.
        if fleet.broken.is_none() {
            actions.extend(fleet.options());
        }
    }

    fn next_state(&self, fleet: &Fleet, action: Action) -> Option<Fleet> {
        // An action that changes nothing but what may still happen leads nowhere.
        Some(fleet.after(&self.setting, self.off, action)).filter(|after| after != fleet)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![Property::always("every invariant holds", |model: &Self, fleet: &Fleet| {
            fleet.broken.is_none()
                && invariant_a_quiet_fleet_comes_to_rest(fleet, &model.setting, model.off).is_ok()
        })]
    }
}

/// Explores a small fleet to its bound, or until an invariant does not hold.
#[must_use]
pub fn explore(setting: &Setting, off: Option<Rule>, threads: usize) -> Found {
    let model = SmallFleet { setting: Arc::new(setting.clone()), off };
    let checker = model.checker().threads(threads).finish_when(HasDiscoveries::Any).spawn_bfs().join();
    let counterexample = checker.discoveries().into_values().next().map(|path| {
        let actions: Vec<Action> = path.into_actions();
        let broken = replay(setting, off, &actions).0.expect("a discovery is a run that breaks an invariant");
        (broken, actions)
    });
    Found { states: checker.unique_state_count(), depth: checker.max_depth(), counterexample }
}

/// Does a run again: what broke, and the story.
#[must_use]
pub fn replay(setting: &Setting, off: Option<Rule>, actions: &[Action]) -> (Option<Broken>, String) {
    let mut fleet = Fleet::new(setting);
    let mut story = format!("fleet: {}, rule missing: {off:?}\n", setting.name);
    for (number, action) in actions.iter().enumerate() {
        fleet = fleet.after(setting, off, *action);
        let _ = writeln!(story, "{:>3}. {action:?}", number + 1);
        for (number, machine) in fleet.machines.iter().enumerate() {
            let tasks: Vec<_> = machine.tasks.iter().map(|task| (&task.name, &task.phase)).collect();
            let _ = writeln!(story, "       m{number:02} pod {:?} tasks {tasks:?}", machine.pod);
        }
        if fleet.broken.is_some() {
            break;
        }
    }
    let rest = || invariant_a_quiet_fleet_comes_to_rest(&fleet, setting, off).err();
    let broken = fleet.broken.clone().or_else(rest);
    let _ = writeln!(story, "broken: {broken:?}");
    (broken, story)
}
