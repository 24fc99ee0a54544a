//! Mirror pods: the only pods that a node may create.
//!
//! They show in the API what the node runs from its own files. One that used objects of the API would let the node read
//! them, as it may read what its pods use; so a mirror pod may name none.

use serde_json::Value;

use crate::identity::{
    authorize::{Facts, Object},
    references::{each, is_mirror, named, text},
};

/// Volumes for which a kubelet asks nobody. What is not in this list is refused, so that a kind of volume that this
/// program does not know yet grants nothing.
const SELF_CONTAINED: [&str; 22] = [
    "awsElasticBlockStore",
    "azureDisk",
    "cephfs",
    "cinder",
    "downwardAPI",
    "emptyDir",
    "fc",
    "flexVolume",
    "flocker",
    "gcePersistentDisk",
    "gitRepo",
    "hostPath",
    "image",
    "iscsi",
    "nfs",
    "photonPersistentDisk",
    "portworxVolume",
    "quobyte",
    "rbd",
    "scaleIO",
    "storageos",
    "vsphereVolume",
];

/// Decides whether the node may create this pod.
pub(super) fn create(pod: &Value, node: &str, facts: &dyn Facts) -> Result<(), String> {
    if !is_mirror(pod) {
        return Err("may only create mirror pods".into());
    }
    super::bound(pod, node)?;
    owned(pod, node, facts)?;
    if let Some((used, _)) = named(pod).first() {
        return Err(format!("may not create a mirror pod that uses a {used:?}"));
    }
    if each(pod, "/spec/resourceClaims").next().is_some() {
        return Err("may not create a mirror pod that uses a ResourceClaim".into());
    }
    for volume in each(pod, "/spec/volumes") {
        let name = text(volume, "/name").unwrap_or_default();
        let sources = volume
            .as_object()
            .into_iter()
            .flatten()
            .filter(|(key, value)| *key != "name" && !value.is_null());
        for (source, value) in sources {
            let alone = match source.as_str() {
                "projected" => each(value, "/sources").all(is_downward),
                source => SELF_CONTAINED.contains(&source),
            };
            if !alone {
                return Err(format!("may not create a mirror pod whose volume {name:?} needs the API"));
            }
        }
    }
    Ok(())
}

/// The pod goes away with its node, this one and not an earlier one of the same name.
fn owned(pod: &Value, node: &str, facts: &dyn Facts) -> Result<(), String> {
    let mut owners = each(pod, "/metadata/ownerReferences");
    let (Some(owner), None) = (owners.next(), owners.next()) else {
        return Err("has to be the one owner of the mirror pods that it creates".into());
    };
    let is = |field, value| text(owner, field) == Some(value);
    let flag = |field: &str| owner.pointer(field).and_then(Value::as_bool).unwrap_or_default();
    if !is("/apiVersion", "v1") || !is("/kind", "Node") || !is("/name", node) || !flag("/controller") {
        return Err("has to be the owner and the controller of the mirror pods that it creates".into());
    }
    if flag("/blockOwnerDeletion") {
        return Err("may not block its own deletion by a mirror pod".into());
    }
    let uid = facts.uid(Object::Node, "", node);
    if uid.is_none() || uid.as_deref() != text(owner, "/uid") {
        return Err("has to own its mirror pods by the uid that its Node has now".into());
    }
    Ok(())
}

fn is_downward(source: &Value) -> bool {
    let Some(source) = source.as_object() else { return false };
    source.iter().filter(|(_, value)| !value.is_null()).all(|(kind, _)| kind == "downwardAPI")
}
