//! Long random walks through a world that is too large to explore.
//!
//! `SAFEPOINT_WALKS` sets how many walks there are, for a long night; a failing walk is shrunk, printed, and written to
//! the target folder as a log for `cargo xtask replay`.

use std::path::PathBuf;

use proptest::prelude::*;
use proptest::sample;
use proptest::test_runner::Config;
use proptest_state_machine::{ReferenceStateMachine, StateMachineTest, prop_state_machine};
use safepoint_core::Record;
use safepoint_model::invariants::invariant_applied_becomes_wanted;
use safepoint_model::replay::Log;
use safepoint_model::{Action, Setting, World};

/// How many actions pass between two checks that the world still comes to rest, which takes a hundred actions itself.
const REST_EVERY: usize = 8;

#[derive(Clone, Debug)]
struct Walk {
    setting: Setting,
    world: World,
}

struct Walked {
    log: Log,
    world: World,
}

impl ReferenceStateMachine for Walk {
    type State = Self;
    type Transition = Action;

    fn init_state() -> BoxedStrategy<Self> {
        (any::<bool>(), any::<bool>())
            .prop_map(|(leased, keep_barrier)| {
                let setting = Setting { leased, keep_barrier, ..Setting::large() };
                let world = World::new(&setting, None);
                Self { setting, world }
            })
            .boxed()
    }

    fn transitions(walk: &Self) -> BoxedStrategy<Action> {
        sample::select(walk.world.options(&walk.setting)).boxed()
    }

    fn apply(mut walk: Self, action: &Action) -> Self {
        walk.world = walk.world.after(&walk.setting, None, action);
        walk
    }

    fn preconditions(walk: &Self, action: &Action) -> bool {
        walk.world.options(&walk.setting).contains(action)
    }
}

impl StateMachineTest for Walked {
    type SystemUnderTest = Self;
    type Reference = Walk;

    fn init_test(walk: &Walk) -> Self {
        let log = Log { setting: walk.setting.clone(), off: None, actions: Vec::new() };
        Self { log, world: walk.world.clone() }
    }

    fn apply(mut walked: Self, _: &Walk, action: Action) -> Self {
        walked.world = walked.world.after(&walked.log.setting, None, &action);
        walked.log.actions.push(action);
        walked
    }

    fn check_invariants(walked: &Self, _: &Walk) {
        every_row_can_be_read_back(&walked.world);
        let due = walked.log.actions.len().is_multiple_of(REST_EVERY);
        let at_rest = || invariant_applied_becomes_wanted(&walked.world, &walked.log.setting, None);
        if walked.world.broken.is_some() || (due && at_rest().is_err()) {
            let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("failed-walk.json");
            std::fs::write(&file, walked.log.to_json()).expect("the target folder can be written");
            let story = walked.log.replay().story;
            panic!("{story}\nreplay it with: cargo xtask replay {}", file.display());
        }
    }
}

/// The journal keeps rows as JSON: one that cannot be written would stop the gate, one that reads as another would lie.
fn every_row_can_be_read_back(world: &World) {
    let rows = world.rows();
    assert!(!rows.is_empty(), "the node has a row of its own");
    for row in rows {
        let text =
            serde_json::to_string(&row).unwrap_or_else(|error| panic!("{row:?} cannot be written: {error}"));
        let read: Record =
            serde_json::from_str(&text).unwrap_or_else(|error| panic!("{text} cannot be read: {error}"));
        // Health is not durable, and so it is not in the text.
        assert_eq!(serde_json::to_string(&read).ok(), Some(text));
    }
}

fn walks() -> u32 {
    std::env::var("SAFEPOINT_WALKS").ok().and_then(|walks| walks.parse().ok()).unwrap_or(48)
}

prop_state_machine! {
    #![proptest_config(Config { cases: walks(), max_shrink_iters: 1000, ..Config::default() })]

    #[test]
    fn every_invariant_holds_on_long_random_walks(sequential 50..200 => Walked);
}
