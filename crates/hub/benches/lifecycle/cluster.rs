//! The cluster: kube-apiserver and etcd that wait for the disk, one node, and clients for everybody.

use k8s_openapi::api::core::v1::{Namespace, Node, Pod};
use kube::api::{Api, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use safepoint_testkit::{ControlPlane, Options};
use serde_json::{Value, json};

/// The node of all pods.
pub(crate) const NODE: &str = "rover-7";
/// The finalizer of the cooperation controller.
pub(crate) const PROTECTION: &str = "prot.podopslifecycle.kusionstack.io/traffic";

pub(crate) struct Cluster {
    pub(crate) plane: ControlPlane,
    pub(crate) admin: Client,
    /// The operation and the cooperation controller.
    pub(crate) jane: Client,
    pub(crate) kubelet: Client,
}

impl Cluster {
    pub(crate) async fn start() -> Self {
        let plane = ControlPlane::start_with(&Options { durable: true, ..Options::default() }).unwrap();
        let client = async |user: Option<&str>, group: &str| {
            let kubeconfig = Kubeconfig::read_from(plane.kubeconfig_path()).unwrap();
            let mut config =
                Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
            config.auth_info.impersonate = user.map(str::to_owned);
            config.auth_info.impersonate_groups =
                user.map(|_| vec![group.to_owned(), "system:authenticated".to_owned()]);
            Client::try_from(config).unwrap()
        };
        let admin = client(None, "").await;
        let jane = client(Some("jane"), "system:masters").await;
        let kubelet = client(Some(&format!("system:node:{NODE}")), "system:nodes").await;
        let node: Node = serde_json::from_value(json!({"metadata": {"name": NODE}})).unwrap();
        Api::all(admin.clone()).create(&PostParams::default(), &node).await.unwrap();
        Self { plane, admin, jane, kubelet }
    }

    pub(crate) async fn namespace(&self, name: &str) {
        let namespace: Namespace = serde_json::from_value(json!({"metadata": {"name": name}})).unwrap();
        Api::all(self.admin.clone()).create(&PostParams::default(), &namespace).await.unwrap();
    }

    pub(crate) fn pods(&self, client: &Client, namespace: &str) -> Api<Pod> {
        Api::namespaced(client.clone(), namespace)
    }
}

/// A pod like one of a workload, that takes part.
pub(crate) fn pod(number: usize, more: &[(&str, &str)]) -> Pod {
    let mut labels = json!({"app": "web", "app.kubernetes.io/name": "web", "app.kubernetes.io/part-of": "shop",
        "app.kubernetes.io/version": "1.2.3", "pod-template-hash": "5d4f8c9b7d", "kusionstack.io/control": "true"});
    more.iter().for_each(|(key, value)| labels[*key] = json!(value));
    let declared = json!({"expectedFinalizers": {"Elb/shop/web": PROTECTION}}).to_string();
    let pod: Value = json!({"metadata": {"name": name(number), "labels": labels,
            "annotations": {"pod.kusionstack.io/available-conditions": declared}},
        "spec": {"nodeName": NODE, "automountServiceAccountToken": false, "readinessGates": [
                {"conditionType": "pod.kusionstack.io/service-ready"}],
            "containers": [{"name": "main", "image": "rover:v1", "env": [{"name": "A", "value": "B"}]}]}});
    serde_json::from_value(pod).unwrap()
}

pub(crate) fn name(number: usize) -> String {
    format!("web-5d4f8c9b7d-{number:05}")
}

/// Whether a condition is true, if it is there.
pub(crate) fn condition(pod: &Pod, kind: &str) -> Option<bool> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    Some(conditions.iter().find(|condition| condition.type_ == kind)?.status == "True")
}
