//! A NodeGate for every node: a node answers in the status of its own and may not make one.

use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use kube::api::{Api, ListParams, PostParams};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource, ResourceExt};
use safepoint_api::NodeGate;
use safepoint_api::node_gate::NodeGateSpec;
use safepoint_supervisor::{Ctx, Fault, Module, Spec};

/// What could not be made is tried again this much later.
const AGAIN: Duration = Duration::from_secs(5);

/// Makes the NodeGates as a module.
pub struct Gates {
    /// The cluster, as somebody who may.
    pub client: Client,
    /// What has to be ready first.
    pub after: &'static str,
}

// === impl Gates ===

impl Module for Gates {
    fn spec(&self) -> Spec {
        Spec::new("gates").after([self.after])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let gates: Api<NodeGate> = Api::all(self.client.clone());
        // A gate that was deleted is made anew: without it nobody could order anything.
        let mut events = std::pin::pin!(
            watcher(nodes.clone(), watcher::Config::default()).default_backoff().applied_objects()
        );
        let mut gone = std::pin::pin!(watcher(gates.clone(), watcher::Config::default()).default_backoff());
        ctx.ready();
        let mut all_made = true;
        loop {
            let again = async {
                match all_made {
                    true => std::future::pending().await,
                    false => tokio::time::sleep(AGAIN).await,
                }
            };
            tokio::select! {
                node = events.next() => match node {
                    Some(Ok(node)) => all_made &= self.make(&gates, &node).await,
                    Some(Err(error)) => tracing::debug!(%error, "the watch is tried again"),
                    None => return Err(Fault::transient("the watch has ended")),
                },
                event = gone.next() => match event {
                    Some(Ok(watcher::Event::Delete(_))) => all_made = self.make_all(&nodes, &gates).await,
                    Some(Ok(_)) => {}
                    Some(Err(error)) => tracing::debug!(%error, "the watch is tried again"),
                    None => return Err(Fault::transient("the watch has ended")),
                },
                () = again => all_made = self.make_all(&nodes, &gates).await,
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

impl Gates {
    async fn make_all(&self, nodes: &Api<Node>, gates: &Api<NodeGate>) -> bool {
        let Ok(nodes) = nodes.list(&ListParams::default()).await else { return false };
        let mut all_made = true;
        for node in nodes {
            all_made &= self.make(gates, &node).await;
        }
        all_made
    }

    /// Makes the gate of a node, if there is none. It goes with the node. Whether there is one now.
    async fn make(&self, gates: &Api<NodeGate>, node: &Node) -> bool {
        if node.metadata.deletion_timestamp.is_some() {
            return true;
        }
        let mut gate = NodeGate::new(&node.name_any(), NodeGateSpec::default());
        gate.metadata.owner_references = node.owner_ref(&()).map(|owner| vec![owner]);
        match gates.create(&PostParams::default(), &gate).await {
            Ok(_) => true,
            Err(kube::Error::Api(status)) if status.code == 409 => true,
            Err(error) => {
                tracing::warn!(node = node.name_any(), %error, "cannot make the NodeGate; it is tried again");
                false
            }
        }
    }
}
