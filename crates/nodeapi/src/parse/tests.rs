//! What can be asked, and what is wrong with what cannot.

use safepoint_api::local::{Overriding, Release, RenewHold, TakeFreeze, TakeHold};
use safepoint_core::{Ask, OnExpiry, Scope, Span, WorkloadKind};
use serde_json::{Value, json};

use super::*;

fn hold(body: Value) -> Result<HoldAsk, String> {
    let body: TakeHold = serde_json::from_value(body).unwrap();
    take_hold(&body, "hold-rover-00ff00").map_err(|problems| problems.to_string())
}

fn scope_of(scope: &Value) -> Result<Scope, String> {
    match hold(json!({ "reason": "flying", "scope": scope }))?.ask {
        Ask::Hold { scope, .. } => Ok(scope),
        other => panic!("{other:?}"),
    }
}

#[test]
fn every_kind_of_scope_is_read() {
    for (scope, said) in [
        (json!({ "kind": "Node" }), "the node"),
        (json!({ "kind": "Namespace", "namespace": "robot" }), "namespace robot"),
        (json!({ "kind": "Pod", "pod": { "namespace": "robot", "name": "cam" } }), "pod robot/cam"),
        (
            json!({ "kind": "Workload", "workload": { "kind": "StatefulSet", "namespace": "robot", "name": "db", "ordinal": 2 } }),
            "statefulset robot/db #2",
        ),
        (
            json!({ "kind": "Workload", "workload": { "kind": "CollaSet", "namespace": "robot", "name": "c" } }),
            "CollaSet robot/c",
        ),
        (
            json!({ "kind": "Selector", "selector": "app in (nav,lidar), tier!=test, robot, !spare" }),
            "everything labelled app in (lidar,nav),robot,!spare,tier notin (test)",
        ),
        (
            json!({ "kind": "Selector", "selector": "app=nav", "namespace": "robot" }),
            "everything labelled app=nav in namespace robot",
        ),
    ] {
        assert_eq!(scope_of(&scope).map(|scope| scope.to_string()).as_deref(), Ok(said));
    }
}

#[test]
fn every_problem_is_told_at_once_with_its_field() {
    let problems = hold(json!({
        "id": "-no-", "holder": "me (uid 0)", "reason": " ",
        "scope": { "kind": "Pod", "namespace": "robot", "pod": { "namespace": "Robot", "name": "" } },
    }));
    let problems = problems.unwrap_err();
    for field in
        ["id: ", "holder: ", "reason: ", "scope.namespace: ", "scope.pod.namespace: ", "scope.pod.name: "]
    {
        assert!(problems.contains(field), "{field} in {problems}");
    }
}

#[test]
fn a_scope_has_the_fields_of_its_kind_and_no_others() {
    let said = |scope: Value| scope_of(&scope).unwrap_err();
    assert_eq!(said(json!({ "kind": "Pod" })), "scope.pod: is needed with the kind Pod");
    assert_eq!(said(json!({ "kind": "Workload" })), "scope.workload: is needed with the kind Workload");
    assert_eq!(said(json!({ "kind": "Namespace" })), "scope.namespace: is needed with the kind Namespace");
    assert_eq!(said(json!({ "kind": "Selector" })), "scope.selector: is needed with the kind Selector");
    assert_eq!(
        said(json!({ "kind": "Node", "selector": "a=b" })),
        "scope.selector: does not go with the kind Node"
    );
}

#[test]
fn a_selector_is_refused_in_kubernetes_words_or_because_it_would_mean_something_else() {
    let said = |selector: &str| scope_of(&json!({ "kind": "Selector", "selector": selector })).unwrap_err();
    assert_eq!(said(""), "scope.selector: selects everything: to hold everything, use the kind Node");
    assert_eq!(
        said("size>5"),
        "scope.selector: a hold compares labels as texts: '>' and '<' cannot be used here"
    );
    assert!(said("app in nav").starts_with("scope.selector: "), "{}", said("app in nav"));
}

#[test]
fn a_workload_is_named_as_in_a_node_gate() {
    let read = |kind: &str, ordinal: Option<i32>| {
        workload(&WorkloadRef {
            kind: kind.to_owned(),
            namespace: "shop".to_owned(),
            name: "web".to_owned(),
            ordinal,
        })
        .map_err(|problems| problems.to_string())
    };
    assert_eq!(read("Deployment", None).unwrap().kind, WorkloadKind::Deployment);
    assert_eq!(read("StatefulSet", Some(3)).unwrap().ordinal, Some(3));
    assert_eq!(
        read("Deployment", Some(3)).unwrap_err(),
        "workload.ordinal: only the replicas of a StatefulSet have an ordinal"
    );
    assert_eq!(read("StatefulSet", Some(-1)).unwrap_err(), "workload.ordinal: must not be negative");
    assert!(read("", None).unwrap_err().starts_with("workload.kind: "));
    assert!(read("a b", None).unwrap_err().starts_with("workload.kind: "));
}

