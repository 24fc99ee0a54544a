//! A node for tests: a real gate in memory, and the words in which the tests speak to it.

mod static_pods;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};

use axum::Router;
use axum::body::Body;
use axum::http::{HeaderMap, Method, Request, StatusCode};
use http_body_util::BodyExt;
use safepoint_api::local::{
    Failure, LogLine, LogPage, Notice, NoticeKind, StaticPodHistory, StaticPodState, Uplink,
};
use safepoint_api::node_gate::{ModuleState, ModuleStatus, NodeGateStatus};
use safepoint_core as core;
use safepoint_core::{
    Answer, Ask, Config, Effect, Event, Gate, Holder, Key, Kind, Labels, Now, Order, Origin, Override,
    Request as Asking, RequestId, Sighting, Span, Timestamp, Version, Workload, WorkloadKind,
};
use serde_json::{Value, json};
use tokio::sync::{broadcast, oneshot, watch};
use tower::ServiceExt;

use crate::caller::{Caller, Credentials, Peer};
use crate::node::{Health, ModuleHealth, Node, RestartError, StaticPodWish, Unavailable};
use crate::rights::Rights;
use crate::view;

/// 2026-11-15T08:00:00Z.
pub(crate) const MORNING: Timestamp = Timestamp(1_794_729_600_000);

/// The name of the node.
pub(crate) const ROVER: &str = "rover-7";

/// One version of an object, as the cluster shows it.
#[derive(Clone)]
pub(crate) struct Object {
    pub(crate) key: Key,
    pub(crate) version: Version,
}

/// A node whose gate is real and whose machine is not.
#[derive(Clone, Debug)]
pub(crate) struct TestNode(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    state: Mutex<State>,
    notices: broadcast::Sender<Notice>,
    connected: AtomicBool,
    broken: AtomicBool,
    ready: AtomicBool,
    /// Whoever asks the gate waits.
    busy: watch::Sender<bool>,
}

#[derive(Debug)]
struct State {
    gate: Gate,
    now: Now,
    requests: u64,
    waiting: BTreeMap<RequestId, oneshot::Sender<Answer>>,
    callers: Vec<String>,
    restarted: Vec<String>,
    /// A mirror pod that the cluster says needs an upgrade.
    marked: Option<String>,
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) code: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

// === words ===

/// A bare pod of revision `a`, whose uid is its name.
pub(crate) fn pod(namespace: &str, name: &str) -> Object {
    of(Key::pod(namespace, name), WorkloadKind::Pod, name)
}

/// A pod of a controller.
pub(crate) fn pod_of(kind: WorkloadKind, controller: &str, namespace: &str, name: &str) -> Object {
    of(Key::pod(namespace, name), kind, controller)
}

pub(crate) fn static_pod(namespace: &str, name: &str) -> Object {
    of(Key { kind: Kind::StaticPod, ..Key::pod(namespace, name) }, WorkloadKind::StaticPod, name)
}

pub(crate) fn config_map(namespace: &str, name: &str) -> Object {
    let mut object = of(Key::config_map(namespace, name), WorkloadKind::Pod, name);
    object.version.workload = None;
    object
}

fn of(key: Key, kind: WorkloadKind, name: &str) -> Object {
    let workload = Workload { kind, namespace: key.namespace.clone(), name: name.into(), ordinal: None };
    let version = Version {
        uid: (&*key.name).into(),
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
    Object { key, version }
}

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

    pub(crate) fn deleting(mut self) -> Self {
        self.version.deleting = true;
        self
    }

    pub(crate) fn uses(mut self, keys: &[&Object]) -> Self {
        self.version.uses = keys.iter().map(|object| object.key.clone()).collect();
        self
    }
}

pub(crate) fn root() -> Peer {
    Peer::Known(Credentials { uid: 0, groups: vec![0], pid: Some(4242), user: Some("root".into()) })
}

/// Somebody who may read and change nothing.
pub(crate) fn guest() -> Peer {
    Peer::Known(Credentials { uid: 54321, groups: vec![54321], pid: Some(7), user: None })
}

pub(crate) fn rights() -> Rights {
    Rights::new(None).unwrap()
}

// === impl TestNode ===

