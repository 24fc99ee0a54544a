//! The agent as the node API sees it.

mod manifests;

use std::future::Future;
use std::sync::Arc;

use jiff::Timestamp as Moment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use safepoint_api::local::{
    Failure, LogLine, LogPage, Notice, StaticPodHistory, StaticPodState, Uplink, reason,
};
use safepoint_api::node_gate::{ModuleStatus, NodeGateStatus};
use safepoint_core::{Answer, Ask, Gate, Kind, Override};
use safepoint_nodeapi::{Caller, Health, ModuleHealth, Node, RestartError, StaticPodWish, Unavailable};
use serde_json::Value;
use tokio::sync::{broadcast, watch};

use crate::clock::Clock;
use crate::facts::Facts;
use crate::journal::{BodyKey, Line};
use crate::keeper::{self, Asking, Desk};
use crate::link::Link;
use crate::manifests::{Board, show};
use crate::orders::Obeyed;
use crate::overseer::Overseer;
use crate::reporter::Statuses;
use crate::static_pods::Witness;

/// What the node API asks. Cheap to clone.
#[derive(Clone)]
pub(crate) struct LocalNode(pub(crate) Arc<Parts>);

/// What it asks of.
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) desk: Desk,
    pub(crate) link: Link,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) overseer: Arc<Overseer>,
    pub(crate) statuses: Arc<Statuses>,
    pub(crate) facts: Arc<Facts>,
    pub(crate) notices: broadcast::Sender<Notice>,
    pub(crate) obeyed: watch::Receiver<Obeyed>,
    /// What is known of manifests.
    pub(crate) manifests: Arc<Board>,
    /// Who knows how static pods are.
    pub(crate) witness: Witness,
}

// === impl LocalNode ===

impl Node for LocalNode {
    fn name(&self) -> &str {
        &self.0.name
    }

    fn ask(
        &self,
        caller: Caller,
        overriding: Option<Override>,
        ask: Ask,
    ) -> impl Future<Output = Result<Answer, Unavailable>> + Send {
        let known_as = Some(caller.audit());
        let asking =
            Asking { caller: caller.holder, known_as, order: None, over: overriding, ask, keep_answer: None };
        let desk = self.0.desk.clone();
        // Once it is in the inbox it is carried out, whoever waits for it.
        async move { desk.ask(asking).await.map_err(unavailable) }
    }

    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Gate) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        self.0.desk.look(|gate, _| look(gate)).await.map_err(unavailable)
    }

    async fn pods(&self) -> Result<Vec<Value>, Unavailable> {
        let looked = self.0.desk.look(|gate, journal| {
            let slots = gate.slots().iter().filter(|(key, _)| key.kind == Kind::Pod);
            let versions = slots.flat_map(|(key, slot)| {
                // What runs, and what would follow it; of one that only changes in place, what runs.
                let running = slot.applied.as_ref().map(|applied| &applied.version);
                let waiting = slot
                    .wanted
                    .as_ref()
                    .filter(|wanted| running.is_none_or(|running| running.uid != wanted.uid));
                running
                    .into_iter()
                    .chain(waiting)
                    .map(move |version| (version.uid.clone(), BodyKey::new(key, version)))
            });
            versions
                .map(|(uid, body)| Ok((uid, journal.body(&body)?)))
                .collect::<Result<Vec<_>, redb::Error>>()
        });
        let bodies = looked.await.map_err(unavailable)?.map_err(|error| Unavailable(error.to_string()))?;
        let statuses = self.0.statuses.all();
        let pods = bodies.into_iter().filter_map(|(uid, body)| {
            let mut pod: Value = serde_json::from_slice(&body?).ok()?;
            if let Some(status) = statuses.get(&uid) {
                pod["status"] = serde_json::from_str(status).ok()?;
            }
            Some(pod)
        });
        let mut pods: Vec<Value> = pods.collect();
        pods.extend(self.static_pods_as_pods().await?);
        Ok(pods)
    }

    async fn static_pods(&self) -> Result<Vec<StaticPodState>, Box<Failure>> {
        let board = Arc::clone(&self.0.manifests);
        // What is known is at least as new as the gate that is looked at.
        let looked = self.0.desk.look(move |gate, _| show::states(gate, &board.known())).await;
        looked.map_err(|error| Box::new(Failure::new(503, reason::UNAVAILABLE, error.to_string())))
    }

    async fn static_pod_history(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<StaticPodHistory, Box<Failure>> {
        manifests::history(&self.0.manifests, namespace, name).await
    }

    async fn wish(&self, wish: StaticPodWish) -> Result<(), Box<Failure>> {
        manifests::wish(&self.0.manifests, wish).await
    }

    fn uplink(&self) -> Uplink {
        let state = self.0.link.now();
        Uplink { connected: state.connected, since: state.since.map(Time), message: state.message }
    }

    fn complete(&self, status: &mut NodeGateStatus) {
        let obeyed = self.0.obeyed.borrow().clone();
        (status.observed_generation, status.orders) = (obeyed.generation, obeyed.answers);
    }

    fn modules(&self) -> Vec<ModuleStatus> {
        self.0.overseer.modules()
    }

    async fn restart(&self, module: &str) -> Result<(), RestartError> {
        let Some(handle) = self.0.overseer.handle() else {
            return Err(Unavailable("there is no supervisor".into()).into());
        };
        handle.restart(module).await.map_err(|error| match error {
            safepoint_supervisor::RestartError::Unknown { .. } => RestartError::NoSuchModule,
            error => Unavailable(error.to_string()).into(),
        })
    }

    async fn log(&self, after: u64, limit: usize) -> Result<LogPage, Unavailable> {
        let looked =
            self.0.desk.look(move |_, journal| journal.log(after, limit)).await.map_err(unavailable)?;
        let page = looked.map_err(|error| Unavailable(error.to_string()))?;
        Ok(LogPage {
            items: page.lines.into_iter().map(line).collect(),
            last: page.last,
            intact: page.intact,
        })
    }

    fn notices(&self) -> broadcast::Receiver<Notice> {
        self.0.notices.subscribe()
    }

    fn metrics(&self) -> String {
        let health = self.0.overseer.health();
        self.0.facts.metrics(self.0.clock.now().wall, &self.0.link.now(), health.as_ref())
    }

    fn health(&self) -> Health {
        let Some(health) = self.0.overseer.health() else { return Health::default() };
        let modules = self.0.overseer.modules().into_iter().zip(health.modules.values());
        let modules = modules.map(|(status, module)| ModuleHealth {
            name: status.name,
            ready: module.state.is_serving(),
            message: status.message,
        });
        Health { live: health.live, ready: health.ready, modules: modules.collect() }
    }
}

fn unavailable(error: keeper::Unavailable) -> Unavailable {
    Unavailable(error.to_string())
}

pub(crate) fn line(line: Line) -> LogLine {
    LogLine {
        number: line.number,
        at: Time(Moment::from_millisecond(line.line.at.at.0).unwrap_or_default()),
        by: line.line.by.map(|by| by.name.to_string()),
        what: line.line.what.to_string(),
        reason: line.line.why.map(|why| why.to_string()),
        hash: line.hash,
    }
}
