//! The hub: the lifecycle as it is shipped, with its webhooks and its controller.

use k8s_openapi::api::core::v1::Pod;
use kube::Client;
use kube::api::{Api, PostParams};
use safepoint_hub::{Features, Hub, Options};
use safepoint_supervisor::{Config, Supervisor};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::cluster::until;

/// Runs a hub until it is dropped.
pub(crate) async fn run(client: Client, features: Features) {
    let hub = Hub::bind(Options { features, ..Options::new(client) }).unwrap();
    let (builder, registered) = hub.register(Supervisor::builder(Config::default())).unwrap();
    let supervisor = builder.build().unwrap();
    registered.supervised_by(supervisor.handle());
    drop(supervisor.run(CancellationToken::new()).await);
}

/// Waits until the API server asks it: a pod that is made has the gate then.
pub(crate) async fn registered(client: Client) {
    let pods: Api<Pod> = Api::default_namespaced(client);
    let mut tried = 0;
    until("the webhooks are asked", async || {
        tried += 1;
        let pod = json!({"metadata": {"name": format!("canary-{tried}"), "labels": {"kusionstack.io/control": "true"}},
            "spec": {"containers": [{"name": "main", "image": "canary:v1"}]}});
        let pod = serde_json::from_value(pod).unwrap();
        let made = pods.create(&PostParams::default(), &pod).await.unwrap();
        made.spec.and_then(|spec| spec.readiness_gates).is_some_and(|gates| !gates.is_empty()).then_some(())
    })
    .await;
}
