//! What a PodTransitionRule decides, and when that counts.

#![allow(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]

use safepoint_core::Labels;
use safepoint_core::lifecycle::{RuleStates, StageState, View};
use serde_json::{Value, json};

use super::*;

const DOMAIN: &str = "podopslifecycle.kusionstack.io";

fn wall(seconds: i64) -> Timestamp {
    Timestamp::from_second(1_794_700_800 + seconds).unwrap()
}

fn at(seconds: i64) -> String {
    nanos(wall(seconds)).0.to_string()
}

fn raw(rules: Value) -> RawRule {
    let object = json!({"metadata": {"namespace": "shop", "name": "set", "uid": "u1", "resourceVersion": "1", "generation": 1},
        "spec": {"selector": {"matchLabels": {"app": "web"}}, "rules": rules}});
    serde_json::from_value(object).unwrap()
}

fn set(rules: Value) -> Set {
    Set::new(&raw(rules), &BTreeSet::new())
}

fn one_at_a_time() -> Value {
    json!([{"name": "one", "availablePolicy": {"maxUnavailableValue": 1}}])
}

fn webhook() -> Value {
    json!([{"name": "ask", "webhook": {"clientConfig": {"url": "http://a.example/ask", "poll": {"url": "http://a.example/poll"}}}}])
}

fn pod(name: &str, more: &[(String, String)]) -> RuledPod {
    let base = [("app", "web"), ("kusionstack.io/control", "true")];
    let mut labels: Labels = base.iter().map(|(key, value)| (Text::from(*key), Text::from(*value))).collect();
    labels.extend(more.iter().map(|(key, value)| (Text::from(key.as_str()), Text::from(value.as_str()))));
    RuledPod::of("shop", name, &labels, &View::of(&labels), BTreeSet::new())
}

/// A pod in service whose operation has asked at this time.
fn asking(name: &str, seconds: i64) -> RuledPod {
    let label = |prefix: &str, value: String| (format!("{prefix}.{DOMAIN}/op"), value);
    pod(
        name,
        &[
            label("operating", at(seconds)),
            label("operation-type", "update".into()),
            label("pre-check", at(seconds)),
            (format!("{DOMAIN}/service-available"), at(0)),
        ],
    )
}

fn passes(set: &Set, pod: &RuledPod) -> bool {
    let known: Vec<_> = set.evaluations().collect();
    RuleStates::of(pod, &known).pre_check == StageState::Passed
}

fn why(set: &Set, pod: &RuledPod) -> String {
    let known: Vec<_> = set.evaluations().collect();
    match RuleStates::of(pod, &known).pre_check {
        StageState::Passed => String::new(),
        StageState::Waiting(blocked) => {
            blocked.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        }
    }
}

/// Makes a pass and writes what it says.
fn look(set: &mut Set, pods: &[RuledPod], seconds: i64) -> Acts {
    let mut acts = set.pass(pods, wall(seconds));
    if let Some((version, status)) = acts.status.take() {
        let next = (version.parse::<u64>().unwrap() + 1).to_string();
        acts.changed.extend(set.written(next, status));
    }
    acts
}

fn said(text: &str) -> Result<Answer, Text> {
    super::super::ask::asked(text.as_bytes(), true)
}

#[test]
fn what_is_decided_counts_once_it_is_written_and_a_refusal_at_once() {
    let mut set = set(one_at_a_time());
    let pods = [asking("a", 1), asking("b", 1), asking("c", 1)];
    let acts = set.pass(&pods, wall(2));
    let (version, status) = acts.status.unwrap();
    assert_eq!(version, "1");
    assert!(pods.iter().all(|pod| !passes(&set, pod)), "nothing is written yet");
    assert_eq!(status.targets, ["a", "b", "c"]);
    assert_eq!(status.details.iter().filter(|detail| detail.passed).count(), 1);
    assert_eq!(set.written("2".into(), status).len(), 3);
    assert!(passes(&set, &pods[0]) && !passes(&set, &pods[1]));
    assert!(why(&set, &pods[1]).contains("1 of 3 are out of service already, and 1 may be"));
    let idle = set.pass(&pods, wall(3));
    assert!(idle.status.is_none() && idle.changed.is_empty() && idle.news.is_empty());
    // The rule is made stricter: who was let go and has not gone waits at once.
    let mut stricter =
        raw(json!([{"name": "never", "labelCheck": {"requires": {"matchLabels": {"ok": "true"}}}}]));
    stricter.metadata.resource_version = Some("3".into());
    set.update(&stricter, &BTreeSet::new());
    assert!(!passes(&set, &pods[0]));
    let acts = set.pass(&pods, wall(4));
    assert!(acts.status.is_some() && !passes(&set, &pods[0]));
}

#[test]
fn a_status_that_was_written_for_other_rules_lets_nobody_go() {
    let mut set = set(one_at_a_time());
    let pods = [asking("a", 1)];
    let (_, status) = set.pass(&pods, wall(2)).status.unwrap();
    set.update(
        &raw(json!([{"name": "never", "labelCheck": {"requires": {"matchLabels": {"ok": "true"}}}}])),
        &BTreeSet::new(),
    );
    assert!(set.written("2".into(), status).is_empty());
    assert!(!passes(&set, &pods[0]));
}

