//! A control plane with a hub beside it, shared by all tests; a namespace and a node for each.

use std::net::SocketAddr;
use std::process::Output;
use std::sync::OnceLock;

use k8s_openapi::api::apps::v1::{DaemonSet, Deployment, ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{Node, Pod, ServiceAccount};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::NamespaceResourceScope;
use kube::{Client, Config, Resource, ResourceExt};
use safepoint_api::NodeGate;
use safepoint_api::names::safepoint::END_WISHED;
use safepoint_hub::{Features, Options as HubOptions};
use safepoint_testkit::{ControlPlane, Options, fresh_name};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::runtime::Runtime;

use crate::hub::{RunningHub, options, until};

pub(crate) const HOLD: &str = "edge.kubeedge.io/hold-upgrade";
pub(crate) const CARRIED: &str = "safepoint.dev/hold-carried-from";

/// A control plane that runs.
pub(crate) struct Plane {
    pub(crate) kubernetes: ControlPlane,
    pub(crate) runtime: Runtime,
}

/// A place for one test.
pub(crate) struct World<'a> {
    pub(crate) plane: &'a Plane,
    /// Where the hub listens.
    pub(crate) hub: SocketAddr,
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) node: String,
}

impl Plane {
    pub(crate) fn start() -> Self {
        let options = Options { controllers: true, ..Options::default() };
        let kubernetes = ControlPlane::start_with(&options).unwrap();
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        Self { kubernetes, runtime }
    }

    /// A client of this user, or of the administrator.
    pub(crate) async fn client(&self, user: Option<&str>) -> Client {
        let kubeconfig = Kubeconfig::read_from(self.kubernetes.kubeconfig_path()).unwrap();
        let mut config =
            Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
        config.auth_info.impersonate = user.map(str::to_owned);
        config.auth_info.impersonate_groups = user.map(|_| vec!["system:masters".to_owned()]);
        Client::try_from(config).unwrap()
    }

    /// A place of its own on this plane.
    pub(crate) async fn world(&self, hub: SocketAddr) -> World<'_> {
        let client = self.client(None).await;
        let namespace = self.kubernetes.namespace().unwrap();
        let accounts: Api<ServiceAccount> = Api::namespaced(client.clone(), &namespace);
        until("a service account", async || accounts.get_opt("default").await.unwrap()).await;
        let node = fresh_name("rover");
        let object = json!({"metadata": {"name": node, "labels": {"test": namespace}},
            "spec": {"providerID": format!("test://{node}")}});
        let nodes: Api<Node> = Api::all(client.clone());
        nodes.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        World { plane: self, hub, client, namespace, node }
    }
}

