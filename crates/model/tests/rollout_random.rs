//! Long random walks through fleets that are too large to explore: percent budgets, canaries, stops, retries, machines that
//! come and go, late views and a hub that dies.
//!
//! `SAFEPOINT_WALKS` sets how many walks there are.

use proptest::prelude::*;
use proptest::sample::Index;
use proptest::test_runner::Config;
use safepoint_core::rollout::{Canary, Order, Retry, Share};
use safepoint_core::{Revision, Span};
use safepoint_model::rollout::explore::replay;
use safepoint_model::rollout::invariants::invariant_a_quiet_fleet_comes_to_rest;
use safepoint_model::rollout::{Action, Fleet, Setting};

/// How many actions pass between two checks that the fleet still comes to rest.
const REST_EVERY: usize = 20;

fn fleet() -> impl Strategy<Value = Setting> {
    let share = prop_oneof![(1..4_u32).prop_map(Share::Number), (1..60_u32).prop_map(Share::Percent)];
    let stop = prop_oneof![Just(None), (10..80_u32).prop_map(|percent| Some(Share::Percent(percent)))];
    (2..14_usize, share, 0..3_usize, stop, 0..3_u32, 0..2_u64).prop_map(
        |(machines, budget, canaries, stop, limit, min_ready)| {
            let canaries = canaries.min(machines - 1);
            let order = Order {
                budget,
                stop,
                canary: (canaries > 0).then_some(Canary { wait: Span::from_mins(10) }),
                retry: Retry { limit, ..Retry::default() },
                min_ready: Span::from_mins(min_ready),
                ..Order::new(Revision::from(""))
            };
            Setting::large(machines, canaries, order)
        },
    )
}

/// Work goes on more often than trouble comes: two in three actions are the hub's or a machine's own.
fn choose(fleet: &Fleet, (trouble, index): &(u8, Index)) -> Action {
    let options = fleet.options();
    let works = |action: &&Action| {
        matches!(
            action,
            Action::Plan
                | Action::Begin(_)
                | Action::Gone(_)
                | Action::End(..)
                | Action::Show(_)
                | Action::Ready(_)
                | Action::Catch(_)
                | Action::Return(_)
                | Action::Freeze(_, false)
        )
    };
    let work: Vec<Action> = options.iter().filter(works).copied().collect();
    *index.get(if *trouble < 2 { &work } else { &options })
}

fn walks() -> u32 {
    std::env::var("SAFEPOINT_WALKS").ok().and_then(|walks| walks.parse().ok()).unwrap_or(64)
}

proptest! {
    #![proptest_config(Config { cases: walks(), max_shrink_iters: 2000, ..Config::default() })]

    #[test]
    fn every_invariant_holds_on_long_random_walks(
        setting in fleet(),
        choices in prop::collection::vec((0..3_u8, any::<Index>()), 40..250),
    ) {
        let mut fleet = Fleet::new(&setting);
        let mut actions = Vec::new();
        for (step, choice) in choices.iter().enumerate() {
            let action = choose(&fleet, choice);
            // Revisions are numbered by a byte.
            if action == Action::Push && fleet.target > 200 {
                continue;
            }
            actions.push(action);
            fleet = fleet.after(&setting, None, action);
            let due = step.is_multiple_of(REST_EVERY);
            let rests = !due || invariant_a_quiet_fleet_comes_to_rest(&fleet, &setting, None).is_ok();
            if fleet.broken.is_some() || !rests {
                let (_, story) = replay(&setting, None, &actions);
                prop_assert!(false, "{:?}\n{story}", setting.order);
            }
        }
    }
}
