//! An agent for tests: the real node API over a real gate, on a unix socket in a folder of its own. Only the machine
//! behind the gate is made up. The tests of the command line use it too.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};

use safepoint_api::local::{LogLine, LogPage, Notice, NoticeKind, Uplink};
use safepoint_api::node_gate::{ModuleState, ModuleStatus};
use safepoint_core::{
    Answer, Ask, Config, Effect, Event, Gate, Health as PodHealth, Holder, Key, Labels, Now, Order, Origin,
    Override, Request, RequestId, Sighting, Span, Timestamp, Version, Workload, WorkloadKind,
};
use safepoint_nodeapi::serve::Server;
use safepoint_nodeapi::{Caller, Health, ModuleHealth, Node, RestartError, Unavailable, view};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::sync::{broadcast, oneshot};
use tokio_util::sync::CancellationToken;

/// 2026-11-15T08:00:00Z.
pub(crate) const MORNING: Timestamp = Timestamp(1_794_729_600_000);
/// The name of the node.
pub(crate) const ROVER: &str = "rover-7";

/// A node whose gate is real and whose machine is not.
#[derive(Clone)]
pub(crate) struct TestNode(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    notices: broadcast::Sender<Notice>,
    broken: AtomicBool,
    renewals: tokio::sync::watch::Sender<u32>,
}

struct State {
    gate: Gate,
    now: Now,
    requests: u64,
    waiting: BTreeMap<RequestId, oneshot::Sender<Answer>>,
    log: Vec<LogLine>,
}

/// One version of an object, as the cluster shows it.
#[derive(Clone)]
pub(crate) struct Object {
    pub(crate) key: Key,
    pub(crate) version: Version,
}

/// A running agent. It ends when it is dropped.
pub(crate) struct Agent {
    pub(crate) node: TestNode,
    pub(crate) folder: TempDir,
    stop: CancellationToken,
    /// Its own threads: the tests may block theirs.
    runtime: Option<Runtime>,
}

/// A pod of a Deployment, of revision `a`.
pub(crate) fn pod(workload: &str, namespace: &str, name: &str) -> Object {
    let workload = Workload {
        kind: WorkloadKind::Deployment,
        namespace: namespace.into(),
        name: workload.into(),
        ordinal: None,
    };
    let version = Version {
        uid: name.into(),
        workload: Some(workload),
        revision: "a".into(),
        digest: "a".into(),
        labels: Arc::new(Labels::new()),
        hold: false,
        first_install_allowed: false,
        deleting: false,
        uses: Arc::from([]),
        needs: Arc::default(),
        born: MORNING,
    };
    Object { key: Key::pod(namespace, name), version }
}

// === impl Object ===

impl Object {
    pub(crate) fn annotated(mut self) -> Self {
        self.version.hold = true;
        self
    }

    pub(crate) fn revision(mut self, revision: &str) -> Self {
        self.version.revision = revision.into();
        self.version.digest = revision.into();
        self
    }
}

// === impl Agent ===

impl Agent {
    /// Serves the node API of this node.
    pub(crate) fn serving(node: TestNode) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut agent = Self { node, folder, stop: CancellationToken::new(), runtime: None };
        agent.starts();
        agent
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.folder.path().join("agent.sock")
    }

    /// Serves again on the same socket, after it had ended.
    pub(crate) fn starts(&mut self) {
        self.stop = CancellationToken::new();
        let runtime =
            tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let socket = self.socket();
        let (node, stop, (tell, told)) = (self.node.clone(), self.stop.clone(), mpsc::channel());
        // The calling thread may belong to a runtime of its own, so it waits for a word and not for a future.
        drop(runtime.handle().spawn(async move {
            let server = Server::bind(node, &socket, None).await.unwrap();
            tell.send(()).unwrap();
            server.run(stop).await;
        }));
        told.recv().expect("the socket can be bound");
        self.runtime = Some(runtime);
    }

    /// Ends the server; the node stays as it is.
    pub(crate) fn ends(&mut self) {
        self.stop.cancel();
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
        let _ = std::fs::remove_file(self.socket());
    }
}

