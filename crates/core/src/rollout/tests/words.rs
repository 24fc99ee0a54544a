//! What people read.

use super::*;

#[test]
fn the_verdict_is_told_with_its_numbers() {
    let seen = [new("n0"), old("n1"), old("n2"), old("n3").behind(Gate::Frozen)];
    assert_eq!(plan(&order(1), &seen, NOW).why, "1 of 4 upgraded, 1 under way, 1 waiting, 1 put off");
    assert_eq!(plan(&order(1), &[], NOW).why, "no node runs the static pod");
    let seen = [new("n0"), old("n1").away(Span::ZERO)];
    let done = plan(&order(1), &seen, NOW);
    assert_eq!((done.verdict, &*done.why), (Verdict::Success, "1 of 2 upgraded, 1 put off"));
}

#[test]
fn a_fleet_of_which_everybody_is_put_off_is_not_a_success() {
    assert_eq!(plan(&order(1), &[old("n0").behind(Gate::Frozen)], NOW).verdict, Verdict::Upgrading);
}

#[test]
fn a_window_that_is_full_of_pods_that_are_down_by_themselves_is_explained() {
    let seen = [old("n0"), new("n1").unready().away(Span::ZERO), new("n2").unready()];
    let why = plan(&order(1), &seen, NOW).why;
    assert_eq!(why, "1 of 3 upgraded, 1 under way, 1 waiting");
    let twice = [old("n0"), old("n1").unready().with(failed("new", 4, Span::from_mins(9)))];
    let why = plan(&order(1), &twice, NOW).why;
    assert_eq!(
        why,
        "0 of 2 upgraded, 1 waiting, 1 failed; pods that are not ready take every place in the window"
    );
}
