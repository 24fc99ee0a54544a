//! Who is started, and who has to wait.

use super::*;

#[test]
fn a_window_slides_by_name_and_does_not_wait_for_a_batch() {
    let mut seen = fleet(5);
    seen.reverse();
    assert_eq!(started(&plan(&order(2), &seen, NOW)), ["n0", "n1"]);
    let seen = [new("n0"), old("n1").with(task("new", 1, Phase::Running)), old("n2"), old("n3")];
    assert_eq!(started(&plan(&order(2), &seen, NOW)), ["n2"]);
}

#[test]
fn a_share_is_rounded_up_and_never_none() {
    let tenth = Order { budget: Share::Percent(10), ..order(0) };
    assert_eq!(plan(&tenth, &fleet(3), NOW).start.len(), 1);
    assert_eq!(plan(&tenth, &fleet(21), NOW).start.len(), 3);
    assert_eq!(Share::Percent(0).of(100), 0);
}

#[test]
fn a_pod_that_is_down_by_itself_takes_a_place() {
    let seen = [new("n0").unready(), old("n1"), old("n2")];
    assert!(plan(&order(1), &seen, NOW).start.is_empty());
    assert_eq!(started(&plan(&order(2), &seen, NOW)), ["n1"]);
}

#[test]
fn a_node_whose_old_pod_is_down_goes_first_because_nobody_loses_by_it() {
    let seen = [old("n0"), old("n1").unready(), old("n2").unready()];
    assert_eq!(started(&plan(&order(1), &seen, NOW)), ["n1"], "one at a time all the same");
    assert_eq!(started(&plan(&order(3), &seen, NOW)), ["n1", "n2", "n0"]);
}

#[test]
fn a_pod_counts_as_well_when_it_has_been_ready_for_long_enough() {
    let order = Order { min_ready: Span::from_secs(30), ..order(1) };
    let mut fresh = new("n0");
    fresh.pod = Pod::Present { revision: Some(Revision::from("new")), ready: Some(ago(Span::from_secs(20))) };
    let plan = plan(&order, &[fresh, old("n1")], NOW);
    assert!(plan.start.is_empty());
    assert_eq!(state(&plan, "n0"), &State::Upgrading(Progress::Settling));
    assert_eq!(plan.again, Some(Timestamp(NOW.0 + 10_000)));
}

#[test]
fn a_clock_that_is_years_ahead_does_not_stop_the_others() {
    let order = Order { min_ready: Span::from_secs(30), ..order(1) };
    let mut ahead = new("n0");
    let ready = Some(Timestamp(NOW.0 + 86_400_000_000));
    ahead.pod = Pod::Present { revision: Some(Revision::from("new")), ready };
    assert_eq!(started(&plan(&order, &[ahead, old("n1")], NOW)), ["n1"]);
}

#[test]
fn an_upgrade_that_is_reported_and_not_seen_yet_keeps_its_place() {
    let done = old("n0").with(task("new", 1, Phase::Succeeded { at: ago(Span::from_secs(5)) }));
    let plan = plan(&order(1), &[done, old("n1")], NOW);
    assert!(plan.start.is_empty() && plan.remove.is_empty());
    assert_eq!(state(&plan, "n0"), &State::Upgrading(Progress::Unseen));
}

#[test]
fn nodes_that_are_away_frozen_or_held_are_put_off_with_a_reason_and_caught_up() {
    let held = Gate::Held { by: "mission-control".into() };
    let cases = [
        (old("n0").away(Span::from_secs(1)), Deferral::NotReady),
        (old("n0").behind(Gate::Frozen), Deferral::Frozen),
        (old("n0").behind(Gate::Freezing), Deferral::Freezing),
        (old("n0").behind(held), Deferral::Held { by: "mission-control".into() }),
    ];
    for (seen, reason) in cases {
        let put_off = plan(&order(1), &[seen, old("n1")], NOW);
        assert_eq!(state(&put_off, "n0"), &State::Deferred(reason));
        assert_eq!(started(&put_off), ["n1"], "it takes no place");
    }
    assert_eq!(started(&plan(&order(1), &[old("n0").behind(Gate::Open), old("n1")], NOW)), ["n0"]);
}

#[test]
fn cordoned_nodes_are_put_off_only_where_the_order_says_so() {
    let seen = [Seen { cordoned: true, ..old("n0") }];
    assert_eq!(started(&plan(&order(1), &seen, NOW)), ["n0"]);
    let careful = Order { cordoned: Cordoned::Defer, ..order(1) };
    assert_eq!(state(&plan(&careful, &seen, NOW), "n0"), &State::Deferred(Deferral::Cordoned));
}

#[test]
fn on_a_node_that_freezes_a_task_that_runs_is_left_alone_and_one_that_does_not_is_called_back() {
    let frozen = |phase| [old("n0").behind(Gate::Frozen).with(task("new", 1, phase)), old("n1")];
    let runs = plan(&order(1), &frozen(Phase::Running), NOW);
    assert!(runs.remove.is_empty() && runs.start.is_empty());
    let waits = plan(&order(1), &frozen(Phase::Waiting), NOW);
    assert_eq!(removed(&waits), ["task-new-1"]);
    assert_eq!(waits.remove[0].reason, RemovalReason::Recalled);
    assert!(waits.start.is_empty(), "its place is free when it is gone, not before");
}

#[test]
fn a_node_that_goes_away_half_way_keeps_its_place_for_a_while() {
    let half = |span| [old("n0").away(span).with(task("new", 1, Phase::Running)), old("n1")];
    let soon = plan(&order(1), &half(Span::from_mins(9)), NOW);
    assert!(soon.start.is_empty());
    assert_eq!(soon.again, Some(Timestamp(NOW.0 + 60_000)));
    assert_eq!(started(&plan(&order(1), &half(Span::from_mins(10)), NOW)), ["n1"]);
}

