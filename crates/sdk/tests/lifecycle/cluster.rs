//! A cluster in this process: the embedded API, a node, the lifecycle, and whatever a test runs beside them.

use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::watcher::Config;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use safepoint_apiserver::{Api as EmbeddedApi, Options, User};
use safepoint_hub::Features;
use serde_json::{Value, json};
use tokio::task::{AbortHandle, JoinSet};
use tokio_util::sync::CancellationToken;

use crate::{hub, kubelet, middle};

/// Longer than anything takes on a busy machine; nothing is measured by it.
const PATIENCE: Duration = Duration::from_secs(60);
/// What says that a pod is in service.
pub(crate) const IN_SERVICE: &str = "podopslifecycle.kusionstack.io/service-available";

pub(crate) struct Cluster {
    pub(crate) client: Client,
    pub(crate) pods: Api<Pod>,
    /// The port of the pods.
    pub(crate) port: u16,
    tasks: JoinSet<()>,
    _data: tempfile::TempDir,
}

/// Who the lifecycle is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Middle {
    /// The hub, with these features.
    Hub(Features),
    /// A controller alone, as if no request ever met a webhook.
    NoWebhook,
}

impl Cluster {
    /// A cluster with a hub.
    pub(crate) async fn new() -> Self {
        Self::with(Middle::Hub(Features::default())).await
    }

    pub(crate) async fn with(middle: Middle) -> Self {
        let data = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
        let api = EmbeddedApi::open(Options::new(data.path())).await.unwrap();
        let client = Client::new(api.router(User::admin()), "default");
        let mut tasks = JoinSet::new();
        let port = free_port();
        tasks.spawn(async move { api.run_controllers(CancellationToken::new()).await });
        tasks.spawn(kubelet::run(client.clone(), port));
        match middle {
            Middle::NoWebhook => drop(tasks.spawn(middle::run(client.clone()))),
            Middle::Hub(features) => {
                tasks.spawn(hub::run(client.clone(), features));
                hub::registered(client.clone()).await;
            }
        }
        Self { pods: Api::default_namespaced(client.clone()), client, port, tasks, _data: data }
    }

    /// Runs something until the test ends, or until it is aborted.
    pub(crate) fn run(&mut self, work: impl Future<Output = ()> + Send + 'static) -> AbortHandle {
        self.tasks.spawn(work)
    }

    /// Ends what was run, and waits until nothing of it goes on.
    pub(crate) async fn end(&mut self, work: &AbortHandle) {
        work.abort();
        until("the task has ended", async || work.is_finished().then_some(())).await;
    }

    /// Makes a pod that takes part, with these labels and annotations beside.
    pub(crate) async fn pod(&self, name: &str, metadata: Value) -> Pod {
        self.pods.create(&PostParams::default(), &pod(name, metadata)).await.unwrap()
    }

    /// Keeps so many pods `web-*` there, as a workload does.
    pub(crate) fn workload(&mut self, count: usize, annotations: Value) {
        let pods = self.pods.clone();
        self.run(async move {
            let mut events =
                pin!(watcher(pods.clone(), Config::default().labels("app=web")).default_backoff());
            let mut made = 0;
            while events.next().await.is_some() {
                let all = pods.list(&ListParams::default().labels("app=web")).await.unwrap();
                let alive = all.items.iter().filter(|pod| pod.metadata.deletion_timestamp.is_none()).count();
                for _ in alive..count {
                    made += 1;
                    let new = pod(&format!("web-{made}"), json!({"annotations": annotations}));
                    pods.create(&PostParams::default(), &new).await.unwrap();
                }
            }
        });
    }

    pub(crate) async fn get(&self, name: &str) -> Pod {
        self.pods.get(name).await.unwrap()
    }

    /// All pods with the label `app=web`.
    pub(crate) async fn web(&self) -> Vec<Pod> {
        self.pods.list(&ListParams::default().labels("app=web")).await.unwrap().items
    }

    /// Waits until so many pods of the workload are in service, and there are no others.
    pub(crate) async fn in_service(&self, count: usize) {
        until(&format!("{count} pods are in service"), async || {
            let web = self.web().await;
            let all = web.iter().all(|pod| pod.labels().contains_key(IN_SERVICE));
            (all && web.len() == count).then_some(())
        })
        .await;
    }

    /// Changes the metadata of a pod.
    pub(crate) async fn edit(&self, name: &str, metadata: Value) -> Pod {
        let patch = Patch::Merge(json!({ "metadata": metadata }));
        self.pods.patch(name, &PatchParams::default(), &patch).await.unwrap()
    }

    pub(crate) async fn delete(&self, name: &str) {
        self.pods.delete(name, &DeleteParams::default()).await.unwrap();
    }

    /// Waits until a pod is as it should be.
    pub(crate) async fn until(&self, name: &str, what: &str, is: impl Fn(&Pod) -> bool) -> Pod {
        let mut last = None;
        let found = tokio::time::timeout(PATIENCE, async {
            loop {
                let pod = self.pods.get_opt(name).await.unwrap();
                if let Some(pod) = pod.clone().filter(|pod| is(pod)) {
                    return pod;
                }
                last = pod;
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        match found {
            Ok(pod) => pod,
            Err(_) => panic!("{name} never was so: {what}\n{last:#?}"),
        }
    }

    /// Waits until a pod is gone.
    pub(crate) async fn gone(&self, name: &str) {
        until(&format!("{name} is gone"), async || {
            self.pods.get_opt(name).await.unwrap().is_none().then_some(())
        })
        .await;
    }
}

fn pod(name: &str, metadata: Value) -> Pod {
    let mut pod = json!({
        "metadata": {"name": name, "labels": {"app": "web", "kusionstack.io/control": "true"}},
        "spec": {"nodeName": "rover-7", "readinessGates": [{"conditionType": "pod.kusionstack.io/service-ready"}],
            "containers": [{"name": "main", "image": "web:v1"}]},
    });
    for (field, value) in metadata.as_object().unwrap() {
        match pod["metadata"].get_mut(field).and_then(Value::as_object_mut) {
            Some(there) => there.extend(value.as_object().unwrap().clone()),
            None => pod["metadata"][field] = value.clone(),
        }
    }
    serde_json::from_value(pod).unwrap()
}

/// A port that nobody uses now.
pub(crate) fn free_port() -> u16 {
    std::net::TcpListener::bind(("127.0.0.1", 0)).unwrap().local_addr().unwrap().port()
}

/// Looks again and again until there is something.
pub(crate) async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let found = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    match tokio::time::timeout(PATIENCE, found).await {
        Ok(found) => found,
        Err(_) => panic!("it never came: {what}"),
    }
}
