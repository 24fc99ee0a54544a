//! Transition rules.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use safepoint_core::lifecycle::rules::quota::{Amount, Quota};
use safepoint_core::lifecycle::rules::webhook::{Answer, Asked, Call, Polling};
use safepoint_core::lifecycle::rules::{Before, Demand, Evaluation, Rule, RuleSet, RuledPod};
use safepoint_core::lifecycle::{BlockedBy, Nanos, RuleStates, Stage, StageState, View};
use safepoint_core::{Requirement, Selector, Text};

use crate::support::{NOW, wire};

const POLLING: Polling = Polling { interval: Nanos::from_secs(5), timeout: Nanos::from_secs(60) };

fn selector(requirements: &[Requirement]) -> Selector {
    Selector(Arc::from(requirements))
}

fn set(demand: Demand) -> RuleSet {
    let rule = Rule { name: "rule".into(), stage: Stage::PreCheck, disabled: false, filter: None, demand };
    RuleSet { namespace: "shop".into(), name: "set".into(), selector: selector(&[]), rules: vec![rule] }
}

fn pod(name: &str, labels: &[&str]) -> RuledPod {
    let labels = wire(labels);
    RuledPod::of("shop", name, &labels, &View::of(&labels), BTreeSet::new())
}

fn asking(name: &str) -> RuledPod {
    pod(name, &["operating/1", "operation-type/1=update", "pre-check/1", "service-available"])
}

fn evaluate(set: &RuleSet, pods: &[RuledPod], last: &Evaluation) -> Evaluation {
    set.evaluate(pods, Before { last, asked: &BTreeMap::new(), uncreated: 0 })
}

fn passes(set: &RuleSet, pod: &RuledPod, evaluation: &Evaluation) -> bool {
    RuleStates::of(pod, &[(set, evaluation)]).pre_check == StageState::Passed
}

fn half() -> RuleSet {
    set(Demand::Available(Quota { max_unavailable: Some(Amount::Percent(50)), min_available: None }))
}

#[test]
fn half_of_the_pods_may_go_and_those_that_went_stay_allowed() {
    let pods: Vec<RuledPod> = ["a", "b", "c", "d"].map(asking).into();
    let first = evaluate(&half(), &pods, &Evaluation::default());
    let allowed =
        |evaluation: &Evaluation| pods.iter().filter(|pod| passes(&half(), pod, evaluation)).count();
    assert_eq!(allowed(&first), 2);
    assert_eq!(allowed(&evaluate(&half(), &pods, &first)), 2);
}

#[test]
fn pods_that_are_missing_count_as_out_of_service() {
    let pods: Vec<RuledPod> = ["a", "b"].map(asking).into();
    let before = Before { last: &Evaluation::default(), asked: &BTreeMap::new(), uncreated: 1 };
    let evaluation = half().evaluate(&pods, before);
    assert!(pods.iter().all(|pod| !passes(&half(), pod, &evaluation)));
}

#[test]
fn pods_that_are_terminating_count_as_out_of_service() {
    let one = set(Demand::Available(Quota { max_unavailable: Some(Amount::Count(1)), min_available: None }));
    let labels = wire(&["service-available"]);
    let view = View { deleting: true, ..View::of(&labels) };
    let going = RuledPod::of("shop", "a", &labels, &view, BTreeSet::new());
    let pods = [going, asking("b")];
    assert!(!passes(&one, &pods[1], &evaluate(&one, &pods, &Evaluation::default())));
    let pods = [pod("a", &["service-available"]), asking("b")];
    assert!(passes(&one, &pods[1], &evaluate(&one, &pods, &Evaluation::default())));
}

#[test]
fn parts_are_rounded_up_for_the_most_that_may_go_and_down_for_the_least_that_must_stay() {
    assert_eq!((Amount::Percent(50).of(3, true), Amount::Percent(50).of(3, false)), (2, 1));
    assert_eq!(Amount::Count(7).of(3, true), 7);
    let least =
        set(Demand::Available(Quota { max_unavailable: None, min_available: Some(Amount::Count(2)) }));
    let pods: Vec<RuledPod> = ["a", "b", "c"].map(asking).into();
    let evaluation = evaluate(&least, &pods, &Evaluation::default());
    assert_eq!(pods.iter().filter(|pod| passes(&least, pod, &evaluation)).count(), 1);
}

#[test]
fn a_pod_that_is_out_of_service_anyway_may_go() {
    let none = set(Demand::Available(Quota { max_unavailable: Some(Amount::Count(0)), min_available: None }));
    let pods = [pod("a", &["operating/1", "operation-type/1=update", "pre-check/1"])];
    assert!(passes(&none, &pods[0], &evaluate(&none, &pods, &Evaluation::default())));
}

