//! A hub, the embedded API and a simulated fleet in one process, and a witness who counts what is down at every event.

use std::collections::{BTreeMap, HashMap};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use safepoint_api::StaticPod;
use safepoint_api::static_pod::StaticPodStatus;
use safepoint_apiserver::{Api as EmbeddedApi, Options as ApiOptions, User};
use safepoint_hub::simulated::{Fleet, Options as FleetOptions, Pace};
use safepoint_hub::{Hub, Options};
use safepoint_supervisor::{Config, Supervisor};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

/// Longer than anything takes on a busy machine; nothing is measured by it.
const PATIENCE: Duration = Duration::from_secs(300);
/// Where the static pod lives.
pub(crate) const NAMESPACE: &str = "edge";
/// The static pod and its object.
pub(crate) const NAME: &str = "proxy";

/// Everything.
pub(crate) struct Scene {
    pub(crate) admin: Client,
    pub(crate) fleet: Fleet,
    pub(crate) witness: Witness,
    /// What the hub has written, by what it did to which kind.
    hub_writes: Writes,
    /// What the process took before there was a hub, in megabytes.
    #[allow(dead_code, reason = "the benchmark tells it")]
    pub(crate) memory_before: f64,
    api: EmbeddedApi,
    hub: Started,
    _nodes: JoinSet<()>,
}

/// A hub that runs.
struct Started {
    /// Where it tells its numbers.
    health: SocketAddr,
    tasks: JoinSet<()>,
}

/// How often what was written.
type Writes = Arc<Mutex<BTreeMap<String, usize>>>;

/// Sees every event of the static pods, and counts at each how many are down.
#[derive(Clone)]
pub(crate) struct Witness(Arc<Mutex<Seen>>);

#[derive(Default)]
struct Seen {
    /// Of each mirror pod, whether it is ready; those that are gone are not.
    ready: HashMap<String, bool>,
    unready: usize,
    /// The most that were down at any event since the last time somebody asked.
    most: usize,
    events: usize,
}

/// A manifest of before there were revisions.
pub(crate) fn manifest() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": NAME, "namespace": NAMESPACE, "annotations": {}},
        "spec": {"containers": [{"name": "main", "image": "proxy:1"}]}})
}

/// A template with this image.
pub(crate) fn template(image: &str) -> Value {
    json!({"metadata": {"labels": {"app": NAME}}, "spec": {"containers": [{"name": "main", "image": image}]}})
}

impl Scene {
    /// A fleet of so many nodes that all run the static pod, and a hub that leads.
    pub(crate) async fn new(data: &Path, nodes: usize, pace: Pace) -> Self {
        Self::with(data, FleetOptions { static_pods: vec![manifest()], pace, ..FleetOptions::new(nodes) })
            .await
    }