/// Runs a test on the plane and with the hub that all tests share.
pub(crate) fn shared(test: impl AsyncFnOnce(World<'_>)) {
    static SHARED: OnceLock<(Plane, RunningHub)> = OnceLock::new();
    let (plane, hub) = SHARED.get_or_init(|| {
        let plane = Plane::start();
        let hub = plane.runtime.block_on(async {
            let features = Features { grace_delete: true };
            RunningHub::leading(HubOptions { features, ..options(&plane.client(None).await) }).await
        });
        (plane, hub)
    });
    plane.runtime.block_on(async {
        hub.until("registration").await;
        let world = plane.world(hub.address).await;
        world.asked().await;
        test(world).await;
    });
}

impl World<'_> {
    pub(crate) fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub(crate) async fn create<K>(&self, object: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned
            + serde::Serialize,
    {
        let object: K = serde_json::from_value(object).unwrap();
        self.api::<K>().create(&PostParams::default(), &object).await.unwrap()
    }

    pub(crate) async fn annotate<K>(&self, name: &str, annotations: Value) -> K
    where
        K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + DeserializeOwned,
    {
        let change = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
        self.api::<K>().patch(name, &PatchParams::default(), &change).await.unwrap()
    }

    pub(crate) async fn deployment(&self, name: &str, replicas: u32) -> Deployment {
        self.create(json!({"metadata": {"name": name}, "spec": {"replicas": replicas,
            "selector": {"matchLabels": {"app": name}}, "template": self.template(name)}}))
            .await
    }

    pub(crate) async fn stateful_set(&self, name: &str, replicas: u32, strategy: &str) -> StatefulSet {
        self.create(json!({"metadata": {"name": name}, "spec": {"replicas": replicas, "serviceName": name,
            "podManagementPolicy": "Parallel", "updateStrategy": {"type": strategy},
            "selector": {"matchLabels": {"app": name}}, "template": self.template(name)}}))
            .await
    }

    pub(crate) async fn daemon_set(&self, name: &str) -> DaemonSet {
        let mut template = self.template(name);
        template["spec"]["nodeSelector"] = json!({"test": self.namespace});
        self.create(json!({"metadata": {"name": name}, "spec": {
            "selector": {"matchLabels": {"app": name}}, "template": template}}))
            .await
    }

    fn template(&self, name: &str) -> Value {
        json!({"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "main", "image": "rover:v1"}]}})
    }

    /// The pods of an app, by name, as soon as there are so many.
    pub(crate) async fn pods_of(&self, app: &str, count: usize) -> Vec<Pod> {
        let of_app = ListParams::default().labels(&format!("app={app}"));
        until(&format!("{count} pods of {app}"), async || {
            let mut pods = self.api::<Pod>().list(&of_app).await.unwrap().items;
            pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
            pods.sort_by_key(ResourceExt::name_any);
            (pods.len() == count).then_some(pods)
        })
        .await
    }

    /// The pods of an app, as soon as all of them satisfy.
    pub(crate) async fn pods_when(&self, app: &str, count: usize, is_so: impl Fn(&Pod) -> bool) -> Vec<Pod> {
        until(&format!("the pods of {app} are as they should be"), async || {
            Some(self.pods_of(app, count).await).filter(|pods| pods.iter().all(&is_so))
        })
        .await
    }

    pub(crate) async fn replica_sets(&self) -> usize {
        self.api::<ReplicaSet>().list(&ListParams::default()).await.unwrap().items.len()
    }

    /// Lets a pod run on the node, as far as anybody can tell.
    pub(crate) async fn run(&self, pod: &str) {
        let pods = self.api::<Pod>();
        let found = pods.get(pod).await.unwrap();
        if found.spec.as_ref().and_then(|spec| spec.node_name.as_ref()).is_none() {
            let binding = json!({"apiVersion": "v1", "kind": "Binding", "metadata": {"name": pod},
                "target": {"apiVersion": "v1", "kind": "Node", "name": self.node}});
            let _: Value =
                pods.create_subresource("binding", pod, &PostParams::default(), &binding).await.unwrap();
        }
        let ready = json!([{"type": "Ready", "status": "True"}]);
        let status =
            json!({"status": {"phase": "Running", "startTime": "2026-11-15T12:00:00Z", "conditions": ready}});
        pods.patch_status(pod, &PatchParams::default(), &Patch::Strategic(status)).await.unwrap();
    }

    /// A pod that nobody controls, running on the node.
    pub(crate) async fn bare(&self, name: &str, annotations: Value) -> Pod {
        let pod: Pod = self
            .create(json!({"metadata": {"name": name, "annotations": annotations, "labels": {"app": name}},
                "spec": {"nodeName": self.node, "containers": [{"name": "main", "image": "rover:v1"}]}}))
            .await;
        self.run(name).await;
        pod
    }

    /// What the node says about itself.
    pub(crate) async fn gate(&self, status: Value) {
        let gates: Api<NodeGate> = Api::all(self.client.clone());
        until("the gate of the node is there", async || gates.get_opt(&self.node).await.unwrap()).await;
        let mut whole = json!({"holds": null, "grants": null, "held": null});
        whole.as_object_mut().unwrap().extend(status.as_object().unwrap().clone());
        let change = Patch::Merge(json!({"status": whole}));
        gates.patch_status(&self.node, &PatchParams::default(), &change).await.unwrap();
    }

    /// Whether the end of a pod would be put off.
    pub(crate) async fn is_put_off(&self, pod: &str) -> bool {
        let dry = DeleteParams { dry_run: true, ..DeleteParams::default() };
        match self.api::<Pod>().delete(pod, &dry).await {
            Ok(_) => false,
            Err(kube::Error::Api(status)) if status.code == 409 => true,
            Err(error) => panic!("{error}"),
        }
    }

    /// Waits until the hub puts the end of a pod off, or not.
    pub(crate) async fn until_put_off(&self, pod: &str, put_off: bool) {
        until("the hub has seen what the node says", async || {
            (self.is_put_off(pod).await == put_off).then_some(())
        })
        .await;
    }

    /// Waits until the API server asks the hub about both kinds of requests.
    pub(crate) async fn asked(&self) {
        self.bare("canary", json!({HOLD: "true"})).await;
        self.gate(json!({"state": "Open"})).await;
        self.until_put_off("canary", true).await;
        let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
        self.api::<Pod>().delete("canary", &now).await.unwrap();
    }

    pub(crate) async fn wish(&self, pod: &str) -> Option<Value> {
        let found = self.api::<Pod>().get_opt(pod).await.unwrap()?;
        Some(serde_json::from_str(found.annotations().get(END_WISHED)?).unwrap())
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Output {
        let mut kubectl = self.plane.kubernetes.kubectl();
        kubectl.args(arguments).args(["-n", &self.namespace]).output().unwrap()
    }
}

/// Whether a pod is armed by its workload.
pub(crate) fn is_carried(pod: &Pod) -> bool {
    pod.annotations().get(HOLD).is_some_and(|value| value == "true")
        && pod.annotations().contains_key(CARRIED)
}

/// Whether nothing is said on a pod about holding.
pub(crate) fn is_plain(pod: &Pod) -> bool {
    !pod.annotations().contains_key(HOLD) && !pod.annotations().contains_key(CARRIED)
}

pub(crate) fn uids(pods: &[Pod]) -> Vec<String> {
    pods.iter().filter_map(ResourceExt::uid).collect()
}
