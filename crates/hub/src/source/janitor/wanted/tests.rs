//! Every ground on which the control plane wants a pod gone.
#![expect(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]

use serde_json::{Value, json};

use super::*;

fn node(more: Value) -> Node {
    let mut node =
        json!({"metadata": {"name": "rover-7", "labels": {"zone": "north", "arms": "4"}}, "spec": {}});
    node.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    serde_json::from_value(node).unwrap()
}

fn pod(name: &str, hash: &str, tolerations: Value) -> Pod {
    let pod = json!({"metadata": {"name": name, "labels": {"controller-revision-hash": hash}},
        "spec": {"containers": [], "tolerations": tolerations}});
    serde_json::from_value(pod).unwrap()
}

fn now() -> Timestamp {
    "2026-11-15T12:00:00Z".parse().unwrap()
}

fn gone(pod: &Pod, node: &Node, above: &mut Above) -> bool {
    let ground = Ground { pod, node: Some(node), namespace_ending: false, by_taint: false, now: now() };
    is_wanted_gone(&ground, above)
}

#[test]
fn a_taint_that_is_lifted_keeps_a_pod_of_nobody_that_it_drove_out() {
    let pod = pod("job-1", "", json!([]));
    let gone = |node: &Node, by_taint: bool| {
        let ground = Ground { pod: &pod, node: Some(node), namespace_ending: false, by_taint, now: now() };
        is_wanted_gone(&ground, &mut Above::Nobody)
    };
    let tainted = node(json!({"spec": {"taints": [{"key": "a", "effect": "NoExecute"}]}}));
    assert!(gone(&tainted, true));
    assert!(!gone(&node(json!({})), true));
    assert!(gone(&node(json!({})), false), "somebody else's ground is not known");
}

fn replica_set(wanted: i32, live: i32, more: Value) -> Above {
    let mut set = json!({"metadata": {"name": "web", "generation": 3}, "spec": {"replicas": wanted, "selector": {}},
        "status": {"replicas": live, "observedGeneration": 3}});
    set.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    Above::replica_set(&serde_json::from_value(set).unwrap())
}

#[test]
fn a_replica_set_wants_so_many_gone_as_it_has_too_many() {
    let pod = pod("web-1", "", json!([]));
    let asked =
        |mut above: Above| (0..3).map(|_| gone(&pod, &node(json!({})), &mut above)).collect::<Vec<_>>();
    assert_eq!(asked(replica_set(1, 3, json!({}))), [true, true, false]);
    assert_eq!(asked(replica_set(3, 3, json!({}))), [false; 3]);
    assert_eq!(asked(replica_set(5, 3, json!({}))), [false; 3]);
}

#[test]
fn a_replica_set_that_has_not_looked_yet_or_is_going_away_keeps_its_wishes() {
    let pod = pod("web-1", "", json!([]));
    let behind = json!({"status": {"replicas": 1, "observedGeneration": 2}});
    let ending =
        json!({"metadata": {"name": "web", "generation": 3, "deletionTimestamp": "2026-11-15T12:00:00Z"}});
    for more in [behind, ending, json!({"status": null})] {
        assert!(gone(&pod, &node(json!({})), &mut replica_set(1, 1, more.clone())), "{more}");
    }
    assert!(gone(&pod, &node(json!({})), &mut Above::Nobody));
}

#[test]
fn a_stateful_set_wants_a_pod_that_is_in_range_and_of_its_revision() {
    let set = |spec: Value| {
        let mut whole = json!({"replicas": 2, "selector": {}, "serviceName": "db", "template": {}});
        whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
        let set = json!({"metadata": {"name": "db", "generation": 1}, "spec": whole,
            "status": {"replicas": 2, "observedGeneration": 1, "updateRevision": "db-new"}});
        Above::StatefulSet(Box::new(serde_json::from_value(set).unwrap()))
    };
    let gone = |name: &str, hash: &str, spec: Value| {
        gone(&pod(name, hash, json!([])), &node(json!({})), &mut set(spec))
    };
    assert!(!gone("db-0", "db-new", json!({})));
    assert!(!gone("db-1", "db-new", json!({})));
    assert!(gone("db-2", "db-new", json!({})), "it was scaled down");
    assert!(gone("db-1", "db-old", json!({})), "it was rolled out");
    assert!(gone("other-1", "db-new", json!({})));
    let partition = json!({"updateStrategy": {"rollingUpdate": {"partition": 1}}});
    assert!(!gone("db-0", "db-old", partition.clone()), "not below the partition");
    assert!(gone("db-1", "db-old", partition));
    assert!(!gone("db-6", "db-new", json!({"ordinals": {"start": 5}})));
    assert!(gone("db-1", "db-new", json!({"ordinals": {"start": 5}})));
}

