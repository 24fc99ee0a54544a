//! What simulated nodes write to the API.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Client;
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use safepoint_api::NodeGate;
use safepoint_api::names::kubernetes::{CONFIG_HASH, CONFIG_MIRROR, CONFIG_SOURCE, CONFIG_SOURCE_FILE};
use safepoint_api::node_gate::{Freeze, NodeGateSpec};
use serde_json::{Value, json};

use super::machine::key;
use crate::clock::Clock;

/// Makes a Node, and says its uid.
pub(super) async fn node(
    client: &Client,
    name: &str,
    labels: &BTreeMap<String, String>,
    ready: bool,
    clock: &Clock,
) -> Result<String, kube::Error> {
    let nodes: Api<Node> = Api::all(client.clone());
    let mut labels = labels.clone();
    labels.insert("kubernetes.io/hostname".to_owned(), name.to_owned());
    let mut status = status(ready, clock);
    status["nodeInfo"] = info();
    let node = json!({"metadata": {"name": name, "labels": labels}, "status": status});
    let node: Node = serde_json::from_value(node).map_err(kube::Error::SerdeError)?;
    let made = match nodes.create(&PostParams::default(), &node).await {
        Err(kube::Error::Api(status)) if status.code == 409 => nodes.get(name).await?,
        made => made?,
    };
    let has_status = made.status.as_ref().is_some_and(|status| status.conditions.is_some());
    if !has_status {
        node_ready(client, name, ready, clock).await?;
    }
    Ok(made.metadata.uid.unwrap_or_default())
}

pub(super) async fn node_ready(
    client: &Client,
    name: &str,
    ready: bool,
    clock: &Clock,
) -> Result<(), kube::Error> {
    let nodes: Api<Node> = Api::all(client.clone());
    let change = json!({"status": status(ready, clock)});
    nodes.patch_status(name, &PatchParams::default(), &Patch::Strategic(change)).await.map(drop)
}

/// The node has no room: a pod that is placed there would run nowhere.
fn status(ready: bool, clock: &Clock) -> Value {
    json!({"conditions": [condition(ready, clock)], "capacity": {"pods": "0"}, "allocatable": {"pods": "0"}})
}

/// The wish that a node be frozen, or the end of it.
pub(super) async fn freeze(client: &Client, name: &str, frozen: bool) -> Result<NodeGate, kube::Error> {
    let gates: Api<NodeGate> = Api::all(client.clone());
    match gates.create(&PostParams::default(), &NodeGate::new(name, NodeGateSpec::default())).await {
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        made => drop(made?),
    }
    let freeze = frozen.then(|| Freeze::new("simulated"));
    let change = Patch::Merge(json!({"spec": {"freeze": freeze}}));
    gates.patch(name, &PatchParams::default(), &change).await
}

/// Makes the mirror pod of a manifest, as a kubelet does.
pub(super) async fn mirror(
    client: &Client,
    node: &str,
    uid: &str,
    manifest: &Value,
) -> Result<(), kube::Error> {
    let (namespace, name) = key(manifest);
    let mut pod = manifest.clone();
    let digest = crate::static_pods::digest(&[&manifest.to_string(), node]);
    pod["metadata"]["name"] = json!(format!("{name}-{node}"));
    for (annotation, value) in
        [(CONFIG_MIRROR, &*digest), (CONFIG_HASH, &digest), (CONFIG_SOURCE, CONFIG_SOURCE_FILE)]
    {
        pod["metadata"]["annotations"][annotation] = json!(value);
    }
    pod["metadata"]["ownerReferences"] =
        json!([{"apiVersion": "v1", "kind": "Node", "name": node, "uid": uid, "controller": true}]);
    pod["spec"]["nodeName"] = json!(node);
    let pod: Pod = serde_json::from_value(pod).map_err(kube::Error::SerdeError)?;
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    match pods.create(&PostParams::default(), &pod).await {
        Err(kube::Error::Api(status)) if status.code == 409 => Ok(()),
        made => made.map(drop),
    }
}

pub(super) async fn mirror_ready(
    client: &Client,
    node: &str,
    manifest: &Value,
    ready: bool,
    clock: &Clock,
) -> Result<(), kube::Error> {
    let (namespace, name) = key(manifest);
    let pods: Api<Pod> = Api::namespaced(client.clone(), &namespace);
    let container = |container: &Value| {
        json!({"name": container["name"], "image": container["image"], "imageID": "", "restartCount": 0,
            "ready": ready, "started": ready, "state": {"running": {"startedAt": Time(clock.now())}}})
    };
    let containers = manifest["spec"]["containers"].as_array().into_iter().flatten().map(container);
    let change = json!({"status": {"phase": "Running", "startTime": Time(clock.now()),
        "conditions": [condition(ready, clock)], "containerStatuses": containers.collect::<Vec<_>>()}});
    let done = pods
        .patch_status(&format!("{name}-{node}"), &PatchParams::default(), &Patch::Strategic(change))
        .await;
    done.map(drop)
}

/// Removes a pod at once, as a kubelet does when it is gone.
pub(super) async fn remove(client: &Client, namespace: &str, name: &str) -> Result<(), kube::Error> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let now = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
    match pods.delete(name, &now).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        gone => gone.map(drop),
    }
}

/// How far a task is, as its kubelet tells.
pub(super) async fn task(
    client: &Client,
    namespace: &str,
    name: &str,
    status: Value,
) -> Result<(), kube::Error> {
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let change = Patch::Merge(json!({"status": status}));
    match pods.patch_status(name, &PatchParams::default(), &change).await {
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        done => done.map(drop),
    }
}

fn condition(ready: bool, clock: &Clock) -> Value {
    json!({"type": "Ready", "status": if ready { "True" } else { "False" }, "lastTransitionTime": Time(clock.now())})
}

fn info() -> Value {
    json!({"machineID": "", "systemUUID": "", "bootID": "", "kernelVersion": "", "osImage": "simulated",
        "containerRuntimeVersion": "simulated://1", "kubeletVersion": "v1.35.0", "kubeProxyVersion": "",
        "operatingSystem": "linux", "architecture": "amd64"})
}
