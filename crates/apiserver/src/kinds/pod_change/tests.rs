//! The few things that may change in a pod, one test each.

use serde_json::json;

use super::*;

fn pod() -> Value {
    json!({"metadata": {"name": "p"}, "spec": {
        "containers": [{"name": "a", "image": "x:1"}], "activeDeadlineSeconds": 100,
        "tolerations": [{"key": "k", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5}],
    }})
}

fn gated() -> Value {
    let mut pod = pod();
    pod["spec"]["schedulingGates"] = json!([{"name": "a/b"}, {"name": "c/d"}]);
    pod["spec"]["nodeSelector"] = json!({"x": "y"});
    pod
}

fn changed(old: &Value, change: impl Fn(&mut Value)) -> Vec<String> {
    let mut new = old.clone();
    change(&mut new["spec"]);
    let mut problems = Problems::default();
    check(&new, old, &mut problems);
    problems.iter().map(FieldError::to_string).collect()
}

#[test]
fn an_image_may_change() {
    assert!(changed(&pod(), |spec| spec["containers"][0]["image"] = "x:2".into()).is_empty());
}

#[test]
fn nothing_else_of_a_container_may_change() {
    let found = changed(&pod(), |spec| spec["containers"][0]["tty"] = true.into());
    assert_eq!(
        found,
        ["spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`,\
          `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
          `spec.tolerations` (only additions to existing tolerations),\
          `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)\n\
          - spec.containers[0].tty: null\n+ spec.containers[0].tty: true"]
    );
    assert_eq!(changed(&pod(), |spec| spec["hostname"] = "h".into()).len(), 1);
}

#[test]
fn containers_neither_come_nor_go() {
    assert_eq!(
        changed(&pod(), |spec| spec["containers"] = json!([])),
        ["spec.containers: Forbidden: pod updates may not add or remove containers"]
    );
    assert_eq!(
        changed(&pod(), |spec| spec["initContainers"] = json!([{"name": "i"}])),
        ["spec.initContainers: Forbidden: pod updates may not add or remove containers"]
    );
}

#[test]
fn a_deadline_only_comes_closer() {
    assert!(changed(&pod(), |spec| spec["activeDeadlineSeconds"] = 50.into()).is_empty());
    assert_eq!(
        changed(&pod(), |spec| spec["activeDeadlineSeconds"] = 500.into()),
        ["spec.activeDeadlineSeconds: Invalid value: 500: must be less than or equal to previous value"]
    );
    assert_eq!(
        changed(&pod(), |spec| remove(spec, "activeDeadlineSeconds")),
        [
            "spec.activeDeadlineSeconds: Invalid value: null: must not update from a positive integer to nil value"
        ]
    );
}

#[test]
fn tolerations_are_only_added() {
    let more = json!({"key": "m", "operator": "Exists"});
    assert!(
        changed(&pod(), |spec| spec["tolerations"].as_array_mut().unwrap().push(more.clone())).is_empty()
    );
    assert!(changed(&pod(), |spec| spec["tolerations"][0]["tolerationSeconds"] = 9.into()).is_empty());
    assert_eq!(
        changed(&pod(), |spec| spec["tolerations"][0]["key"] = "q".into()),
        ["spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"]
    );
}

#[test]
fn gates_only_go() {
    assert!(changed(&gated(), |spec| spec["schedulingGates"] = json!([{"name": "c/d"}])).is_empty());
    assert!(changed(&gated(), |spec| remove(spec, "schedulingGates")).is_empty());
    assert_eq!(
        changed(&pod(), |spec| spec["schedulingGates"] = json!([{"name": "a/b"}])),
        [
            "spec.schedulingGates[0].name: Forbidden: only deletion is allowed, but found new scheduling gate 'a/b'"
        ]
    );
}

#[test]
fn a_gated_pod_may_be_placed_more_narrowly() {
    assert!(changed(&gated(), |spec| spec["nodeSelector"]["z"] = "w".into()).is_empty());
    assert_eq!(changed(&pod(), |spec| spec["nodeSelector"] = json!({"z": "w"})).len(), 1);
    assert_eq!(
        changed(&gated(), |spec| spec["nodeSelector"]["x"] = "z".into()),
        ["spec.nodeSelector: Invalid value: {\"x\":\"z\"}: \
          only additions to spec.nodeSelector are allowed (no mutations or deletions)"]
    );
    let required = |terms: Value| json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}});
    let one = json!({"key": "k", "operator": "Exists"});
    let two = json!({"key": "l", "operator": "Exists"});
    let narrow = required(json!([{"matchExpressions": [one]}]));
    assert!(changed(&gated(), |spec| spec["affinity"] = narrow.clone()).is_empty());
    let mut placed = gated();
    placed["spec"]["affinity"] = narrow.clone();
    let narrower = required(json!([{"matchExpressions": [one, two]}]));
    assert!(changed(&placed, |spec| spec["affinity"] = narrower.clone()).is_empty());
    let other = required(json!([{"matchExpressions": [two]}]));
    let found = changed(&placed, |spec| spec["affinity"] = other.clone());
    assert!(found[0].ends_with("only additions are allowed (no mutations or deletions)"), "{found:?}");
    let more = required(json!([{"matchExpressions": [one]}, {"matchExpressions": [two]}]));
    let found = changed(&placed, |spec| spec["affinity"] = more.clone());
    assert!(
        found[0].ends_with("no additions/deletions to non-empty NodeSelectorTerms list are allowed"),
        "{found:?}"
    );
    assert_eq!(changed(&gated(), |spec| spec["affinity"] = json!({"podAffinity": {"a": 1}})).len(), 1);
}

#[test]
fn the_mark_of_a_static_pod_is_not_for_clients() {
    let old = pod();
    let mut new = old.clone();
    new["metadata"]["annotations"] = json!({"kubernetes.io/config.mirror": "x"});
    let mut problems = Problems::default();
    check(&new, &old, &mut problems);
    check(&old, &new, &mut problems);
    let texts: Vec<String> = problems.iter().map(|problem| problem.detail.clone()).collect();
    assert_eq!(
        texts,
        ["may not add mirror pod annotation", "may not remove or update mirror pod annotation"]
    );
}
