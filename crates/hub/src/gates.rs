//! A NodeGate for every node: a node answers in the status of its own and may not make one.
//!
//! A gate that was deleted is made anew: without it nobody could order anything. It goes with its node.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Api, PartialObjectMeta, PostParams};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource, ResourceExt};
use safepoint_api::NodeGate;
use safepoint_api::node_gate::NodeGateSpec;
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use tokio::time::{Instant, sleep_until};

/// What could not be made is tried again this much later.
const AGAIN: Duration = Duration::from_secs(5);

/// Makes the NodeGates as a module.
pub struct Gates {
    /// The cluster, as somebody who may.
    pub client: Client,
    /// What has to be ready first.
    pub after: &'static str,
}

/// Which nodes and which gates there are.
#[derive(Default)]
struct Both {
    nodes: Names<Option<OwnerReference>>,
    gates: Names<()>,
    /// Nodes that may be without a gate.
    doubtful: HashSet<String>,
}

/// Objects of one kind by name.
struct Names<T> {
    all: HashMap<String, T>,
    /// Those that the present list has shown so far.
    fresh: Option<HashSet<String>>,
    /// Whether a list has been complete.
    complete: bool,
}

// === impl Gates ===

impl Module for Gates {
    fn spec(&self) -> Spec {
        Spec::new("gates").after([self.after])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let nodes: Api<PartialObjectMeta<Node>> = Api::all(self.client.clone());
        let gates: Api<PartialObjectMeta<NodeGate>> = Api::all(self.client.clone());
        let mut nodes = std::pin::pin!(watcher(nodes, watcher::Config::default()).default_backoff());
        let mut gates = std::pin::pin!(watcher(gates, watcher::Config::default()).default_backoff());
        let mut both = Both::default();
        let mut again: Option<Instant> = None;
        ctx.ready();
        loop {
            let retry = async {
                match again {
                    Some(at) => sleep_until(at).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                event = nodes.next() => match event {
                    Some(Ok(event)) => both.take_node(event),
                    Some(Err(error)) => tracing::debug!(%error, "the watch is tried again"),
                    None => return Err(Fault::transient("the watch has ended")),
                },
                event = gates.next() => match event {
                    Some(Ok(event)) => both.take_gate(event),
                    Some(Err(error)) => tracing::debug!(%error, "the watch is tried again"),
                    None => return Err(Fault::transient("the watch has ended")),
                },
                () = retry => again = None,
                () = ctx.cancelled() => return Ok(()),
            }
            // Whoever failed waits for its time, however much happens meanwhile.
            if again.is_none() && !self.make_missing(&mut both).await {
                again = Some(Instant::now() + AGAIN);
            }
        }
    }
}

impl Gates {
    /// Makes what is missing. Whether there is nothing left to be made.
    async fn make_missing(&self, both: &mut Both) -> bool {
        let gates: Api<NodeGate> = Api::all(self.client.clone());
        for (node, owner) in both.missing() {
            let mut gate = NodeGate::new(&node, NodeGateSpec::default());
            gate.metadata.owner_references = owner.map(|owner| vec![owner]);
            match gates.create(&PostParams::default(), &gate).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.code == 409 => {}
                Err(error) => {
                    tracing::warn!(node, %error, "cannot make the NodeGate; it is tried again");
                    return false;
                }
            }
            both.doubtful.remove(&node);
        }
        true
    }
}

// === impl Both ===

impl Both {
    fn take_node(&mut self, event: Event<PartialObjectMeta<Node>>) {
        let doubtful = self.nodes.take(event, |node| {
            // The gate of a node that is on its way out goes with it.
            node.metadata.deletion_timestamp.is_none().then(|| node.owner_ref(&()))
        });
        self.doubtful.extend(doubtful);
    }

    fn take_gate(&mut self, event: Event<PartialObjectMeta<NodeGate>>) {
        let doubtful = self.gates.take(event, |_| Some(()));
        self.doubtful.extend(doubtful);
    }

