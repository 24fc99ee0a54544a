//! A pod as the hub judges it, read from its JSON.
//!
//! Whatever is missing or of a strange form is taken for absent: an object that reached an API server has been checked
//! there, and nothing here may fail because of one.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use safepoint_api::WorkloadRef;
use safepoint_api::names::{kubeedge, kubernetes, safepoint};
use safepoint_core::{Controller, Labels, PodIdentity, Text, Workload};
use serde_json::Value;

use crate::source::Wish;

/// What matters of a pod.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Pod {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    /// Where it is bound to.
    pub(crate) node: Option<String>,
    /// Whether the node has ever begun to run it.
    pub(crate) started: bool,
    /// Whether it is the API's picture of a static pod.
    pub(crate) mirror: bool,
    /// Whether it has been deleted and is on its way out.
    pub(crate) ending: bool,
    /// Whether it has run to its end.
    pub(crate) finished: bool,
    /// Whether it asks for no time to end: every deletion of it looks like a forced one.
    pub(crate) hasty: bool,
    pub(crate) labels: Labels,
    /// What it belongs to, as its node sees it.
    pub(crate) workload: WorkloadRef,
    /// Its controller.
    pub(crate) owner: Option<Owner>,
    pub(crate) marks: Marks,
    /// Who wished its end and was put off.
    pub(crate) wish: Option<Wish>,
}

/// The controller of an object.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Owner {
    pub(crate) kind: String,
    pub(crate) name: String,
    pub(crate) uid: String,
}

/// What a pod's annotations say about holding its upgrades.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Marks {
    /// Nothing.
    None,
    /// Its owner decided: the hub has no say.
    Own {
        /// Whether the value is the one that holds.
        holds: bool,
    },
    /// The hub has carried it from the pod's workload.
    Carried {
        /// Whether the value is the one that holds.
        holds: bool,
        /// What the hub wrote down as the workload.
        from: String,
    },
}

// === impl Pod ===

impl Pod {
    /// Reads a pod. The namespace is given apart, because a pod that is being created may not name it.
    pub(crate) fn read(namespace: &str, pod: &Value) -> Self {
        let text = |pointer: &str| pod.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
        let annotation = |key: &str| pod.pointer("/metadata/annotations")?.get(key)?.as_str();
        let owner = owner_of(pod);
        let labels = labels_of(pod);
        let (name, node) = (text("/metadata/name"), text("/spec/nodeName"));
        let controller = owner.as_ref().map(|owner| Controller { kind: &owner.kind, name: &owner.name });
        let identity = PodIdentity { namespace, name, node, controller, labels: &labels };
        Self {
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            uid: text("/metadata/uid").to_owned(),
            node: Some(node.to_owned()).filter(|node| !node.is_empty()),
            started: !text("/status/startTime").is_empty(),
            mirror: annotation(kubernetes::CONFIG_MIRROR).is_some(),
            ending: !text("/metadata/deletionTimestamp").is_empty(),
            finished: matches!(text("/status/phase"), "Succeeded" | "Failed"),
            hasty: pod.pointer("/spec/terminationGracePeriodSeconds") == Some(&Value::from(0)),
            workload: reference(&Workload::of(identity).0),
            owner,
            labels,
            marks: Marks::read(annotation),
            wish: annotation(safepoint::END_WISHED).and_then(Wish::read),
        }
    }
}

// === impl Owner ===

impl Owner {
    /// The controller that metadata names.
    pub(crate) fn of(meta: &ObjectMeta) -> Option<Self> {
        let owners = meta.owner_references.iter().flatten();
        let owner: &OwnerReference = owners.into_iter().find(|owner| owner.controller == Some(true))?;
        Some(Self { kind: owner.kind.clone(), name: owner.name.clone(), uid: owner.uid.clone() })
    }
}

// === impl Marks ===

