//! What the hub sees of the cluster: gates, workloads, and of pods what carrying and wishes need.
//!
//! Objects are watched as metadata where that is enough, and only what is asked for later is kept of them, so that the pods of
//! ten thousand nodes fit into a small process. Whoever works on what has changed gets each change once, and begins with
//! everything.

mod gates;
mod index;

use std::collections::{HashMap, HashSet};
use std::fmt::Debug;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures::StreamExt;
use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, PartialObjectMeta};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource};
use safepoint_api::NodeGate;
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde::de::DeserializeOwned;
use tokio::sync::{Notify, watch};

pub(crate) use gates::Gates;
pub(crate) use index::{Carrier, Index, Kind, PodFacts, Uid, WorkloadFacts};

/// What has been seen.
#[derive(Default)]
pub(crate) struct Seen {
    index: Mutex<Index>,
    gates: Mutex<Gates>,
    /// Pods that carrying has not looked at since they or their workload changed; nothing while nobody looks.
    dirty_pods: Mutex<Option<HashSet<Uid>>>,
    /// Of each who looks at gates, the nodes whose gate has changed since.
    dirty_nodes: Mutex<HashMap<u64, HashSet<String>>>,
    pods_changed: Notify,
    nodes_changed: Notify,
}

/// The watches as a module.
pub(crate) struct Watches {
    pub(crate) client: Client,
    pub(crate) seen: Arc<Seen>,
    pub(crate) after: Vec<&'static str>,
}

/// Somebody who is told which pods have changed, until it is dropped.
pub(crate) struct DirtyPods<'a>(&'a Seen);

/// Somebody who is told which nodes' gates have changed, until it is dropped.
pub(crate) struct DirtyNodes<'a> {
    seen: &'a Seen,
    number: u64,
}

// === impl Seen ===

impl Seen {
    pub(crate) fn index(&self) -> MutexGuard<'_, Index> {
        lock(&self.index)
    }

    pub(crate) fn gates(&self) -> MutexGuard<'_, Gates> {
        lock(&self.gates)
    }

    /// Begins with every pod.
    pub(crate) fn dirty_pods(&self) -> DirtyPods<'_> {
        // In this order: what changes in between is there twice rather than not at all.
        *lock(&self.dirty_pods) = Some(HashSet::new());
        let all: Vec<Uid> = self.index().pods().cloned().collect();
        self.soil(all);
        DirtyPods(self)
    }

    /// Begins with every node.
    pub(crate) fn dirty_nodes(&self) -> DirtyNodes<'_> {
        let number = {
            let mut all = lock(&self.dirty_nodes);
            let number = all.keys().max().map_or(0, |last| last + 1);
            all.insert(number, HashSet::new());
            number
        };
        let nodes: HashSet<String> = self.gates().nodes().cloned().collect();
        if let Some(dirty) = lock(&self.dirty_nodes).get_mut(&number) {
            dirty.extend(nodes);
        }
        DirtyNodes { seen: self, number }
    }

    /// Pods that are to be looked at.
    pub(crate) fn soil(&self, pods: impl IntoIterator<Item = Uid>) {
        let mut dirty = lock(&self.dirty_pods);
        let Some(dirty) = dirty.as_mut() else { return };
        let before = dirty.len();
        dirty.extend(pods);
        if dirty.len() > before {
            self.pods_changed.notify_one();
        }
    }

    fn soil_node(&self, node: &str) {
        for dirty in lock(&self.dirty_nodes).values_mut() {
            dirty.insert(node.to_owned());
        }
        self.nodes_changed.notify_waiters();
    }
}

// === impl DirtyPods ===

impl DirtyPods<'_> {
    /// Those that have changed since the last time, as soon as there is one.
    pub(crate) async fn next(&self) -> HashSet<Uid> {
        loop {
            let taken = lock(&self.0.dirty_pods).as_mut().map(std::mem::take).unwrap_or_default();
            if !taken.is_empty() {
                return taken;
            }
            self.0.pods_changed.notified().await;
        }
    }
}

impl Drop for DirtyPods<'_> {
    fn drop(&mut self) {
        *lock(&self.0.dirty_pods) = None;
    }
}

// === impl DirtyNodes ===