    pub(crate) async fn with(data: &Path, options: FleetOptions) -> Self {
        let api = EmbeddedApi::open(ApiOptions::new(data)).await.unwrap();
        let admin = Client::new(api.router(User::admin()), "default");
        let mut nodes = JoinSet::new();
        let running = api.clone();
        nodes.spawn(async move { running.run_controllers(CancellationToken::new()).await });
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}});
        let namespaces: Api<k8s_openapi::api::core::v1::Namespace> = Api::all(admin.clone());
        namespaces.create(&PostParams::default(), &serde_json::from_value(namespace).unwrap()).await.unwrap();
        let fleet = Fleet::new(admin.clone(), options);
        let supervisor = Supervisor::builder(Config::default()).module(fleet.clone()).build().unwrap();
        let mut up = supervisor.handle().health();
        nodes.spawn(async move { drop(supervisor.run(CancellationToken::new()).await) });
        let populated = up.wait_for(|health| health.modules[Fleet::NAME].state.is_serving());
        tokio::time::timeout(PATIENCE, populated).await.expect("the fleet is there").unwrap();
        let witness = Witness(Arc::default());
        nodes.spawn(witness.clone().watch(admin.clone()));
        let hub_writes = Arc::default();
        let memory_before = memory("VmRSS:");
        let hub = start(&api, &hub_writes).await;
        Self { admin, fleet, witness, hub_writes, memory_before, api, hub, _nodes: nodes }
    }

    /// Kills the hub, and starts another one.
    pub(crate) async fn another_hub(&mut self) {
        self.hub.tasks.shutdown().await;
        self.hub = start(&self.api, &self.hub_writes).await;
    }

    pub(crate) fn objects(&self) -> Api<StaticPod> {
        Api::namespaced(self.admin.clone(), NAMESPACE)
    }

    /// Makes the StaticPod.
    pub(crate) async fn make(&self, template: Value, strategy: Value) {
        let object = json!({"apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod", "metadata": {"name": NAME},
            "spec": {"staticPodName": NAME, "staticPodManifest": NAME, "template": template, "upgradeStrategy": strategy}});
        self.objects()
            .create(&PostParams::default(), &serde_json::from_value(object).unwrap())
            .await
            .unwrap();
    }

    /// Changes its spec.
    pub(crate) async fn change(&self, spec: Value) {
        let change = Patch::Merge(json!({"spec": spec}));
        self.objects().patch(NAME, &PatchParams::default(), &change).await.unwrap();
    }

    pub(crate) async fn delete(&self) {
        self.objects().delete(NAME, &DeleteParams::default()).await.unwrap();
    }

    /// The status for the present generation, as soon as it is like this.
    pub(crate) async fn status(&self, what: &str, is: impl Fn(&StaticPodStatus) -> bool) -> StaticPodStatus {
        let look = async {
            loop {
                let object = self.objects().get(NAME).await.unwrap();
                let generation = object.metadata.generation;
                let status = object.status.unwrap_or_default();
                if status.observed_generation == generation && is(&status) {
                    return status;
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        };
        match tokio::time::timeout(PATIENCE, look).await {
            Ok(status) => status,
            Err(_) => {
                let status = self.objects().get(NAME).await.unwrap().status;
                panic!("it never came: {what}: {status:#?} {:?}", self.fleet.counts())
            }
        }
    }

    /// All task pods.
    pub(crate) async fn tasks(&self) -> Vec<Pod> {
        let pods: Api<Pod> = Api::namespaced(self.admin.clone(), NAMESPACE);
        let params = kube::api::ListParams::default().labels("safepoint.dev/static-pod");
        pods.list(&params).await.unwrap().items
    }

    /// The mirror pod of a node.
    pub(crate) async fn mirror(&self, node: &str) -> Option<Pod> {
        let pods: Api<Pod> = Api::namespaced(self.admin.clone(), NAMESPACE);
        pods.get_opt(&format!("{NAME}-{node}")).await.unwrap()
    }

    /// What the hub has written, but for the gates of nodes, which it makes whether there are static pods or not.
    pub(crate) fn writes(&self) -> BTreeMap<String, usize> {
        let writes = self.hub_writes.lock().unwrap();
        writes
            .iter()
            .filter(|(what, _)| *what != "POST nodegates")
            .map(|(what, count)| (what.clone(), *count))
            .collect()
    }

    /// What the hub tells about itself.
    pub(crate) async fn metrics(&self) -> String {
        let mut stream = TcpStream::connect(self.hub.health).await.unwrap();
        stream.write_all(b"GET /metrics HTTP/1.1\r\nHost: hub\r\nConnection: close\r\n\r\n").await.unwrap();
        let mut page = String::new();
        stream.read_to_string(&mut page).await.unwrap();
        page
    }

    /// How many of them there were.
    pub(crate) fn written(&self) -> usize {
        self.writes().values().sum()
    }
}

/// What a request does to which kind, such as `PATCH staticpods/status`.
fn what(method: &http::Method, path: &str) -> String {
    let mut parts = path.rsplit('/');
    let last = parts.next().unwrap_or_default();
    let kind = match (method, last) {
        (&http::Method::POST, _) => last.to_owned(),
        (_, "status") => format!("{}/status", parts.nth(1).unwrap_or_default()),
        _ => parts.next().unwrap_or_default().to_owned(),
    };
    format!("{method} {kind}")
}

/// Starts a hub whose writes are counted.
async fn start(api: &EmbeddedApi, writes: &Writes) -> Started {
    let (router, writes) = (api.router(User::admin()), Arc::clone(writes));
    let counted = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        if !matches!(*request.method(), http::Method::GET | http::Method::HEAD) {
            *writes.lock().unwrap().entry(what(request.method(), request.uri().path())).or_default() += 1;
        }
        router.clone().oneshot(request.map(axum::body::Body::new))
    });
    let client = Client::new(counted, "default");
    let health = Some(SocketAddr::from(([127, 0, 0, 1], 0)));
    let hub = Hub::bind(Options { health, ..Options::new(client) }).unwrap();
    let health = hub.health_address().unwrap();
    let (builder, registered) = hub.register(Supervisor::builder(Config::default())).unwrap();
    let supervisor = builder.build().unwrap();
    let handle = supervisor.handle();
    registered.supervised_by(handle.clone());
    let mut tasks = JoinSet::new();
    tasks.spawn(async move { drop(supervisor.run(CancellationToken::new()).await) });
    for module in ["static-pods", "registration"] {
        let mut health = handle.health();
        let works = health.wait_for(|health| health.modules[module].state.is_serving());
        tokio::time::timeout(PATIENCE, works).await.expect("the hub works").unwrap();
    }
    Started { health, tasks }
}

impl Witness {
    async fn watch(self, client: Client) {
        let pods: Api<Pod> = Api::namespaced(client, NAMESPACE);
        let mut events = std::pin::pin!(watcher(pods, watcher::Config::default()).default_backoff());
        while let Some(event) = events.next().await {
            match event {
                Ok(Event::Apply(pod) | Event::InitApply(pod)) => self.see(&pod, true),
                Ok(Event::Delete(pod)) => self.see(&pod, false),
                Ok(Event::Init | Event::InitDone) | Err(_) => {}
            }
        }
    }

    fn see(&self, pod: &Pod, is_there: bool) {
        if !pod.annotations().contains_key("kubernetes.io/config.mirror") {
            return;
        }
        let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
        let is_ready =
            conditions.into_iter().any(|condition| condition.type_ == "Ready" && condition.status == "True");
        let mut seen = self.0.lock().unwrap();
        let now = is_there && is_ready;
        match seen.ready.insert(pod.name_any(), now) {
            Some(true) if !now => seen.unready += 1,
            Some(false) if now => seen.unready -= 1,
            // What is new is not down by anybody's doing, and neither is what was never ready.
            None if !now => drop(seen.ready.remove(&pod.name_any())),
            _ => {}
        }
        seen.events += 1;
        seen.most = seen.most.max(seen.unready);
    }

    /// The most that were down at any event, and how many events there were.
    pub(crate) fn most(&self) -> (usize, usize) {
        let seen = self.0.lock().unwrap();
        (seen.most, seen.events)
    }
}

/// A quick fleet.
pub(crate) const QUICK: Pace = Pace {
    begin: Duration::from_millis(5),
    ready: Duration::from_millis(20),
    verify: Duration::from_millis(5),
};

/// A line of what the system knows about the memory of this process, in megabytes.
pub(crate) fn memory(line: &str) -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let found = status.lines().find_map(|found| found.strip_prefix(line));
    let kilobytes: f64 =
        found.and_then(|rest| rest.split_whitespace().next()?.parse().ok()).unwrap_or_default();
    kilobytes / 1024.0
}