impl TestNode {
    pub(crate) fn new() -> Self {
        Self::with(Config::default())
    }

    pub(crate) fn with(config: Config) -> Self {
        let now = Now { monotonic: Span::from_secs(5), boot: 1, wall: MORNING, trusted: true };
        Self::around(Gate::new(config, now), now)
    }

    pub(crate) fn sealed() -> Self {
        let now = Now { monotonic: Span::from_secs(5), boot: 1, wall: MORNING, trusted: true };
        Self::around(Gate::sealed(Config::default(), "checksum mismatch", now).0, now)
    }

    fn around(gate: Gate, now: Now) -> Self {
        let state = State {
            gate,
            now,
            requests: 0,
            waiting: BTreeMap::new(),
            callers: Vec::new(),
            restarted: Vec::new(),
            marked: None,
        };
        Self(Arc::new(Inner {
            state: Mutex::new(state),
            notices: broadcast::channel(4).0,
            connected: AtomicBool::new(true),
            broken: AtomicBool::new(false),
            ready: AtomicBool::new(true),
            busy: watch::Sender::new(false),
        }))
    }

    /// A node on which these have been running since before the gate, and are ready.
    pub(crate) fn running<const N: usize>(objects: [&Object; N]) -> Self {
        let node = Self::new();
        node.step(Event::Adopted(objects.map(|object| (object.key.clone(), object.version.clone())).into()));
        for object in objects {
            node.ready(object);
        }
        node
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }

    pub(crate) fn step(&self, event: Event) -> Vec<Effect> {
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
        outcome.effects
    }

    pub(crate) fn sees<const N: usize>(&self, objects: [&Object; N]) {
        let present = |object: &Object| Sighting::Present(object.key.clone(), object.version.clone());
        self.step(Event::Observed { sightings: objects.map(present).into(), complete: BTreeSet::new() });
    }

