//! What the node API needs of the agent, and nothing else.

use std::future::Future;

use safepoint_api::local::{
    Failure, LogPage, Notice, PutStaticPod, StaticPodHistory, StaticPodState, Uplink, reason,
};
use safepoint_api::node_gate::{ModuleStatus, NodeGateStatus};
use safepoint_core::{Answer, Ask, Gate, Override};
use tokio::sync::broadcast;

use crate::answer::failure;
use crate::caller::Caller;

/// The agent as its API sees it. Cheap to clone; every connection has its own.
pub trait Node: Clone + Send + Sync + 'static {
    /// The name of the node.
    fn name(&self) -> &str;

    /// Asks the gate. The answer comes once it is durable; that of a freeze comes once the node has settled or has not in
    /// time. What was asked is carried out even if the future is dropped while it waits: a client that goes away does
    /// not take back what it said.
    fn ask(
        &self,
        caller: Caller,
        overriding: Option<Override>,
        ask: Ask,
    ) -> impl Future<Output = Result<Answer, Unavailable>> + Send;

    /// Looks at the gate. The closure must be quick: the gate decides nothing meanwhile.
    fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Gate) -> T + Send + 'static,
    ) -> impl Future<Output = Result<T, Unavailable>> + Send;

    /// Every pod known here with its status, as JSON objects: what runs, and what waits to start.
    fn pods(&self) -> impl Future<Output = Result<Vec<serde_json::Value>, Unavailable>> + Send;

    /// Every static pod of this node.
    fn static_pods(&self) -> impl Future<Output = Result<Vec<StaticPodState>, Box<Failure>>> + Send {
        async { Err(no_manifests()) }
    }

    /// The manifests of a static pod that were good.
    fn static_pod_history(
        &self,
        namespace: &str,
        name: &str,
    ) -> impl Future<Output = Result<StaticPodHistory, Box<Failure>>> + Send {
        let _ = (namespace, name);
        async { Err(no_manifests()) }
    }

    /// Wishes for something of a static pod. It returns once the gate has heard of it, and decides like about any change.
    fn wish(&self, wish: StaticPodWish) -> impl Future<Output = Result<(), Box<Failure>>> + Send {
        let _ = wish;
        async { Err(no_manifests()) }
    }

    /// The way to the cluster.
    fn uplink(&self) -> Uplink;

    /// Adds to the status of the gate what only the agent knows: the generation of the spec, the answers to orders.
    fn complete(&self, status: &mut NodeGateStatus) {
        let _ = status;
    }

    /// The parts of the agent, by name.
    fn modules(&self) -> Vec<ModuleStatus>;

    /// Starts one of them afresh.
    fn restart(&self, module: &str) -> impl Future<Output = Result<(), RestartError>> + Send;

    /// The audit log after a line, oldest first, so many lines at most.
    fn log(&self, after: u64, limit: usize) -> impl Future<Output = Result<LogPage, Unavailable>> + Send;

    /// What happens from now on.
    fn notices(&self) -> broadcast::Receiver<Notice>;

    /// The metrics, in the text form of Prometheus.
    fn metrics(&self) -> String;

    /// Whether the agent works.
    fn health(&self) -> Health;
}

/// What is wished of a static pod.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StaticPodWish {
    /// This manifest, as soon as it may, or laid ready.
    Put {
        /// The pod's namespace.
        namespace: String,
        /// The pod's name.
        name: String,
        /// The manifest.
        put: PutStaticPod,
    },
    /// What the cluster has for it where nothing is staged, or what is staged although it has failed before. It is held
    /// until it is released.
    TakeUp {
        /// The pod's namespace.
        namespace: String,
        /// The pod's name.
        name: String,
    },
    /// An earlier manifest. It is held until it is released.
    RollBack {
        /// The pod's namespace.
        namespace: String,
        /// The pod's name.
        name: String,
        /// Which one; otherwise the newest that is not in place.
        revision: Option<String>,
    },
    /// No manifest.
    Remove {
        /// The pod's namespace.
        namespace: String,
        /// The pod's name.
        name: String,
        /// As soon as it may; otherwise it is held until it is released.
        may_wait: bool,
    },
    /// What waits is not wanted any more.
    Withdraw {
        /// The pod's namespace.
        namespace: String,
        /// The pod's name.
        name: String,
        /// What lies ready stays so.
        keeps_staged: bool,
    },
}

fn no_manifests() -> Box<Failure> {
    Box::new(failure(501, reason::NO_MANIFESTS, "this agent looks after no manifests"))
}

/// The gate cannot be asked now: it is being restarted, or cannot write its record. Nothing was changed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the gate cannot be asked now: {0}")]
pub struct Unavailable(pub String);

/// Why a module was not started afresh.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum RestartError {
    /// There is none of that name.
    #[error("there is no module of that name")]
    NoSuchModule,
    /// It cannot be done now.
    #[error(transparent)]
    Unavailable(#[from] Unavailable),
}

/// Whether the agent works.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Health {
    /// Whether the process is of use; if not, whoever looks after it should start it anew.
    pub live: bool,
    /// Whether it does everything that it is there for.
    pub ready: bool,
    /// Its parts.
    pub modules: Vec<ModuleHealth>,
}

/// Whether one part of the agent works.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ModuleHealth {
    /// Its name.
    pub name: String,
    /// Whether it works.
    pub ready: bool,
    /// What is wrong, or what it waits for.
    pub message: Option<String>,
}
