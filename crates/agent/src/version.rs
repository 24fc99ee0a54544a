//! Objects of the cluster as the gate sees them: which one, of which workload, and a digest of what matters.
//!
//! Pods, ConfigMaps and Secrets come in as JSON and stay JSON; nothing is dropped on the way to the machine. What cannot be
//! read as an object of its kind is refused here, by name, and never reaches the gate.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp as Moment;
use safepoint_api::names::{kubeedge, kubernetes, safepoint};
use safepoint_core::{
    Controller, Key, Kind, Labels, PodIdentity, Revision, Text, Timestamp, Uid, Version, Workload,
};
use serde_json::{Map, Value};

use crate::{digest, needs};

/// Why an object cannot be judged.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Unreadable {
    #[error("the object has no {0}")]
    Lacks(&'static str),
}

/// A pod that is bound to this node. `None` for a mirror pod: the machine has it already, and only shows it.
pub(crate) fn of_pod(node: &str, pod: &Value) -> Result<Option<(Key, Version)>, Unreadable> {
    let (namespace, name) = (text(pod, "/metadata/namespace")?, text(pod, "/metadata/name")?);
    let annotations = pod.pointer("/metadata/annotations").unwrap_or(&Value::Null);
    if annotations.get(kubernetes::CONFIG_MIRROR).is_some() {
        return Ok(None);
    }
    let labels = labels_of(pod);
    let (workload, revision) =
        Workload::of(PodIdentity { namespace, name, node, controller: controller_of(pod), labels: &labels });
    let counted = Value::Object(counted(annotations));
    let labelled = pod.pointer("/metadata/labels").unwrap_or(&Value::Null);
    let digest = digest::of(&[&pod["spec"], labelled, &counted]);
    let said = |key: &str| annotations.get(key).and_then(Value::as_str);
    let is_deleted = pod.pointer("/metadata/deletionTimestamp").is_some_and(|at| !at.is_null());
    let version = Version {
        uid: Uid::from(text(pod, "/metadata/uid")?),
        workload: Some(workload),
        // A pod that nobody controls is its own revision.
        revision: revision.unwrap_or_else(|| Revision::from(digest.as_str())),
        digest,
        labels: Arc::new(labels),
        hold: said(kubeedge::HOLD_UPGRADE) == Some(kubeedge::HOLD_UPGRADE_ON),
        first_install_allowed: said(safepoint::FIRST_INSTALL) == Some(safepoint::FIRST_INSTALL_ALLOW),
        // Deleted, or put off at the API server by the hub, which comes to the same here.
        deleting: is_deleted || said(safepoint::END_WISHED).is_some(),
        uses: uses(namespace, &pod["spec"]).into_iter().collect(),
        needs: Arc::new(needs::of_pod(&pod["spec"])),
        born: born(pod),
    };
    Ok(Some((Key::pod(namespace, name), version)))
}

/// A ConfigMap or a Secret.
pub(crate) fn of_config(kind: Kind, object: &Value) -> Result<(Key, Version), Unreadable> {
    let (namespace, name) = (text(object, "/metadata/namespace")?, text(object, "/metadata/name")?);
    let digest = digest::of(&[&object["data"], &object["binaryData"], &object["type"]]);
    let version = Version {
        uid: Uid::from(text(object, "/metadata/uid")?),
        workload: None,
        revision: Revision::from(digest.as_str()),
        digest,
        labels: Arc::new(labels_of(object)),
        hold: false,
        first_install_allowed: false,
        // It is there until it is gone: pods that use it may still be started from it.
        deleting: false,
        uses: Arc::from([]),
        needs: Arc::default(),
        born: born(object),
    };
    Ok((Key { kind, namespace: namespace.into(), name: name.into() }, version))
}

/// What a ConfigMap or Secret has under each of its keys.
pub(crate) type Data = BTreeMap<String, Vec<u8>>;

