//! Changes as they are sent: as a JSON patch in a webhook's answer, as a merge patch in a write of the hub's own.
//!
//! Only keys of the lifecycle are in either. What else is on a pod, known to us or not, is not in the text that is sent.

use std::collections::BTreeSet;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use safepoint_api::names::kusionstack::SERVICE_READY_MESSAGE;
use safepoint_core::Text;
use safepoint_core::lifecycle::{
    AVAILABLE_CONDITIONS, Changes, DELETE_TIMESTAMP, Phase, SERVICE_READY, View, phase,
};
use serde_json::{Map, Value, json};

use super::known::{EXPECTED, Known};
use super::words::{PHASE, WISH};

/// The operations that make these changes to the pod of a request.
pub(super) fn operations(pod: &Value, known: &Known, view: &View, changes: &Changes) -> Vec<Value> {
    let mut operations = Vec::new();
    let present = pod.pointer("/metadata/labels").and_then(Value::as_object);
    let labels = labels(known, view, changes);
    if present.is_none() && labels.values().any(|value| !value.is_null()) {
        operations.push(json!({"op": "add", "path": "/metadata/labels", "value": {}}));
    }
    for (key, value) in labels {
        let path = format!("/metadata/labels/{}", key.replace('~', "~0").replace('/', "~1"));
        let is_there = present.is_some_and(|present| present.contains_key(&key));
        match value {
            Value::Null if is_there => operations.push(json!({"op": "remove", "path": path})),
            Value::Null => {}
            value => operations.push(json!({"op": "add", "path": path, "value": value})),
        }
    }
    if changes.declare_gate {
        let gate = json!({"conditionType": SERVICE_READY});
        let gates = pod.pointer("/spec/readinessGates").is_some_and(Value::is_array);
        operations.push(match gates {
            true => json!({"op": "add", "path": "/spec/readinessGates/-", "value": gate}),
            false => json!({"op": "add", "path": "/spec/readinessGates", "value": [gate]}),
        });
    }
    operations
}

/// The body of one write with all of these changes, on the pod that was seen and on no other version of it. If there is a `status`
/// in it, it goes to `pods/status`, which stores the rest as well.
pub(super) fn body(known: &Known, view: &View, changes: &Changes, now: Timestamp) -> Value {
    let mut annotations = Map::new();
    if let Some(put_off) = &changes.put_off {
        annotations.insert(DELETE_TIMESTAMP.to_owned(), json!(put_off.as_deref()));
    }
    if has_stale_wish(known, view, changes) {
        annotations.insert(WISH.to_owned(), Value::Null);
    }
    if !changes.prune.is_empty()
        && let Some(declared) = known.annotation(AVAILABLE_CONDITIONS)
    {
        annotations.insert(AVAILABLE_CONDITIONS.to_owned(), pruned(declared, &changes.prune).into());
    }
    let mut body = json!({"metadata": {"uid": &*known.uid, "resourceVersion": &*known.version}});
    let labels = labels(known, view, changes);
    if !labels.is_empty() {
        body["metadata"]["labels"] = Value::Object(labels);
    }
    if !annotations.is_empty() {
        body["metadata"]["annotations"] = Value::Object(annotations);
    }
    if let Some(open) = changes.gate {
        let status = if open { "True" } else { "False" };
        body["status"] = json!({"conditions": [{"type": SERVICE_READY, "status": status,
            "message": SERVICE_READY_MESSAGE, "lastTransitionTime": Time(now)}]});
    }
    body
}

/// The labels that change, those that go with null. The phase is among them where it is not what the pod shows.
fn labels(known: &Known, view: &View, changes: &Changes) -> Map<String, Value> {
    let mut labels: Map<String, Value> =
        changes.labels.iter().map(|(key, value)| (key.to_string(), json!(value.as_deref()))).collect();
    if let Some(phase) = stale_phase(known, view, changes) {
        labels.insert(PHASE.to_owned(), phase);
    }
    labels
}

/// What the phase that the pod shows has to become, if it is not that already.
pub(super) fn stale_phase(known: &Known, view: &View, changes: &Changes) -> Option<Value> {
    let mut after = view.clone();
    after.apply(changes);
    let shown = known.labels.get(PHASE).map(|shown| &**shown);
    match phase(&after) {
        Phase::NotControlled => shown.map(|_| Value::Null),
        // Whoever looks sees that it is terminating, and a pod on its way out is not written on.
        Phase::Deleting => None,
        phase => {
            let phase = phase.to_string();
            (shown != Some(&*phase)).then(|| phase.into())
        }
    }
}

/// Whether a pod still says who wished its end although nobody does any more.
pub(super) fn has_stale_wish(known: &Known, view: &View, changes: &Changes) -> bool {
    let mut after = view.clone();
    after.apply(changes);
    let lasts = after.controlled && !after.deleting && !after.is_wished_gone();
    lasts && known.annotation(WISH).is_some()
}

/// The annotation without those who declare nothing any more. What else it says stays.
fn pruned(declared: &str, gone: &BTreeSet<Text>) -> String {
    let Ok(mut whole) = serde_json::from_str::<Value>(declared) else { return declared.to_owned() };
    if let Some(expected) = whole.get_mut(EXPECTED).and_then(Value::as_object_mut) {
        expected.retain(|who, _| !gone.contains(who.as_str()));
    }
    whole.to_string()
}

#[cfg(test)]
mod tests {
    use safepoint_core::lifecycle::{Kind, Lifecycle, Nanos, Request, Writer};
    use safepoint_machinery::patch::json as apply;

    use super::*;

    const CREATE: Request = Request { kind: Kind::Create, writer: Writer::Other, dry_run: false };
    const UPDATE: Request = Request { kind: Kind::Update, writer: Writer::Other, dry_run: false };

