//! Every rule as a row: what is changed from a running pod on a quiet node, and what follows.
#![expect(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]

use jiff::Timestamp;
use safepoint_api::node_gate::NodeGateStatus;
use serde_json::{Value, json};

use super::*;

const JANE: &str = "jane";

fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

fn pod() -> Value {
    json!({
        "metadata": {"namespace": "shop", "name": "web-5d4f8c-x2x", "uid": "u1",
            "labels": {"app": "web", "pod-template-hash": "5d4f8c"}, "annotations": {},
            "ownerReferences": [{"kind": "ReplicaSet", "name": "web-5d4f8c", "uid": "r1", "controller": true}]},
        "spec": {"nodeName": "rover-7"},
        "status": {"phase": "Running", "startTime": "2026-11-15T11:00:00Z"},
    })
}

/// A pod with something changed in it.
fn with(change: Value) -> Value {
    fn merge(into: &mut Value, change: Value) {
        match change {
            Value::Object(change) => {
                if !into.is_object() {
                    *into = json!({});
                }
                for (key, value) in change {
                    merge(&mut into[key], value);
                }
            }
            other => *into = other,
        }
    }
    let mut pod = pod();
    merge(&mut pod, change);
    pod
}

fn annotated() -> Value {
    with(json!({"metadata": {"annotations": {"edge.kubeedge.io/hold-upgrade": "true"}}}))
}

fn hold(scope: Value, more: Value) -> Value {
    let mut hold = json!({"id": "lift-42", "holder": "flight-control", "origin": "Local", "reason": "crane lift",
        "scope": scope, "since": "2026-11-15T11:30:00Z"});
    hold.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    hold
}

fn holding(scope: Value) -> Value {
    json!({"state": "Open", "holds": [hold(scope, json!({}))]})
}

fn gate(status: &Value) -> NodeGateStatus {
    serde_json::from_value(status.clone()).unwrap()
}

fn asked() -> Request<'static> {
    Request { user: JANE, grace: None, now: now(), workload_holds: false }
}

fn is_deferred(pod: &Value, status: &Value, request: &Request<'_>) -> bool {
    matches!(judge(&Pod::read("shop", pod), Some(&gate(status)), request), Verdict::Defer(_))
}

