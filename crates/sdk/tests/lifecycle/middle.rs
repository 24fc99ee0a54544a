//! The middle part: the lifecycle itself, as small as it can be. It has no webhook, so everything is done by looking at pods.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;
use std::time::{SystemTime, UNIX_EPOCH};

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, Patch, PatchParams};
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use safepoint_core::lifecycle::{
    AVAILABLE_CONDITIONS, Expectations, Lifecycle, Nanos, RuleStates, SERVICE_READY, ServiceGate, StageState,
    View,
};
use serde_json::{Value, json};

/// Runs the lifecycle until it is dropped.
pub(crate) async fn run(client: Client) {
    let pods: Api<Pod> = Api::default_namespaced(client);
    let config = Config::default().labels("kusionstack.io/control=true");
    let mut events = pin!(watcher(pods.clone(), config).default_backoff());
    while let Some(event) = events.next().await {
        if let Ok(Event::Apply(pod) | Event::InitApply(pod)) = event {
            look(&pods, pod).await;
        }
    }
}

/// Writes what is to be written. A write that fails was decided on an old pod: the newer one comes.
async fn look(pods: &Api<Pod>, pod: Pod) {
    let view = view(&pod);
    let rules = RuleStates { pre_check: StageState::Passed, post_check: StageState::Passed };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos();
    let now = Nanos(u64::try_from(now).unwrap());
    let changes = Lifecycle::default().reconcile(&view, &rules, &BTreeSet::new(), now);
    if changes.is_empty() {
        return;
    }
    let (name, parameters) = (pod.name_any(), PatchParams::default());
    let mut version = pod.resource_version();
    if !changes.labels.is_empty() {
        let labels: BTreeMap<String, Option<String>> = changes
            .labels
            .iter()
            .map(|(key, value)| (key.to_string(), value.as_ref().map(ToString::to_string)))
            .collect();
        let patch = json!({"metadata": {"resourceVersion": version, "labels": labels}});
        match pods.patch(&name, &parameters, &Patch::Merge(patch)).await {
            Ok(written) => version = written.resource_version(),
            Err(_) => return,
        }
    }
    if let Some(gate) = changes.gate {
        let status = if gate { "True" } else { "False" };
        let condition =
            json!({"type": SERVICE_READY, "status": status, "message": "updated by PodOpsLifecycle"});
        let patch = json!({"metadata": {"resourceVersion": version}, "status": {"conditions": [condition]}});
        let _ = pods.patch_status(&name, &parameters, &Patch::Strategic(patch)).await;
    }
}

fn view(pod: &Pod) -> View {
    let labels = pod.labels().iter().map(|(key, value)| ((&**key).into(), (&**value).into())).collect();
    let gates = pod.spec.iter().flat_map(|spec| spec.readiness_gates.iter().flatten());
    let declared = gates.into_iter().any(|gate| gate.condition_type == SERVICE_READY);
    let expectations = pod.annotations().get(AVAILABLE_CONDITIONS).map_or_else(BTreeMap::new, |text| {
        let value: Value = serde_json::from_str(text).unwrap();
        let expected = value["expectedFinalizers"].as_object().unwrap().clone();
        expected.into_iter().map(|(who, what)| ((&*who).into(), what.as_str().unwrap().into())).collect()
    });
    View {
        expectations: Expectations::Declared(expectations),
        finalizers: pod.finalizers().iter().map(|finalizer| (&**finalizer).into()).collect(),
        gate: ServiceGate { declared, condition: condition(pod, SERVICE_READY) },
        ready: condition(pod, "Ready") == Some(true),
        deleting: pod.metadata.deletion_timestamp.is_some(),
        ..View::of(&labels)
    }
}

pub(crate) fn condition(pod: &Pod, kind: &str) -> Option<bool> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    conditions.iter().find(|condition| condition.type_ == kind).map(|condition| condition.status == "True")
}