impl DirtyNodes<'_> {
    /// Those that have changed since the last time, as soon as there is one.
    pub(crate) async fn next(&self) -> HashSet<String> {
        loop {
            // In this order: what changes after the look wakes.
            let mut changed = std::pin::pin!(self.seen.nodes_changed.notified());
            changed.as_mut().enable();
            let taken =
                lock(&self.seen.dirty_nodes).get_mut(&self.number).map(std::mem::take).unwrap_or_default();
            if !taken.is_empty() {
                return taken;
            }
            changed.await;
        }
    }
}

impl Drop for DirtyNodes<'_> {
    fn drop(&mut self) {
        lock(&self.seen.dirty_nodes).remove(&self.number);
    }
}

// === impl Watches ===

impl Watches {
    /// The name of the module.
    pub(crate) const NAME: &str = "watches";

    /// Follows all objects of a kind as metadata. The receiver says when all have been seen once.
    fn follow<K>(&self, ctx: &Ctx, name: &'static str, kind: Kind) -> watch::Receiver<bool>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    {
        let api: Api<PartialObjectMeta<K>> = Api::all(self.client.clone());
        let seen = Arc::clone(&self.seen);
        self.watch(ctx, name, api, move |event| {
            let dirty = {
                let mut index = seen.index();
                match event {
                    Event::Init => {
                        index.begin(kind);
                        Vec::new()
                    }
                    Event::InitApply(object) | Event::Apply(object) => index.apply(kind, object.metadata),
                    Event::Delete(object) => index.remove(kind, &object.metadata),
                    Event::InitDone => index.finish(kind),
                }
            };
            seen.soil(dirty);
        })
    }

    fn follow_gates(&self, ctx: &Ctx) -> watch::Receiver<bool> {
        let api: Api<NodeGate> = Api::all(self.client.clone());
        let seen = Arc::clone(&self.seen);
        self.watch(ctx, "nodegates", api, move |event| {
            let dirty = seen.gates().take(event);
            for node in dirty {
                seen.soil_node(&node);
            }
        })
    }

    fn watch<K>(
        &self,
        ctx: &Ctx,
        name: &'static str,
        api: Api<K>,
        mut take: impl FnMut(Event<K>) + Send + 'static,
    ) -> watch::Receiver<bool>
    where
        K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + 'static,
    {
        let (complete, told) = watch::channel(false);
        let stop = ctx.token();
        ctx.spawn(name, async move {
            let events = watcher(api, watcher::Config::default()).default_backoff();
            let mut events = std::pin::pin!(events.take_until(stop.cancelled_owned()));
            while let Some(event) = events.next().await {
                match event {
                    Ok(event) => {
                        let is_complete = matches!(event, Event::InitDone);
                        take(event);
                        if is_complete {
                            complete.send_replace(true);
                        }
                    }
                    Err(error) => tracing::debug!(%error, "the watch is tried again"),
                }
            }
            Err(Fault::transient("the watch has ended"))
        });
        told
    }

    /// Whether there are Deployments and their like here. The embedded API has none.
    async fn has_workloads(&self) -> Result<bool, Fault> {
        match self.client.list_api_group_resources("apps/v1").await {
            Ok(_) => Ok(true),
            Err(kube::Error::Api(status)) if status.code == 404 => Ok(false),
            Err(error) => Err(Fault::transient(error)),
        }
    }
}

impl Module for Watches {
    fn spec(&self) -> Spec {
        Spec::new(Self::NAME).after(self.after.iter().copied())
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let has_workloads = self.has_workloads().await?;
        let mut all = vec![self.follow_gates(&ctx), self.follow::<Pod>(&ctx, "pods", Kind::Pod)];
        if has_workloads {
            all.extend([
                self.follow::<ReplicaSet>(&ctx, "replicasets", Kind::ReplicaSet),
                self.follow::<Deployment>(&ctx, "deployments", Kind::Carrier(Carrier::Deployment)),
                self.follow::<DaemonSet>(&ctx, "daemonsets", Kind::Carrier(Carrier::DaemonSet)),
                self.follow::<StatefulSet>(&ctx, "statefulsets", Kind::Carrier(Carrier::StatefulSet)),
            ]);
        }
        for mut complete in all {
            tokio::select! {
                seen = complete.wait_for(|complete| *complete) => drop(seen.map_err(Fault::transient)?),
                () = ctx.cancelled() => return Ok(()),
            }
        }
        ctx.ready();
        ctx.cancelled().await;
        Ok(())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change under these locks is whole or is done again by the next list.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
