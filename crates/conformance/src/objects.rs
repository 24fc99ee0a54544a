//! The objects that cases create, as small as a server takes them.

use serde_json::{Value, json};

use crate::cx::merge;

/// `object` with `patch` merged into it.
pub(crate) fn with(mut object: Value, patch: Value) -> Value {
    merge(&mut object, patch);
    object
}

/// A config map with one key, `a: "1"`.
pub(crate) fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

/// A config map with labels.
pub(crate) fn labelled(name: &str, labels: Value) -> Value {
    let mut object = config_map(name);
    object["metadata"]["labels"] = labels;
    object
}

/// A secret without content.
pub(crate) fn secret(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name}})
}

/// A pod with one container, `app`.
pub(crate) fn pod(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": {
        "automountServiceAccountToken": false,
        "containers": [{"name": "app", "image": "app:1"}]}})
}

/// A pod on a node. No such node needs to exist.
pub(crate) fn pod_on(name: &str, node: &str) -> Value {
    with(pod(name), json!({"spec": {"nodeName": node}}))
}

/// A pod whose container has these fields besides its name and image.
pub(crate) fn pod_with_container(name: &str, container: Value) -> Value {
    let container = with(json!({"name": "app", "image": "app:1"}), container);
    with(pod(name), json!({"spec": {"containers": [container]}}))
}

/// A node without anything.
pub(crate) fn node(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}})
}

/// A lease without a holder.
pub(crate) fn lease(name: &str) -> Value {
    json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": name}, "spec": {}})
}
