//! What the reference implementation is known to do wrong, one test for each, by its number in the list of weaknesses.

use std::collections::{BTreeMap, BTreeSet};

use safepoint_core::lifecycle::rules::webhook::{Answer, Asked, Call, Polling};
use safepoint_core::lifecycle::{
    Deletion, DeletionKind, DeletionVerdict, Expectations, Kind, Label, LabelKey, Lifecycle, Mark, Nanos,
    NextDeletion, Request, RuleStates, ServiceGate, StageState, View, Wish, Writer, check,
};

use crate::support::{NOW, PROTECTION, Pod, UPDATE, set, short, view_of, wire};

/// Past its act: completing, and the gate is open again.
fn completing() -> Pod {
    let mut pod = Pod::declared();
    pod.begin("1", "update").rest().finish("1");
    let _ = pod.look();
    assert!(short(&pod.view).contains("completing/1"));
    pod
}

#[test]
fn weakness_1_one_that_completes_does_not_open_the_gate_for_another_that_acts() {
    let mut pod = completing();
    pod.begin("2", "restart").rest();
    assert!(pod.may_act("2"));
    assert_eq!((pod.view.gate.condition, pod.view.ready), (Some(false), false));
    assert!(pod.view.finalizers.is_empty());
}

#[test]
fn weakness_2_one_that_has_acted_and_one_that_finishes_later_complete_together() {
    let mut pod = completing();
    pod.begin("2", "restart").rest().finish("2").rest();
    pod.expect(&["service-available"]);
}

#[test]
fn weakness_3_an_end_before_the_act_leaves_nothing_behind() {
    for prepared in [false, true] {
        let mut pod = Pod::serving();
        pod.begin("1", "update");
        if prepared {
            let _ = pod.look();
        }
        pod.finish("1").rest();
        pod.expect(&["service-available"]);
        pod.begin("1", "update");
        assert!(short(&pod.view).contains("pre-check/1"), "it is asked about again");
    }
}

#[test]
fn weakness_4_the_same_id_begun_again_while_it_completes_begins_afresh() {
    let mut pod = completing();
    pod.begin("1", "update");
    pod.expect(&["operating/1", "operation-type/1=update", "pre-check/1"]);
    pod.rest();
    assert!(pod.may_act("1"));
    pod.finish("1");
    pod.expect(&["operated/1", "done-operation-type/1=update", "post-check/1"]);
    pod.rest();
    pod.expect(&["service-available"]);
}

#[test]
fn weakness_5_an_operation_that_becomes_another_is_asked_about_and_can_be_cancelled() {
    let mut pod = Pod::serving();
    pod.begin("1", "update").rest();
    pod.begin("1", "scale-in");
    assert!(!pod.may_act("1"));
    assert!(!short(&pod.view).contains("operation-permission/update"));
    pod.rest();
    assert!(pod.may_act("1"));
    pod.undo("1", "scale-in").rest();
    pod.expect(&["service-available"]);
}

#[test]
fn weakness_6_finalizers_count_before_there_is_a_condition() {
    let mut pod = Pod::serving();
    pod.view.gate.condition = None;
    pod.begin("1", "update").write(|view| {
        view.set(&LabelKey::Operation("1".into(), Label::PreChecked), Some("1".into()));
        view.set(&LabelKey::Permission("update".into()), Some("1".into()));
    });
    assert!(!pod.may_act("1"));
    pod.rest();
    assert!(pod.may_act("1"));
}

#[test]
fn weakness_7_an_operation_waits_until_the_pod_is_registered_and_until_it_is_not_ready() {
    let mut pod = Pod::declared();
    (pod.view.finalizers, pod.view.marks) = (Vec::new(), BTreeMap::new());
    pod.begin("1", "update");
    assert!(pod.look().is_empty(), "the cooperation controller may be switching on just now");
    pod.cooperate();
    let _ = pod.look();
    assert_eq!(pod.view.gate.condition, Some(false));

    let mut bare = Pod::serving();
    bare.view.finalizers.clear();
    bare.begin("1", "update");
    let _ = bare.look();
    assert!(!bare.may_act("1"), "the pod is still ready");
    bare.kubelet();
    assert!(bare.may_act("1"));
}

