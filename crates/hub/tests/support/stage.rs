//! A pod with a lifecycle, and the writes of everybody around it, on whatever API serves it. Labels are in the short notation of
//! core's tests, whose helpers are used here.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Event, Pod};
use kube::api::{Api, DeleteParams, EvictParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Client, ResourceExt};
use safepoint_core::Labels;
use safepoint_core::lifecycle::{DOMAIN, SERVICE_READY, View};
use serde_json::{Value, json};

use crate::core_lifecycle::{PROTECTION, set, short, wire};
use crate::hub::until;

/// The label that shows the phase.
pub(crate) const PHASE: &str = "safepoint.dev/lifecycle-phase";

/// A place for pods, and who writes them.
#[derive(Clone)]
pub(crate) struct Stage {
    /// The hub's own user: what it writes is trusted.
    pub(crate) hub: Client,
    /// Somebody who may do everything, and is not the hub.
    pub(crate) jane: Client,
    /// The kubelet.
    pub(crate) kubelet: Client,
    pub(crate) namespace: String,
    pub(crate) node: String,
}

/// How a request ended.
#[derive(Debug)]
pub(crate) struct Refused {
    pub(crate) code: u16,
    pub(crate) message: String,
}

impl Stage {
    pub(crate) fn pods(&self, client: &Client) -> Api<Pod> {
        Api::namespaced(client.clone(), &self.namespace)
    }

    /// A pod that is made as it is here, without the label that makes it take part.
    pub(crate) async fn make(&self, name: &str, labels: Labels, spec: Value, metadata: Value) -> Pod {
        let mut pod = json!({"metadata": {"name": name, "labels": labels},
            "spec": {"nodeName": self.node, "containers": [{"name": "main", "image": "rover:v1"}],
                "terminationGracePeriodSeconds": 1}});
        merge(&mut pod["spec"], spec);
        merge(&mut pod["metadata"], metadata);
        let pods = self.pods(&self.jane);
        pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap()
    }

    /// A pod that takes part from its birth, in service, with a cooperation controller that has declared its finalizer.
    pub(crate) async fn serving(&self, name: &str) {
        let declared = json!({"expectedFinalizers": {"Elb/shop/web": PROTECTION}}).to_string();
        let annotations = json!({"annotations": {"pod.kusionstack.io/available-conditions": declared}});
        self.make(name, wire(&[]), json!({}), annotations).await;
        self.settle(name).await;
    }

    /// The same, with nothing declared.
    pub(crate) async fn undeclared(&self, name: &str) {
        self.make(name, wire(&[]), json!({}), json!({})).await;
        self.settle(name).await;
    }

    /// Lets everybody but the operation controllers act until the pod is in service.
    pub(crate) async fn settle(&self, name: &str) {
        until("the pod is in service", async || {
            self.act(name).await;
            self.labels(name).await.contains("service-available").then_some(())
        })
        .await;
        until("its finalizer is there", async || {
            self.act(name).await;
            (!self.get(name).await.finalizers().is_empty()).then_some(())
        })
        .await;
    }

    /// Lets everybody but the operation controllers act until an operation may.
    pub(crate) async fn until_may_act(&self, name: &str, id: &str) {
        let operate = format!("operate/{id}");
        until("the operation may act", async || {
            self.act(name).await;
            self.labels(name).await.contains(&operate).then_some(())
        })
        .await;
    }

    /// What the kubelet and the cooperation controller do now.
    pub(crate) async fn act(&self, name: &str) {
        self.report(name).await;
        self.cooperate(name).await;
    }

    pub(crate) async fn get(&self, name: &str) -> Pod {
        self.pods(&self.hub).get(name).await.unwrap()
    }

    pub(crate) async fn labels(&self, name: &str) -> BTreeSet<String> {
        labels_of(&self.get(name).await)
    }

    /// Waits until a pod has exactly these labels and its gate is like this.
    pub(crate) async fn until(&self, name: &str, labels: &[&str], gate: bool) -> Pod {
        let wanted = set(labels);
        until(&format!("{name} has {labels:?} and the gate is {gate}"), async || {
            let pod = self.get(name).await;
            (labels_of(&pod) == wanted && condition(&pod, SERVICE_READY) == Some(gate)).then_some(pod)
        })
        .await
    }

    /// A change of labels by somebody; `None` takes one off.
    pub(crate) async fn label(&self, client: &Client, name: &str, labels: &[(&str, Option<&str>)]) -> Pod {
        let labels: serde_json::Map<String, Value> =
            labels.iter().map(|(key, value)| (key_of(key), json!(value))).collect();
        let change = Patch::Merge(json!({"metadata": {"labels": labels}}));
        self.pods(client).patch(name, &PatchParams::default(), &change).await.unwrap()
    }

    pub(crate) async fn begin(&self, name: &str, id: &str, kind: &str) -> Pod {
        let (operating, of_type) = (format!("operating/{id}"), format!("operation-type/{id}"));
        self.label(&self.jane, name, &[(&operating, Some("1")), (&of_type, Some(kind))]).await
    }