#[test]
fn an_answer_that_is_older_than_what_the_watch_has_told_does_not_take_that_back() {
    let mut set = set(one_at_a_time());
    let pods = [asking("a", 1)];
    let (_, status) = set.pass(&pods, wall(2)).status.unwrap();
    let mut newer = raw(one_at_a_time());
    newer.metadata.resource_version = Some("12".into());
    newer.metadata.generation = Some(2);
    newer.status = serde_json::to_value(&status).unwrap();
    set.update(&newer, &BTreeSet::new());
    set.written("11".into(), status);
    assert_eq!(set.pass(&pods, wall(3)).status.unwrap().0, "12");
}

#[test]
fn a_hub_that_starts_anew_lets_no_second_pod_go() {
    let mut first = set(one_at_a_time());
    let pods = [asking("b", 1), asking("c", 1)];
    look(&mut first, &pods, 2);
    assert!(passes(&first, &pods[0]) && !passes(&first, &pods[1]));
    let mut stored = raw(one_at_a_time());
    stored.status = serde_json::to_value(&first.stored).unwrap();
    // A pod that comes first by its name has begun to ask meanwhile.
    let pods = [asking("a", 3), pods[0].clone(), pods[1].clone()];
    let mut second = Set::new(&stored, &BTreeSet::new());
    assert!(pods.iter().all(|pod| !passes(&second, pod)), "it has not looked");
    look(&mut second, &pods, 4);
    assert!(!passes(&second, &pods[0]) && passes(&second, &pods[1]) && !passes(&second, &pods[2]));
    // Another operation on the pod that was let go asks for itself.
    let mut third = Set::new(&stored, &BTreeSet::new());
    let pods = [asking("a", 3), asking("b", 9), asking("c", 1)];
    look(&mut third, &pods, 10);
    assert!(passes(&third, &pods[0]) && !passes(&third, &pods[1]));
}