/// A node that died while its task ran was under way for ever: it counted neither as put off nor as failed, and a roll-out
/// that all others had gone through was never a success.
#[test]
fn a_node_that_is_lost_half_way_is_put_off_and_the_others_are_a_success() {
    for revision in ["new", "older"] {
        let half = |span| [old("n0").away(span).with(task(revision, 1, Phase::Running)), new("n1")];
        let soon = plan(&order(1), &half(Span::from_mins(9)), NOW);
        assert_eq!((soon.counts.upgrading, soon.verdict), (1, Verdict::Upgrading));
        let lost = plan(&order(1), &half(Span::from_mins(10)), NOW);
        assert_eq!(state(&lost, "n0"), &State::Deferred(Deferral::NotReady));
        assert_eq!((lost.counts.deferred, lost.verdict), (1, Verdict::Success));
        assert!(lost.remove.is_empty(), "it is seen as it is when it returns");
    }
}

#[test]
fn a_pause_starts_nothing_and_lets_what_runs_finish() {
    let paused = Order { paused: true, ..order(3) };
    let seen = [
        old("n0").with(task("new", 1, Phase::Running)),
        old("n1").with(task("new", 1, Phase::Waiting)),
        old("n2"),
    ];
    let plan = plan(&paused, &seen, NOW);
    assert!(plan.start.is_empty());
    assert_eq!((removed(&plan).len(), &*plan.remove[0].node), (1, "n1"));
    assert_eq!((plan.verdict, state(&plan, "n2")), (Verdict::Paused, &State::Waiting(Wait::Pause)));
}

#[test]
fn only_canaries_go_until_they_have_been_well_for_long_enough() {
    let order = Order { canary: Some(Canary { wait: Span::from_mins(10) }), ..order(3) };
    let first = plan(&order, &[old("a"), old("z").canary()], NOW);
    assert_eq!((started(&first), &first.promotion), (vec!["z"], &Promotion::Upgrading));
    let since = |span| {
        let mut canary = new("z").canary();
        canary.pod = Pod::Present { revision: Some(Revision::from("new")), ready: Some(ago(span)) };
        [old("a"), canary]
    };
    let watched = plan(&order, &since(Span::from_mins(4)), NOW);
    let until = Timestamp(NOW.0 + 360_000);
    assert_eq!((watched.promotion, watched.again), (Promotion::Watching { until }, Some(until)));
    assert!(watched.start.is_empty());
    assert_eq!(started(&plan(&order, &since(Span::from_mins(10)), NOW)), ["a"]);
}

#[test]
fn a_canary_that_is_put_off_is_not_waited_for_but_somebody_has_to_go_first() {
    let order = Order { canary: Some(Canary { wait: Span::ZERO }), ..order(3) };
    let frozen = old("y").canary().behind(Gate::Frozen);
    let nobody = plan(&order, &[old("a"), frozen.clone()], NOW);
    assert_eq!((nobody.start.len(), nobody.promotion), (0, Promotion::Absent));
    assert_eq!(started(&plan(&order, &[old("a"), frozen, new("z").canary()], NOW)), ["a"]);
}

#[test]
fn a_canary_that_goes_away_with_the_new_revision_holds_the_others_back() {
    let order = Order { canary: Some(Canary { wait: Span::ZERO }), ..order(3) };
    let seen = [old("a"), new("y").canary(), new("z").canary().away(Span::from_mins(90))];
    assert!(plan(&order, &seen, NOW).start.is_empty());
}

#[test]
fn the_same_is_planned_whatever_the_order_in_which_nodes_come() {
    let mut seen =
        vec![old("n3"), new("n1"), old("n2").unready(), old("n0").with(failed("new", 1, Span::from_mins(5)))];
    let one = plan(&order(2), &seen, NOW);
    seen.rotate_left(2);
    assert_eq!(plan(&order(2), &seen, NOW), one);
    assert_eq!(started(&one), ["n2", "n3"], "nodes that have failed come last");
}

#[test]
fn a_driver_that_does_not_see_its_own_start_yet_does_not_start_another() {
    let order = order(1);
    let mut started_by_us = Started::default();
    started_by_us.note(&"n0".into(), task("new", 1, Phase::Waiting), Some(7));
    let mut late = fleet(2);
    started_by_us.merge(&mut late, 6);
    assert!(plan(&order, &late, NOW).start.is_empty());
    let mut current = fleet(2);
    started_by_us.merge(&mut current, 7);
    assert!(started_by_us.is_empty(), "a view that is as new would show it");
    assert_eq!(started(&plan(&order, &current, NOW)), ["n0"]);
}

#[test]
fn a_start_without_an_answer_is_uncertain_until_it_is_seen_or_refused() {
    let node = crate::Text::from("n0");
    let mut started_by_us = Started::default();
    let note = |started: &mut Started, version| {
        started.note(&node, task("new", 1, Phase::Waiting), version);
    };
    note(&mut started_by_us, None);
    assert!(started_by_us.is_uncertain(&node, "task-new-1"));
    started_by_us.merge(&mut fleet(1), 100);
    assert!(
        started_by_us.is_uncertain(&node, "task-new-1"),
        "no version is new enough to show that it is not there"
    );
    started_by_us.merge(&mut [old("n0").with(task("new", 1, Phase::Running))], 1);
    assert!(!started_by_us.is_uncertain(&node, "task-new-1"));
    note(&mut started_by_us, Some(7));
    assert!(!started_by_us.is_uncertain(&node, "task-new-1"));
}
