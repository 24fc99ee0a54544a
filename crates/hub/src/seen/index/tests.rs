//! What is found through the index, and what has to be looked at.
#![expect(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]

use serde_json::{Value, json};

use super::*;

const DEPLOYMENTS: Kind = Kind::Carrier(Carrier::Deployment);

fn meta(uid: &str, owner: Option<(&str, &str)>, annotations: Value) -> ObjectMeta {
    let owners: Vec<Value> = owner
        .map(|(kind, uid)| {
            json!({"apiVersion": "apps/v1", "kind": kind, "name": uid, "uid": uid, "controller": true})
        })
        .into_iter()
        .collect();
    let meta = json!({"name": uid, "namespace": "shop", "uid": uid, "resourceVersion": "1",
        "ownerReferences": owners, "annotations": annotations});
    serde_json::from_value(meta).unwrap()
}

fn armed() -> Value {
    json!({"edge.kubeedge.io/hold-upgrade": "true"})
}

fn uids(mut found: Vec<Uid>) -> Vec<String> {
    found.sort();
    found.iter().map(ToString::to_string).collect()
}

/// A Deployment `d` with a ReplicaSet `r` and its pods `p1` and `p2`.
fn deployment() -> Index {
    let mut index = Index::default();
    for pod in ["p1", "p2"] {
        index.apply(Kind::Pod, meta(pod, Some(("ReplicaSet", "r")), json!({})));
    }
    index.apply(Kind::ReplicaSet, meta("r", Some(("Deployment", "d")), json!({})));
    index.apply(DEPLOYMENTS, meta("d", None, json!({})));
    index
}

#[test]
fn a_workload_that_is_armed_or_disarmed_has_its_pods_looked_at_and_no_others() {
    let mut index = deployment();
    index.apply(Kind::Pod, meta("other", Some(("DaemonSet", "s")), json!({})));
    assert_eq!(uids(index.apply(DEPLOYMENTS, meta("d", None, armed()))), ["p1", "p2"]);
    assert!(index.apply(DEPLOYMENTS, meta("d", None, armed())).is_empty(), "nothing has changed");
    let other = json!({"edge.kubeedge.io/hold-upgrade": "no", "note": "x"});
    assert_eq!(uids(index.apply(DEPLOYMENTS, meta("d", None, other))), ["p1", "p2"]);
}

#[test]
fn a_label_that_somebody_put_on_later_is_not_of_the_wish_before() {
    let wished = |label: Option<&str>| {
        let wish = r#"{"at":"2026-11-15T00:00:00Z","by":"jane","how":"eviction","label":"17"}"#;
        let mut meta =
            meta("p1", Some(("ReplicaSet", "r")), json!({"safepoint.dev/lifecycle-end-wished": wish}));
        meta.labels = label.map(|label| [(TO_DELETE.to_owned(), label.to_owned())].into());
        let mut index = Index::default();
        index.apply(Kind::Pod, meta);
        index.wished().count()
    };
    assert_eq!((wished(Some("17")), wished(Some("18")), wished(None)), (1, 0, 0));
}

#[test]
fn a_pod_finds_its_workload_through_its_replica_set_in_whatever_order_they_come() {
    let mut index = Index::default();
    assert_eq!(uids(index.apply(Kind::Pod, meta("p1", Some(("ReplicaSet", "r")), json!({})))), ["p1"]);
    assert!(index.workload("r").is_none());
    assert_eq!(uids(index.apply(Kind::ReplicaSet, meta("r", Some(("Deployment", "d")), json!({})))), ["p1"]);
    assert_eq!(uids(index.apply(DEPLOYMENTS, meta("d", None, armed()))), ["p1"]);
    assert_eq!(index.workload("r").map(ToString::to_string).as_deref(), Some("Deployment/d"));
    assert!(index.workload("r").unwrap().holds);
}

#[test]
fn a_replica_set_that_is_adopted_by_another_deployment_has_its_pods_looked_at() {
    let mut index = deployment();
    index.apply(DEPLOYMENTS, meta("e", None, armed()));
    let adopted = index.apply(Kind::ReplicaSet, meta("r", Some(("Deployment", "e")), json!({})));
    assert_eq!(uids(adopted), ["p1", "p2"]);
    assert_eq!(&*index.workload("r").unwrap().name, "e");
    assert!(index.apply(DEPLOYMENTS, meta("d", None, armed())).is_empty());
}

#[test]
fn a_workload_that_is_gone_is_not_known_any_more() {
    let mut index = deployment();
    assert!(index.workload("r").is_some());
    index.remove(DEPLOYMENTS, &meta("d", None, json!({})));
    assert!(index.workload("r").is_none());
    index.remove(Kind::ReplicaSet, &meta("r", None, json!({})));
    assert!(index.sets_of.is_empty() && index.deployments.is_empty());
}

#[test]
fn a_list_forgets_what_it_does_not_show() {
    let mut index = deployment();
    index.begin(Kind::Pod);
    index.apply(Kind::Pod, meta("p1", Some(("ReplicaSet", "r")), json!({})));
    index.finish(Kind::Pod);
    assert_eq!(uids(index.pods().cloned().collect()), ["p1"]);
    index.begin(DEPLOYMENTS);
    index.finish(DEPLOYMENTS);
    assert!(index.workload("r").is_none());
    index.remove(Kind::Pod, &meta("p1", None, json!({})));
    assert!(index.pods_of.is_empty() && index.pods.is_empty());
}

#[test]
fn pods_without_a_controller_are_kept_only_for_a_wish() {
    let mut index = Index::default();
    assert!(index.apply(Kind::Pod, meta("bare", None, json!({}))).is_empty());
    assert_eq!(index.pods().count(), 0);
    let wish =
        json!({"safepoint.dev/end-wished": r#"{"at":"2026-11-15T12:00:00Z","by":"jane","how":"delete"}"#});
    index.apply(Kind::Pod, meta("bare", None, wish));
    assert_eq!(index.wished().map(|(uid, _)| uid.to_string()).collect::<Vec<_>>(), ["bare"]);
    index.apply(Kind::Pod, meta("bare", None, json!({})));
    assert_eq!((index.wished().count(), index.pods().count()), (0, 0));
}

#[test]
fn a_pod_that_is_taken_over_by_another_controller_is_its_pod() {
    let mut index = deployment();
    index.apply(Kind::Carrier(Carrier::DaemonSet), meta("s", None, armed()));
    index.apply(Kind::Pod, meta("p1", Some(("DaemonSet", "s")), json!({})));
    assert_eq!(uids(index.apply(DEPLOYMENTS, meta("d", None, armed()))), ["p2"]);
    let disarmed = index.apply(Kind::Carrier(Carrier::DaemonSet), meta("s", None, json!({})));
    assert_eq!(uids(disarmed), ["p1"]);
}
