//! The mutants of the lifecycle: each lacks one guard, and the model must notice.
//!
//! That every promise is kept in every small world with all guards on is checked by `cargo xtask model`.

use safepoint_core::lifecycle::Guard;
use safepoint_model::lifecycle::{Promise, Setting, explore};

/// Switches one guard off in one world and returns the promise that is broken there.
fn broken_without(guard: Guard, world: &str) -> Promise {
    let worlds = Setting::small();
    let setting = worlds.iter().find(|setting| setting.name == world).expect("a small world has this name");
    let found = explore(setting, Some(guard), 2).counterexample;
    let (broken, _) = found.unwrap_or_else(|| panic!("this world does not need the guard {guard:?}"));
    broken.promise
}

macro_rules! mutants {
    ($($name:ident: $guard:ident in $world:literal => $($promise:ident)|+;)*) => {
        $(#[test]
        fn $name() {
            let broken = broken_without(Guard::$guard, $world);
            assert!(matches!(broken, $(Promise::$promise)|+), "{broken:?} broke");
        })*

        #[test]
        fn every_guard_has_its_mutant() {
            let tested = std::collections::BTreeSet::from([$(Guard::$guard),*]);
            assert_eq!(tested, Guard::ALL.into());
        }
    };
}

mutants! {
    acting_while_a_finalizer_stands_is_found: WaitForFinalizers in "three operations" => Protected;
    acting_on_a_pod_that_is_still_ready_is_found: WaitUntilNotReady
        in "two operations of two types" => Closed | Protected;
    taking_not_yet_registered_for_switched_off_is_found: WaitForRegistration
        in "two operations of two types" => Protected;
    taking_an_old_answer_for_a_new_one_is_found: GrantWhatWasAsked
        in "one operation, everything that can go wrong" => Asked;
    opening_the_gate_for_one_while_another_acts_is_found: KeepTheGateClosed
        in "two operations of two types" => Closed | Protected;
    forgetting_who_has_acted_is_found: CountOperatedAsDone in "three operations" => Returns;
    beginning_with_the_labels_of_the_last_time_is_found: BeginAfresh in "three operations" => Asked | Valid;
    leaving_labels_behind_is_found: CleanWhatIsLeft in "two operations of two types" => Returns | Valid | Asked;
    waiting_for_one_that_only_waits_is_found: KeepStagesApart in "two operations of two types" => Returns;
    leaving_permissions_behind_is_found: DropSparePermissions in "three operations" => Valid | Returns;
    keeping_the_dying_is_found: LetTheDyingGo in "deletions beside an operation" => Returns;
    writing_down_a_dry_run_is_found: KeepDryRunsDry in "deletions beside an operation" => Dry;
    deleting_what_nobody_wants_gone_is_found: WithdrawWishes in "deletions beside an operation" => Returns;
    deleting_by_the_permission_of_another_is_found: DeleteByItsOwnPermission
        in "deletions beside an operation" => Asked;
}

#[test]
fn one_operation_keeps_every_promise_with_all_guards_on() {
    let found = explore(&Setting::small()[0], None, 2);
    assert!(found.counterexample.is_none(), "{:?}", found.counterexample);
}