impl Marks {
    /// Reads them with a function that looks an annotation up.
    pub(crate) fn read<'a>(annotation: impl Fn(&str) -> Option<&'a str>) -> Self {
        let value = annotation(kubeedge::HOLD_UPGRADE);
        let holds = value == Some(kubeedge::HOLD_UPGRADE_ON);
        match (value, annotation(safepoint::HOLD_CARRIED)) {
            (_, Some(from)) => Self::Carried { holds, from: from.to_owned() },
            (Some(_), None) => Self::Own { holds },
            (None, None) => Self::None,
        }
    }

    /// Whether the pod's own annotations hold its upgrades.
    pub(crate) const fn holds(&self) -> bool {
        match self {
            Self::None => false,
            Self::Own { holds } | Self::Carried { holds, .. } => *holds,
        }
    }
}

/// How the API names a workload.
fn reference(workload: &Workload) -> WorkloadRef {
    WorkloadRef {
        kind: workload.kind.name().to_owned(),
        namespace: workload.namespace.to_string(),
        name: workload.name.to_string(),
        ordinal: workload.ordinal.and_then(|ordinal| ordinal.try_into().ok()),
    }
}

/// Whether what is said of one workload is said of the other: a StatefulSet without an ordinal is all its ordinals.
pub(crate) fn includes(one: &WorkloadRef, other: &WorkloadRef) -> bool {
    (&one.kind, &one.namespace, &one.name) == (&other.kind, &other.namespace, &other.name)
        && (one.ordinal.is_none() || one.ordinal == other.ordinal)
}

fn owner_of(pod: &Value) -> Option<Owner> {
    let owners = pod.pointer("/metadata/ownerReferences").and_then(Value::as_array).into_iter().flatten();
    let owner = owners.into_iter().find(|owner| owner["controller"] == true)?;
    let text = |field: &str| owner[field].as_str().map(str::to_owned);
    Some(Owner { kind: text("kind")?, name: text("name")?, uid: text("uid")? })
}

fn labels_of(pod: &Value) -> Labels {
    let labels = pod.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    labels.filter_map(|(key, value)| Some((Text::from(key.as_str()), Text::from(value.as_str()?)))).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_matters_of_a_pod_is_found() {
        let pod = json!({
            "metadata": {"name": "web-5d4f8c-x2x", "uid": "u1", "labels": {"pod-template-hash": "5d4f8c"},
                "ownerReferences": [{"kind": "Other", "name": "o", "uid": "o1"},
                    {"kind": "ReplicaSet", "name": "web-5d4f8c", "uid": "r1", "controller": true}],
                "annotations": {"edge.kubeedge.io/hold-upgrade": "true", "safepoint.dev/hold-carried-from": "Deployment/web"}},
            "spec": {"nodeName": "rover-7"},
            "status": {"phase": "Running", "startTime": "2026-11-15T12:00:00Z"},
        });
        let pod = Pod::read("shop", &pod);
        let workload = WorkloadRef {
            kind: "Deployment".into(),
            namespace: "shop".into(),
            name: "web".into(),
            ordinal: None,
        };
        assert_eq!(pod.workload, workload);
        assert_eq!(pod.owner.map(|owner| owner.uid), Some("r1".into()));
        assert_eq!(pod.marks, Marks::Carried { holds: true, from: "Deployment/web".into() });
        assert!(pod.started && !pod.ending && !pod.finished && !pod.mirror);
        assert_eq!(pod.node.as_deref(), Some("rover-7"));
    }

    #[test]
    fn an_annotation_that_the_hub_did_not_carry_is_the_owners() {
        let marks = |annotations: Value| {
            Pod::read("shop", &json!({"metadata": {"name": "a", "annotations": annotations}})).marks
        };
        assert_eq!(marks(json!({"edge.kubeedge.io/hold-upgrade": "true"})), Marks::Own { holds: true });
        assert_eq!(marks(json!({"edge.kubeedge.io/hold-upgrade": "True"})), Marks::Own { holds: false });
        assert_eq!(marks(json!({})), Marks::None);
        let carried = Marks::Carried { holds: false, from: "x".into() };
        assert_eq!(marks(json!({"safepoint.dev/hold-carried-from": "x"})), carried);
    }

    #[test]
    fn nothing_of_a_pod_has_to_be_there() {
        for strange in [json!(null), json!([]), json!({"metadata": 7, "spec": {"nodeName": 8}})] {
            let pod = Pod::read("shop", &strange);
            assert_eq!((pod.node, pod.owner, pod.started), (None, None, false));
        }
    }
}
