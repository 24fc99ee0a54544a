//! The agent put together: which modules there are, what they share, and in which order they start.
//!
//! ```text
//!   upstream, gate ─► process-door or kubelet-door, manifest-door ─► uplink, orders, pod-status, gate-status, node-status, events
//!               └──► node-api ─► one module for each compatible API
//! ```
//!
//! The gate comes first and nothing is shown before it has read its record. The door comes before the uplink: a gate that
//! does not know what runs has to be told by the machine before the cluster tells it what to want.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use safepoint_core::Config;
use safepoint_nodeapi::compat::Compat;
use safepoint_relay::Upstream;
use safepoint_supervisor::{Builder, Ctx, Fault, Handle, Module, Spec};
use tokio::sync::{Mutex, broadcast, mpsc, watch};

use crate::clock::{Clock, MachineClock};
use crate::cluster::Cluster;
use crate::door::{self, ProcessDoor};
use crate::facts::Facts;
use crate::keeper::{Desk, KeeperModule};
use crate::kubelet::{self, Adoption, KubeletDoor, KubeletOptions};
use crate::link::Link;
use crate::local::{LocalNode, Parts};
use crate::manifests::{Board, ManifestDoor, ManifestOptions};
use crate::orders::{Obeyed, Orders};
use crate::overseer::Overseer;
use crate::reporter::Statuses;
use crate::reporter::events::Events;
use crate::reporter::gate::GateStatus;
use crate::reporter::mirrors::Mirrors;
use crate::reporter::node::{Machine, NodeStatus};
use crate::reporter::pods::PodStatuses;
use crate::seen::SeenPods;
use crate::socket::{CompatModule, SocketModule};
use crate::static_pods::{StaticPods, Witness};
use crate::uplink::Uplink;

/// More than a node of the usual size says at once; whoever falls behind looks again.
const EFFECTS: usize = 1024;
/// So much may wait for the gate before those who bring more have to wait themselves.
const INBOX: usize = 256;

/// Where the manifests of static pods lie below the agent's folder, on a machine without a kubelet.
const MANIFESTS: &str = "manifests";