#[test]
fn weakness_8_evictions_are_put_off_and_the_dying_may_go() {
    let mut pod = Pod::serving();
    let eviction = Deletion { kind: DeletionKind::Evict, dry_run: false };
    let DeletionVerdict::PutOff(taken) = Lifecycle::default().grace_delete(&pod.view, eviction, NOW) else {
        panic!("an eviction passes with traffic on");
    };
    assert_eq!(taken.code, 429);
    assert!(taken.text.ends_with(&format!("with finalizers: [{PROTECTION}]")));
    pod.view.deleting = true;
    let last = Deletion { kind: DeletionKind::Delete, dry_run: false };
    assert_eq!(Lifecycle::default().grace_delete(&pod.view, last, NOW), DeletionVerdict::Pass);
}

#[test]
fn weakness_9_a_dry_run_is_answered_and_not_written() {
    let pod = Pod::serving();
    let dry = Deletion { kind: DeletionKind::Delete, dry_run: true };
    let DeletionVerdict::PutOff(taken) = Lifecycle::default().grace_delete(&pod.view, dry, NOW) else {
        panic!("it would not pass in earnest");
    };
    assert!(taken.changes.is_empty());
    let request = Request { dry_run: true, ..UPDATE };
    let view = View::of(&wire(&["operating/1", "operation-type/1=update"]));
    assert!(Lifecycle::default().admit(&view, None, request, NOW).unwrap().is_empty());
}

#[test]
fn weakness_14_one_that_waits_for_the_rules_does_not_keep_another_from_completing() {
    let mut pod = Pod::declared();
    pod.begin("1", "update").rest();
    pod.rules.pre_check = StageState::Waiting(Vec::new());
    pod.begin("2", "restart").finish("1").rest();
    pod.expect(&["operating/2", "operation-type/2=restart", "pre-check/2", "service-available"]);
    pod.rules = RuleStates::PASSED;
    pod.rest();
    assert!(pod.may_act("2"));
}

#[test]
fn weakness_15_an_answer_about_a_task_that_nobody_remembers_changes_nothing() {
    let polling = Polling { interval: Nanos::from_secs(5), timeout: Nanos::from_secs(60) };
    let mut asked = Asked::default();
    let poll = Call::Poll { task: "before the restart".into(), at: NOW };
    let answer = Answer {
        success: true,
        finished: BTreeSet::new(),
        all_finished: true,
        message: "".into(),
        task: None,
        stop: false,
    };
    asked.heard(&poll, Ok(answer), polling, NOW);
    asked.heard(&poll, Err("connection refused".into()), polling, NOW);
    assert_eq!(asked, Asked::default());
}

#[test]
fn weakness_16_a_deletion_that_is_withdrawn_is_cancelled_and_the_pod_serves_again() {
    for by_label in [true, false] {
        let mut pod = Pod::serving();
        pod.write(|view| drop(view.marks.insert(Mark::ToDelete, "1".into())));
        let step = |pod: &Pod, wish| Lifecycle::default().delete_step(&pod.view, wish, NOW);
        let NextDeletion::Write(begin) = step(&pod, Wish::Stands) else { panic!("it does not begin") };
        pod.write(|view| view.apply(&begin)).rest();
        assert!(short(&pod.view).contains("preparing-to-delete"));
        assert_eq!(step(&pod, Wish::Stands), NextDeletion::Delete);
        let wish = if by_label {
            pod.write(|view| drop(view.marks.remove(&Mark::ToDelete)));
            Wish::Stands
        } else {
            Wish::Withdrawn
        };
        let NextDeletion::Write(undo) = step(&pod, wish) else { panic!("it is not cancelled") };
        pod.write(|view| view.apply(&undo)).rest();
        pod.expect(&["service-available"]);
        assert_eq!(step(&pod, wish), NextDeletion::Nothing);
    }
}

