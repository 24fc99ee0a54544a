//! What a node may write: the rules that need the object and not only its name.
//!
//! They are those of Kubernetes' NodeRestriction admission. [`restrict()`] is asked for every write, after `authorize`
//! has allowed it, with the object as it is and as it will be (all patches and defaults applied) and in the same moment in
//! which it is written: between authorization and write another pod of the same name may have come. It restricts nodes
//! only; everybody else passes.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use super::{
    authorize::{Attributes, Facts},
    references::{each, service_account, text},
    user::User,
};

mod mirror;

/// What a node wanted to write and may not. To be answered with 403.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("node {node:?} {reason}")]
pub(crate) struct Refused {
    node: String,
    reason: String,
}

/// A write, as it is about to happen.
#[derive(Clone, Copy)]
pub(crate) struct Change<'a> {
    /// What is stored. For an eviction, the pod.
    pub(crate) old: Option<&'a Value>,
    /// What will be stored. Nothing for a deletion.
    pub(crate) new: Option<&'a Value>,
}

/// Decides whether a write may happen that `authorize` has allowed. Token requests have [`restrict_token_request`].
pub(crate) fn restrict(
    user: &User,
    asked: &Attributes<'_>,
    change: Change<'_>,
    facts: &dyn Facts,
) -> Result<(), Refused> {
    let Some(node) = user.node() else { return Ok(()) };
    let checked = match (asked.group, asked.resource, asked.subresource) {
        ("", "nodes", _) => own_name("Node", node, change).and_then(|()| node_write(change)),
        ("coordination.k8s.io", "leases", _) => own_name("Lease", node, change),
        ("safepoint.dev", "nodegates", _) => own_name("NodeGate", node, change),
        ("", "pods", "") => match change {
            Change { old: Some(old), new: None } => bound(old, node),
            Change { old: None, new: Some(new) } => mirror::create(new, node, facts),
            Change { .. } => Err("may not change pods, only create mirror pods and delete pods".into()),
        },
        ("", "pods", "status") => pod_status(node, change),
        // They need the pod, and are not stored.
        ("", "serviceaccounts", "token") => {
            Err("may ask for tokens only by way of the pod that needs one".into())
        }
        ("", "pods", _) => change.old.map_or(Ok(()), |old| bound(old, node)),
        _ => Ok(()),
    };
    checked.map_err(|reason| Refused { node: node.into(), reason })
}

/// Decides whether a node gets the token that it asks for, with `pod` being the one that the request names in
/// `boundObjectRef`, in the namespace of the service account.
///
/// The token has to be for a pod on that node, for the service account as which the pod runs, and for an audience that
/// the pod mounts a token for.
pub(crate) fn restrict_token_request(
    user: &User,
    account: &str,
    request: &Value,
    pod: Option<&Value>,
) -> Result<(), Refused> {
    let Some(node) = user.node() else { return Ok(()) };
    token_request(node, account, request, pod).map_err(|reason| Refused { node: node.into(), reason })
}

/// The name of the pod that a token request is to be bound to.
fn bound_pod(request: &Value) -> Option<&str> {
    let reference = request.pointer("/spec/boundObjectRef")?;
    let is_pod = text(reference, "/kind") == Some("Pod") && text(reference, "/apiVersion") == Some("v1");
    text(reference, "/name").filter(|name| is_pod && !name.is_empty())
}

fn token_request(node: &str, account: &str, request: &Value, pod: Option<&Value>) -> Result<(), String> {
    if bound_pod(request).is_none() {
        return Err("may only ask for tokens that are bound to a pod".into());
    }
    let Some(pod) = pod else { return Err("asked for a token for a pod that does not exist".into()) };
    let uid = text(request, "/spec/boundObjectRef/uid").filter(|uid| !uid.is_empty());
    if uid.is_none() || uid != text(pod, "/metadata/uid") {
        return Err(
            "has to name the pod by its uid: it may have been replaced by another of the same name".into()
        );
    }
    bound(pod, node)?;
    if service_account(pod) != Some(account) {
        return Err("may only ask for tokens of the service account that the pod runs as".into());
    }
    let mut audiences =
        each(request, "/spec/audiences").map(|audience| audience.as_str().unwrap_or_default());
    let (audience, more) = (audiences.next().unwrap_or_default(), audiences.next());
    let mounted =
        each(pod, "/spec/volumes").flat_map(|volume| each(volume, "/projected/sources")).any(|source| {
            let token = source.get("serviceAccountToken").filter(|token| token.is_object());
            token.is_some_and(|token| text(token, "/audience").unwrap_or_default() == audience)
        });
    if more.is_some() || !mounted {
        return Err("may only ask for tokens for one audience, which a volume of the pod names".into());
    }
    Ok(())
}

