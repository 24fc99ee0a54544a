//! What becomes of failures. The first two are what OpenYurt gets wrong.

use super::*;

/// OpenYurt, defect 1: one failed worker stops the set on every node, also for a template that mends it.
#[test]
fn a_failed_node_stops_neither_the_others_nor_a_newer_template() {
    let seen = [old("n0").with(failed("new", 4, Span::from_mins(5))), old("n1")];
    let stuck = plan(&order(1), &seen, NOW);
    assert_eq!(started(&stuck), ["n1"]);
    assert_eq!(state(&stuck, "n0"), &State::Failed(Then::GivenUp));
    let newer = Order { target: Revision::from("newer"), ..order(1) };
    let mended = plan(&newer, &seen, NOW);
    assert_eq!(mended.start, [Start { node: "n0".into(), work: Work::Upgrade, attempt: 1 }]);
    assert_eq!(mended.remove[0].reason, RemovalReason::Superseded);
}

/// OpenYurt, defect 21: nobody knows which node failed, or why.
#[test]
fn a_failure_is_told_with_its_node_its_reason_and_what_follows() {
    let plan = plan(&order(1), &[old("n0").with(failed("new", 1, Span::from_secs(10)))], NOW);
    let node = &plan.nodes[0];
    assert_eq!(node.reason(), Some("RolledBack"));
    assert_eq!(
        node.to_string(),
        "attempt 1 failed: the new pod was not ready after 2m; it is tried again at 2026-11-15T00:00:20Z"
    );
    assert_eq!((plan.verdict, plan.counts.failed, plan.counts.retrying), (Verdict::Upgrading, 1, 1));
}

/// OpenYurt, defects 3 and 12: tasks and pods are found by parts of names.
#[test]
fn names_are_never_taken_apart() {
    let mut foreign = failed("new", 1, Span::ZERO);
    foreign.name = "yss-upgrade-worker-a-b-n0".into();
    let seen = [old("n0").with(foreign), old("n0-n1"), old("a-n0")];
    assert_eq!(started(&plan(&order(3), &seen, NOW)), ["a-n0", "n0-n1"]);
}

#[test]
fn a_node_is_tried_again_later_and_later_and_then_given_up() {
    let after = |attempt, span| plan(&order(1), &[old("n0").with(failed("new", attempt, span))], NOW);
    assert!(after(1, Span::from_secs(29)).start.is_empty());
    assert_eq!(after(1, Span::from_secs(30)).start[0].attempt, 2);
    assert!(after(3, Span::from_secs(119)).start.is_empty());
    assert_eq!(after(3, Span::from_secs(120)).start[0].attempt, 4);
    let last = after(4, Span::from_mins(600));
    assert_eq!((last.start.len(), last.verdict), (0, Verdict::Failed));
    assert_eq!(Retry::default().after(u32::MAX), Span::from_mins(30));
}

#[test]
fn a_failure_stays_on_record_while_the_next_try_is_under_way() {
    let twice = old("n0").with(failed("new", 1, Span::from_mins(5))).with(task("new", 2, Phase::Running));
    let running = plan(&order(1), &[twice], NOW);
    assert!(running.remove.is_empty());
    assert_eq!((running.nodes[0].attempts, running.nodes[0].failure.is_some()), (2, true));
    let again = old("n0").with(failed("new", 1, Span::from_mins(5))).with(failed("new", 2, Span::ZERO));
    assert_eq!(removed(&plan(&order(1), &[again], NOW)), ["task-new-1"]);
}

/// A task that is killed after it has put the manifest in place leaves a failure and a pod that shows the new revision.
#[test]
fn a_try_that_was_killed_does_not_speak_for_the_node_once_the_next_one_is_done() {
    let killed = || failed("new", 1, Span::from_secs(20));
    let done = task("new", 2, Phase::Succeeded { at: ago(Span::from_secs(1)) });
    let both = [new("n0").with(killed()).with(done.clone()), old("n1")];
    let first = plan(&order(1), &both, NOW);
    assert_eq!(state(&first, "n0"), &State::Upgraded);
    assert_eq!(started(&first), ["n1"], "it keeps no place from others");
    // The one that is done is there until the other is gone, whatever happens in between.
    assert_eq!(removed(&first), ["task-new-1"]);
    let alone = [new("n0").with(done), old("n1")];
    assert_eq!(removed(&plan(&order(1), &alone, NOW)), ["task-new-2"]);
}

