//! The machine on random histories, with what must hold in all of them.

use super::*;
use crate::{
    config::Config,
    failure::FailureKind,
    fault::Fault,
    health::{Health, State},
    panics::Panic,
};

/// A world around a machine: the trees that exist, whatever the machine believes.
struct World {
    machine: Machine,
    specs: Vec<Spec>,
    trees: Vec<Tree>,
    now: Moment,
    dice: Dice,
    /// For the message of an assertion that fails.
    history: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Tree {
    Absent,
    Up,
    Leaving,
    Stuck,
}

struct Dice(u64);

// === impl Dice ===

impl Dice {
    /// A number below `sides`. (Knuth's MMIX generator; the low bits of such are poor,
    /// so the high ones are used.)
    fn roll(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % sides
    }
}

// === impl World ===

impl World {
    fn new(mut specs: Vec<Spec>, config: &Config, seed: u64) -> Self {
        let graph = Graph::sort(&mut specs, |spec| spec).expect("the modules fit together");
        let rules = Rules::of(config, &specs).expect("the configuration is right");
        let modules = specs.iter().map(|spec| (spec.clone(), Ring::default())).collect();
        let machine = Machine::new(graph, modules, rules, Jitter::seeded(seed));
        let trees = vec![Tree::Absent; specs.len()];
        let now = Moment { at: Duration::ZERO, wall: jiff::Timestamp::UNIX_EPOCH };
        let mut world = Self { machine, specs, trees, now, dice: Dice(seed), history: vec![] };
        world.step(Event::Woke);
        world
    }

    fn id(&self, name: &str) -> usize {
        self.specs.iter().position(|spec| spec.name == name).expect("there is such a module")
    }

    fn state(&self, name: &str) -> State {
        self.machine.health().modules[name].state.clone()
    }

    fn hear(&mut self, id: usize, report: Report) {
        self.history.push(format!("{} says {report:?}", self.specs[id].name));
        self.machine.hear(id, Some(report), self.now.at, self.now);
        self.step(Event::Woke);
    }

    fn end(&mut self, id: usize, end: End) {
        self.trees[id] = Tree::Leaving;
        self.step(Event::Ended { id, end });
    }

    fn gone(&mut self, id: usize, teardown: Teardown) {
        self.trees[id] = match teardown {
            Teardown::Stuck { .. } => Tree::Stuck,
            Teardown::Clean | Teardown::Aborted { .. } => Tree::Absent,
        };
        self.step(Event::Gone { id, teardown });
    }

    fn pass(&mut self, time: Duration) {
        self.now = self.now + time;
        self.step(Event::Woke);
    }

    fn step(&mut self, event: Event) {
        self.history.push(format!("{:?} {event:?}", self.now.at));
        let effects = self.machine.step(event, self.now);
        let health = self.machine.health();
        for effect in effects {
            self.history.push(format!("    {effect:?}"));
            match effect {
                Effect::Start { id } => {
                    self.invariant_no_two_runs_of_a_module_overlap(id);
                    self.invariant_nothing_starts_before_what_it_needs(id, &health);
                    self.invariant_nothing_runs_on_a_newer_run_than_it_was_started_on(id);
                    self.trees[id] = Tree::Up;
                }
                Effect::Cancel { id } => self.trees[id] = Tree::Leaving,
                Effect::Record { .. } | Effect::Wait { .. } | Effect::Escalate { .. } => {}
            }
        }
        self.invariant_nothing_is_silently_absent(&health);
        self.invariant_who_requires_a_module_goes_when_it_goes(&health);
        self.invariant_no_wake_up_is_missed();
        self.invariant_nobody_is_left_behind();
    }

    fn invariant_no_two_runs_of_a_module_overlap(&self, id: usize) {
        self.check(self.trees[id] == Tree::Absent, "started twice");
    }

    fn invariant_nothing_starts_before_what_it_needs(&self, id: usize, health: &Health) {
        for need in self.specs[id].needs() {
            self.check(health.modules[need].state.is_serving(), "started without what it needs");
        }
    }

    fn invariant_nothing_runs_on_a_newer_run_than_it_was_started_on(&self, id: usize) {
        for (other, spec) in self.specs.iter().enumerate() {
            let outlives = spec.requires.contains(&self.specs[id].name)
                && matches!(self.trees[other], Tree::Up | Tree::Leaving);
            self.check(!outlives, "restarted under the feet of a module that requires it");
        }
    }

