//! Mirror pods: what the cluster is shown of static pods. A mirror is a picture: whoever deletes it gets a new one.
//!
//! Behind a kubelet, the kubelet makes them.

use std::collections::BTreeMap;
use std::sync::Arc;

use safepoint_api::names::kubernetes::{CONFIG_HASH, CONFIG_MIRROR};
use safepoint_core::{Key, Uid};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde_json::{Value, json};

use super::{BREATH, Patience};
use crate::cluster::{CallError, Cluster, Resource};
use crate::keeper;
use crate::link::Link;
use crate::seen::{SeenPod, SeenPods};
use crate::static_pods::StaticPods;

/// The name of the module.
pub(crate) const NAME: &str = "mirrors";

/// The module.
pub(crate) struct Mirrors {
    pub(crate) node: String,
    pub(crate) cluster: Cluster,
    pub(crate) link: Link,
    pub(crate) seen: Arc<SeenPods>,
    pub(crate) statics: Arc<StaticPods>,
}

/// Something to write.
#[derive(PartialEq, Debug)]
enum Write {
    Create(Key, Arc<Value>),
    Delete(Key, Uid),
}

// === impl Mirrors ===

impl Module for Mirrors {
    fn spec(&self) -> Spec {
        Spec::new(NAME).after([keeper::NAME])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let (mut seen, mut statics, mut link) =
            (self.seen.changes(), self.statics.changes(), self.link.watch());
        let mut patience = Patience::default();
        ctx.ready();
        loop {
            if self.link.now().connected && self.seen.is_listed() {
                tokio::select! {
                    done = self.round() => patience.note(done),
                    () = ctx.cancelled() => return Ok(()),
                }
            }
            tokio::select! {
                changed = seen.changed(), if patience.is_well() => changed.map_err(Fault::transient)?,
                changed = statics.changed(), if patience.is_well() => changed.map_err(Fault::transient)?,
                changed = link.changed() => changed.map_err(Fault::transient)?,
                () = patience.wait() => {}
                () = ctx.cancelled() => return Ok(()),
            }
            tokio::time::sleep(BREATH).await;
        }
    }
}

impl Mirrors {
    /// Writes what is not written yet. False: something of it has to be tried again.
    async fn round(&self) -> bool {
        let Some(statics) = self.statics.all() else { return true };
        let mut all_done = true;
        for write in writes(&statics, &self.seen.all()) {
            let done = match &write {
                Write::Create(key, manifest) => self.create(key, manifest).await,
                Write::Delete(key, uid) => {
                    let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                        "preconditions": {"uid": uid.as_str()}});
                    self.cluster.delete(&pods(key).named(&key.name), &options).await
                }
            };
            match done {
                Ok(_) => {}
                // There already, or gone already: the watch tells.
                Err(CallError::Refused { code: 404 | 409, .. }) => {}
                Err(error) => {
                    tracing::warn!(%error, "the cluster does not take the mirror of a static pod; it is tried again");
                    all_done = false;
                }
            }
        }
        all_done
    }

    async fn create(&self, key: &Key, manifest: &Value) -> Result<Value, CallError> {
        let node = self.cluster.get(&Resource::core("nodes").named(&self.node)).await?;
        self.cluster.create(&pods(key), &mirror(manifest, &node)).await
    }
}

/// What is to be written, now that these run and the cluster shows those.
fn writes(statics: &BTreeMap<Uid, Arc<Value>>, seen: &BTreeMap<Uid, SeenPod>) -> Vec<Write> {
    let key_of = |pod: &Value| {
        let text = |name: &str| pod["metadata"][name].as_str().unwrap_or_default();
        Key::pod(text("namespace"), text("name"))
    };
    let mirrors = seen.iter().filter_map(|(uid, pod)| Some((uid, pod, pod.mirror_of.as_ref()?)));
    let outdated = mirrors.filter(|(_, pod, of)| pod.deleting || !statics.contains_key(*of));
    let mut writes: Vec<_> =
        outdated.map(|(uid, pod, _)| Write::Delete(pod.key.clone(), uid.clone())).collect();
    for pod in statics.values() {
        let key = key_of(pod);
        // A pod of that name that is no mirror has to go first, and so has an old mirror: the watch tells.
        let is_shown = seen.values().any(|seen| seen.key == key);
        let is_asked = writes.iter().any(|write| matches!(write, Write::Create(other, _) if *other == key));
        if !is_shown && !is_asked {
            writes.push(Write::Create(key, Arc::clone(pod)));
        }
    }
    writes
}

/// The mirror of a static pod.
fn mirror(manifest: &Value, node: &Value) -> Value {
    let mut pod = manifest.clone();
    let hash = pod["metadata"]["annotations"][CONFIG_HASH].clone();
    pod["metadata"]["annotations"][CONFIG_MIRROR] = hash;
    pod["metadata"]["ownerReferences"] = json!([{"apiVersion": "v1", "kind": "Node", "controller": true,
        "name": node["metadata"]["name"], "uid": node["metadata"]["uid"]}]);
    if let Value::Object(metadata) = &mut pod["metadata"] {
        metadata.remove("uid");
    }
    pod
}

fn pods(key: &Key) -> Resource {
    Resource::core_in(&key.namespace, "pods")
}

#[cfg(test)]
mod tests;
