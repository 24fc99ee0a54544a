//! What is known of the fleet: of every node what a row of it needs, and the roll-outs.
//!
//! The details of one node are read when somebody looks at it, so that ten thousand nodes fit beside the hub.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, PoisonError, RwLock};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::ResourceExt;
use safepoint_api::node_gate::{GateState, HeldChange};
use safepoint_api::{NodeGate, StaticPod};
use tokio::sync::watch;

/// Everything that is known, and a bell that rings when something changes.
pub(crate) struct Known {
    world: RwLock<World>,
    changes: watch::Sender<u64>,
}

/// The fleet at one moment.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) nodes: BTreeMap<String, Machine>,
    pub(crate) static_pods: BTreeMap<(String, String), Arc<StaticPod>>,
    /// Which watches hear nothing, and since when: what they brought may be old.
    lost: BTreeMap<&'static str, Timestamp>,
}

/// One node: its Node and its NodeGate, whichever there is.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Machine {
    pub(crate) node: Option<NodeFacts>,
    pub(crate) gate: Option<GateFacts>,
}

/// What is kept of a Node.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct NodeFacts {
    pub(crate) ready: bool,
    /// Since when it is ready, or is not.
    pub(crate) since: Option<Time>,
    pub(crate) labels: BTreeMap<String, String>,
}

/// What is kept of a NodeGate.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct GateFacts {
    /// Of the object: tells whether a page of this node is still true.
    pub(crate) version: String,
    /// What the gate does. None: no agent has reported.
    pub(crate) state: Option<GateState>,
    pub(crate) since: Option<Time>,
    pub(crate) holder: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) orphaned: bool,
    pub(crate) held_count: i32,
    pub(crate) held: Vec<HeldChange>,
}

/// An object that came, or the name of one that went.
pub(crate) enum News {
    Node(String, Option<NodeFacts>),
    Gate(String, Option<GateFacts>),
    StaticPod((String, String), Option<Arc<StaticPod>>),
    /// A watch has broken off, or cannot be begun.
    Lost(&'static str, Timestamp),
    /// A watch has brought everything there is.
    Complete(&'static str),
}

// === impl Known ===

impl Known {
    pub(crate) fn new() -> Self {
        // A number that no other process begins with: a page of another replica, or of this one before it was restarted, is
        // never taken for one of now.
        let mut begin = [0; 8];
        let begin = match aws_lc_rs::rand::fill(&mut begin) {
            Ok(()) => u64::from_le_bytes(begin) >> 1,
            Err(_) => 0,
        };
        Self { world: RwLock::default(), changes: watch::Sender::new(begin) }
    }

    /// Looks at the fleet.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&World) -> T) -> T {
        look(&self.world.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Takes what a watch has brought.
    pub(crate) fn take(&self, news: News) {
        let changed = self.world.write().unwrap_or_else(PoisonError::into_inner).take(news);
        if changed {
            self.changes.send_modify(|version| *version = version.wrapping_add(1));
        }
    }

    /// Forgets what a complete list has not shown.
    pub(crate) fn forget(&self, gone: impl IntoIterator<Item = News>) {
        for news in gone {
            self.take(news);
        }
    }

    /// How often something has changed.
    pub(crate) fn version(&self) -> u64 {
        *self.changes.borrow()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }
}

// === impl World ===

impl World {
    /// Whether that has changed anything that is shown.
    pub(crate) fn take(&mut self, news: News) -> bool {
        match news {
            News::Node(name, node) => self.change(&name, |machine| &mut machine.node, node),
            News::Gate(name, gate) => self.change(&name, |machine| &mut machine.gate, gate),
            News::StaticPod(name, Some(object)) => {
                let version = object.resource_version();
                let known = self.static_pods.insert(name, object);
                known.is_none_or(|known| known.resource_version() != version)
            }
            News::StaticPod(name, None) => self.static_pods.remove(&name).is_some(),
            News::Lost(watch, now) => {
                // It counts from the first time.
                let is_new = !self.lost.contains_key(watch);
                self.lost.entry(watch).or_insert(now);
                is_new
            }
            News::Complete(watch) => self.lost.remove(watch).is_some(),
        }
    }

    /// Since when something is not heard of.
    pub(crate) fn lost_since(&self) -> Option<Timestamp> {
        self.lost.values().min().copied()
    }

    fn change<T: PartialEq>(
        &mut self,
        name: &str,
        part: impl Fn(&mut Machine) -> &mut Option<T>,
        new: Option<T>,
    ) -> bool {
        let machine = self.nodes.entry(name.to_owned()).or_default();
        let known = part(machine);
        let changed = *known != new;
        *known = new;
        if machine.node.is_none() && machine.gate.is_none() {
            self.nodes.remove(name);
        }
        changed
    }

    /// A number that changes when what is known of a node does, or how well.
    pub(crate) fn mark_of_node(&self, name: &str) -> u64 {
        let mut hasher = DefaultHasher::new();
        let machine = self.nodes.get(name);
        machine.and_then(|machine| machine.gate.as_ref()).map(|gate| &gate.version).hash(&mut hasher);
        machine.and_then(|machine| machine.node.as_ref()).map(|node| node.ready).hash(&mut hasher);
        self.lost_since().hash(&mut hasher);
        hasher.finish()
    }
}

// === impl facts ===

impl NodeFacts {
    pub(crate) fn of(node: &Node) -> Self {
        let conditions = node.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let ready = conditions.into_iter().find(|condition| condition.type_ == "Ready");
        Self {
            ready: ready.is_some_and(|ready| ready.status == "True"),
            since: ready.and_then(|ready| ready.last_transition_time.clone()),
            labels: node.labels().clone(),
        }
    }
}

impl GateFacts {
    pub(crate) fn of(gate: NodeGate) -> Self {
        let version = gate.resource_version().unwrap_or_default();
        let status = gate.status.unwrap_or_default();
        Self {
            version,
            state: status.state,
            since: status.since,
            holder: status.holder,
            reason: status.reason,
            orphaned: status.orphaned,
            held_count: status.held_count,
            held: status.held,
        }
    }
}
