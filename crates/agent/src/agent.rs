//! The agent put together: which modules there are, what they share, and in which order they start.
//!
//! ```text
//!   gate ─► process-door ─► uplink, orders, pod-status, gate-status, node-status, events
//!     └──► node-api ─► one module for each compatible API
//! ```
//!
//! The gate comes first and nothing is shown before it has read its record. The door comes before the uplink: a gate that
//! does not know what runs has to be told by the machine before the cluster tells it what to want.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use safepoint_core::Config;
use safepoint_nodeapi::compat::Compat;
use safepoint_supervisor::{Builder, Handle};
use tokio::sync::{Mutex, broadcast, mpsc, watch};

use crate::clock::{Clock, MachineClock};
use crate::cluster::Cluster;
use crate::door::{self, ProcessDoor};
use crate::facts::Facts;
use crate::keeper::{Desk, KeeperModule};
use crate::link::Link;
use crate::local::{LocalNode, Parts};
use crate::orders::{Obeyed, Orders};
use crate::overseer::Overseer;
use crate::reporter::Statuses;
use crate::reporter::events::Events;
use crate::reporter::gate::GateStatus;
use crate::reporter::node::{Machine, NodeStatus};
use crate::reporter::pods::PodStatuses;
use crate::seen::SeenPods;
use crate::socket::{CompatModule, SocketModule};
use crate::uplink::Uplink;

/// More than a node of the usual size says at once; whoever falls behind looks again.
const EFFECTS: usize = 1024;
/// So much may wait for the gate before those who bring more have to wait themselves.
const INBOX: usize = 256;

/// What an agent is to do.
pub struct Options {
    /// The name of the node.
    pub node: String,
    /// Where everything that must survive is kept.
    pub data: PathBuf,
    /// The cluster it belongs to.
    pub cluster: Cluster,
    /// How pods are run.
    pub runtime: safepoint_runtime::Options,
    /// The unix socket of the node API.
    pub socket: PathBuf,
    /// Whose members may use it, beside root and the agent's user.
    pub group: Option<String>,
    /// Where to answer the clients of other systems.
    pub compat: Vec<(Compat, SocketAddr)>,
    /// What an operator may set of the gate.
    pub gate: Config,
    /// What time it is.
    pub clock: Arc<dyn Clock>,
}

/// An agent that has not started yet.
pub struct Agent {
    gate: KeeperModule,
    door: ProcessDoor,
    uplink: Uplink,
    orders: Orders,
    pods: PodStatuses,
    gate_status: GateStatus,
    node_status: NodeStatus,
    events: Events,
    socket: SocketModule,
    compat: Vec<CompatModule>,
    overseer: Arc<Overseer>,
}

// === impl Options ===

impl Options {
    /// An agent with everything below one folder, that runs pods as host processes.
    pub fn new(
        node: impl Into<String>,
        data: impl Into<PathBuf>,
        cluster: Cluster,
        shim: Vec<std::ffi::OsString>,
    ) -> Self {
        let data = data.into();
        Self {
            node: node.into(),
            cluster,
            runtime: safepoint_runtime::Options::new(data.join("runtime"), shim),
            socket: data.join("agent.sock"),
            group: None,
            compat: Vec::new(),
            gate: Config::default(),
            clock: Arc::new(MachineClock::new(false)),
            data,
        }
    }
}

// === impl Agent ===

impl Agent {
    /// Puts an agent together. Nothing happens yet.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let Options { node, data, cluster, runtime, socket, group, compat, mut gate, clock } = options;
        // A freeze that the door could not enforce is never promised.
        gate.parts.push(door::NAME.into());
        let (inbox, incoming) = mpsc::channel(INBOX);
        let (effects, _) = broadcast::channel(EFFECTS);
        let (starts, started) = watch::channel(0);
        let (obeyed, obeys) = watch::channel(Obeyed::default());
        let (notices, _) = broadcast::channel(EFFECTS);
        let desk = Desk::new(inbox, effects.clone(), started);
        let link = Link::new(Arc::clone(&clock));
        let (seen, statuses) = (Arc::<SeenPods>::default(), Arc::<Statuses>::default());
        let (facts, overseer) = (Arc::<Facts>::default(), Arc::<Overseer>::default());
        let address: IpAddr = runtime.address;
        let local = LocalNode(Arc::new(Parts {
            name: node.clone(),
            desk: desk.clone(),
            link: link.clone(),
            clock: Arc::clone(&clock),
            overseer: Arc::clone(&overseer),
            statuses: Arc::clone(&statuses),
            facts: Arc::clone(&facts),
            notices: notices.clone(),
            obeyed: obeys.clone(),
        }));
        Self {
            gate: KeeperModule {
                folder: data,
                config: gate,
                clock,
                inbox: Arc::new(Mutex::new(incoming)),
                effects,
                starts,
                facts,
            },
            door: ProcessDoor {
                node: node.clone(),
                desk: desk.clone(),
                options: runtime,
                statuses: Arc::clone(&statuses),
                link: link.clone(),
                seen: Arc::clone(&seen),
            },
            uplink: Uplink {
                node: node.clone(),
                cluster: cluster.clone(),
                desk: desk.clone(),
                link: link.clone(),
                seen: Arc::clone(&seen),
            },
            orders: Orders { node: node.clone(), cluster: cluster.clone(), desk: desk.clone(), obeyed },
            pods: PodStatuses {
                cluster: cluster.clone(),
                desk: desk.clone(),
                link: link.clone(),
                seen,
                statuses,
            },
            gate_status: GateStatus {
                node: node.clone(),
                cluster: cluster.clone(),
                desk: desk.clone(),
                link: link.clone(),
                obeyed: obeys,
                overseer: Arc::clone(&overseer),
            },
            node_status: NodeStatus {
                node: node.clone(),
                cluster: cluster.clone(),
                desk: desk.clone(),
                link: link.clone(),
                machine: Some(Machine { address: address.to_string() }),
            },
            events: Events { node, cluster, desk, link, notices },
            compat: compat
                .into_iter()
                .map(|(compat, address)| CompatModule {
                    compat,
                    address,
                    node: local.clone(),
                    group: group.clone(),
                })
                .collect(),
            socket: SocketModule { path: socket, group, node: local },
            overseer,
        }
    }

    /// Gives every module to a supervisor that is being built. What is returned must be told who that is.
    pub fn register(self, builder: Builder) -> (Builder, Registered) {
        let mut builder = builder
            .module(self.gate)
            .module(self.door)
            .module(self.uplink)
            .module(self.orders)
            .module(self.pods)
            .module(self.gate_status)
            .module(self.node_status)
            .module(self.events)
            .module(self.socket);
        for compat in self.compat {
            builder = builder.module(compat);
        }
        (builder, Registered { overseer: self.overseer })
    }
}

/// An agent whose modules have a supervisor that they do not know yet.
#[must_use = "without its supervisor an agent cannot say how it does"]
pub struct Registered {
    overseer: Arc<Overseer>,
}

impl Registered {
    /// Says who the supervisor is.
    pub fn supervised_by(self, handle: Handle) {
        self.overseer.set(handle);
    }
}