#[test]
fn a_name_is_made_up_where_none_is_given_and_kept_where_one_is() {
    let body = |id: Option<&str>| json!({ "id": id, "reason": "flying", "scope": { "kind": "Node" } });
    assert_eq!(hold(body(None)).unwrap().id.as_str(), "hold-rover-00ff00");
    assert_eq!(hold(body(Some("mission_42.a"))).unwrap().id.as_str(), "mission_42.a");
    for bad in ["", "a b", "../x", "a/b", "-a", "a-", &"a".repeat(64), "ä"] {
        assert!(hold(body(Some(bad))).unwrap_err().starts_with("id: "), "{bad}");
    }
}

/// A hold of that name, taken before the cluster's freeze, had the freeze refused, and the cluster was not told.
#[test]
fn the_names_of_the_clusters_freezes_are_for_nobody_on_the_machine() {
    let body = |id: &str| json!({ "id": id, "reason": "flying", "scope": { "kind": "Node" } });
    let freeze = |id: &str| {
        let body: TakeFreeze = serde_json::from_value(json!({ "id": id, "reason": "flying" })).unwrap();
        take_freeze(&body, "f").map_err(|problems| problems.to_string())
    };
    for taken in ["cluster", "cluster.7", "cluster.a.b"] {
        for said in [hold(body(taken)).unwrap_err(), freeze(taken).unwrap_err()] {
            assert!(said.starts_with("id: \"cluster\" and what begins with \"cluster.\""), "{said}");
        }
    }
    for free in ["clusters", "cluster-7", "my.cluster"] {
        assert!(hold(body(free)).is_ok() && freeze(free).is_ok(), "{free}");
    }
}

#[test]
fn a_lease_and_a_deadline_are_counted_in_the_gates_time() {
    let body: TakeFreeze = serde_json::from_value(json!({
        "reason": "lift", "deadline": "45s", "holdBarrier": true,
        "lease": { "for": "1h30m", "onExpiry": "ThawIfSafe" },
    }))
    .unwrap();
    let asked = take_freeze(&body, "freeze-rover-1").unwrap();
    let Ask::Freeze { lease: Some(lease), settle, keep_barrier, .. } = asked.ask else { panic!("{asked:?}") };
    assert_eq!((lease.length, lease.on_expiry), (Span::from_mins(90), OnExpiry::ThawIfSafe));
    assert_eq!((settle, keep_barrier), (Span::from_secs(45), true));
    let plain: TakeFreeze = serde_json::from_value(json!({ "reason": "lift" })).unwrap();
    let Ask::Freeze { lease: None, settle: Span::ZERO, keep_barrier: false, .. } =
        take_freeze(&plain, "f").unwrap().ask
    else {
        panic!("settled now, or refused")
    };
}

#[test]
fn a_renewal_may_change_the_length_and_nothing_else() {
    let body: RenewHold = serde_json::from_value(json!({ "holder": "nav", "for": "30s" })).unwrap();
    let asked = renew_hold(&body, "mission").unwrap();
    assert_eq!(asked.ask, Ask::Renew { id: "mission".into(), length: Some(Span::from_secs(30)) });
    assert_eq!(asked.holder.as_deref(), Some("nav"));
}

#[test]
fn a_release_names_exactly_one_thing() {
    let read = |body: Value| {
        let body: Release = serde_json::from_value(body).unwrap();
        release(&body).map_err(|problems| problems.to_string())
    };
    let pod = json!({ "namespace": "shop", "name": "web-1" });
    assert!(matches!(read(json!({ "pod": pod })).unwrap().target, Target::Pod(_)));
    assert_eq!(read(json!({ "node": true })).unwrap().target, Target::Node);
    let one = "name what to release: exactly one of pod, workload and node";
    assert_eq!(read(json!({})).unwrap_err(), one);
    assert_eq!(read(json!({ "pod": pod, "node": true })).unwrap_err(), one);
    assert_eq!(
        read(json!({ "node": true, "revision": "b" })).unwrap_err(),
        "revision: goes with a pod or a workload: a node has no revision"
    );
    let asked = read(json!({ "pod": pod, "revision": "b", "override": { "reason": "urgent", "for": "5m" } }))
        .unwrap();
    assert_eq!(asked.revision.unwrap().as_str(), "b");
    assert_eq!(asked.overriding.unwrap().length, Span::from_mins(5));
}

#[test]
fn an_override_says_why() {
    let body: Overriding =
        serde_json::from_value(json!({ "override": { "reason": "", "for": "5m" } })).unwrap();
    assert!(ending(&body).unwrap_err().to_string().starts_with("override.reason: say why"));
    assert_eq!(ending(&Overriding::default()), Ok(None));
}

#[test]
fn a_reason_is_text_and_not_a_novel() {
    let said = |reason: &str| hold(json!({ "reason": reason, "scope": { "kind": "Node" } }));
    assert!(said(&"x".repeat(1024)).is_ok());
    assert!(said(&"x".repeat(1025)).unwrap_err().starts_with("reason: must have at most 1024"));
    assert!(said("\u{1b}[2J").unwrap_err().starts_with("reason: must be plain text"));
}
