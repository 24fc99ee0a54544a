//! A fleet that is not there: nodes, their kubelets, and the tasks on them, played in this process against any API.
//!
//! `safepoint up --nodes N` shows with it how a static pod rolls over many nodes on one machine, and tests and benchmarks measure
//! the hub with it. What the hub sees is what it would see of real nodes: Node objects, mirror pods that are deleted and made
//! anew when a manifest changes, task pods that take their time, succeed, fail and roll back.
//!
//! ```text
//!   task pod appears ─► begins ─► old mirror pod goes, new one comes, not ready ─► ready ─► the task has succeeded
//!                                                                          └─► (a node that fails) the old one again ─► failed
//! ```
//!
//! A node that is away does nothing until it is back, and one that is frozen begins nothing: its agent obeys the freeze in its
//! NodeGate and says how the gate is. Nobody renews their leases: a
//! cluster with a node controller takes them for lost after a while, the embedded API has none.
//!
//! ```no_run
//! use safepoint_hub::simulated::{Fleet, Options};
//! use safepoint_supervisor::{Builder, Config, Supervisor};
//! use serde_json::json;
//!
//! # fn example(client: kube::Client) -> Builder {
//! let manifest = json!({"apiVersion": "v1", "kind": "Pod",
//!     "metadata": {"name": "proxy", "namespace": "kube-system", "annotations": {}},
//!     "spec": {"containers": [{"name": "main", "image": "proxy:1"}]}});
//! let options = Options { static_pods: vec![manifest], after: Some("apiserver"), ..Options::new(50) };
//! Supervisor::builder(Config::default()).module(Fleet::new(client, options))
//! # }
//! ```

mod agents;
mod kubelet;
mod machine;
mod writing;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, FuturesUnordered};
use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::Api;
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use safepoint_api::NodeGate;
use safepoint_api::names::safepoint::{SIMULATED, static_pod as words};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde_json::Value;

use crate::clock::Clock;
use agents::Agents;
use kubelet::{Kubelet, Sighting};
pub use machine::{Counts, Nature};
use machine::{Machine, Machines};

/// So much is written at once.
const AT_ONCE: usize = 64;

/// What a fleet is to be.
#[derive(Clone, Debug)]
pub struct Options {
    /// How many nodes.
    pub nodes: usize,
    /// A node is named this and its number, such as `sim-00042`.
    pub prefix: String,
    /// Labels of every node, beside its `kubernetes.io/hostname`.
    pub labels: BTreeMap<String, String>,
    /// Static pods that every node runs from the beginning: the manifests, as Pods of `v1`. Their namespaces have to be there.
    pub static_pods: Vec<Value>,
    /// How long things take.
    pub pace: Pace,
    /// A module that has to be ready first, if any.
    pub after: Option<&'static str>,
    /// What time it is.
    pub clock: Clock,
}

/// How long things take on a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// From the appearance of a task to its beginning.
    pub begin: Duration,
    /// From the swap of a manifest until the new pod is ready.
    pub ready: Duration,
    /// From then until the task is content.
    pub verify: Duration,
}

/// A fleet. Cheap to clone; all clones are the same fleet.
#[derive(Clone)]
pub struct Fleet {
    client: Client,
    options: Arc<Options>,
    machines: Arc<Machines>,
}

// === impl Options ===

impl Options {
    /// Nodes that run nothing yet and take a second or two for a task.
    #[must_use]
    pub fn new(nodes: usize) -> Self {
        Self {
            nodes,
            prefix: "sim-".to_owned(),
            labels: BTreeMap::from([(SIMULATED.to_owned(), "true".to_owned())]),
            static_pods: Vec::new(),
            pace: Pace::default(),
            after: None,
            clock: Clock::wall(),
        }
    }

    /// The name of a node.
    #[must_use]
    pub fn name(&self, number: usize) -> String {
        format!("{}{number:05}", self.prefix)
    }
}

impl Default for Pace {
    fn default() -> Self {
        Self {
            begin: Duration::from_millis(500),
            ready: Duration::from_secs(1),
            verify: Duration::from_millis(500),
        }
    }
}

// === impl Fleet ===

impl Fleet {
    /// A fleet that does nothing yet: it is a module.
    #[must_use]
    pub fn new(client: Client, options: Options) -> Self {
        let machines = (0..options.nodes).map(|number| Machine::new(options.name(number))).collect();
        Self { client, options: Arc::new(options), machines: Arc::new(Machines::new(machines)) }
    }

    /// The name of the module.
    pub const NAME: &str = "simulated-fleet";