impl Drop for Agent {
    fn drop(&mut self) {
        self.ends();
    }
}

// === impl TestNode ===

impl TestNode {
    pub(crate) fn new() -> Self {
        let now = Now { monotonic: Span::from_secs(5), boot: 1, wall: MORNING, trusted: true };
        let state = State {
            gate: Gate::new(Config::default(), now),
            now,
            requests: 0,
            waiting: BTreeMap::new(),
            log: Vec::new(),
        };
        Self(Arc::new(Inner {
            state: Mutex::new(state),
            notices: broadcast::channel(16).0,
            broken: AtomicBool::new(false),
            renewals: tokio::sync::watch::channel(0).0,
        }))
    }

    /// A node on which these run and are ready.
    pub(crate) fn running<const N: usize>(objects: [&Object; N]) -> Self {
        let node = Self::new();
        node.step(Event::Adopted(objects.map(|object| (object.key.clone(), object.version.clone())).into()));
        for object in objects {
            node.ready(object);
        }
        node
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn step(&self, event: Event) {
        let mut state = self.state();
        let now = state.now;
        let outcome = state.gate.step(event, now);
        for effect in &outcome.effects {
            if let Effect::Answer(id, answer) = effect
                && let Some(caller) = state.waiting.remove(id)
            {
                let _ = caller.send(answer.clone());
            }
        }
    }

    pub(crate) fn sees<const N: usize>(&self, objects: [&Object; N]) {
        let present = |object: &Object| Sighting::Present(object.key.clone(), object.version.clone());
        self.step(Event::Observed { sightings: objects.map(present).into(), complete: BTreeSet::new() });
    }

    pub(crate) fn ready(&self, object: &Object) {
        self.reports(object, PodHealth::Ready);
    }

    pub(crate) fn reports(&self, object: &Object, health: PodHealth) {
        let (uid, digest) = (object.version.uid.clone(), object.version.digest.clone());
        self.step(Event::Reported { key: object.key.clone(), uid, digest, health });
    }

    /// Time passes, and nothing else happens.
    pub(crate) fn after(&self, span: Span) {
        {
            let mut state = self.state();
            state.now.monotonic.0 += span.0;
            state.now.wall.0 += i64::try_from(span.0).unwrap();
        }
        self.step(Event::Ticked);
    }

    /// The cluster asks.
    pub(crate) fn ordered(&self, ask: Ask) {
        let caller = Holder { name: "hub".into(), origin: Origin::Remote };
        let order = Some(Order { id: "order-1".into(), expires: None });
        self.step(Event::Asked(Request { id: RequestId(0), caller, order, overriding: None, ask }));
    }

    /// The cluster puts a hold of this machine out of force for ten minutes.
    pub(crate) fn overrides(&self, id: &str) {
        let caller = Holder { name: "hub".into(), origin: Origin::Remote };
        let overriding = Some(Override { reason: "recall".into(), length: Span::from_mins(10) });
        let ask = Ask::Drop { id: id.into() };
        self.step(Event::Asked(Request { id: RequestId(0), caller, order: None, overriding, ask }));
    }

    pub(crate) fn gate<T>(&self, look: impl FnOnce(&Gate) -> T) -> T {
        look(&self.state().gate)
    }

    /// The ids of the holds that stand.
    pub(crate) fn holds(&self) -> Vec<String> {
        self.gate(|gate| gate.holds().keys().map(ToString::to_string).collect())
    }

    pub(crate) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// From now on the gate cannot be asked, or can again.
    pub(crate) fn breaks(&self, broken: bool) {
        self.0.broken.store(broken, Ordering::Relaxed);
    }

    /// How often a hold was renewed, as it changes.
    pub(crate) fn renewals(&self) -> tokio::sync::watch::Receiver<u32> {
        self.0.renewals.subscribe()
    }

    pub(crate) fn listeners(&self) -> usize {
        self.0.notices.receiver_count()
    }

    pub(crate) fn tells(&self, subject: &str) {
        let (kind, message) = (NoticeKind::Held, format!("{subject} waits"));
        let notice = Notice { at: view::time(MORNING), kind, subject: subject.to_owned(), message };
        let _ = self.0.notices.send(notice);
    }

    pub(crate) fn logs(&self, by: Option<&str>, what: &str) {
        let mut state = self.state();
        let number = state.log.len() as u64 + 1;
        let by = by.map(str::to_owned);
        let (what, at) = (what.to_owned(), view::time(MORNING));
        state.log.push(LogLine { number, at, by, what, reason: None, hash: format!("{number:064x}") });
    }

    /// Takes a line out of the log, as somebody with an editor would.
    pub(crate) fn loses_line(&self, number: u64) {
        self.state().log.retain(|line| line.number != number);
    }

    fn check(&self) -> Result<(), Unavailable> {
        match self.0.broken.load(Ordering::Relaxed) {
            true => Err(Unavailable("it is being restarted".to_owned())),
            false => Ok(()),
        }
    }
}

impl Node for TestNode {
    fn name(&self) -> &str {
        ROVER
    }

