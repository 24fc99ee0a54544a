//! A gate and the world around it, and everything that may happen to them.

pub mod cluster;
pub mod machine;

mod events;
mod options;
mod step;

use safepoint_core::{Config, Event, Gate, Guard, Health, Key, Kind, Now, Record, Records, Span, Timestamp};
use serde::{Deserialize, Serialize};

use crate::history::History;
use crate::invariants::{self, Broken, Invariant};
use crate::setting::{Budget, Setting};
use cluster::Cluster;
use machine::Machine;

/// Everything there is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct World {
    /// What may still happen.
    pub left: Budget,
    /// What the API server has.
    pub cluster: Cluster,
    /// What the machine was shown.
    pub machine: Machine,
    /// What is durable.
    pub journal: Records,
    /// The gate.
    pub gate: Gate,
    /// The time.
    pub now: Now,
    /// What really happened.
    pub history: History,
    /// The first invariant that did not hold.
    pub broken: Option<Broken>,
}

/// Something that may happen.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Action {
    /// Somebody pushes a new revision of a workload.
    Push(usize),
    /// Somebody changes the ConfigMap.
    PushConfig,
    /// Somebody takes the ConfigMap away, or gives it back.
    MoveConfig,
    /// A workload's controller takes one step.
    Control(usize),
    /// Somebody takes a terminating pod out of the API by force.
    ForceDelete(Key),
    /// Somebody puts the hold annotation on the pods of a workload, or takes it off.
    Rearm(usize),
    /// The agent dies and comes back, between two writes.
    Crash,
    /// The machine is switched off and on again, between two writes.
    Reboot,
    /// The gate is told something, and the agent may die on the way.
    Tell(Input, Crash),
}

/// What the gate can be told.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Input {
    /// What the cluster has under this name.
    Observe(Key),
    /// All that the cluster has.
    Relist,
    /// Something that was superseded long ago.
    Stale,
    /// This is ready.
    Ready(Key),
    /// This has ended.
    Ended(Key),
    /// Hold: the first workload or, every other time, the node.
    Hold,
    /// Drop every plain hold.
    Drop,
    /// Freeze the node.
    Freeze,
    /// Thaw the node.
    Thaw,
    /// Release one workload.
    Release(usize),
    /// Thaw the node from the cluster, over the local freeze.
    OverrideThaw,
    /// Release one workload from the cluster, over the local holds.
    OverrideRelease(usize),
    /// This was ready, before it was updated: a report that comes late.
    Late(Key),
    /// The wall clock jumps by a year, and the driver trusts it all the same.
    Jump,
    /// A moment passes.
    Tick,
    /// A day passes: every deadline is over.
    Age,
}

/// Whether and where the agent dies while it carries out a step.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Crash {
    /// It does not.
    No,
    /// After the records are durable, before any effect.
    AfterCommit,
    /// After the first effect.
    AfterFirstEffect,
}

/// A moment: no deadline is over after as many of them as any run has.
pub const MOMENT: Span = Span(100);
/// A day: no deadline survives it.
pub const DAY: Span = Span::from_mins(24 * 60);
/// What a lease is taken for.
pub const LEASE: Span = Span::from_mins(60);
pub(crate) const YEAR: i64 = 365 * 24 * 3600 * 1000;

// === impl World ===

impl World {
    /// A world at rest: every workload runs its first revision and is ready.
    #[must_use]
    pub fn new(setting: &Setting, off: Option<Guard>) -> Self {
        let now = Now { monotonic: Span(0), boot: 0, wall: Timestamp(0), trusted: true };
        let mut world = Self {
            left: setting.budget,
            cluster: Cluster::new(setting),
            machine: Machine::default(),
            journal: Records::default(),
            gate: Gate::new(Config::default(), now).without(off),
            now,
            history: History::default(),
            broken: None,
        };
        let running = world.cluster.versions(setting);
        world.history.owed = (0..setting.plans.len()).map(|number| (number, 0)).collect();
        for (key, version) in &running {
            let shown = machine::Shown {
                uid: version.uid.clone(),
                digest: version.digest.clone(),
                before: None,
                ending: false,
                ready: true,
                has_run: true,
            };
            world.machine.view.insert(key.clone(), shown);
            world.history.saw(&world.machine, key, Some(version.clone()));
        }
        let reports = running.iter().map(|(key, version)| Event::Reported {
            key: key.clone(),
            uid: version.uid.clone(),
            digest: version.digest.clone(),
            health: Health::Ready,
        });
        for event in std::iter::once(Event::Adopted(running.clone())).chain(reports) {
            let outcome = world.gate.step(event, now);
            outcome.records.into_iter().for_each(|record| world.journal.put(record));
        }
        world
    }

    /// The rows that are durable now.
    #[must_use]
    pub fn rows(&self) -> Vec<Record> {
        let Records { node, slots, holds, grants, replacements, buried, installed } = self.journal.clone();
        let node = node.map(|node| Record::Node(Box::new(node)));
        let slots = slots.into_iter().map(|(key, slot)| Record::Slot(key, Some(slot)));
        let holds = holds.into_iter().map(|(id, hold)| Record::Hold(id, Some(hold)));
        let grants = grants.into_iter().map(|(workload, grant)| Record::Grant(workload, Some(grant)));
        let replacements =
            replacements.into_iter().map(|(workload, row)| Record::Replacement(workload, Some(row)));
        let buried = buried.into_iter().map(|(number, uid)| Record::Buried(number, Some(uid)));
        let installed = installed.into_iter().map(|(number, row)| Record::Installed(number, Some(row)));
        node.into_iter()
            .chain(slots)
            .chain(holds)
            .chain(grants)
            .chain(replacements)
            .chain(buried)
            .chain(installed)
            .collect()
    }

    /// What comes of an action. The invariants that speak about steps are checked on the way.
    #[must_use]
    pub fn after(&self, setting: &Setting, off: Option<Guard>, action: &Action) -> Self {
        let mut world = self.clone();
        world.left = self.spend(action);
        match action {
            Action::Push(workload) => world.cluster.workloads[*workload].0 += 1,
            Action::PushConfig => world.cluster.config += 1,
            Action::MoveConfig => world.cluster.has_config = !world.cluster.has_config,
            Action::Control(workload) => {
                let ready = |key: &Key, uid: &_| {
                    self.machine.view.get(key).is_some_and(|shown| shown.uid == *uid && shown.ready)
                };
                world.cluster.control(setting, *workload, ready);
            }
            Action::ForceDelete(key) => drop(world.cluster.pods.remove(key)),
            Action::Rearm(workload) => {
                let armed = &mut world.cluster.workloads[*workload].1;
                *armed = !*armed;
                let hold = *armed;
                let pods = world.cluster.pods.values_mut().filter(|pod| pod.workload == *workload);
                pods.for_each(|pod| pod.hold = hold);
            }
            Action::Crash | Action::Reboot => {
                if *action == Action::Reboot {
                    world.now.boot += 1;
                    world.now.monotonic = Span(0);
                }
                world.restart(setting, off, &[]);
                let promises = invariants::invariant_no_promise_is_lost(&world);
                world.check(Invariant::Crash, promises);
            }
            Action::Tell(input, crash) => world.tell(setting, off, input, *crash),
        }
        world
    }

    fn check(&mut self, invariant: Invariant, holds: Result<(), String>) {
        if let (Err(why), None) = (holds, &self.broken) {
            self.broken = Some(Broken { invariant, why });
        }
    }
}

/// All kinds that the cluster lists.
pub(crate) const LISTED: [Kind; 3] = [Kind::Pod, Kind::ConfigMap, Kind::Secret];
