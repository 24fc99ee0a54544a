//! The phases of one operation, row by row, and several operations on one pod.

use crate::support::{PROTECTION, Pod};

#[test]
fn one_operation_goes_through_the_rows_of_the_table_in_eight_writes() {
    let mut pod = Pod::declared();
    pod.expect(&["service-available"]);

    pod.begin("1", "update");
    pod.expect(&["operating/1", "operation-type/1=update", "pre-check/1", "service-available"]);
    assert_eq!((pod.view.gate.condition, pod.view.ready), (Some(true), true));

    // Two rows in one write: the rules pass and the gate closes.
    let _ = pod.look();
    let preparing = [
        "operating/1",
        "operation-type/1=update",
        "operation-permission/update",
        "pre-checked/1",
        "preparing/1",
    ];
    pod.expect(&preparing);
    assert_eq!((pod.view.gate.condition, pod.view.ready), (Some(false), true));

    pod.kubelet();
    pod.expect(&preparing);
    assert_eq!((pod.view.gate.condition, pod.view.ready), (Some(false), false));

    pod.cooperate();
    pod.expect(&[
        "operating/1",
        "operation-type/1=update",
        "operation-permission/update",
        "pre-checked/1",
        "operate/1",
    ]);
    assert!(pod.view.finalizers.is_empty());
    assert!(pod.look().is_empty(), "the controller has nothing to do while an operation acts");

    pod.finish("1");
    pod.expect(&["operated/1", "done-operation-type/1=update", "post-check/1"]);

    // Two rows in one write: the rules pass and the gate opens.
    let _ = pod.look();
    let completing = ["operated/1", "done-operation-type/1=update", "post-checked/1", "completing/1"];
    pod.expect(&completing);
    assert_eq!((pod.view.gate.condition, pod.view.ready), (Some(true), false));

    pod.kubelet();
    pod.expect(&completing);
    assert_eq!((pod.view.gate.condition, pod.view.ready), (Some(true), true));

    // Two rows in one write: the labels are cleared and the pod is in service.
    pod.cooperate();
    pod.expect(&["service-available"]);
    assert_eq!(pod.view.finalizers, vec![PROTECTION.into()]);
    assert_eq!(pod.writes, 8);
    assert!(pod.look().is_empty());
}

#[test]
fn where_nothing_is_declared_it_takes_eight_writes_as_well() {
    let mut pod = Pod::serving();
    pod.begin("1", "update").rest();
    assert!(pod.may_act("1"));
    pod.finish("1").rest();
    pod.expect(&["service-available"]);
    assert_eq!(pod.writes, 8);
}

#[test]
fn a_pod_that_never_becomes_ready_goes_the_whole_way_without_a_kubelet() {
    let mut pod = Pod::serving();
    (pod.view.ready, pod.view.finalizers, pod.view.gate.condition) = (false, Vec::new(), None);
    pod.view.marks.clear();
    pod.begin("1", "update");
    let _ = pod.look();
    assert!(pod.may_act("1"), "the gate closes and the operation may act in one write");
    pod.finish("1");
    while !pod.look().is_empty() {}
    pod.expect(&[]);
}

#[test]
fn a_second_operation_on_a_pod_that_is_out_of_service_acts_after_one_write() {
    let mut pod = Pod::serving();
    pod.begin("1", "update").rest();
    pod.begin("2", "restart");
    let _ = pod.look();
    assert!(pod.may_act("2"));
}

#[test]
fn operations_that_have_finished_wait_for_the_others_and_complete_together() {
    let mut pod = Pod::serving();
    pod.begin("1", "update").begin("2", "restart").rest();
    assert!(pod.may_act("1") && pod.may_act("2"));
    pod.finish("1").rest();
    assert!(pod.may_act("1"), "it keeps its label until all have finished");
    pod.finish("2");
    pod.expect(&[
        "operated/1",
        "operated/2",
        "done-operation-type/1=update",
        "done-operation-type/2=restart",
        "post-check/1",
        "post-check/2",
    ]);
    pod.rest();
    pod.expect(&["service-available"]);
}

#[test]
fn an_undo_is_answered_in_the_same_write_and_service_comes_back() {
    for steps in 0..4 {
        let mut pod = Pod::declared();
        pod.begin("1", "update");
        if steps > 0 {
            let _ = pod.look();
        }
        if steps > 1 {
            pod.kubelet();
        }
        if steps > 2 {
            pod.cooperate();
        }
        pod.undo("1", "update");
        assert!(pod.has(&[]) || pod.has(&["service-available"]));
        pod.rest();
        pod.expect(&["service-available"]);
        assert_eq!(pod.view.gate.condition, Some(true));
    }
}

#[test]
fn an_undo_and_a_begin_back_to_back_begin_afresh() {
    let mut pod = Pod::serving();
    pod.begin("1", "update").rest();
    pod.undo("1", "update").begin("1", "update");
    assert!(!pod.may_act("1"));
    pod.rest();
    assert!(pod.may_act("1"));
}

#[test]
fn an_undo_of_what_is_not_there_stays_and_cancels_the_next_begin() {
    let mut pod = Pod::serving();
    pod.undo("1", "update");
    pod.expect(&["service-available", "undo-operation-type/1=update"]);
    pod.begin("1", "update");
    pod.expect(&["service-available"]);
}

#[test]
fn a_pod_that_is_to_stay_offline_is_not_brought_into_service() {
    let mut pod = Pod::serving();
    (pod.view.ready, pod.view.gate.condition) = (false, Some(false));
    pod.view.marks.clear();
    pod.write(|view| drop(view.marks.insert(safepoint_core::lifecycle::Mark::StayOffline, "".into()))).rest();
    pod.expect(&["stay-offline"]);
    assert_eq!(pod.view.gate.condition, Some(false));
    pod.write(|view| drop(view.marks.remove(&safepoint_core::lifecycle::Mark::StayOffline))).rest();
    pod.expect(&["service-available"]);
}
