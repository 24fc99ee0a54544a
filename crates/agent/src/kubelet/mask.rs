//! A pod as the kubelet is shown it: what was admitted of it, with the status of now. Pure.
//!
//! Spec, labels, annotations and generation are those of the admitted version, whatever the cluster has come to want since.
//! A pod has a deletion timestamp if and only if its end was admitted. The status is the newest there is, but for a terminal
//! phase that this kubelet has not written itself: one that first sees it kills what runs.

use safepoint_api::names::safepoint::CONFIGURATION;
use safepoint_core::Timestamp;
use serde_json::{Map, Value, json};

use crate::reporter::written;

/// The kubelet's, where a pod does not say.
const GRACE: u64 = 30;

/// How a pod is to end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct End {
    /// As the API writes it.
    pub(super) at: String,
    /// In seconds.
    pub(super) grace: u64,
}

/// What is to be shown of a pod.
#[derive(Clone, Copy, Debug)]
pub(super) struct Showing<'a> {
    /// What was admitted.
    pub(super) body: &'a Value,
    pub(super) status: Option<&'a Value>,
    pub(super) end: Option<&'a End>,
    /// Another text each time it is to look at what it reads; none if it never had to be told.
    pub(super) configuration: Option<&'a str>,
}

// === impl End ===

impl End {
    /// The end that somebody asked the API for, as far as they did; what they left open the pod says itself.
    pub(super) fn of(asked: Option<&Value>, body: &Value, now: Timestamp) -> Self {
        let asked = asked.map(|pod| &pod["metadata"]).filter(|it| it["deletionTimestamp"].is_string());
        let said = |name: &str| asked.map(|metadata| &metadata[name]).filter(|value| !value.is_null());
        let own = || body["spec"]["terminationGracePeriodSeconds"].as_u64();
        Self {
            at: said("deletionTimestamp").and_then(Value::as_str).map_or_else(|| written(now), str::to_owned),
            grace: said("deletionGracePeriodSeconds").and_then(Value::as_u64).or_else(own).unwrap_or(GRACE),
        }
    }
}

// === impl Showing ===

impl Showing<'_> {
    /// The pod.
    pub(super) fn pod(self) -> Value {
        let mut pod = self.body.clone();
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        if !pod["metadata"].is_object() {
            pod["metadata"] = json!({});
        }
        let Value::Object(metadata) = &mut pod["metadata"] else { return pod };
        // Nobody on a node reads these, and they are the larger half of an object.
        metadata.remove("managedFields");
        for name in ["deletionTimestamp", "deletionGracePeriodSeconds"] {
            metadata.remove(name);
        }
        if let Some(end) = self.end {
            metadata.insert("deletionTimestamp".into(), json!(end.at));
            metadata.insert("deletionGracePeriodSeconds".into(), json!(end.grace));
        }
        if let Some(configuration) = self.configuration {
            let annotations = metadata.entry("annotations").or_insert_with(|| Value::Object(Map::new()));
            annotations[CONFIGURATION] = json!(configuration);
        }
        pod["status"] = self.status.cloned().unwrap_or_else(|| json!({}));
        pod
    }
}

/// Whether a status says that a pod is over.
pub(crate) fn is_over(status: &Value) -> bool {
    matches!(status["phase"].as_str(), Some("Succeeded" | "Failed"))
}

/// A status without the terminal phase that somebody else has written: with what the kubelet said last, or, where nobody
/// remembers that, as of a pod about which nothing is known yet.
pub(super) fn not_over(status: &Value, last: Option<&Value>) -> Value {
    if let Some(last) = last.filter(|last| !is_over(last)) {
        return last.clone();
    }
    let mut status = status.clone();
    if let Value::Object(members) = &mut status {
        members.insert("phase".into(), json!("Running"));
        members.remove("reason");
        members.remove("message");
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body() -> Value {
        json!({
            "metadata": {"name": "rover", "uid": "u1", "generation": 1, "labels": {"app": "rover"}, "managedFields": [{}],
                "deletionTimestamp": "2026-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5},
            "spec": {"containers": [{"image": "rover:v1"}], "terminationGracePeriodSeconds": 20, "newField": {"a": 1}},
            "status": {"phase": "Pending"},
        })
    }

    fn shown(end: Option<&End>, configuration: Option<&str>) -> Value {
        let (body, status) = (body(), json!({"phase": "Running", "newField": 1}));
        Showing { body: &body, status: Some(&status), end, configuration }.pod()
    }

    #[test]
    fn a_pod_is_shown_as_it_was_admitted_with_the_status_of_now() {
        let pod = shown(None, None);
        assert_eq!(pod["spec"], body()["spec"]);
        assert_eq!(pod["metadata"]["generation"], 1);
        assert_eq!(pod["status"], json!({"phase": "Running", "newField": 1}));
    }

    #[test]
    fn an_end_that_was_not_admitted_is_not_shown() {
        let pod = shown(None, None);
        assert!(pod["metadata"].get("deletionTimestamp").is_none());
        assert!(pod["metadata"].get("deletionGracePeriodSeconds").is_none());
    }

    #[test]
    fn an_end_takes_as_long_as_was_asked_for_and_else_as_long_as_the_pod_says() {
        let asked = json!({"metadata": {"deletionTimestamp": "2026-02-02T00:00:00Z", "deletionGracePeriodSeconds": 3}});
        let end = End::of(Some(&asked), &body(), Timestamp(0));
        assert_eq!(end, End { at: "2026-02-02T00:00:00Z".into(), grace: 3 });
        let end = End::of(None, &body(), Timestamp(0));
        assert_eq!(end.at, "1970-01-01T00:00:00Z");
        assert_eq!(end.grace, 20);
        let pod = shown(Some(&end), None);
        assert_eq!(pod["metadata"]["deletionGracePeriodSeconds"], 20);
    }

    #[test]
    fn a_wish_to_end_that_is_no_deletion_takes_as_long_as_the_pod_says() {
        let wish = json!({"metadata": {"annotations": {"safepoint.dev/end-wished": "{}"}}});
        assert_eq!(End::of(Some(&wish), &body(), Timestamp(0)).grace, 20);
    }

    #[test]
    fn a_change_of_configuration_shows_as_an_annotation() {
        assert_eq!(shown(None, Some("abc"))["metadata"]["annotations"][CONFIGURATION], "abc");
    }

    #[test]
    fn the_terminal_phase_of_another_is_not_passed_on() {
        let evicted = json!({"phase": "Failed", "reason": "Evicted", "conditions": [{"type": "Ready"}]});
        assert!(is_over(&evicted));
        assert_eq!(
            not_over(&evicted, Some(&json!({"phase": "Running", "podIP": "10.0.0.1"})))["podIP"],
            "10.0.0.1"
        );
        let masked = not_over(&evicted, Some(&evicted));
        assert_eq!(masked, json!({"phase": "Running", "conditions": [{"type": "Ready"}]}));
    }
}
