//! What a pod uses: the objects that its kubelet has to read to run it.
//!
//! A node may read what the pods bound to it use, and nothing else, so this list is a list of permissions. A reference
//! that is missed keeps a pod from starting; one too many shows a secret to a machine that has no business with it.
//! Pods are read as they are stored. What has a wrong type is no reference.

use serde_json::Value;

/// What kind of object a pod uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Used {
    ConfigMap,
    Secret,
    ServiceAccount,
    PersistentVolumeClaim,
}

/// The annotation on pods that stand for a static pod of a node.
pub(super) const MIRROR: &str = "kubernetes.io/config.mirror";

/// Every namespace has it, and every pod trusts the API by it.
const ROOT_CA: &str = "kube-root-ca.crt";

/// Where volumes name secrets. `projected` and what is no secret is below.
const VOLUME_SECRETS: [&str; 10] = [
    "/secret/secretName",
    "/csi/nodePublishSecretRef/name",
    "/azureFile/secretName",
    "/cephfs/secretRef/name",
    "/cinder/secretRef/name",
    "/flexVolume/secretRef/name",
    "/iscsi/secretRef/name",
    "/rbd/secretRef/name",
    "/scaleIO/secretRef/name",
    "/storageos/secretRef/name",
];

/// All that a pod uses, as kind, namespace and name. Nothing appears twice.
///
/// A mirror pod uses nothing. A node creates those itself, and must not grant itself anything by it.
pub(crate) fn references(pod: &Value) -> Vec<(Used, String, String)> {
    if is_mirror(pod) {
        return Vec::new();
    }
    let namespace = text(pod, "/metadata/namespace").unwrap_or_default();
    let mut found = named(pod);
    found.push((Used::ConfigMap, ROOT_CA.to_owned()));
    found.sort_unstable();
    found.dedup();
    found.into_iter().map(|(used, name)| (used, namespace.to_owned(), name)).collect()
}

/// Whether the pod stands for a static pod.
pub(super) fn is_mirror(pod: &Value) -> bool {
    pod.pointer("/metadata/annotations").and_then(|annotations| annotations.get(MIRROR)).is_some()
}

/// What the pod's spec names, whoever created it.
pub(super) fn named(pod: &Value) -> Vec<(Used, String)> {
    let mut found = Found(Vec::new());
    let service_account = service_account(pod);
    found.add(Used::ServiceAccount, service_account);
    for secret in each(pod, "/spec/imagePullSecrets") {
        found.add(Used::Secret, text(secret, "/name"));
    }
    for volume in each(pod, "/spec/volumes") {
        found.add_volume(volume, pod);
    }
    for containers in ["/spec/containers", "/spec/initContainers", "/spec/ephemeralContainers"] {
        for container in each(pod, containers) {
            found.add_container(container);
        }
    }
    found.0
}

/// The service account that the pod runs as. The second field is its name from before Kubernetes 1.0.
pub(super) fn service_account(pod: &Value) -> Option<&str> {
    let named = |field| text(pod, field).filter(|name| !name.is_empty());
    named("/spec/serviceAccountName").or_else(|| named("/spec/serviceAccount"))
}

struct Found(Vec<(Used, String)>);

// === impl Found ===

impl Found {
    fn add(&mut self, used: Used, name: Option<&str>) {
        if let Some(name) = name.filter(|name| !name.is_empty()) {
            self.0.push((used, name.to_owned()));
        }
    }

    fn add_volume(&mut self, volume: &Value, pod: &Value) {
        for path in VOLUME_SECRETS {
            self.add(Used::Secret, text(volume, path));
        }
        self.add(Used::ConfigMap, text(volume, "/configMap/name"));
        for source in each(volume, "/projected/sources") {
            self.add(Used::Secret, text(source, "/secret/name"));
            self.add(Used::ConfigMap, text(source, "/configMap/name"));
            // The token, or the certificate, is that of the pod's own service account.
            if source.get("serviceAccountToken").is_some() || source.get("podCertificate").is_some() {
                self.add(Used::ServiceAccount, service_account(pod));
            }
        }
        self.add(Used::PersistentVolumeClaim, text(volume, "/persistentVolumeClaim/claimName"));
        if volume.get("ephemeral").is_some_and(Value::is_object) {
            let (pod, volume) = (text(pod, "/metadata/name"), text(volume, "/name"));
            let claim = pod.zip(volume).map(|(pod, volume)| format!("{pod}-{volume}"));
            self.add(Used::PersistentVolumeClaim, claim.as_deref());
        }
    }

    fn add_container(&mut self, container: &Value) {
        for variable in each(container, "/env") {
            self.add(Used::ConfigMap, text(variable, "/valueFrom/configMapKeyRef/name"));
            self.add(Used::Secret, text(variable, "/valueFrom/secretKeyRef/name"));
        }
        for source in each(container, "/envFrom") {
            self.add(Used::ConfigMap, text(source, "/configMapRef/name"));
            self.add(Used::Secret, text(source, "/secretRef/name"));
        }
    }
}

/// The elements of a list, or none if there is no list.
pub(super) fn each<'a>(value: &'a Value, path: &str) -> impl Iterator<Item = &'a Value> {
    value.pointer(path).and_then(Value::as_array).into_iter().flatten()
}

pub(super) fn text<'a>(value: &'a Value, path: &str) -> Option<&'a str> {
    value.pointer(path).and_then(Value::as_str)
}

#[cfg(test)]
mod tests;
