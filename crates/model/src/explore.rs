//! Every interleaving of a small world.

use std::sync::Arc;

use safepoint_core::Guard;
use stateright::{Checker, HasDiscoveries, Model, Property};

use crate::invariants::{Broken, Invariant, invariant_applied_becomes_wanted};
use crate::replay::Log;
use crate::setting::Setting;
use crate::world::{Action, World};

/// A small world as a model that can be explored.
#[derive(Clone, Debug)]
pub struct SmallWorld {
    /// The world's bound.
    pub setting: Arc<Setting>,
    /// The guard that is switched off, if one is.
    pub off: Option<Guard>,
}

/// What came of an exploration.
#[derive(Debug)]
pub struct Found {
    /// How many distinct states were seen.
    pub states: usize,
    /// How deep the search went.
    pub depth: usize,
    /// A shortest run to a state in which an invariant does not hold.
    pub counterexample: Option<(Broken, Log)>,
}

impl Model for SmallWorld {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.setting, self.off)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        // What comes after a broken invariant proves nothing more.
        if world.broken.is_none() {
            actions.extend(world.options(&self.setting));
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        Some(world.after(&self.setting, self.off, &action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        fn holds(invariant: Invariant, world: &World) -> bool {
            world.broken.as_ref().is_none_or(|broken| broken.invariant != invariant)
        }
        vec![
            Property::always(Invariant::Frozen.name(), |_, world| holds(Invariant::Frozen, world)),
            Property::always(Invariant::Held.name(), |_, world| holds(Invariant::Held, world)),
            Property::always(Invariant::Crash.name(), |_, world| holds(Invariant::Crash, world)),
            Property::always(Invariant::Converges.name(), |model: &Self, world| {
                holds(Invariant::Converges, world)
                    && (world.broken.is_some()
                        || invariant_applied_becomes_wanted(world, &model.setting, model.off).is_ok())
            }),
            Property::always(Invariant::Dead.name(), |_, world| holds(Invariant::Dead, world)),
            Property::always(Invariant::Settled.name(), |_, world| holds(Invariant::Settled, world)),
        ]
    }
}

/// Explores a small world to its bound, or until an invariant does not hold.
#[must_use]
pub fn explore(setting: &Setting, off: Option<Guard>, threads: usize) -> Found {
    let model = SmallWorld { setting: Arc::new(setting.clone()), off };
    let checker =
        model.clone().checker().threads(threads).finish_when(HasDiscoveries::Any).spawn_bfs().join();
    let counterexample = checker.discoveries().into_values().next().map(|path| {
        let actions: Vec<Action> = path.into_actions();
        let log = Log { setting: setting.clone(), off, actions };
        let broken = log.replay().broken.expect("a discovery is a run that breaks an invariant");
        (broken, log)
    });
    Found { states: checker.unique_state_count(), depth: checker.max_depth(), counterexample }
}