    /// What has happened so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.machines.counts()
    }

    /// Decides what becomes of upgrades on a node from now on.
    pub fn set_nature(&self, number: usize, nature: Nature) {
        self.machines.with(number, |machine| machine.nature = nature);
    }

    /// Lets a node leave, or return.
    ///
    /// # Errors
    ///
    /// If the API does not take it.
    pub async fn set_ready(&self, number: usize, ready: bool) -> Result<(), kube::Error> {
        let name = self.options.name(number);
        if !ready {
            // A node does nothing any more before the cluster knows that it is gone.
            self.machines.with(number, |machine| machine.ready = false);
        }
        writing::node_ready(&self.client, &name, ready, &self.options.clock).await?;
        self.machines.with(number, |machine| machine.ready = ready);
        Ok(())
    }

    /// Freezes a node, or lets it thaw, and waits until its agent has heard of it: from then on no task begins, and its gate says
    /// so. The fleet has to run.
    ///
    /// # Errors
    ///
    /// If the API does not take it.
    pub async fn set_frozen(&self, number: usize, frozen: bool) -> Result<(), kube::Error> {
        let gate = writing::freeze(&self.client, &self.options.name(number), frozen).await?;
        self.machines.until(number, |machine| machine.frozen == frozen).await;
        let busy = self.machines.with(number, |machine| machine.busy);
        agents::tell(&self.client, &gate, busy, &self.options.clock).await.map(drop)
    }

    /// Makes the nodes and the static pods that they run from the beginning. What is there already stays.
    ///
    /// # Errors
    ///
    /// If the API does not take one of them.
    pub async fn populate(&self) -> Result<(), kube::Error> {
        let mut made =
            stream::iter(0..self.options.nodes).map(|number| self.make(number)).buffer_unordered(AT_ONCE);
        while let Some(made) = made.next().await {
            made?;
        }
        Ok(())
    }

    async fn make(&self, number: usize) -> Result<(), kube::Error> {
        let name = self.options.name(number);
        let ready = self.machines.with(number, |machine| machine.ready);
        let uid =
            writing::node(&self.client, &name, &self.options.labels, ready, &self.options.clock).await?;
        self.machines.with(number, |machine| machine.uid = uid.clone());
        for manifest in &self.options.static_pods {
            let manifest = Arc::new(manifest.clone());
            writing::mirror(&self.client, &name, &uid, &manifest).await?;
            writing::mirror_ready(&self.client, &name, &manifest, true, &self.options.clock).await?;
            self.machines.with(number, |machine| machine.run(manifest));
        }
        Ok(())
    }
}

impl Module for Fleet {
    fn spec(&self) -> Spec {
        Spec::new(Self::NAME).after(self.options.after)
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        // Ten thousand nodes take longer than a module may take to start.
        ctx.waiting_for("its nodes");
        tokio::select! {
            made = self.populate() => made.map_err(Fault::transient)?,
            () = ctx.cancelled() => return Ok(()),
        }
        let kubelet = Kubelet::new(&self.client, &self.machines, self.options.pace, &self.options.clock);
        let config = watcher::Config::default().labels(words::OF);
        let pods: Api<Pod> = Api::all(self.client.clone());
        let mut events = std::pin::pin!(watcher(pods, config).default_backoff());
        let mut playing = FuturesUnordered::new();
        let agents = Agents::new(&self.client, &self.machines, &self.options.clock);
        let gates: Api<NodeGate> = Api::all(self.client.clone());
        let mut gates = std::pin::pin!(watcher(gates, watcher::Config::default()).default_backoff());
        let mut settling = FuturesUnordered::new();
        ctx.ready();
        loop {
            tokio::select! {
                event = events.next() => match event {
                    Some(Ok(Event::Apply(pod) | Event::InitApply(pod))) => match kubelet.see(&pod) {
                        Sighting::New(task) => playing.push(kubelet.play(task)),
                        Sighting::Known => {}
                    },
                    Some(Ok(Event::Delete(pod))) => kubelet.gone(&pod),
                    Some(Ok(Event::Init | Event::InitDone)) => {}
                    Some(Err(error)) => tracing::debug!(%error, "the watch is tried again"),
                    None => return Err(Fault::transient("the watch has ended")),
                },
                Some(()) = playing.next(), if !playing.is_empty() => {}
                event = gates.next() => match event {
                    Some(Ok(Event::Apply(gate) | Event::InitApply(gate))) => {
                        settling.extend(agents.see(gate).map(|number| agents.settle(number)));
                    }
                    Some(Ok(Event::Delete(gate))) => agents.gone(&gate),
                    Some(Ok(Event::Init | Event::InitDone)) => {}
                    // Before there is a hub nobody has defined what a gate is.
                    Some(Err(error)) => tracing::debug!(%error, "the watch is tried again"),
                    None => return Err(Fault::transient("the watch has ended")),
                },
                Some(()) = settling.next(), if !settling.is_empty() => {}
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}