    /// Possibly not yet, because others have to go first; but it is marked for it.
    fn invariant_who_requires_a_module_goes_when_it_goes(&self, health: &Health) {
        for (id, spec) in self.specs.iter().enumerate().filter(|(id, _)| self.trees[*id] == Tree::Up) {
            let lost = spec.requires.iter().any(|required| {
                self.trees[self.id(required)] != Tree::Up
                    && health.modules[*required].state != State::Completed
            });
            self.check(!lost || self.machine.slots[id].doomed, "runs on without what it requires");
        }
    }

    /// What has no tasks says why, and what claims to run has tasks.
    fn invariant_nothing_is_silently_absent(&self, health: &Health) {
        for (id, spec) in self.specs.iter().enumerate() {
            let state = &health.modules[spec.name].state;
            let right = match self.trees[id] {
                Tree::Absent => match state {
                    State::Stopped => self.machine.is_leaving(),
                    State::WaitingFor { .. }
                    | State::Backoff { .. }
                    | State::Failed { .. }
                    | State::Completed => true,
                    State::Starting { .. } | State::Ready | State::Degraded { .. } | State::Stopping => false,
                },
                Tree::Up => matches!(
                    state,
                    State::Starting { .. } | State::WaitingFor { .. } | State::Ready | State::Degraded { .. }
                ),
                Tree::Leaving => matches!(state, State::Stopping | State::WaitingFor { .. }),
                Tree::Stuck => matches!(state, State::Failed { .. }),
            };
            self.check(right, spec.name);
        }
    }

    /// As long as we are not done, somebody is alive to tell us something, or the clock is set.
    fn invariant_no_wake_up_is_missed(&self) {
        let alive = self.trees.iter().any(|tree| matches!(tree, Tree::Up | Tree::Leaving));
        let awake = alive
            || self.machine.next_deadline().is_some_and(|deadline| deadline > self.now.at)
            || self.machine.finished().is_some();
        self.check(awake, "sleeps for ever");
    }

    fn invariant_nobody_is_left_behind(&self) {
        if self.machine.finished().is_some() {
            let left = self.trees.iter().any(|tree| matches!(tree, Tree::Up | Tree::Leaving));
            self.check(!left, "finished with tasks that could be ended");
        }
    }

    #[track_caller]
    fn check(&self, holds: bool, complaint: &str) {
        assert!(holds, "{complaint}, after:\n{}", self.history.join("\n"));
    }