#[test]
fn a_deletion_does_not_go_by_what_another_operation_was_permitted() {
    let delete = Deletion { kind: DeletionKind::Delete, dry_run: false };
    let passes =
        |pod: &Pod| Lifecycle::default().grace_delete(&pod.view, delete, NOW) == DeletionVerdict::Pass;
    let step = |pod: &Pod, at: u64| Lifecycle::default().delete_step(&pod.view, Wish::Stands, Nanos(at));
    let mut pod = Pod::serving();
    pod.begin("1", "update").rest();
    assert!(pod.may_act("1"));
    pod.rules.pre_check = StageState::Waiting(Vec::new());
    pod.write(|view| drop(view.marks.insert(Mark::ToDelete, "1".into())));
    let NextDeletion::Write(begin) = step(&pod, 7) else { panic!("it does not begin") };
    pod.write(|view| view.apply(&begin)).rest();
    assert!(pod.view.has(Mark::PreparingToDelete));
    assert!(!passes(&pod), "the rules were asked about an update");

    // Nor when nobody wants it gone any more: the mark goes with the operation that it came with.
    let mut kept = pod.clone();
    kept.write(|view| drop(view.marks.remove(&Mark::ToDelete)));
    let NextDeletion::Write(undo) = step(&kept, 8) else { panic!("it is not cancelled") };
    kept.write(|view| view.apply(&undo));
    assert!(kept.may_act("1") && !passes(&kept));

    pod.rules = RuleStates::PASSED;
    pod.rest();
    assert!(pod.may_act("pod-delete") && passes(&pod));
}

#[test]
fn weakness_19_what_only_the_lifecycle_grants_cannot_be_taken() {
    let old = View::of(&wire(&["operating/1", "operation-type/1=update", "pre-check/1"]));
    let mut view = old.clone();
    view.gate = ServiceGate { declared: true, condition: Some(true) };
    for label in [Label::PreChecked, Label::Operate] {
        view.set(&LabelKey::Operation("1".into(), label), Some("1".into()));
    }
    view.set(&LabelKey::Permission("update".into()), Some("1".into()));
    let request = Request { kind: Kind::Update, writer: Writer::Other, dry_run: false };
    let changes = Lifecycle::default().admit(&view, Some(&old), request, NOW).unwrap();
    view.apply(&changes);
    assert_eq!(short(&view), short(&old));
}

#[test]
fn a_finish_that_the_webhook_is_asked_about_twice_is_one_finish() {
    let mut pod = Pod::declared();
    pod.begin("1", "update").begin("2", "restart").rest().finish("1");
    let old = pod.view.clone();
    let request = Request { kind: Kind::Update, writer: Writer::Other, dry_run: false };
    let ask = |view: &View, now| {
        let mut after = view.clone();
        after.apply(&Lifecycle::default().admit(view, Some(&old), request, now).unwrap());
        after
    };
    pod.view.finish("2");
    let once = ask(&pod.view, NOW);
    pod.view = ask(&once, Nanos(NOW.0 + 1));
    pod.expect(&[
        "operated/1",
        "operated/2",
        "done-operation-type/1=update",
        "done-operation-type/2=restart",
        "post-check/1",
        "post-check/2",
    ]);
    // Whoever says that it has acted while another acts is not believed.
    let mut forged = old.clone();
    for (label, value) in
        [(Label::Operated, Some("1")), (Label::DoneOperationType, Some("update")), (Label::Operate, None)]
    {
        forged.set(&LabelKey::Operation("1".into(), label), value.map(Into::into));
    }
    assert_eq!(short(&ask(&forged, NOW)), short(&old));
}

#[test]
fn weakness_22_a_pod_that_is_created_with_labels_of_another_begins_without_them() {
    let labels = ["operating/1", "operation-type/1=update", "operate/1", "operate/2", "service-available"];
    let mut view = View::of(&wire(&labels));
    let request = Request { kind: Kind::Create, ..UPDATE };
    let changes = Lifecycle::default().admit(&view, None, request, NOW).unwrap();
    view.apply(&changes);
    assert_eq!(short(&view), set(&["operating/1", "operation-type/1=update", "pre-check/1"]));
    assert!(view.gate.declared);
}

#[test]
fn a_broken_annotation_is_refused_when_it_comes_and_passed_over_when_it_is_there() {
    let mut broken = view_of(&serde_json::Value::Null, &[]);
    broken.expectations = Expectations::Malformed("unexpected end of JSON input".into());
    assert_eq!(check(&broken, None).unwrap_err().to_string(), "unexpected end of JSON input");
    assert_eq!(check(&broken, Some(&broken)), Ok(()));
    let mut pod = Pod::serving();
    pod.view.expectations = broken.expectations;
    pod.view.marks.clear();
    assert!(pod.look().is_empty(), "nobody knows what it expects, so it is not called available");
}

