//! The pod operations lifecycle, explored: one pod, and everybody who writes on it.
//!
//! A [`World`] has operation controllers that begin, act, finish and cancel, cooperation controllers that see late what the
//! pod is and have something outside that is really on or off, a kubelet, the lifecycle's controller, which may die between
//! its two writes, and a webhook that may miss a write. The promises are judged by what the world knows, not by labels:
//! whether traffic was really off, and whether the rules were really asked. A write that was decided on an old view is
//! refused by the API server, which is why there is none here; what everybody does *outside* on an old view is here.

mod judge;
mod setting;
mod step;

use safepoint_core::lifecycle::{Expectations, Guard, Lifecycle, Nanos, RuleStates, ServiceGate, View};
use serde::{Deserialize, Serialize};
use stateright::{Checker, HasDiscoveries, Model, Property};
use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex};

pub use judge::{Broken, Promise};
pub use setting::{Budget, Setting};

/// The time of everything: no decision of the lifecycle depends on it.
pub(crate) const NOW: Nanos = Nanos(1);

/// Everything there is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct World {
    /// What may still happen.
    pub left: Budget,
    /// The pod, unless it is gone.
    pub pod: Option<View>,
    /// The cooperation controllers.
    pub cooperators: Vec<Cooperator>,
    /// What really happened to each operation.
    pub truths: Vec<Truth>,
    /// Whether the rules say no.
    pub refusing: bool,
    /// Whether somebody really wants the pod gone.
    pub wished: bool,
    /// Whether the rules agreed that it may be deleted, since the deletion began last.
    pub agreed: bool,
    /// The first promise that was not kept.
    pub broken: Option<Broken>,
}

/// A cooperation controller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Cooperator {
    /// Whether the pod was ready when it looked last.
    pub seen: bool,
    /// Whether what it looks after is really on.
    pub on: bool,
    /// Whether it declares its finalizer.
    pub declares: bool,
}

/// What really happened to an operation since it began.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Truth {
    /// Whether the rules agreed that it may begin.
    pub permitted: bool,
    /// Whether they agreed that the pod may come back.
    pub checked: bool,
    /// Whether it began again, unseen by the webhook, while the one before it was not over: nobody
    /// can tell the two apart.
    pub unseen: bool,
}

/// Something that may happen.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Action {
    /// An operation begins. The flag says whether the webhook misses it.
    Begin(usize, bool),
    /// An operation becomes one of another type.
    Retype(usize),
    /// An operation that may act has acted.
    Finish(usize, bool),
    /// An operation ends that was never allowed to act.
    FinishEarly(usize),
    /// An operation is cancelled.
    Undo(usize, bool),
    /// The lifecycle's controller looks. The flag says whether it dies before its second write.
    Look(bool),
    /// The kubelet reports.
    Kubelet(bool),
    /// A cooperation controller looks.
    See(usize),
    /// It switches on or off, by what it has seen.
    Switch(usize),
    /// It writes its finalizer, or removes it.
    Sign(usize, bool),
    /// The rules change their mind.
    Rules,
    /// Somebody deletes the pod. The flag says whether it is a dry run.
    Delete(bool),
    /// The controller that deletes pods looks.
    DeleteStep,
    /// Whoever wanted the pod gone takes the label off.
    Withdraw,
    /// The pod is terminated past every webhook.
    Terminate,
    /// The kubelet deletes a pod that has terminated.
    Die,
}

/// A small world as a model that can be explored.
#[derive(Clone, Debug)]
pub struct SmallWorld {
    /// The world's bound.
    pub setting: Setting,
    /// The machine, perhaps without one guard.
    pub machine: Lifecycle,
    /// Worlds that are known to come to rest as they should. Most runs to rest meet one of them after a step or two.
    known: Arc<Mutex<HashSet<World>>>,
}

/// What came of an exploration.
#[derive(Debug)]
pub struct Found {
    /// How many distinct states were seen.
    pub states: usize,
    /// How deep the search went.
    pub depth: usize,
    /// A shortest run to a state in which a promise is not kept.
    pub counterexample: Option<(Broken, Vec<Action>)>,
}

// === impl World ===

impl World {
    /// A pod in service.
    #[must_use]
    pub fn new(setting: &Setting) -> Self {
        let mut pod = View::of(&BTreeMap::from([("kusionstack.io/control".into(), "true".into())]));
        pod.gate = ServiceGate { declared: true, condition: Some(true) };
        pod.ready = true;
        let declared = setting.cooperators.iter().enumerate().filter(|(_, declares)| **declares);
        pod.expectations = Expectations::Declared(
            declared
                .map(|(number, _)| (format!("Service/default/{number}").into(), finalizer(number).into()))
                .collect(),
        );
        // The pod has just become ready: nobody is registered yet, which is when it is most in danger.
        let cooperator = |declares: &bool| Cooperator { seen: false, on: false, declares: *declares };
        Self {
            left: setting.budget,
            pod: Some(pod),
            cooperators: setting.cooperators.iter().map(cooperator).collect(),
            truths: vec![Truth::default(); setting.operations.len()],
            refusing: false,
            wished: false,
            agreed: false,
            broken: None,
        }
    }

    pub(crate) fn rules(&self) -> RuleStates {
        setting::rules(self.refusing)
    }
}

pub(crate) fn finalizer(number: usize) -> String {
    format!("prot.podopslifecycle.kusionstack.io/{number}")
}

impl Model for SmallWorld {
    type State = World;
    type Action = Action;

    fn init_states(&self) -> Vec<World> {
        vec![World::new(&self.setting)]
    }

    fn actions(&self, world: &World, actions: &mut Vec<Action>) {
        if world.broken.is_none() {
            actions.extend(world.options(&self.setting, self.machine));
        }
    }

    fn next_state(&self, world: &World, action: Action) -> Option<World> {
        Some(world.after(&self.setting, self.machine, action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always("every promise is kept on the way", |_, world: &World| world.broken.is_none()),
            Property::always(
                "the pod comes back, or goes if that is wanted",
                |model: &Self, world: &World| world.broken.is_some() || model.comes_to_rest(world).is_ok(),
            ),
        ]
    }
}

/// Explores a small world to its bound, or until a promise is not kept.
#[must_use]
pub fn explore(setting: &Setting, off: Option<Guard>, threads: usize) -> Found {
    let machine = Lifecycle::default().without(off);
    let model = SmallWorld { setting: setting.clone(), machine, known: Arc::default() };
    let checker =
        model.clone().checker().threads(threads).finish_when(HasDiscoveries::Any).spawn_bfs().join();
    let counterexample = checker.discoveries().into_values().next().map(|path| {
        let actions: Vec<Action> = path.into_actions();
        (model.replay(&actions).expect_err("a discovery is a run that breaks a promise"), actions)
    });
    Found { states: checker.unique_state_count(), depth: checker.max_depth(), counterexample }
}

impl SmallWorld {
    /// Does a run again.
    fn replay(&self, actions: &[Action]) -> Result<(), Broken> {
        let mut world = World::new(&self.setting);
        for action in actions {
            world = world.after(&self.setting, self.machine, *action);
        }
        world.broken.clone().map_or_else(|| self.comes_to_rest(&world), Err)
    }
}