    /// Something that could happen now.
    fn happen(&mut self) {
        let id = self.dice.roll(self.specs.len());
        let text = || "for some reason".to_owned();
        let faulty = |fault| End::Faulty { task: "main", fault };
        match (self.dice.roll(12), self.trees[id]) {
            (0..=3, Tree::Up) => self.hear(id, Report::Ready),
            (4, Tree::Up) => self.hear(id, Report::WaitingFor(text())),
            (5, Tree::Up) => self.hear(id, Report::Degraded(text())),
            (6, Tree::Up) => {
                let end = match self.dice.roll(5) {
                    0 => End::Completed,
                    1 => faulty(Fault::Dependency { name: text(), cause: text() }),
                    2 if self.dice.roll(4) == 0 => faulty(Fault::Permanent(text())),
                    3 => End::Panicked { task: "child", panic: Panic { message: text(), site: None } },
                    _ => faulty(Fault::Transient(text())),
                };
                self.end(id, end);
            }
            (0, Tree::Leaving) if self.dice.roll(20) == 0 => {
                self.gone(id, Teardown::Stuck { tasks: vec!["deaf"] });
            }
            (1, Tree::Leaving) => self.gone(id, Teardown::Aborted { tasks: vec!["slow"] }),
            (0..=6, Tree::Leaving) => self.gone(id, Teardown::Clean),
            (0, Tree::Stuck) => self.gone(id, Teardown::Clean),
            (7, _) => self.step(Event::RestartAsked { id }),
            (8, _) if self.dice.roll(60) == 0 => self.step(Event::StopAsked),
            (9, _) => self.pass(Duration::from_secs(self.dice.0 % 40)),
            _ => self.pass(Duration::from_millis(self.dice.0 % 1_500)),
        }
    }
}

fn modules() -> Vec<Spec> {
    vec![
        Spec::new("migration").one_shot(),
        Spec::new("journal").critical().after(["migration"]),
        Spec::new("gate").critical().requires(["journal"]).heartbeat(Duration::from_secs(20)),
        Spec::new("door").requires(["gate"]).after(["journal"]),
        Spec::new("uplink").after(["journal"]).requires(["migration"]),
        Spec::new("api"),
    ]
}

#[test]
fn the_invariants_hold_in_every_random_history() {
    let mut exits = std::collections::BTreeMap::<String, u32>::new();
    for seed in 0..1_000 {
        let mut world = World::new(modules(), &Config::default(), seed);
        for _ in 0..300 {
            if world.machine.finished().is_some() {
                break;
            }
            world.happen();
        }
        let exit = world.machine.finished().map_or("none".into(), |exit| format!("{exit:?}"));
        *exits.entry(exit.chars().take(7).collect()).or_default() += 1;
    }
    // The histories are worth something only if they lead to every kind of end.
    assert!(["none", "Stopped", "Escalat"].iter().all(|exit| exits.contains_key(*exit)), "{exits:?}");
}

#[test]
fn a_stop_reaches_its_end_from_every_random_history() {
    for seed in 0..500 {
        let mut world = World::new(modules(), &Config::default(), seed);
        for _ in 0..seed % 200 {
            if world.machine.finished().is_none() {
                world.happen();
            }
        }
        world.step(Event::StopAsked);
        for _ in 0..world.specs.len() {
            for id in 0..world.specs.len() {
                if world.trees[id] == Tree::Leaving {
                    world.gone(id, Teardown::Clean);
                }
            }
        }
        world.check(world.machine.finished().is_some(), "the stop did not come to an end");
    }
}

#[test]
fn a_module_is_stopped_after_those_that_depend_on_it_even_through_one_that_is_down() {
    let specs =
        vec![Spec::new("journal"), Spec::new("gate").after(["journal"]), Spec::new("door").after(["gate"])];
    let mut world = World::new(specs, &Config::default(), 1);
    let (journal, gate, door) = (world.id("journal"), world.id("gate"), world.id("door"));
    for id in [journal, gate, door] {
        world.hear(id, Report::Ready);
    }
    world.end(gate, End::Completed);
    world.gone(gate, Teardown::Clean);
    world.step(Event::StopAsked);
    assert_eq!(world.trees, [Tree::Up, Tree::Absent, Tree::Leaving], "the journal waits for the door");
    world.gone(door, Teardown::Clean);
    assert_eq!(world.trees[journal], Tree::Leaving);
}

#[test]
fn a_restart_that_is_asked_for_during_a_teardown_follows_it_without_a_wait() {
    let mut world = World::new(vec![Spec::new("uplink")], &Config::default(), 1);
    world.end(0, End::Completed);
    assert_eq!(world.state("uplink"), State::Stopping);
    world.step(Event::RestartAsked { id: 0 });
    world.gone(0, Teardown::Clean);
    assert_eq!(world.trees[0], Tree::Up);
}

#[test]
fn those_that_depend_on_a_one_shot_module_wait_for_its_end_and_not_for_its_readiness() {
    let specs = vec![Spec::new("migration").one_shot(), Spec::new("journal").after(["migration"])];
    let mut world = World::new(specs, &Config::default(), 1);
    world.hear(0, Report::Ready);
    assert_eq!(world.trees[1], Tree::Absent);
    world.end(0, End::Completed);
    world.gone(0, Teardown::Clean);
    assert_eq!(world.trees[1], Tree::Up);
}

#[test]
fn a_failure_while_everything_stops_is_remembered_but_changes_nothing() {
    let specs = vec![Spec::new("journal").critical(), Spec::new("gate").critical().after(["journal"])];
    let mut world = World::new(specs, &Config::default(), 1);
    world.hear(0, Report::Ready);
    world.step(Event::StopAsked);
    world.end(0, End::Panicked { task: "main", panic: Panic { message: "too late".into(), site: None } });
    world.gone(0, Teardown::Clean);
    world.gone(1, Teardown::Clean);
    assert_eq!(world.machine.finished(), Some(&Exit::Stopped));
    assert_eq!(
        world.machine.health().modules["journal"].last_failure().map(|f| f.kind),
        Some(FailureKind::Panic)
    );
}