#[test]
fn a_daemon_set_wants_a_pod_of_its_newest_revision_on_a_node_that_fits() {
    let set = |template: Value, newest: Option<&str>| {
        let set =
            json!({"metadata": {"name": "lidar"}, "spec": {"selector": {}, "template": {"spec": template}}});
        let set = Box::new(serde_json::from_value(set).unwrap());
        Above::DaemonSet { set, newest: newest.map(str::to_owned) }
    };
    let gone = |hash: &str, template: Value, newest: Option<&str>| {
        gone(&pod("lidar-x", hash, json!([])), &node(json!({})), &mut set(template, newest))
    };
    let anywhere = json!({"containers": []});
    assert!(!gone("new", anywhere.clone(), Some("new")));
    assert!(gone("old", anywhere.clone(), Some("new")));
    assert!(gone("new", anywhere, None), "nobody knows its newest revision");
    assert!(!gone("new", json!({"containers": [], "nodeSelector": {"zone": "north"}}), Some("new")));
    assert!(gone("new", json!({"containers": [], "nodeSelector": {"zone": "south"}}), Some("new")));
    let term = |term: Value| {
        json!({"containers": [], "affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [term]}}}})
    };
    let expression = |key: &str, operator: &str, values: Value| {
        term(json!({"matchExpressions": [{"key": key, "operator": operator, "values": values}]}))
    };
    for (template, fits) in [
        (expression("zone", "In", json!(["north", "east"])), true),
        (expression("zone", "In", json!(["south"])), false),
        (expression("zone", "NotIn", json!(["south"])), true),
        (expression("zone", "Exists", json!([])), true),
        (expression("zone", "DoesNotExist", json!([])), false),
        (expression("arms", "Gt", json!(["3"])), true),
        (expression("arms", "Lt", json!(["3"])), false),
        (expression("zone", "Perhaps", json!([])), false),
        (
            term(json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["rover-7"]}]})),
            true,
        ),
        (
            term(json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["rover-8"]}]})),
            false,
        ),
        (term(json!({})), false),
    ] {
        assert_eq!(!gone("new", template.clone(), Some("new")), fits, "{template}");
    }
}

#[test]
fn a_taint_that_drives_out_is_a_ground_until_it_is_lifted() {
    let tainted =
        node(json!({"spec": {"taints": [{"key": "broken", "value": "yes", "effect": "NoExecute"}]}}));
    let gone = |tolerations: Value| {
        gone(&pod("web-1", "", tolerations), &tainted, &mut replica_set(1, 1, json!({})))
    };
    assert!(gone(json!([])));
    assert!(!gone(json!([{"key": "broken", "operator": "Exists"}])));
    assert!(!gone(json!([{"operator": "Exists"}])));
    assert!(!gone(json!([{"key": "broken", "value": "yes", "effect": "NoExecute"}])));
    assert!(gone(json!([{"key": "broken", "value": "no"}])));
    assert!(gone(json!([{"key": "broken", "operator": "Exists", "effect": "NoSchedule"}])));
    assert!(
        gone(json!([{"key": "broken", "operator": "Exists", "tolerationSeconds": 300}])),
        "nobody knows since when"
    );
    let only_cordoned = node(json!({"spec": {"taints": [{"key": "x", "effect": "NoSchedule"}]}}));
    let pod = pod("web-1", "", json!([]));
    assert!(!super::is_driven_out(&pod, &only_cordoned, now()));
}

#[test]
fn a_taint_that_is_tolerated_for_a_time_drives_out_when_that_is_over() {
    let tainted = |since: &str| {
        node(json!({"spec": {"taints": [{"key": "away", "effect": "NoExecute", "timeAdded": since}]}}))
    };
    let driven = |since: &str, tolerations: Value| {
        super::is_driven_out(&pod("web-1", "", tolerations), &tainted(since), now())
    };
    let five_minutes = json!([{"key": "away", "operator": "Exists", "tolerationSeconds": 300}]);
    assert!(!driven("2026-11-15T11:55:01Z", five_minutes.clone()));
    assert!(driven("2026-11-15T11:55:00Z", five_minutes));
    let both =
        json!([{"operator": "Exists"}, {"key": "away", "operator": "Exists", "tolerationSeconds": 60}]);
    assert!(driven("2026-11-15T11:55:00Z", both), "the shortest counts");
    assert!(driven("2026-11-15T12:00:00Z", json!([{"operator": "Exists", "tolerationSeconds": -1}])));
}

#[test]
fn a_namespace_that_ends_and_a_node_that_is_gone_are_grounds() {
    let pod = pod("web-1", "", json!([]));
    let here = node(json!({}));
    let ending = Ground { pod: &pod, node: Some(&here), namespace_ending: true, by_taint: false, now: now() };
    assert!(is_wanted_gone(&ending, &mut replica_set(1, 1, json!({}))));
    let gone = Ground { pod: &pod, node: None, namespace_ending: false, by_taint: false, now: now() };
    assert!(is_wanted_gone(&gone, &mut replica_set(1, 1, json!({}))));
}