#[test]
fn a_webhook_is_asked_once_and_not_again_before_its_time() {
    let mut set = set(webhook());
    let pods = [asking("a", 1)];
    let acts = look(&mut set, &pods, 2);
    assert_eq!(acts.calls.len(), 1);
    assert!(acts.news.is_empty(), "who has not answered has not said no");
    assert!(look(&mut set, &pods, 2).calls.is_empty(), "it is being asked");
    set.heard(&acts.calls[0], said(r#"{"success":false,"message":"not now"}"#), nanos(wall(3)));
    let refused = look(&mut set, &pods, 3);
    assert!(refused.calls.is_empty() && set.wake == Some(nanos(wall(8))));
    assert_eq!(refused.news[0].text, "PreCheck of PodTransitionRule set: ask says no (not now)");
    assert!(look(&mut set, &pods, 4).news.is_empty());
    let again = look(&mut set, &pods, 8);
    assert_eq!(again.calls.len(), 1);
    set.heard(&again.calls[0], said(r#"{"success":true}"#), nanos(wall(8)));
    assert!(look(&mut set, &pods, 8).changed.contains("a"));
    assert!(passes(&set, &pods[0]));
}

#[test]
fn an_answer_is_for_the_operation_that_was_asked_for() {
    let mut set = set(webhook());
    let acts = look(&mut set, &[asking("a", 1)], 2);
    // Cancelled and begun anew while the question was under way.
    let anew = [asking("a", 3)];
    look(&mut set, &anew, 3);
    set.heard(&acts.calls[0], said(r#"{"success":true}"#), nanos(wall(4)));
    let acts = look(&mut set, &anew, 4);
    assert!(!passes(&set, &anew[0]));
    assert_eq!(acts.calls.len(), 1, "it is asked for by itself");
    set.heard(&acts.calls[0], said(r#"{"success":true}"#), nanos(wall(4)));
    look(&mut set, &anew, 4);
    assert!(passes(&set, &anew[0]));
    // And what was said then is not said of the next one.
    let third = [asking("a", 9)];
    assert_eq!(look(&mut set, &third, 9).calls.len(), 1);
    assert!(!passes(&set, &third[0]));
}

#[test]
fn a_hub_that_starts_anew_goes_on_asking_about_a_task() {
    let mut first = set(webhook());
    let pods = [asking("a", 1), asking("b", 1)];
    let ask = look(&mut first, &pods, 2).calls.remove(0);
    first.heard(
        &ask,
        said(r#"{"success":true,"poll":true,"taskId":"7","finishedNames":["a"],"message":"half"}"#),
        nanos(wall(2)),
    );
    look(&mut first, &pods, 2);
    assert!(passes(&first, &pods[0]) && why(&first, &pods[1]).contains("half"));
    let state = first.stored.rule_states[0].webhook_status.as_ref().unwrap();
    let task = &state.task_states[0];
    assert_eq!(
        (task.task_id.as_str(), &task.processing, &task.approved),
        ("7", &vec!["b".to_owned()], &vec!["a".to_owned()])
    );
    let mut stored = raw(webhook());
    stored.status = serde_json::to_value(&first.stored).unwrap();
    let mut second = Set::new(&stored, &BTreeSet::new());
    let early = look(&mut second, &pods, 4);
    assert!(early.calls.is_empty() && second.wake == Some(nanos(wall(7))), "{:?}", second.wake);
    assert!(passes(&second, &pods[0]) && !passes(&second, &pods[1]));
    let poll = look(&mut second, &pods, 7).calls.remove(0);
    assert!(matches!(&poll.call, Call::Poll { task, .. } if &**task == "7"));
    let done = super::super::ask::polled(br#"{"success":true,"finished":true}"#);
    second.heard(&poll, done, nanos(wall(7)));
    look(&mut second, &pods, 7);
    assert!(passes(&second, &pods[1]) && second.stored.rule_states.is_empty());
}

#[test]
fn a_task_that_is_over_its_time_is_asked_for_again() {
    let mut set = set(webhook());
    let pods = [asking("a", 1)];
    let ask = look(&mut set, &pods, 2).calls.remove(0);
    set.heard(&ask, said(r#"{"success":true,"poll":true,"taskId":"7"}"#), nanos(wall(2)));
    look(&mut set, &pods, 2);
    let poll = look(&mut set, &pods, 70).calls.remove(0);
    set.heard(&poll, Err("no answer".into()), nanos(wall(70)));
    look(&mut set, &pods, 70);
    assert!(why(&set, &pods[0]).contains("too long"), "{}", why(&set, &pods[0]));
    let again = look(&mut set, &pods, 75).calls.remove(0);
    assert!(matches!(again.call, Call::Ask(_)));
}

#[test]
fn what_cannot_be_read_stands_in_the_way_and_is_told() {
    let mut set = set(json!([{"name": "odd", "availablePolicy": {"maxUnavailableValue": "many"}}]));
    let pods = [asking("a", 1)];
    let acts = look(&mut set, &pods, 2);
    assert!(why(&set, &pods[0]).contains("odd says no (it cannot be read: "), "{}", why(&set, &pods[0]));
    let condition = &set.stored.conditions[0];
    assert_eq!((condition.status.as_str(), condition.reason.as_str()), ("False", "NotUnderstood"));
    assert_eq!(acts.news[0].reason, "RuleNotUnderstood");
    let mut mended = raw(json!([{"name": "odd", "availablePolicy": {"maxUnavailableValue": 1}}]));
    mended.status = serde_json::to_value(&set.stored).unwrap();
    set.update(&mended, &BTreeSet::new());
    look(&mut set, &pods, 3);
    assert!(passes(&set, &pods[0]));
    assert_eq!(set.stored.conditions[0].status, "True");
}

#[test]
fn kusionstacks_finalizer_does_not_keep_an_object_that_is_deleted() {
    let mut going = raw(one_at_a_time());
    going.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(wall(0)));
    going.metadata.finalizers =
        Some(vec!["finalizer.operating.kusionstack.io/protected".into(), "mine".into()]);
    let mut set = Set::new(&going, &BTreeSet::new());
    assert!(set.is_gone);
    let acts = set.pass(&[], wall(1));
    assert_eq!(acts.finalizers, Some(("1".to_owned(), vec!["mine".to_owned()])));
}

#[test]
fn marks_are_written_one_after_the_other_and_those_that_failed_again() {
    let never =
        |name: &str| json!([{"name": name, "labelCheck": {"requires": {"matchLabels": {"ok": "true"}}}}]);
    let mut set = set(never("one"));
    let pods = [asking("a", 1), asking("b", 1)];
    let first = look(&mut set, &pods, 2).marks;
    assert_eq!(first.len(), 2);
    // Another rule says no meanwhile: that is shown once the first word is written.
    set.update(&raw(never("other")), &BTreeSet::new());
    assert!(look(&mut set, &pods, 3).marks.is_empty());
    set.marks_written(Vec::new());
    assert!(set.dirty, "it is looked at again");
    let second = look(&mut set, &pods, 4).marks;
    assert_eq!(second.len(), 2);
    assert!(second.iter().all(|mark| mark.value.as_ref().unwrap().contains("other")));
    set.marks_written(second[..1].to_vec());
    assert_eq!(look(&mut set, &pods, 5).marks, second[..1]);
    set.marks_written(Vec::new());
    assert!(look(&mut set, &pods, 6).marks.is_empty());
    // Nobody asks any more, and what could not be taken off is tried again.
    let idle = [pod("a", &[]), pod("b", &[])];
    let off = look(&mut set, &idle, 7).marks;
    assert!(off.len() == 2 && off.iter().all(|mark| mark.value.is_none()));
    set.marks_written(off[1..].to_vec());
    assert_eq!(look(&mut set, &idle, 8).marks, off[1..]);
}