/// The decoded contents of a ConfigMap or Secret.
pub(crate) fn data(kind: Kind, object: &Value) -> Data {
    let texts = |field: &str| object[field].as_object().cloned().unwrap_or_default().into_iter();
    let plain = texts("data").filter(|_| kind == Kind::ConfigMap);
    let plain = plain.filter_map(|(name, value)| Some((name, value.as_str()?.as_bytes().to_vec())));
    let encoded = texts(if kind == Kind::Secret { "data" } else { "binaryData" });
    // The API server takes nothing that is not base64.
    let decoded = encoded.filter_map(|(name, value)| Some((name, STANDARD.decode(value.as_str()?).ok()?)));
    plain.chain(decoded).collect()
}

/// The annotations that are part of what a pod is. Those that arm a hold are not: arming is no change.
fn counted(annotations: &Value) -> Map<String, Value> {
    let annotations = annotations.as_object().into_iter().flatten();
    annotations
        .filter(|(key, _)| !is_of_the_gate(key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}

/// Whether an annotation is about what may happen to a pod, and not about what it is.
pub(crate) fn is_of_the_gate(annotation: &str) -> bool {
    let words = [
        kubeedge::HOLD_UPGRADE,
        safepoint::FIRST_INSTALL,
        safepoint::HOLD_CARRIED,
        safepoint::END_WISHED,
        kubernetes::LAST_APPLIED,
    ];
    words.contains(&annotation)
}

/// The ConfigMaps and Secrets that a pod reads, itself or through what mounts its volumes: whatever a kubelet would ask for.
fn uses(namespace: &str, spec: &Value) -> BTreeSet<Key> {
    let mut found = BTreeSet::new();
    let mut use_of = |kind: Kind, name: &Value| {
        if let Some(name) = name.as_str().filter(|name| !name.is_empty()) {
            found.insert(Key { kind, namespace: namespace.into(), name: name.into() });
        }
    };
    let containers = ["initContainers", "containers", "ephemeralContainers"];
    for container in containers.into_iter().flat_map(|list| items(&spec[list])) {
        for variable in items(&container["env"]) {
            use_of(Kind::ConfigMap, &variable["valueFrom"]["configMapKeyRef"]["name"]);
            use_of(Kind::Secret, &variable["valueFrom"]["secretKeyRef"]["name"]);
        }
        for source in items(&container["envFrom"]) {
            use_of(Kind::ConfigMap, &source["configMapRef"]["name"]);
            use_of(Kind::Secret, &source["secretRef"]["name"]);
        }
    }
    for volume in items(&spec["volumes"]) {
        use_of(Kind::ConfigMap, &volume["configMap"]["name"]);
        use_of(Kind::Secret, &volume["secret"]["secretName"]);
        use_of(Kind::Secret, &volume["azureFile"]["secretName"]);
        use_of(Kind::Secret, &volume["csi"]["nodePublishSecretRef"]["name"]);
        for kind in ["cephfs", "cinder", "flexVolume", "iscsi", "rbd", "scaleIO", "storageos"] {
            use_of(Kind::Secret, &volume[kind]["secretRef"]["name"]);
        }
        for source in items(&volume["projected"]["sources"]) {
            use_of(Kind::ConfigMap, &source["configMap"]["name"]);
            use_of(Kind::Secret, &source["secret"]["name"]);
        }
    }
    for secret in items(&spec["imagePullSecrets"]) {
        use_of(Kind::Secret, &secret["name"]);
    }
    found
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn controller_of(pod: &Value) -> Option<Controller<'_>> {
    let owners = pod.pointer("/metadata/ownerReferences").map(items).into_iter().flatten();
    let mut controllers = owners.filter(|owner| owner["controller"] == true);
    let owner = controllers.next()?;
    Some(Controller { kind: owner["kind"].as_str()?, name: owner["name"].as_str()? })
}

fn labels_of(object: &Value) -> Labels {
    let labels = object.pointer("/metadata/labels").and_then(Value::as_object).into_iter().flatten();
    labels.filter_map(|(key, value)| Some((Text::from(key.as_str()), Text::from(value.as_str()?)))).collect()
}

fn born(object: &Value) -> Timestamp {
    let at = object.pointer("/metadata/creationTimestamp").and_then(Value::as_str);
    at.and_then(|at| at.parse::<Moment>().ok()).map_or(Timestamp(0), |at| Timestamp(at.as_millisecond()))
}

fn text<'a>(object: &'a Value, pointer: &'static str) -> Result<&'a str, Unreadable> {
    let found = object.pointer(pointer).and_then(Value::as_str).filter(|text| !text.is_empty());
    found.ok_or(Unreadable::Lacks(pointer.rsplit('/').next().unwrap_or(pointer)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod() -> Value {
        json!({
            "metadata": {"namespace": "default", "name": "rover", "uid": "u1", "creationTimestamp": "2026-11-15T12:00:00Z",
                "labels": {"app": "rover"}, "annotations": {"edge.kubeedge.io/hold-upgrade": "true", "note": "a"}},
            "spec": {
                "containers": [{"name": "a", "image": "rover:v1",
                    "env": [{"name": "X", "valueFrom": {"configMapKeyRef": {"name": "env", "key": "x"}}}],
                    "envFrom": [{"secretRef": {"name": "token"}}]}],
                "volumes": [{"name": "v", "configMap": {"name": "maps"}},
                    {"name": "p", "projected": {"sources": [{"secret": {"name": "cert"}}]}}],
                "imagePullSecrets": [{"name": "pull"}],
            },
            "status": {"phase": "Running"},
        })
    }

    fn version(pod: &Value) -> Version {
        of_pod("rover-7", pod).unwrap().unwrap().1
    }

    fn changed(pointer: &str, value: Value) -> Version {
        let mut pod = pod();
        *pod.pointer_mut(pointer).unwrap() = value;
        version(&pod)
    }

    #[test]
    fn spec_labels_and_annotations_are_what_a_pod_is() {
        let before = version(&pod()).digest;
        for pointer in ["/spec/containers/0/image", "/metadata/labels/app", "/metadata/annotations/note"] {
            assert_ne!(changed(pointer, json!("other")).digest, before, "{pointer}");
        }
        for pointer in ["/status/phase", "/metadata/annotations/edge.kubeedge.io~1hold-upgrade"] {
            assert_eq!(changed(pointer, json!("other")).digest, before, "{pointer}");
        }
    }

    #[test]
    fn only_the_word_true_holds() {
        assert!(version(&pod()).hold);
        for word in ["True", "yes", ""] {
            assert!(!changed("/metadata/annotations/edge.kubeedge.io~1hold-upgrade", json!(word)).hold);
        }
    }

    #[test]
    fn everything_that_a_pod_reads_is_found() {
        let uses: Vec<String> = version(&pod()).uses.iter().map(ToString::to_string).collect();
        let expected = [
            "configmap default/env",
            "configmap default/maps",
            "secret default/cert",
            "secret default/pull",
            "secret default/token",
        ];
        assert_eq!(uses, expected);
    }

    #[test]
    fn a_mirror_pod_is_not_for_the_gate() {
        let mut pod = pod();
        pod["metadata"]["annotations"]["kubernetes.io/config.mirror"] = json!("hash");
        assert_eq!(of_pod("rover-7", &pod), Ok(None));
    }

    #[test]
    fn an_object_without_an_identity_is_refused_by_name() {
        let mut pod = pod();
        pod["metadata"]["uid"] = json!("");
        assert_eq!(of_pod("rover-7", &pod).unwrap_err().to_string(), "the object has no uid");
    }

    #[test]
    fn binary_data_and_secrets_are_decoded() {
        let map = json!({"data": {"a": "text"}, "binaryData": {"b": "AAE="}});
        assert_eq!(
            data(Kind::ConfigMap, &map),
            Data::from([("a".into(), b"text".to_vec()), ("b".into(), vec![0, 1])])
        );
        assert_eq!(
            data(Kind::Secret, &json!({"data": {"k": "AAE="}})),
            Data::from([("k".into(), vec![0, 1])])
        );
    }
}
