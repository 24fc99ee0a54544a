//! The mutants: each is a gate with one guard switched off, and the model must notice.
//!
//! That every invariant holds in every small world with all guards on is checked by `cargo xtask model`.

use safepoint_core::Guard;
use safepoint_model::Invariant;
use safepoint_model::explore::explore;
use safepoint_model::setting::Setting;

/// Switches one guard off in one world and returns the invariant that breaks there.
fn broken_without(guard: Guard, world: &str) -> Invariant {
    let worlds = Setting::small();
    let setting = worlds.iter().find(|setting| setting.name == world).expect("a small world has this name");
    let found = explore(setting, Some(guard), 2).counterexample;
    let (broken, log) = found.unwrap_or_else(|| panic!("this world does not need the guard {guard:?}"));
    let again = log.replay().broken.map(|broken| broken.invariant);
    assert_eq!(again, Some(broken.invariant), "a log replays to the same end");
    broken.invariant
}

macro_rules! mutants {
    ($($name:ident: $guard:ident in $world:literal => $($invariant:ident)|+;)*) => {
        $(#[test]
        fn $name() {
            let broken = broken_without(Guard::$guard, $world);
            assert!(matches!(broken, $(Invariant::$invariant)|+), "{broken:?} broke");
        })*

        #[test]
        fn every_guard_has_its_mutant() {
            let tested = std::collections::BTreeSet::from([$(Guard::$guard),*]);
            assert_eq!(tested, Guard::ALL.into());
        }
    };
}

mutants! {
    skipping_the_barrier_is_found: RaiseTheBarrier in "a freeze that races with two upgrades" => Frozen;
    acknowledging_an_unsettled_freeze_is_found: WaitUntilSettled
        in "a freeze that races with two upgrades" => Settled;
    admitting_deletes_is_found: HoldStops in "an annotated stateful set beside a daemon set" => Held;
    replaying_a_stale_uid_is_found: BuryStaleUids in "a holder, stale lists and names that come back" => Dead;
    forgetting_a_release_in_a_crash_is_found: RecordReleases
        in "an annotated stateful set beside a daemon set" => Crash;
    forgetting_a_hold_in_a_crash_is_found: RecordHolds
        in "a holder, stale lists and names that come back" => Crash;
    a_grant_that_covers_a_newer_revision_is_found: BindGrantsToARevision
        in "an annotated daemon set that is pushed twice" => Held;
    thawing_on_a_clock_jump_is_found: CountOnTheMonotonicClock
        in "a leased freeze and a clock that jumps" => Frozen;
    showing_a_start_before_the_end_of_its_predecessor_is_found: EndBeforeStart
        in "an annotated stateful set beside a daemon set" => Converges;
    believing_a_late_report_is_found: DropLateReports in "a freeze that races with two upgrades" => Settled;
    thawing_without_a_new_list_is_found: RelistOnThaw in "a freeze that races with two upgrades" => Frozen;
}