#[test]
fn a_label_check_says_which_labels_it_wants_and_can_be_skipped() {
    let demand = Demand::Labels(selector(&[Requirement::Exists("approved".into())]));
    let mut pods = [asking("a")];
    let evaluation = evaluate(&set(demand.clone()), &pods, &Evaluation::default());
    let StageState::Waiting(blocked) =
        RuleStates::of(&pods[0], &[(&set(demand.clone()), &evaluation)]).pre_check
    else {
        panic!("it has no such label");
    };
    assert_eq!(blocked[0].to_string(), "rule says no (its labels are not approved)");
    pods[0].skips = BTreeSet::from(["rule".into()]);
    assert!(passes(&set(demand.clone()), &pods[0], &evaluate(&set(demand), &pods, &Evaluation::default())));
}

#[test]
fn weakness_12_a_rule_is_about_pods_of_its_own_namespace() {
    let mut elsewhere = asking("web-0");
    elsewhere.namespace = "bank".into();
    assert!(passes(&half(), &elsewhere, &Evaluation::default()));
    assert!(!passes(&half(), &asking("web-0"), &Evaluation::default()));
}

#[test]
fn weakness_13_a_rule_that_has_not_looked_stands_in_the_way_also_of_the_next_operation() {
    let first = asking("a");
    let StageState::Waiting(blocked) = RuleStates::of(&first, &[(&half(), &Evaluation::default())]).pre_check
    else {
        panic!("nobody has looked");
    };
    assert_eq!(blocked[0].by, BlockedBy::NotEvaluated);
    let evaluation = evaluate(&half(), std::slice::from_ref(&first), &Evaluation::default());
    assert!(passes(&half(), &first, &evaluation));
    let again = pod("a", &["operating/1", "operation-type/1=update", "pre-check/1=2", "service-available"]);
    assert!(!passes(&half(), &again, &evaluation), "what was said was said about another operation");
}

#[test]
fn weakness_14_the_stages_of_a_pod_that_is_in_both_are_judged_apart() {
    let both = pod(
        "a",
        &[
            "operating/1",
            "operation-type/1=update",
            "pre-check/1",
            "operated/2",
            "done-operation-type/2=x",
            "post-check/2",
        ],
    );
    let never = set(Demand::Labels(selector(&[Requirement::Exists("never".into())])));
    let evaluation = evaluate(&never, std::slice::from_ref(&both), &Evaluation::default());
    let states = RuleStates::of(&both, &[(&never, &evaluation)]);
    assert!(matches!(states.pre_check, StageState::Waiting(_)));
    assert_eq!(states.post_check, StageState::Passed);
}

fn answer(finished: &[&str], task: Option<&str>) -> Answer {
    Answer {
        success: true,
        finished: finished.iter().map(|name| Text::from(*name)).collect(),
        all_finished: false,
        message: "still at it".into(),
        task: task.map(Text::from),
        stop: false,
    }
}

#[test]
fn a_webhook_that_takes_on_a_task_is_asked_about_it_until_it_is_done() {
    let rule = set(Demand::Webhook(POLLING));
    let pods = [asking("a"), asking("b")];
    let mut asked = Asked::default();
    let look = |asked: &Asked| {
        let asked = BTreeMap::from([("rule".into(), asked.clone())]);
        rule.evaluate(&pods, Before { last: &Evaluation::default(), asked: &asked, uncreated: 0 })
    };
    let ask = look(&asked).calls[0].1.clone();
    assert_eq!(ask, Call::Ask(BTreeSet::from(["a".into(), "b".into()])));
    asked.heard(&ask, Ok(answer(&["a"], Some("7"))), POLLING, NOW);
    assert!(passes(&rule, &pods[0], &look(&asked)) && !passes(&rule, &pods[1], &look(&asked)));
    let poll = look(&asked).calls[0].1.clone();
    assert_eq!(poll, Call::Poll { task: "7".into(), at: Nanos(NOW.0 + 5_000_000_000) });
    asked.heard(&poll, Err("connection refused".into()), POLLING, NOW);
    assert!(!passes(&rule, &pods[1], &look(&asked)), "a failing webhook stands in the way");
    asked.heard(&poll, Ok(answer(&["b"], None)), POLLING, NOW);
    assert!(passes(&rule, &pods[1], &look(&asked)));
    assert!(look(&asked).calls.is_empty() && asked.tasks.is_empty());
}

#[test]
fn a_task_that_takes_too_long_is_given_up_and_asked_for_again() {
    let mut asked = Asked::default();
    let pods = BTreeSet::from([Text::from("a")]);
    asked.heard(&Call::Ask(pods.clone()), Ok(answer(&[], Some("7"))), POLLING, NOW);
    let late = Nanos(NOW.0 + 61_000_000_000);
    asked.heard(&asked.calls(&pods, POLLING)[0].clone(), Ok(answer(&[], None)), POLLING, late);
    assert_eq!(asked.calls(&pods, POLLING), [Call::Ask(pods.clone())]);
    assert!(asked.rejected(&pods)["a"].contains("too long"));
}