    pub(crate) fn ready(&self, object: &Object) {
        self.step(Event::Reported {
            key: object.key.clone(),
            uid: object.version.uid.clone(),
            digest: object.version.digest.clone(),
            health: core::Health::Ready,
        });
    }

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
        self.step(Event::Asked(Asking { id: RequestId(0), caller, order, overriding: None, ask }));
    }

    pub(crate) fn gate<T>(&self, look: impl FnOnce(&Gate) -> T) -> T {
        look(&self.state().gate)
    }

    /// Who asked for something, as the log would name them.
    pub(crate) fn callers(&self) -> Vec<String> {
        self.state().callers.clone()
    }

    pub(crate) fn restarted(&self) -> Vec<String> {
        self.state().restarted.clone()
    }

    pub(crate) fn waiting(&self) -> usize {
        self.state().waiting.len()
    }

    /// The cluster says that a static pod needs an upgrade.
    pub(crate) fn marks(&self, mirror: &str) {
        self.state().marked = Some(mirror.to_owned());
    }

    pub(crate) fn loses_the_cluster(&self) {
        self.0.connected.store(false, Ordering::Relaxed);
    }

    /// From now on the gate cannot be asked.
    pub(crate) fn breaks(&self) {
        self.0.broken.store(true, Ordering::Relaxed);
        self.0.ready.store(false, Ordering::Relaxed);
    }

    /// Whether the gate is busy: nobody who asks it gets an answer as long as it is.
    pub(crate) fn is_busy(&self, busy: bool) {
        self.0.busy.send_replace(busy);
    }

    pub(crate) fn tells(&self, subject: &str) {
        let kind = NoticeKind::Held;
        let (subject, message) = (subject.to_owned(), format!("{subject} waits"));
        let _ = self.0.notices.send(Notice { at: view::time(MORNING), kind, subject, message });
    }

    pub(crate) fn listeners(&self) -> usize {
        self.0.notices.receiver_count()
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
        let _ = self.0.busy.subscribe().wait_for(|busy| !busy).await;
        let (sender, receiver) = oneshot::channel();
        let id = {
            let mut state = self.state();
            state.requests += 1;
            state.callers.push(caller.audit());
            let id = RequestId(state.requests);
            state.waiting.insert(id, sender);
            id
        };
        self.step(Event::Asked(Asking { id, caller: caller.holder, order: None, overriding, ask }));
        receiver.await.map_err(|_| Unavailable("it has ended".to_owned()))
    }

    async fn read<T: Send + 'static>(
        &self,
        look: impl FnOnce(&Gate) -> T + Send + 'static,
    ) -> Result<T, Unavailable> {
        self.check()?;
        Ok(self.gate(look))
    }

    async fn pods(&self) -> Result<Vec<Value>, Unavailable> {
        self.check()?;
        let pods = |gate: &Gate| {
            let keys = gate.slots().keys().filter(|key| key.kind.runs());
            keys.map(|key| json!({ "metadata": { "namespace": &*key.namespace, "name": &*key.name } }))
                .collect()
        };
        let mut pods: Vec<Value> = self.gate(pods);
        pods.extend(self.state().marked.as_ref().map(|name| {
            let conditions = json!([{ "type": "PodNeedUpgrade", "status": "True" }]);
            json!({ "metadata": { "namespace": "kube-system", "name": name }, "status": { "conditions": conditions } })
        }));
        Ok(pods)
    }

    async fn static_pods(&self) -> Result<Vec<StaticPodState>, Box<Failure>> {
        Ok(self.gate(static_pods::states))
    }

    async fn static_pod_history(&self, _: &str, _: &str) -> Result<StaticPodHistory, Box<Failure>> {
        Ok(static_pods::history())
    }

    async fn wish(&self, wish: StaticPodWish) -> Result<(), Box<Failure>> {
        static_pods::wish(self, wish)
    }

    fn uplink(&self) -> Uplink {
        Uplink { connected: self.0.connected.load(Ordering::Relaxed), since: None, message: None }
    }

    fn complete(&self, status: &mut NodeGateStatus) {
        status.observed_generation = Some(3);
    }

    fn modules(&self) -> Vec<ModuleStatus> {
        vec![ModuleStatus {
            name: "uplink".to_owned(),
            state: ModuleState::Ready,
            message: None,
            restarts: 0,
            last_failure: None,
            next_retry: None,
        }]
    }

    async fn restart(&self, module: &str) -> Result<(), RestartError> {
        self.check()?;
        if module != "uplink" {
            return Err(RestartError::NoSuchModule);
        }
        self.state().restarted.push(module.to_owned());
        Ok(())
    }

    async fn log(&self, after: u64, limit: usize) -> Result<LogPage, Unavailable> {
        self.check()?;
        let line = |number| LogLine {
            number,
            at: view::time(MORNING),
            by: None,
            what: format!("line {number}"),
            reason: None,
            hash: "00".to_owned(),
        };
        Ok(LogPage { items: (after + 1..=3).take(limit).map(line).collect(), last: 3, intact: true })
    }

    fn notices(&self) -> broadcast::Receiver<Notice> {
        self.0.notices.subscribe()
    }

    fn metrics(&self) -> String {
        "safepoint_held_changes 0\n".to_owned()
    }

    fn health(&self) -> Health {
        let ready = self.0.ready.load(Ordering::Relaxed);
        let message = (!ready).then(|| "waits for the cluster".to_owned());
        Health {
            live: true,
            ready,
            modules: vec![ModuleHealth { name: "uplink".to_owned(), ready, message }],
        }
    }
}

// === calls ===

/// Calls a router in process.
pub(crate) async fn call(router: &Router, peer: Peer, method: Method, path: &str, body: &str) -> Reply {
    let request = Request::builder().method(method).uri(path).body(Body::from(body.to_owned())).unwrap();
    send(router, peer, request).await
}

pub(crate) async fn send(router: &Router, peer: Peer, mut request: Request<Body>) -> Reply {
    request.extensions_mut().insert(peer);
    let response = router.clone().oneshot(request).await.unwrap();
    let (parts, body) = response.into_parts();
    let bytes = body.collect().await.unwrap().to_bytes();
    Reply { code: parts.status, headers: parts.headers, text: String::from_utf8(bytes.to_vec()).unwrap() }
}

impl Reply {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }

    /// The body, or nothing where it is no JSON.
    pub(crate) fn json_or_null(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_default()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().unwrap())
    }
}