    /// Nodes without a gate. Nothing before all of both have been seen.
    fn missing(&mut self) -> Vec<(String, Option<OwnerReference>)> {
        if !self.nodes.complete || !self.gates.complete {
            return Vec::new();
        }
        self.doubtful.retain(|name| self.nodes.all.contains_key(name) && !self.gates.all.contains_key(name));
        self.doubtful.iter().map(|name| (name.clone(), self.nodes.all[name].clone())).collect()
    }
}

// === impl Names ===

impl<T> Names<T> {
    /// Takes an event, and returns the names that have come or gone. `keep` says what is kept of an object, if anything.
    fn take<K: Resource>(&mut self, event: Event<K>, keep: impl Fn(&K) -> Option<T>) -> Vec<String> {
        match event {
            Event::Init => {
                self.fresh = Some(HashSet::new());
                Vec::new()
            }
            Event::InitApply(object) | Event::Apply(object) => {
                let name = object.name_any();
                if let Some(fresh) = &mut self.fresh {
                    fresh.insert(name.clone());
                }
                let changed = match keep(&object) {
                    Some(kept) => self.all.insert(name.clone(), kept).is_none(),
                    None => self.all.remove(&name).is_some(),
                };
                if changed { vec![name] } else { Vec::new() }
            }
            Event::Delete(object) => {
                let name = object.name_any();
                if self.all.remove(&name).is_some() { vec![name] } else { Vec::new() }
            }
            Event::InitDone => {
                self.complete = true;
                let fresh = self.fresh.take().unwrap_or_default();
                self.all.extract_if(|name, _| !fresh.contains(name)).map(|(name, _)| name).collect()
            }
        }
    }
}

impl<T> Default for Names<T> {
    fn default() -> Self {
        Self { all: HashMap::new(), fresh: None, complete: false }
    }
}

#[cfg(test)]
mod tests {
    use kube::core::{ObjectMeta, PartialObjectMetaExt};

    use super::*;

    fn named<K>(name: &str) -> PartialObjectMeta<K> {
        let meta =
            ObjectMeta { name: Some(name.into()), uid: Some(format!("uid-{name}")), ..Default::default() };
        meta.into_response_partial()
    }

    fn missing(both: &mut Both) -> Vec<String> {
        let mut names: Vec<String> = both.missing().into_iter().map(|(name, _)| name).collect();
        names.sort();
        names
    }

    #[test]
    fn nothing_is_missing_before_everything_has_been_seen() {
        let mut both = Both::default();
        both.take_node(Event::Init);
        for node in ["a", "b"] {
            both.take_node(Event::InitApply(named(node)));
        }
        both.take_node(Event::InitDone);
        assert!(missing(&mut both).is_empty());
        both.take_gate(Event::Init);
        both.take_gate(Event::InitApply(named("a")));
        both.take_gate(Event::InitDone);
        assert_eq!(missing(&mut both), ["b"]);
    }

    #[test]
    fn a_gate_that_is_deleted_is_missing_as_long_as_its_node_is_there() {
        let mut both = Both::default();
        for (node, gate) in [(Event::Init, Event::Init), (Event::InitDone, Event::InitDone)] {
            both.take_node(node);
            both.take_gate(gate);
        }
        both.take_node(Event::Apply(named("a")));
        assert_eq!(missing(&mut both), ["a"]);
        both.take_gate(Event::Apply(named("a")));
        both.take_node(Event::Apply(named("a")));
        assert!(missing(&mut both).is_empty());
        both.take_gate(Event::Delete(named("a")));
        assert_eq!(missing(&mut both), ["a"]);
        both.take_node(Event::Delete(named("a")));
        assert!(missing(&mut both).is_empty());
    }

    #[test]
    fn the_gate_is_owned_by_its_node() {
        let mut both = Both::default();
        for (node, gate) in [(Event::Init, Event::Init), (Event::InitDone, Event::InitDone)] {
            both.take_node(node);
            both.take_gate(gate);
        }
        both.take_node(Event::Apply(named("a")));
        let owner = both.missing().remove(0).1.unwrap();
        assert_eq!((&*owner.kind, &*owner.api_version, &*owner.uid), ("Node", "v1", "uid-a"));
    }
}