/// What a pod on a frozen node is allowed, if so.
fn on_a_frozen_node(pod: &Value, request: &Request<'_>) -> Verdict<'static> {
    match judge(&Pod::read("shop", pod), Some(&gate(&json!({"state": "Frozen"}))), request) {
        Verdict::Allow(why) => Verdict::Allow(why),
        Verdict::Defer(_) => Verdict::Defer(Vec::new()),
    }
}

#[test]
fn a_frozen_node_and_one_that_is_being_frozen_put_every_end_off_and_a_thawing_one_does_not() {
    for (state, deferred) in [("Frozen", true), ("Freezing", true), ("Thawing", false), ("Open", false)] {
        assert_eq!(is_deferred(&pod(), &json!({"state": state}), &asked()), deferred, "{state}");
    }
    assert!(!is_deferred(&pod(), &json!({}), &asked()), "a gate that does not say what it does");
}

#[test]
fn some_pods_may_end_on_a_frozen_node() {
    let mirror = json!({"metadata": {"annotations": {"kubernetes.io/config.mirror": "hash"}}});
    for (change, why) in [
        (mirror, Allowed::Mirror),
        (json!({"spec": {"nodeName": null}}), Allowed::NotPlaced),
        (json!({"spec": {"nodeName": ""}}), Allowed::NotPlaced),
        (json!({"status": {"startTime": null}}), Allowed::NotStarted),
        (json!({"metadata": {"deletionTimestamp": "2026-11-15T11:59:00Z"}}), Allowed::Ending),
        (json!({"status": {"phase": "Failed"}}), Allowed::Finished),
        (json!({"status": {"phase": "Succeeded"}}), Allowed::Finished),
    ] {
        assert_eq!(on_a_frozen_node(&with(change), &asked()), Verdict::Allow(why));
    }
    assert_eq!(on_a_frozen_node(&pod(), &asked()), Verdict::Defer(Vec::new()));
}

#[test]
fn whoever_forces_and_the_pods_own_node_are_not_put_off() {
    let forced = Request { grace: Some(0), ..asked() };
    assert_eq!(on_a_frozen_node(&pod(), &forced), Verdict::Allow(Allowed::Forced));
    let hasty = with(json!({"spec": {"terminationGracePeriodSeconds": 0}}));
    assert_eq!(
        on_a_frozen_node(&hasty, &forced),
        Verdict::Defer(Vec::new()),
        "so says the pod, and nobody else"
    );
    let collected = Request { user: "system:serviceaccount:kube-system:pod-garbage-collector", ..forced };
    assert_eq!(on_a_frozen_node(&hasty, &collected), Verdict::Allow(Allowed::Forced), "its node is gone");
    let by = |user| on_a_frozen_node(&pod(), &Request { user, ..asked() });
    assert_eq!(by("system:node:rover-7"), Verdict::Allow(Allowed::ByItsNode));
    for other in ["system:node:rover-8", "system:node:", "rover-7"] {
        assert_eq!(by(other), Verdict::Defer(Vec::new()), "{other}");
    }
    let hurried = Request { grace: Some(1), ..asked() };
    assert_eq!(on_a_frozen_node(&pod(), &hurried), Verdict::Defer(Vec::new()));
}

#[test]
fn a_node_without_a_gate_and_a_gate_without_a_status_put_nothing_off() {
    assert_eq!(judge(&Pod::read("shop", &annotated()), None, &asked()), Verdict::Allow(Allowed::Ungated));
}

#[test]
fn a_hold_puts_off_what_its_scope_covers() {
    let deployment = |name: &str| json!({"kind": "Workload", "workload": {"kind": "Deployment", "namespace": "shop", "name": name}});
    for (scope, deferred) in [
        (json!({"kind": "Node"}), true),
        (json!({"kind": "Namespace", "namespace": "shop"}), true),
        (json!({"kind": "Namespace", "namespace": "bank"}), false),
        (json!({"kind": "Namespace"}), false),
        (json!({"kind": "Pod", "pod": {"namespace": "shop", "name": "web-5d4f8c-x2x"}}), true),
        (json!({"kind": "Pod", "pod": {"namespace": "bank", "name": "web-5d4f8c-x2x"}}), false),
        (deployment("web"), true),
        (deployment("db"), false),
        (json!({"kind": "Selector", "selector": "app in (web,db)"}), true),
        (json!({"kind": "Selector", "selector": "app=web", "namespace": "shop"}), true),
        (json!({"kind": "Selector", "selector": "app=web", "namespace": "bank"}), false),
        (json!({"kind": "Selector", "selector": "app!=web"}), false),
        (json!({"kind": "Selector", "selector": "(("}), false),
    ] {
        assert_eq!(is_deferred(&pod(), &holding(scope.clone()), &asked()), deferred, "{scope}");
    }
}

#[test]
fn a_hold_on_a_stateful_set_covers_its_ordinals() {
    let db =
        with(json!({"metadata": {"name": "db-2", "ownerReferences": [{"kind": "StatefulSet", "name": "db",
        "uid": "s1", "controller": true}]}}));
    let set = |ordinal: Value| {
        let workload = json!({"kind": "StatefulSet", "namespace": "shop", "name": "db", "ordinal": ordinal});
        holding(json!({"kind": "Workload", "workload": workload}))
    };
    for (ordinal, deferred) in [(json!(null), true), (json!(2), true), (json!(1), false)] {
        assert_eq!(is_deferred(&db, &set(ordinal.clone()), &asked()), deferred, "{ordinal}");
    }
}

#[test]
fn a_suspended_hold_does_not_hold_until_its_time_has_come() {
    let suspended = |until: &str| {
        let scope = json!({"kind": "Namespace", "namespace": "shop"});
        json!({"state": "Open", "holds": [hold(scope, json!({"suspendedUntil": until}))]})
    };
    assert!(!is_deferred(&pod(), &suspended("2026-11-15T12:00:01Z"), &asked()));
    assert!(is_deferred(&pod(), &suspended("2026-11-15T12:00:00Z"), &asked()));
}

#[test]
fn an_annotated_pod_ends_only_while_its_workload_is_released() {
    let grants = |kind: &str, name: &str, ordinal: Value| {
        json!({"state": "Open", "grants": [{"workload": {"kind": kind, "namespace": "shop", "name": name, "ordinal": ordinal},
            "since": "2026-11-15T11:59:00Z", "by": "order-1"}]})
    };
    let none = json!({"state": "Open"});
    assert!(is_deferred(&annotated(), &none, &asked()));
    assert!(is_deferred(&annotated(), &grants("Deployment", "db", json!(null)), &asked()));
    assert!(!is_deferred(&annotated(), &grants("Deployment", "web", json!(null)), &asked()));
    assert!(!is_deferred(&pod(), &none, &asked()));
    for word in ["True", "yes", ""] {
        let other = with(json!({"metadata": {"annotations": {"edge.kubeedge.io/hold-upgrade": word}}}));
        assert!(!is_deferred(&other, &none, &asked()), "{word:?}");
    }
    let armed_above = Request { workload_holds: true, ..asked() };
    assert!(is_deferred(&pod(), &none, &armed_above), "the pod has not been armed yet");
    assert!(!is_deferred(&pod(), &grants("Deployment", "web", json!(null)), &armed_above));
    let db =
        with(json!({"metadata": {"name": "db-2", "annotations": {"edge.kubeedge.io/hold-upgrade": "true"},
        "ownerReferences": [{"kind": "StatefulSet", "name": "db", "uid": "s1", "controller": true}]}}));
    assert!(!is_deferred(&db, &grants("StatefulSet", "db", json!(2)), &asked()));
    assert!(!is_deferred(&db, &grants("StatefulSet", "db", json!(null)), &asked()));
    assert!(is_deferred(&db, &grants("StatefulSet", "db", json!(1)), &asked()));
}

#[test]
fn a_release_opens_neither_a_freeze_nor_another_holders_hold() {
    let grant = json!([{"workload": {"kind": "Deployment", "namespace": "shop", "name": "web"},
        "since": "2026-11-15T11:59:00Z", "by": "order-1"}]);
    let frozen = json!({"state": "Frozen", "grants": grant});
    let held = json!({"state": "Open", "grants": grant, "holds": [hold(json!({"kind": "Node"}), json!({}))]});
    assert!(is_deferred(&annotated(), &frozen, &asked()));
    assert!(is_deferred(&annotated(), &held, &asked()));
}

#[test]
fn every_cause_is_named_the_decisive_one_first() {
    let status = json!({"state": "Frozen", "holds": [
        hold(json!({"kind": "Node"}), json!({})),
        hold(json!({"kind": "Namespace", "namespace": "shop"}), json!({"id": "stock"})),
    ]});
    let gate = gate(&status);
    let Verdict::Defer(causes) = judge(&Pod::read("shop", &annotated()), Some(&gate), &asked()) else {
        panic!("it is held")
    };
    assert!(matches!(&causes[..], [
        Cause::Frozen { settled: true, by },
        Cause::Held(hold),
        Cause::Annotated,
    ] if by.len() == 1 && hold.id == "stock"));
}
