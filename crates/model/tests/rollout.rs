//! The roll-out planner in small fleets, and its mutants: each lacks one rule, and the model must notice.

use safepoint_core::rollout::Rule;
use safepoint_model::rollout::explore::{explore, replay};
use safepoint_model::rollout::{Invariant, Setting};

/// Takes one rule out in one fleet and returns the invariant that breaks there.
fn broken_without(rule: Rule, fleet: &str) -> Invariant {
    let fleets = Setting::small();
    let setting = fleets.iter().find(|setting| setting.name == fleet).expect("a small fleet has this name");
    let found = explore(setting, Some(rule), 2).counterexample;
    let (broken, actions) = found.unwrap_or_else(|| panic!("this fleet does not need the rule {rule:?}"));
    let (again, story) = replay(setting, Some(rule), &actions);
    println!("{story}");
    assert_eq!(again.map(|broken| broken.invariant), Some(broken.invariant), "a run replays to the same end");
    broken.invariant
}

macro_rules! mutants {
    ($($name:ident: $rule:ident in $fleet:literal => $($invariant:ident)|+;)*) => {
        $(#[test]
        fn $name() {
            let broken = broken_without(Rule::$rule, $fleet);
            assert!(matches!(broken, $(Invariant::$invariant)|+), "{broken:?} broke");
        })*

        #[test]
        fn every_rule_has_its_mutant() {
            let tested = std::collections::BTreeSet::from([$(Rule::$rule),*]);
            assert_eq!(tested, Rule::ALL.into());
        }
    };
}

mutants! {
    forgetting_tasks_in_the_window_is_found: CountTasks
        in "three machines, one at a time, and a template that is replaced" => Budget;
    forgetting_tasks_of_an_earlier_template_is_found: CountSuperseded
        in "three machines, one at a time, and a template that is replaced" => Budget;
    giving_away_the_place_of_a_task_that_is_on_its_way_out_is_found: CountRemoved
        in "three machines, one at a time, and a template that is replaced" => Budget;
    forgetting_pods_that_are_not_ready_is_found: CountUnready
        in "three machines, two at a time, and pods that are down by themselves" => Budget;
    believing_that_the_old_pod_is_well_after_an_upgrade_is_found: CountUnseen
        in "three machines, one at a time, and a template that is replaced" => Budget;
    upgrading_every_sick_node_at_once_is_found: BoundTheSick
        in "three machines, two at a time, and pods that are down by themselves" => Budget;
    a_second_task_beside_the_first_is_found: OneTaskEach
        in "three machines, one at a time, and a template that is replaced" => Once;
    starting_on_frozen_nodes_is_found: Defer in "three machines that freeze, and a pause" => PutOff;
    waiting_for_ever_for_a_node_that_is_lost_is_found: DeferTheLost
        in "three machines that go away half way" => Converges;
    leaving_a_task_to_begin_on_a_frozen_node_is_found: Recall
        in "three machines that freeze, and a pause" => Recall;
    starting_during_a_pause_is_found: Pause in "three machines that freeze, and a pause" => PutOff;
    remembering_failures_of_an_earlier_template_is_found: ForgetOldFailures
        in "three machines, one at a time, and a template that is replaced" => Converges;
    a_failed_task_that_keeps_its_place_is_found: FailuresDoNotBlock
        in "three machines, one at a time, and a template that is replaced" => Converges;
    forgetting_a_failure_too_early_is_found: KeepFailures
        in "four machines, one at a time, and failures that are tried again" => Budget | Retry;
    retrying_at_once_is_found: BackOff
        in "four machines, one at a time, and failures that are tried again" => Retry;
    retrying_for_ever_is_found: GiveUp
        in "four machines, one at a time, and failures that are tried again" => Retry;
    overtaking_the_canaries_is_found: CanariesFirst in "three machines, one of them a canary" => Canary;
    going_on_after_too_many_failures_is_found: StopAtShare
        in "three machines, and a stop after the first failure" => Stop;
    forgetting_what_was_just_started_is_found: RememberStarts
        in "three machines, and a hub that sees late and dies" => Budget | Once;
}

/// `cargo xtask model` explores all of them; this one keeps the cheapest in every test run.
#[test]
fn every_invariant_holds_where_a_template_is_replaced() {
    let setting = &Setting::small()[0];
    let found = explore(setting, None, 2);
    if let Some((_, actions)) = found.counterexample {
        panic!("{}", replay(setting, None, &actions).1);
    }
}