fn own_name(kind: &str, node: &str, Change { old, new }: Change<'_>) -> Result<(), String> {
    let own = |object: &Value| text(object, "/metadata/name") == Some(node);
    if old.into_iter().chain(new).all(own) {
        return Ok(());
    }
    Err(format!("may only write its own {kind}"))
}

/// Taints and labels decide what is scheduled to a node. If it could set them it could attract what it wants to see.
fn node_write(Change { old, new }: Change<'_>) -> Result<(), String> {
    let Some(new) = new else { return Ok(()) };
    // An update may leave the field out: old kubelets do not know it.
    let source = |node: &Value| filled(node, "/spec/configSource").cloned();
    if source(new).is_some() && old.and_then(source) != source(new) {
        return Err("may not set its configSource".into());
    }
    if let Some(old) = old {
        for (field, name) in [("/spec/taints", "taints"), ("/metadata/ownerReferences", "owner references")] {
            if filled(old, field) != filled(new, field) {
                return Err(format!("may not change its {name}"));
            }
        }
    }
    let changed = changed_labels(old, new);
    let forbidden: Vec<_> = changed.into_iter().filter(|label| !is_for_nodes(label)).collect();
    if forbidden.is_empty() {
        return Ok(());
    }
    Err(format!("may not change its labels {}", forbidden.join(", ")))
}

fn pod_status(node: &str, Change { old, new }: Change<'_>) -> Result<(), String> {
    let Some(old) = old else { return Err("may only report the status of pods that exist".into()) };
    bound(old, node)?;
    if new.is_some_and(|new| labels(Some(old)) != labels(Some(new))) {
        return Err("may not change labels with a pod's status".into());
    }
    Ok(())
}

fn bound(pod: &Value, node: &str) -> Result<(), String> {
    if text(pod, "/spec/nodeName") == Some(node) {
        return Ok(());
    }
    Err("may only write pods that are bound to it".into())
}

/// A field that says something: an empty list is as good as none.
fn filled<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let empty = |value: &&Value| value.is_null() || value.as_array().is_some_and(Vec::is_empty);
    object.pointer(path).filter(|value| !empty(value))
}

fn labels(object: Option<&Value>) -> BTreeMap<&str, &Value> {
    let labels = object.and_then(|object| object.pointer("/metadata/labels")).and_then(Value::as_object);
    labels.into_iter().flatten().map(|(key, value)| (key.as_str(), value)).collect()
}

fn changed_labels<'a>(old: Option<&'a Value>, new: &'a Value) -> BTreeSet<&'a str> {
    let (old, new) = (labels(old), labels(Some(new)));
    old.keys().chain(new.keys()).copied().filter(|key| old.get(key) != new.get(key)).collect()
}

/// Whether nodes may set a label on themselves: those that a kubelet has to set, and those that are not Kubernetes'.
/// What is below `node-restriction.kubernetes.io` is Kubernetes', and exists to be kept from nodes.
fn is_for_nodes(label: &str) -> bool {
    const KUBELET: [&str; 11] = [
        "kubernetes.io/hostname",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "node.kubernetes.io/instance-type",
        "beta.kubernetes.io/instance-type",
    ];
    let Some((prefix, _)) = label.split_once('/') else { return true };
    let is_in =
        |domain: &str| prefix.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    let kubernetes = is_in("kubernetes.io") || is_in("k8s.io");
    !kubernetes || KUBELET.contains(&label) || is_in("kubelet.kubernetes.io") || is_in("node.kubernetes.io")
}

#[cfg(test)]
mod tests;