    fn admitted(pod: &Value, request: Request) -> Value {
        let known = Known::read(pod).unwrap();
        let view = known.view();
        let changes = Lifecycle::default().admit(&view, None, request, Nanos(7)).unwrap();
        apply(pod, &Value::Array(operations(pod, &known, &view, &changes))).unwrap()
    }

    /// Weakness 10 of the reference: it decodes a pod into the types of an old Kubernetes and drops what those do not know.
    #[test]
    fn fields_that_nobody_here_knows_are_kept() {
        let mut pod = json!({"metadata": {"name": "a", "labels": {"kusionstack.io/control": "true", "app": "web"},
                "fromNextYear": {"a": [1]}},
            "spec": {"hostUsers": false, "containers": [{"name": "c", "restartPolicy": "Always", "new": 1}],
                "schedulingGates": [{"name": "g"}], "later": true},
            "status": {"hostIPs": [{"ip": "192.0.2.1"}], "resize": "InProgress"}});
        let mut after = admitted(&pod, CREATE);
        assert_eq!(after["spec"]["readinessGates"], json!([{"conditionType": SERVICE_READY}]));
        assert_eq!(after["metadata"]["labels"][PHASE], "Starting");
        after["spec"].as_object_mut().unwrap().remove("readinessGates");
        after["metadata"]["labels"].as_object_mut().unwrap().remove(PHASE);
        assert_eq!(after, pod);
        pod["spec"]["readinessGates"] = json!([{"conditionType": "mine"}]);
        let gates = admitted(&pod, CREATE)["spec"]["readinessGates"].clone();
        assert_eq!(gates, json!([{"conditionType": "mine"}, {"conditionType": SERVICE_READY}]));
    }

    #[test]
    fn a_write_that_nothing_follows_from_gets_no_patch() {
        let pod = json!({"metadata": {"name": "a", "labels": {"kusionstack.io/control": "true",
            PHASE: "Starting"}}, "spec": {}});
        assert_eq!(admitted(&pod, UPDATE), pod);
        let other = json!({"metadata": {"name": "a"}, "spec": {}});
        assert_eq!(admitted(&other, CREATE), other);
    }

    #[test]
    fn a_pod_that_takes_part_no_more_shows_no_phase() {
        let pod = json!({"metadata": {"name": "a", "labels": {PHASE: "Starting"}}, "spec": {}});
        assert_eq!(admitted(&pod, UPDATE)["metadata"]["labels"], json!({}));
    }

    #[test]
    fn one_write_has_labels_gate_and_the_version_that_it_was_decided_on() {
        let pod = json!({"metadata": {"name": "a", "uid": "u1", "resourceVersion": "7", "labels": {
                "kusionstack.io/control": "true", "operating.podopslifecycle.kusionstack.io/1": "1",
                "operation-type.podopslifecycle.kusionstack.io/1": "update",
                "pre-check.podopslifecycle.kusionstack.io/1": "1"}},
            "spec": {"readinessGates": [{"conditionType": SERVICE_READY}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"}]}});
        let known = Known::read(&pod).unwrap();
        let view = known.view();
        let passed = safepoint_core::lifecycle::RuleStates::PASSED;
        let changes = Lifecycle::default().reconcile(&view, &passed, &BTreeSet::new(), Nanos(7));
        let body = body(&known, &view, &changes, Timestamp::UNIX_EPOCH);
        let labels = &body["metadata"]["labels"];
        assert_eq!(
            (&body["metadata"]["uid"], &body["metadata"]["resourceVersion"]),
            (&json!("u1"), &json!("7"))
        );
        assert_eq!(labels["preparing.podopslifecycle.kusionstack.io/1"], "7");
        assert_eq!(labels["pre-check.podopslifecycle.kusionstack.io/1"], Value::Null);
        assert_eq!(labels[PHASE], "Preparing");
        let condition = &body["status"]["conditions"][0];
        assert_eq!(
            (&condition["status"], &condition["message"]),
            (&json!("False"), &json!("updated by PodOpsLifecycle"))
        );
        assert_eq!(condition["lastTransitionTime"], "1970-01-01T00:00:00Z");
    }

    #[test]
    fn who_wished_the_end_of_a_pod_is_taken_off_with_the_label_and_not_before() {
        let wish = |labels: Value| {
            let mut pod = json!({"metadata": {"name": "a", "labels": labels,
                "annotations": {"safepoint.dev/lifecycle-end-wished": "{}"}}});
            pod["metadata"]["labels"]["kusionstack.io/control"] = json!("true");
            let known = Known::read(&pod).unwrap();
            let (view, none) = (known.view(), Changes::default());
            let body = body(&known, &view, &none, Timestamp::UNIX_EPOCH);
            let taken = body.pointer("/metadata/annotations").cloned();
            assert_eq!(taken.is_some(), has_stale_wish(&known, &view, &none));
            taken
        };
        assert_eq!(wish(json!({})), Some(json!({"safepoint.dev/lifecycle-end-wished": null})));
        assert_eq!(wish(json!({"collaset.kusionstack.io/to-delete": "1"})), None);
    }

    #[test]
    fn what_else_the_annotation_says_is_kept_when_a_declaration_goes() {
        let declared = r#"{"expectedFinalizers":{"Service/a/b":"x","Service/a/c":"y"},"more":[1]}"#;
        let left: Value =
            serde_json::from_str(&pruned(declared, &BTreeSet::from(["Service/a/b".into()]))).unwrap();
        assert_eq!(left, json!({"expectedFinalizers": {"Service/a/c": "y"}, "more": [1]}));
    }
}