#[test]
fn a_try_that_was_killed_when_its_pod_ran_already_is_followed_by_another_within_its_own_place() {
    let killed = new("n0").with(failed("new", 1, Span::from_mins(1)));
    let plan = plan(&order(1), &[killed, old("n1")], NOW);
    assert_eq!(plan.start, [Start { node: "n0".into(), work: Work::Upgrade, attempt: 2 }]);
}

#[test]
fn a_pod_that_shows_the_new_revision_for_a_moment_does_not_undo_the_failure() {
    let flicker = new("n0").unready().with(failed("new", 4, Span::from_secs(1)));
    let plan = plan(&order(1), &[flicker], NOW);
    assert!(plan.remove.is_empty());
    assert_eq!(state(&plan, "n0"), &State::Failed(Then::GivenUp));
}

#[test]
fn an_upgrade_that_is_reported_and_never_seen_has_failed() {
    let done = old("n0").with(task("new", 1, Phase::Succeeded { at: ago(Span::from_mins(2)) }));
    let plan = plan(&order(1), &[done], NOW);
    assert_eq!(plan.nodes[0].reason(), Some("NotSeen"));
}

#[test]
fn a_newer_template_waits_for_what_runs_and_calls_back_what_does_not() {
    let newer = Order { target: Revision::from("newer"), ..order(2) };
    let seen = [
        old("n0").with(task("new", 1, Phase::Running)),
        old("n1").with(task("new", 1, Phase::Waiting)),
        old("n2"),
    ];
    let plan = plan(&newer, &seen, NOW);
    assert_eq!(state(&plan, "n0"), &State::Upgrading(Progress::FinishingEarlier));
    assert_eq!((plan.remove.len(), &*plan.remove[0].node), (1, "n1"));
    assert!(plan.start.is_empty(), "both keep their places until they are gone");
}

#[test]
fn too_many_failures_end_it_until_somebody_begins_anew() {
    let order = Order { stop: Some(Share::Percent(25)), ..order(1) };
    let mut seen = fleet(4);
    seen[3] = old("n3").with(failed("new", 1, Span::from_mins(60)));
    assert_eq!(started(&plan(&order, &seen, NOW)), ["n0"], "a quarter is not more than a quarter");
    seen[2] = old("n2").with(failed("new", 1, Span::from_mins(60)));
    let stopped = plan(&order, &seen, NOW);
    assert_eq!((stopped.start.len(), stopped.verdict), (0, Verdict::Stopped));
    assert_eq!(state(&stopped, "n0"), &State::Waiting(Wait::Stop));
    let anew = Order { restarted: Some(ago(Span::from_mins(1))), ..order };
    let restarted = plan(&anew, &seen, NOW);
    assert_eq!((started(&restarted), restarted.remove.len()), (vec!["n0"], 2));
}

/// A `restartedAt` of tomorrow made every failure one of before it: nodes were tried again at once, without a pause and without
/// an end, until tomorrow.
#[test]
fn a_restart_that_is_yet_to_come_forgets_nothing_before_it_comes() {
    let tomorrow = Timestamp(NOW.0 + 86_400_000);
    let order = Order { restarted: Some(tomorrow), ..order(1) };
    let once = [old("n0").with(failed("new", 1, Span::from_secs(10)))];
    let before = plan(&order, &once, NOW);
    assert!(before.start.is_empty() && before.remove.is_empty());
    assert_eq!(state(&before, "n0"), &State::Failed(Then::RetryAt(Timestamp(NOW.0 + 20_000))));
    let spent = [old("n0").with(failed("new", 4, Span::from_mins(60)))];
    let before = plan(&order, &spent, NOW);
    assert_eq!((before.verdict, before.again), (Verdict::Failed, Some(tomorrow)));
    assert_eq!(removed(&plan(&order, &spent, tomorrow)), ["task-new-4"]);
}

#[test]
fn a_canary_that_has_failed_stops_the_others_for_good() {
    let order = Order { canary: Some(Canary { wait: Span::ZERO }), ..order(3) };
    let seen = [old("a"), old("z").canary().with(failed("new", 4, Span::from_mins(60))), new("y").canary()];
    let plan = plan(&order, &seen, NOW);
    assert_eq!((plan.start.len(), plan.verdict), (0, Verdict::Failed));
    assert_eq!(plan.promotion, Promotion::Failed { node: "z".into() });
}