/// What an agent is to do.
pub struct Options {
    /// The name of the node.
    pub node: String,
    /// Where everything that must survive is kept.
    pub data: PathBuf,
    /// The cluster it belongs to.
    pub cluster: Cluster,
    /// The way to it, if it is over a network: somebody has to look after that.
    pub upstream: Option<Upstream>,
    /// How what is admitted leaves the agent.
    pub door: Door,
    /// The static pods of this machine.
    pub manifests: ManifestOptions,
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

/// Where admitted state leaves the agent.
pub enum Door {
    /// Pods run as processes of this machine.
    Processes(safepoint_runtime::Options),
    /// A kubelet runs them.
    Kubelet(Box<KubeletOptions>),
}

/// An agent that has not started yet.
pub struct Agent {
    upstream: Option<UpstreamModule>,
    gate: KeeperModule,
    door: DoorModule,
    manifests: ManifestDoor,
    uplink: Uplink,
    orders: Orders,
    pods: PodStatuses,
    gate_status: GateStatus,
    node_status: NodeStatus,
    mirrors: Option<Mirrors>,
    events: Events,
    socket: SocketModule,
    compat: Vec<CompatModule>,
    overseer: Arc<Overseer>,
}

/// Either door as a module.
enum DoorModule {
    Processes(Box<ProcessDoor>),
    Kubelet(Box<KubeletDoor>),
}

/// Looks after the way to the cluster.
struct UpstreamModule(Upstream);

impl Module for UpstreamModule {
    fn spec(&self) -> Spec {
        Spec::new("upstream")
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        ctx.ready();
        self.0.run(ctx.token()).await;
        Ok(())
    }
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
            upstream: None,
            door: Door::Processes(safepoint_runtime::Options::new(data.join("runtime"), shim)),
            manifests: ManifestOptions::default(),
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
        let Options {
            node,
            data,
            cluster,
            upstream,
            door,
            mut manifests,
            socket,
            group,
            compat,
            mut gate,
            clock,
        } = options;
        let (door_name, seen, adoption) = match &door {
            Door::Processes(_) => (door::NAME, SeenPods::default(), None),
            Door::Kubelet(_) => (kubelet::NAME, SeenPods::with_statuses(), Some(Arc::<Adoption>::default())),
        };
        // A freeze that the door could not enforce is never promised.
        gate.parts.push(door_name.into());
        let (inbox, incoming) = mpsc::channel(INBOX);
        let (effects, _) = broadcast::channel(EFFECTS);
        let (starts, started) = watch::channel(0);
        let (changes, changed) = watch::channel(0);
        let (recorded, on_record) = watch::channel(0);
        let (obeyed, obeys) = watch::channel(Obeyed::default());
        let (notices, _) = broadcast::channel(EFFECTS);
        let desk = Desk::new(inbox, effects.clone(), started, changed, on_record);
        let link = Link::new(Arc::clone(&clock));
        let (seen, statuses) = (Arc::new(seen), Arc::<Statuses>::default());
        let (facts, overseer) = (Arc::<Facts>::default(), Arc::<Overseer>::default());
        let statics = Arc::<StaticPods>::default();
        // Behind a kubelet, the kubelet speaks for the machine and its static pods.
        let (machine, mirrors, witness) = match &door {
            Door::Processes(runtime) => {
                let mirrors = Mirrors {
                    node: node.clone(),
                    cluster: cluster.clone(),
                    link: link.clone(),
                    seen: Arc::clone(&seen),
                    statics: Arc::clone(&statics),
                };
                let witness = Witness::Door(Arc::clone(&statics), Arc::clone(&statuses));
                (Some(Machine { address: runtime.address.to_string() }), Some(mirrors), witness)
            }
            Door::Kubelet(_) => (None, None, Witness::Mirrors(Arc::clone(&seen), link.clone())),
        };
        let door = match door {
            Door::Processes(options) => DoorModule::Processes(Box::new(ProcessDoor {
                node: node.clone(),
                desk: desk.clone(),
                options,
                statuses: Arc::clone(&statuses),
                link: link.clone(),
                seen: Arc::clone(&seen),
                manifests: manifests.folder.get_or_insert_with(|| data.join(MANIFESTS)).clone(),
                statics: Arc::clone(&statics),
            })),
            Door::Kubelet(options) => DoorModule::Kubelet(Box::new(KubeletDoor {
                node: node.clone(),
                options: *options,
                cluster: cluster.clone(),
                desk: desk.clone(),
                link: link.clone(),
                seen: Arc::clone(&seen),
                adoption: adoption.clone().unwrap_or_default(),
            })),
        };
        let (board, wishes) = Board::new();
        let manifests = ManifestDoor {
            node: node.clone(),
            options: manifests,
            data: data.clone(),
            desk: desk.clone(),
            clock: Arc::clone(&clock),
            cluster: cluster.clone(),
            link: link.clone(),
            seen: Arc::clone(&seen),
            witness: witness.clone(),
            after: machine.is_some().then_some(door_name),
            board: Arc::clone(&board),
            wishes: Arc::new(Mutex::new(wishes)),
        };
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
            manifests: board,
            witness,
        }));
        Self {
            gate: KeeperModule {
                folder: data,
                config: gate,
                clock,
                inbox: Arc::new(Mutex::new(incoming)),
                effects,
                starts,
                changes,
                recorded,
                facts,
            },
            upstream: upstream.map(UpstreamModule),
            door,
            manifests,
            uplink: Uplink {
                node: node.clone(),
                cluster: cluster.clone(),
                desk: desk.clone(),
                link: link.clone(),
                seen: Arc::clone(&seen),
                after: door_name,
                adoption,
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
                obeyed: obeys.clone(),
                overseer: Arc::clone(&overseer),
            },
            node_status: NodeStatus {
                node: node.clone(),
                cluster: cluster.clone(),
                desk: desk.clone(),
                link: link.clone(),
                machine,
            },
            mirrors,
            events: Events { node, cluster, desk, link, notices, obeyed: obeys },
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
        let builder = match self.upstream {
            Some(upstream) => builder.module(upstream),
            None => builder,
        };
        let builder = builder.module(self.gate);
        let builder = match self.door {
            DoorModule::Processes(door) => {
                door.make_folder();
                builder.module(*door)
            }
            DoorModule::Kubelet(door) => builder.module(*door),
        };
        let mut builder = builder
            .module(self.manifests)
            .module(self.uplink)
            .module(self.orders)
            .module(self.pods)
            .module(self.gate_status)
            .module(self.node_status)
            .module(self.events)
            .module(self.socket);
        if let Some(mirrors) = self.mirrors {
            builder = builder.module(mirrors);
        }
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
