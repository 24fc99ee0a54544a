//! Placement: gives pods that no scheduler looks after to a node. For the embedded default only.
//!
//! It is no scheduler. A pod goes to the ready node that its `nodeSelector` allows and that has the fewest pods; where there
//! is none, the pod says why. A real cluster brings its own.

mod choose;

use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::reflector::{self, Store};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde_json::json;
use tokio::sync::Notify;

use choose::{Unplaced, choose, needs_a_node};

/// What could not be bound is looked at again this much later.
const AGAIN: Duration = Duration::from_secs(5);

/// Placement as a module.
pub struct Placement {
    /// The cluster, as somebody who may bind pods.
    pub client: Client,
    /// What has to be ready first.
    pub after: &'static str,
}

// === impl Placement ===

impl Module for Placement {
    fn spec(&self) -> Spec {
        Spec::new("placement").after([self.after])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let changed = Arc::new(Notify::new());
        let pods = self.follow::<Pod>(&ctx, "pods", &changed);
        let nodes = self.follow::<Node>(&ctx, "nodes", &changed);
        tokio::select! {
            ready = futures::future::try_join(pods.wait_until_ready(), nodes.wait_until_ready()) => {
                ready.map_err(Fault::transient)?;
            }
            () = ctx.cancelled() => return Ok(()),
        }
        ctx.ready();
        loop {
            let all_done = self.place_all(&pods, &nodes).await;
            let again = async {
                match all_done {
                    true => std::future::pending().await,
                    false => tokio::time::sleep(AGAIN).await,
                }
            };
            tokio::select! {
                () = changed.notified() => {}
                () = again => {}
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

impl Placement {
    fn follow<K>(&self, ctx: &Ctx, name: &'static str, changed: &Arc<Notify>) -> Store<K>
    where
        K: kube::Resource<DynamicType = ()>
            + Clone
            + serde::de::DeserializeOwned
            + std::fmt::Debug
            + Send
            + Sync
            + 'static,
    {
        let (store, writer) = reflector::store();
        let api: Api<K> = Api::all(self.client.clone());
        let events = watcher(api, watcher::Config::default()).default_backoff().reflect(writer);
        let (changed, stop) = (Arc::clone(changed), ctx.token());
        ctx.spawn(name, async move {
            let mut events = std::pin::pin!(events.take_until(stop.cancelled_owned()));
            while let Some(event) = events.next().await {
                match event {
                    Ok(_) => changed.notify_one(),
                    Err(error) => tracing::debug!(%error, "the watch is tried again"),
                }
            }
            Err(Fault::transient("the watch has ended"))
        });
        store
    }

    /// Whether every pod has been dealt with.
    async fn place_all(&self, pods: &Store<Pod>, nodes: &Store<Node>) -> bool {
        let (pods, nodes) = (pods.state(), nodes.state());
        let mut placed: Vec<(String, u32)> = nodes.iter().map(|node| (node.name_any(), 0)).collect();
        for pod in &pods {
            let on = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref());
            if let Some((_, count)) = placed.iter_mut().find(|(node, _)| Some(node.as_str()) == on) {
                *count += 1;
            }
        }
        let mut all_done = true;
        let mut waiting: Vec<_> = pods.iter().filter(|pod| needs_a_node(pod)).collect();
        waiting.sort_by_key(|pod| pod.creation_timestamp().map(|at| at.0));
        for pod in waiting {
            let done = match choose(pod, &nodes, &placed) {
                Ok(node) => {
                    if let Some((_, count)) = placed.iter_mut().find(|(name, _)| *name == node) {
                        *count += 1;
                    }
                    self.bind(pod, &node).await
                }
                Err(unplaced) => self.explain(pod, &unplaced).await,
            };
            if let Err(error) = done {
                tracing::debug!(pod = %pod.name_any(), %error, "not placed yet");
                all_done = false;
            }
        }
        all_done
    }

    async fn bind(&self, pod: &Pod, node: &str) -> Result<(), kube::Error> {
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default());
        let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod.name_any(), "uid": pod.uid()},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node}});
        let done: Result<serde_json::Value, _> =
            api.create_subresource("binding", &pod.name_any(), &PostParams::default(), &binding).await;
        match done {
            // Somebody was faster, or it is gone.
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            done => done.map(drop),
        }
    }

    async fn explain(&self, pod: &Pod, unplaced: &Unplaced) -> Result<(), kube::Error> {
        let message = unplaced.to_string();
        let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let mut scheduled = conditions.filter(|condition| condition.type_ == "PodScheduled");
        if scheduled.any(|condition| condition.message.as_deref() == Some(message.as_str())) {
            return Ok(());
        }
        let api: Api<Pod> = Api::namespaced(self.client.clone(), &pod.namespace().unwrap_or_default());
        let condition =
            json!({"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message});
        let change = json!({"metadata": {"uid": pod.uid()}, "status": {"conditions": [condition]}});
        let done =
            api.patch_status(&pod.name_any(), &PatchParams::default(), &Patch::Strategic(change)).await;
        match done {
            Err(kube::Error::Api(status)) if matches!(status.code, 404 | 409) => Ok(()),
            done => done.map(drop),
        }
    }
}