#[test]
fn contradictions_are_refused_when_they_come_and_passed_over_when_they_are_there() {
    let apart = [
        &["operated/1"][..],
        &["operating/1", "operation-type/1=update", "operate/1", "done-operation-type/1=update"],
        &["operating/1", "operation-type/1=update", "pre-checked/1"],
        &["operation-permission/update"],
        &["operating"],
    ];
    for labels in apart {
        let stored = View::of(&wire(labels));
        assert!(check(&stored, None).is_err(), "{labels:?}");
        assert!(check(&stored, Some(&View::of(&wire(&[])))).is_err(), "{labels:?}");
        let mut view = stored.clone();
        view.finalizers.push("example.com/other".into());
        assert_eq!(check(&view, Some(&stored)), Ok(()), "{labels:?}");
        assert!(Lifecycle::default().admit(&view, Some(&stored), UPDATE, NOW).is_ok(), "{labels:?}");
    }
    // One that is there is no leave for another.
    let more = [
        (&["operated/1"][..], &["operated/1", "operated/2"][..]),
        (&["operating"], &["operating", "operation-type"]),
        (&["operation-permission/update"], &["operation-permission/update", "operation-permission/delete"]),
    ];
    for (old, new) in more {
        assert!(check(&View::of(&wire(new)), Some(&View::of(&wire(old)))).is_err(), "{new:?}");
    }
}

#[test]
fn the_controller_mends_contradictions() {
    let rest = |labels: &[&str]| {
        let mut pod = Pod::serving();
        pod.rules.pre_check = StageState::Waiting(Vec::new());
        pod.rules.post_check = StageState::Waiting(Vec::new());
        let View { gate, ready, .. } = pod.view;
        pod.view = View { gate, ready, ..View::of(&wire(labels)) };
        pod.rest();
        pod
    };
    rest(&["operated/1", "post-check/1"]).expect(&["operated/1", "done-operation-type/1=", "post-check/1"]);
    let busy = ["operating/2", "operation-type/2=restart", "pre-checked/2", "operation-permission/restart"];
    let with_busy = |labels: &[&'static str]| rest(&[labels, &busy[..]].concat());
    let finished = with_busy(&["operate/1", "done-operation-type/1=update"]);
    assert_eq!(check(&finished.view, None), Ok(()));
    assert!(finished.may_act("1") && finished.may_act("2"), "it waits for the other as before");

    // What was permitted as something else is asked about; what may act goes on.
    let begun = ["operating/1", "operation-type/1=update"];
    rest(&[&begun[..], &["pre-checked/1", "preparing/1", "operation-permission/other"]].concat()).expect(&[
        "operating/1",
        "operation-type/1=update",
        "pre-check/1",
        "service-available",
    ]);
    rest(&[&begun[..], &["pre-checked/1", "operate/1"]].concat()).expect(&[
        "operating/1",
        "operation-type/1=update",
        "operation-permission/update",
        "pre-checked/1",
        "operate/1",
    ]);
}

#[test]
fn a_declaration_of_a_service_that_is_gone_is_taken_out() {
    let mut pod = Pod::declared();
    (pod.view.finalizers, pod.view.marks) = (Vec::new(), BTreeMap::new());
    let gone = BTreeSet::from(["Service/default/web".into(), "Ingress/default/web".into()]);
    let changes = Lifecycle::default().reconcile(&pod.view, &pod.rules, &gone, NOW);
    assert_eq!(changes.prune, BTreeSet::from(["Service/default/web".into()]));
    pod.view.apply(&changes);
    pod.expect(&["service-available"]);
}

#[test]
fn weakness_13_what_the_rules_were_not_asked_about_is_not_granted() {
    let mut pod = Pod::serving();
    // The webhook was away: nobody has asked the rules, so that none stands against it says nothing.
    pod.view.begin("1", "update", Nanos(1));
    let _ = pod.look();
    pod.expect(&["operating/1", "operation-type/1=update", "pre-check/1", "service-available"]);
    let _ = pod.look();
    assert!(short(&pod.view).contains("pre-checked/1"));
}
