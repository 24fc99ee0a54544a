//! What is kept of a pod, and the view that core decides on.
//!
//! It is small, because there may be ten thousand of them: the view is made when it is needed. Nothing here fails because of a
//! strange pod; an annotation that cannot be read is a value of the view.

use std::collections::BTreeMap;

use safepoint_api::names::kusionstack::TO_DELETE;
use safepoint_core::lifecycle::{
    AVAILABLE_CONDITIONS, DELETE_TIMESTAMP, Expectations, SERVICE_READY, ServiceGate, View,
};
use safepoint_core::{Labels, Text};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::slim::{SlimCondition, SlimPod};
use crate::source::Wish;

/// Which pod.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Key {
    pub(crate) namespace: Text,
    pub(crate) name: Text,
}

/// What is kept of a pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Known {
    pub(crate) uid: Text,
    /// The version that was seen: what is decided on it is written on it only.
    pub(crate) version: Box<str>,
    /// All labels: rules select by any of them.
    pub(crate) labels: Labels,
    /// The annotations that matter.
    pub(crate) annotations: Box<[(&'static str, Text)]>,
    pub(crate) finalizers: Box<[Text]>,
    pub(crate) gate: ServiceGate,
    pub(crate) ready: bool,
    pub(crate) deleting: bool,
}

/// The annotations that are kept.
const KEPT: [&str; 4] =
    [AVAILABLE_CONDITIONS, DELETE_TIMESTAMP, super::WISH, safepoint_api::names::kusionstack::SKIP_RULES];

/// The part of the annotation that declares finalizers which matters. What else is in it is not looked at and is kept.
pub(super) const EXPECTED: &str = "expectedFinalizers";

// === impl Known ===

impl Known {
    /// What matters of a pod.
    pub(crate) fn of(pod: &SlimPod) -> Self {
        let meta = &pod.metadata;
        let text = |text: &String| Text::from(text.as_str());
        let annotation = |key: &'static str| Some((key, text(meta.annotations.as_ref()?.get(key)?)));
        let labels = meta.labels.iter().flatten();
        let gates = pod.spec.readiness_gates.iter().flatten();
        let condition = |kind: &str| -> Option<bool> {
            let mut all = pod.status.conditions.iter().flatten();
            let found: &SlimCondition = all.find(|condition| condition.type_ == kind)?;
            Some(found.status == "True")
        };
        // Where a node is gone nobody writes the condition any more; whoever ends the pod in its place writes the phase alone.
        let finished = matches!(pod.status.phase.as_deref(), Some("Succeeded" | "Failed"));
        Self {
            uid: meta.uid.as_deref().unwrap_or_default().into(),
            version: meta.resource_version.as_deref().unwrap_or_default().into(),
            labels: labels.map(|(key, value)| (text(key), text(value))).collect(),
            annotations: KEPT.into_iter().filter_map(annotation).collect(),
            finalizers: meta.finalizers.iter().flatten().map(text).collect(),
            gate: ServiceGate {
                declared: gates.into_iter().any(|gate| gate.condition_type == SERVICE_READY),
                condition: condition(SERVICE_READY),
            },
            ready: !finished && condition("Ready").unwrap_or_default(),
            deleting: meta.deletion_timestamp.is_some(),
        }
    }

    /// The same from an object in a request. `None`: there is no object.
    pub(crate) fn read(pod: &Value) -> Option<Self> {
        SlimPod::deserialize(pod).ok().filter(|_| pod.is_object()).map(|pod| Self::of(&pod))
    }

    pub(crate) fn annotation(&self, key: &str) -> Option<&Text> {
        self.annotations.iter().find(|(kept, _)| *kept == key).map(|(_, value)| value)
    }

    /// Who asked for the deletion that was put off. What is left of a wish that was taken back is none.
    pub(crate) fn wish(&self) -> Option<Wish> {
        let label = self.labels.get(TO_DELETE)?;
        self.annotation(super::WISH).and_then(|text| Wish::read(text)).filter(|wish| wish.is_of(label))
    }

    /// What core decides on.
    pub(crate) fn view(&self) -> View {
        View {
            expectations: self
                .annotation(AVAILABLE_CONDITIONS)
                .map(|text| expectations(text))
                .unwrap_or_default(),
            finalizers: self.finalizers.to_vec(),
            gate: self.gate,
            ready: self.ready,
            deleting: self.deleting,
            put_off: self.annotation(DELETE_TIMESTAMP).cloned(),
            ..View::of(&self.labels)
        }
    }

    /// Whether this version came after the other one. Versions of an object are numbers that grow; ones that are not are
    /// taken for newer, as the last that came.
    pub(crate) fn is_newer_than(&self, other: &Self) -> bool {
        let number = |known: &Self| known.version.parse::<u64>().ok();
        match (number(self), number(other)) {
            (Some(this), Some(other)) => this > other,
            _ => self.version != other.version,
        }
    }
}

fn expectations(text: &str) -> Expectations {
    let declared = serde_json::from_str::<Map<String, Value>>(text).and_then(|mut members| {
        let expected = members.remove(EXPECTED).unwrap_or_default();
        serde_json::from_value::<Option<BTreeMap<Text, Text>>>(expected)
    });
    match declared {
        Ok(declared) => Expectations::Declared(declared.unwrap_or_default()),
        Err(error) => Expectations::Malformed(error.to_string().into()),
    }
}

#[cfg(test)]
mod tests {
    use safepoint_core::lifecycle::{Label, LabelKey, Mark};
    use serde_json::json;

    use super::*;

    #[test]
    fn what_matters_of_a_pod_is_found() {
        let pod = json!({
            "metadata": {"name": "web-1", "uid": "u1", "resourceVersion": "7",
                "labels": {"app": "web", "kusionstack.io/control": "true",
                    "operating.podopslifecycle.kusionstack.io/collaset": "5",
                    "podopslifecycle.kusionstack.io/service-available": "3"},
                "annotations": {"note": "x", "gracedelete.kusionstack.io/delete-timestamp": "9",
                    "pod.kusionstack.io/available-conditions":
                        "{\"expectedFinalizers\":{\"Service/shop/web\":\"prot.podopslifecycle.kusionstack.io/a\"},\"later\":1}"},
                "finalizers": ["prot.podopslifecycle.kusionstack.io/a", "other"]},
            "spec": {"nodeName": "n", "readinessGates": [{"conditionType": "pod.kusionstack.io/service-ready"}]},
            "status": {"conditions": [{"type": "Ready", "status": "True"},
                {"type": "pod.kusionstack.io/service-ready", "status": "False"}]},
        });
        let known = Known::read(&pod).unwrap();
        let view = known.view();
        assert!(view.controlled && view.ready && !view.deleting && view.is_registered());
        assert_eq!(view.gate, ServiceGate { declared: true, condition: Some(false) });
        assert_eq!(view.get(&LabelKey::Operation("collaset".into(), Label::Operating)), Some(&"5".into()));
        assert!(view.has(Mark::ServiceAvailable));
        assert_eq!(view.put_off, Some("9".into()));
        assert_eq!(view.finalizers.len(), 2);
    }

    #[test]
    fn an_annotation_that_cannot_be_read_is_seen_as_such_and_nothing_fails() {
        // Before October 2023 it was a list.
        for text in ["no", "[]", "{\"expectedFinalizers\":7}"] {
            let pod = json!({"metadata": {"annotations": {"pod.kusionstack.io/available-conditions": text}}});
            let view = Known::read(&pod).unwrap().view();
            assert!(matches!(view.expectations, Expectations::Malformed(_)), "{text}");
        }
        assert_eq!(Known::read(&Value::Null), None);
    }

    #[test]
    fn a_pod_that_has_run_to_its_end_is_not_ready_whatever_its_condition_says() {
        let ready = |phase: Value| {
            let conditions = json!([{"type": "Ready", "status": "True"}]);
            Known::read(&json!({"status": {"phase": phase, "conditions": conditions}})).unwrap().view().ready
        };
        assert!(ready(json!("Running")) && ready(json!("Unknown")) && ready(Value::Null));
        assert!(!ready(json!("Failed")) && !ready(json!("Succeeded")));
    }

    #[test]
    fn a_version_is_newer_by_its_number() {
        let version =
            |version: &str| Known::read(&json!({"metadata": {"resourceVersion": version}})).unwrap();
        assert!(version("10").is_newer_than(&version("9")));
        assert!(!version("9").is_newer_than(&version("10")) && !version("9").is_newer_than(&version("9")));
    }
}
