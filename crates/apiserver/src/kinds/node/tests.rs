//! What a node says of itself, and what stays once it is set.

use super::*;

fn texts(check: impl Fn(&mut Problems)) -> Vec<String> {
    let mut problems = Problems::default();
    check(&mut problems);
    problems.iter().map(FieldError::to_string).collect()
}

fn defaulted(mut node: Value) -> Value {
    Nodes.default(&mut node);
    node
}

#[test]
fn what_a_node_has_it_can_give() {
    let node = defaulted(json!({"status": {"capacity": {"cpu": "0.5", "memory": "1024Ki"}}}));
    assert_eq!(node["status"]["allocatable"], json!({"cpu": "500m", "memory": "1Mi"}));
    assert_eq!(node["status"]["daemonEndpoints"], json!({"kubeletEndpoint": {"Port": 0}}));
    assert_eq!(node["status"]["nodeInfo"]["kubeletVersion"], "");
    assert_eq!(node["spec"], json!({}));
    assert_eq!(defaulted(node.clone()), node);
}

#[test]
fn the_first_network_is_also_the_only_old_one() {
    let spec = |spec: Value| defaulted(json!({"spec": spec}))["spec"].clone();
    let both = json!({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.0.0.0/24"]});
    assert_eq!(spec(json!({"podCIDR": "10.0.0.0/24"})), both);
    assert_eq!(spec(json!({"podCIDRs": ["10.0.0.0/24"]})), both);
    assert_eq!(spec(json!({"podCIDR": "10.0.0.0/24", "podCIDRs": ["10.9.0.0/24"]})), both);
}

#[test]
fn taints_are_well_formed_and_unique() {
    let node = json!({"spec": {"taints": [
        {"key": "a", "effect": "NoSchedule"}, {"key": "a", "effect": "NoSchedule"},
        {"key": "a", "effect": "NoExecute"}, {"key": "b"}, {"key": "c", "effect": "Never"},
    ]}});
    let found = texts(|problems| Nodes.check(&node, problems));
    assert!(found[0].starts_with("metadata.taints[1]: Duplicate value: {"), "{found:?}");
    assert!(found[0].ends_with(": taints must be unique by key and effect pair"), "{found:?}");
    assert_eq!(
        found[1..],
        [
            "metadata.taints[3].effect: Required value",
            "metadata.taints[4].effect: Unsupported value: \"Never\": \
             supported values: \"NoSchedule\", \"PreferNoSchedule\", \"NoExecute\"",
        ]
    );
}

#[test]
fn networks_and_provider_stay_once_they_are_set() {
    let old = json!({"spec": {"podCIDRs": ["10.0.0.0/24"], "providerID": "a://b"}});
    assert_eq!(texts(|problems| Nodes.check_change(&json!({}), &old, problems)).len(), 2);
    assert!(texts(|problems| Nodes.check_change(&old, &json!({}), problems)).is_empty());
    let twice = json!({"spec": {"podCIDRs": ["10.0.0.0/24", "10.1.0.0/24"]}});
    assert_eq!(
        texts(|problems| Nodes.check(&twice, problems)),
        ["spec.podCIDRs: Invalid value: [\"10.0.0.0/24\",\"10.1.0.0/24\"]: \
             may specify no more than one CIDR for each IP family"]
    );
}

#[test]
fn an_update_leaves_the_status_and_a_status_is_checked() {
    let old = json!({"spec": {}, "status": {"phase": "x"}});
    let mut new = json!({"spec": {"configSource": {}}, "status": {}});
    Nodes.carry(&mut new, &old);
    assert_eq!(new, old);
    let address = json!({"type": "InternalIP", "address": "10.0.0.1"});
    let status = json!({"status": {"capacity": {"cpu": "-1"}, "addresses": [address, address]}});
    let found = texts(|problems| Nodes.check_status(&status, &old, problems));
    assert_eq!(found[0], "status.capacity.cpu: Invalid value: \"-1\": must be greater than or equal to 0");
    assert!(found[1].starts_with("status.addresses[1]: Duplicate value"), "{found:?}");
}

#[test]
fn a_row_says_whether_a_node_is_ready() {
    let now = Timestamp::UNIX_EPOCH;
    let node = json!({
        "metadata": {"labels": {"node-role.kubernetes.io/worker": "", "kubernetes.io/role": "edge"}},
        "spec": {"unschedulable": true},
        "status": {
            "conditions": [{"type": "Ready", "status": "True"}],
            "addresses": [{"type": "InternalIP", "address": "10.0.0.1"}],
            "nodeInfo": {"kubeletVersion": "v1.36.0", "kernelVersion": "6.1", "architecture": "arm64"},
        },
    });
    assert_eq!(
        Nodes.cells(&node, now),
        [
            "Ready,SchedulingDisabled",
            "edge,worker",
            "<unknown>",
            "v1.36.0",
            "10.0.0.1",
            "<none>",
            "<unknown>",
            "6.1 (arm64)",
            "<unknown>"
        ]
    );
    assert_eq!(Nodes.cells(&json!({}), now)[..2], ["Unknown", "<none>"]);
    assert_eq!(Nodes.columns().len(), Nodes.cells(&node, now).len());
}

#[test]
fn a_node_that_says_nothing_takes_pods() {
    assert_eq!(Nodes.field(&json!({}), "spec.unschedulable").as_deref(), Some("false"));
}