    async fn ask(
        &self,
        caller: Caller,
        overriding: Option<Override>,
        ask: Ask,
    ) -> Result<Answer, Unavailable> {
        self.check()?;
        let (sender, receiver) = oneshot::channel();
        let renewal = matches!(ask, Ask::Renew { .. });
        let id = {
            let mut state = self.state();
            state.requests += 1;
            let id = RequestId(state.requests);
            state.waiting.insert(id, sender);
            id
        };
        self.step(Event::Asked(Request { id, caller: caller.holder, order: None, overriding, ask }));
        if renewal {
            self.0.renewals.send_modify(|renewals| *renewals += 1);
        }
        receiver.await.map_err(|_| Unavailable("it has ended".to_owned()))
    }

    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Gate) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        self.check()?;
        Ok(self.gate(look))
    }

    async fn pods(&self) -> Result<Vec<serde_json::Value>, Unavailable> {
        Ok(Vec::new())
    }

    fn uplink(&self) -> Uplink {
        Uplink { connected: true, since: None, message: None }
    }

    fn modules(&self) -> Vec<ModuleStatus> {
        let module = |name: &str| ModuleStatus {
            name: name.to_owned(),
            state: ModuleState::Ready,
            message: None,
            restarts: 0,
            last_failure: None,
            next_retry: None,
        };
        let failing = ModuleStatus {
            state: ModuleState::Backoff,
            message: Some("the socket is in use".to_owned()),
            restarts: 3,
            ..module("metaserver")
        };
        vec![module("gate"), failing, module("uplink")]
    }

    async fn restart(&self, module: &str) -> Result<(), RestartError> {
        self.check()?;
        match self.modules().iter().any(|known| known.name == module) {
            true => Ok(()),
            false => Err(RestartError::NoSuchModule),
        }
    }

    async fn log(&self, after: u64, limit: usize) -> Result<LogPage, Unavailable> {
        self.check()?;
        let state = self.state();
        let items: Vec<LogLine> =
            state.log.iter().filter(|line| line.number > after).take(limit).cloned().collect();
        let last = state.log.last().map_or(0, |line| line.number);
        let intact = state.log.iter().zip(1..).all(|(line, number)| line.number == number);
        Ok(LogPage { items, last, intact })
    }

    fn notices(&self) -> broadcast::Receiver<Notice> {
        self.0.notices.subscribe()
    }

    fn metrics(&self) -> String {
        "safepoint_held_changes 0\n".to_owned()
    }

    fn health(&self) -> Health {
        Health {
            live: true,
            ready: true,
            modules: vec![ModuleHealth { name: "gate".to_owned(), ready: true, message: None }],
        }
    }
}