    pub(crate) async fn finish(&self, name: &str, id: &str) -> Pod {
        self.label(&self.jane, name, &[(&format!("operating/{id}"), None)]).await
    }

    pub(crate) async fn undo(&self, name: &str, id: &str, kind: &str) -> Pod {
        self.label(&self.jane, name, &[(&format!("undo-operation-type/{id}"), Some(kind))]).await
    }

    /// The kubelet reports, if there is something to report: a pod whose gate is open is ready.
    pub(crate) async fn report(&self, name: &str) {
        let pod = self.get(name).await;
        let ready = condition(&pod, SERVICE_READY) == Some(true);
        if condition(&pod, "Ready") != Some(ready) {
            self.status(name, &[("Ready", ready)]).await;
        }
    }

    /// The kubelet writes a status.
    pub(crate) async fn status(&self, name: &str, conditions: &[(&str, bool)]) -> Pod {
        let conditions: Vec<Value> = conditions
            .iter()
            .map(|(kind, is)| json!({"type": kind, "status": if *is { "True" } else { "False" }}))
            .collect();
        let status = json!({"status": {"phase": "Running", "startTime": "2026-11-15T12:00:00Z", "conditions": conditions}});
        let pods = self.pods(&self.kubelet);
        pods.patch_status(name, &PatchParams::default(), &Patch::Strategic(status)).await.unwrap()
    }

    /// The cooperation controller switches on or off, if there is something to switch.
    pub(crate) async fn cooperate(&self, name: &str) {
        let pod = self.get(name).await;
        let on = condition(&pod, "Ready") == Some(true) && pod.metadata.deletion_timestamp.is_none();
        if on == pod.finalizers().is_empty() {
            self.protect(name, on).await;
        }
    }

    pub(crate) async fn protect(&self, name: &str, on: bool) -> Pod {
        let finalizers = if on { json!([PROTECTION]) } else { json!([]) };
        let change = Patch::Merge(json!({"metadata": {"finalizers": finalizers}}));
        self.pods(&self.jane).patch(name, &PatchParams::default(), &change).await.unwrap()
    }

    pub(crate) async fn delete(&self, name: &str, dry_run: bool) -> Result<(), Refused> {
        let params = DeleteParams { dry_run, ..DeleteParams::default() };
        answered(self.pods(&self.jane).delete(name, &params).await)
    }

    pub(crate) async fn evict(&self, name: &str) -> Result<(), Refused> {
        answered(self.pods(&self.jane).evict(name, &EvictParams::default()).await)
    }

    /// Lets a pod that is terminating end, as its kubelet does, and waits until it is gone.
    pub(crate) async fn until_gone(&self, name: &str) {
        until("the pod is gone", async || {
            let Some(pod) = self.pods(&self.hub).get_opt(name).await.unwrap() else { return Some(()) };
            if pod.metadata.deletion_timestamp.is_some() {
                let last = DeleteParams { grace_period_seconds: Some(0), ..DeleteParams::default() };
                let _ = self.pods(&self.kubelet).delete(name, &last).await;
            } else {
                self.act(name).await;
            }
            None
        })
        .await;
    }

    /// The Events of a pod with this reason.
    pub(crate) async fn events(&self, name: &str, reason: &str) -> Vec<String> {
        let api: Api<Event> = Api::namespaced(self.hub.clone(), &self.namespace);
        let all = api.list(&ListParams::default()).await.unwrap().items;
        let of = all.into_iter().filter(|event| {
            event.involved_object.name.as_deref() == Some(name) && event.reason.as_deref() == Some(reason)
        });
        of.filter_map(|event| event.message).collect()
    }
}

pub(crate) fn answered<T>(done: Result<T, kube::Error>) -> Result<(), Refused> {
    match done {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) => Err(Refused { code: status.code, message: status.message.clone() }),
        Err(error) => panic!("no answer: {error}"),
    }
}

/// The lifecycle's labels of a pod in the short notation.
pub(crate) fn labels_of(pod: &Pod) -> BTreeSet<String> {
    let labels: Labels =
        pod.labels().iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect();
    short(&View::of(&labels))
}

pub(crate) fn condition(pod: &Pod, kind: &str) -> Option<bool> {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    let found = conditions.into_iter().find(|condition| condition.type_ == kind)?;
    Some(found.status == "True")
}

/// The key of a label in the short notation.
pub(crate) fn key_of(short: &str) -> String {
    if short.contains('.') {
        return short.to_owned();
    }
    let keys = wire(&[short]);
    let key = keys.keys().find(|key| &***key != "kusionstack.io/control");
    key.map_or_else(|| format!("{short}.{DOMAIN}"), ToString::to_string)
}

fn merge(into: &mut Value, from: Value) {
    if let (Some(into), Value::Object(from)) = (into.as_object_mut(), from) {
        into.extend(from);
    }
}
