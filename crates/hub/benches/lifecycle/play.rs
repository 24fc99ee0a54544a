//! Everybody around the pods, event by event: a kubelet, a cooperation controller, an operation controller that acts at once.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures::stream::FuturesUnordered;
use futures::{StreamExt, TryStreamExt};
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Patch, PatchParams, PostParams};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::json;

use super::cluster::{Cluster, PROTECTION, condition, name, pod};
use crate::Round;

const AVAILABLE: &str = "podopslifecycle.kusionstack.io/service-available";
const OPERATING: &str = "operating.podopslifecycle.kusionstack.io/bench";
const TYPE: &str = "operation-type.podopslifecycle.kusionstack.io/bench";
const OPERATE: &str = "operate.podopslifecycle.kusionstack.io/bench";
const OPERATED: &str = "operated.podopslifecycle.kusionstack.io/bench";
/// So many requests of each are on their way at once.
pub(crate) const AT_ONCE: usize = 32;

/// What somebody does next.
enum Act {
    Report(bool),
    Protect(bool),
    Finish,
}

/// Makes pods that take part.
pub(crate) async fn stand(cluster: &Cluster, namespace: &str, count: usize) {
    cluster.namespace(namespace).await;
    let pods = cluster.pods(&cluster.jane, namespace);
    let make = |number: usize| {
        let pods = pods.clone();
        async move { pods.create(&PostParams::default(), &pod(number, &[])).await.map(drop) }
    };
    futures::stream::iter(0..count)
        .map(make)
        .buffer_unordered(AT_ONCE)
        .try_collect::<Vec<()>>()
        .await
        .unwrap();
}

/// Makes pods, brings them into service, and operates on all of them.
pub(crate) async fn operate(cluster: &Cluster, namespace: &str, count: usize) -> Round {
    stand(cluster, namespace, count).await;
    let jane = cluster.pods(&cluster.jane, namespace);
    let mut events = std::pin::pin!(
        watcher(cluster.pods(&cluster.admin, namespace), watcher::Config::default()).default_backoff()
    );
    let mut acting = FuturesUnordered::new();
    let mut beginning = FuturesUnordered::new();
    let mut waiting: Vec<usize> = Vec::new();
    let mut busy: HashMap<String, Option<Pod>> = HashMap::new();
    let mut in_service: HashMap<String, ()> = HashMap::new();
    let (mut begun, mut ended): (HashMap<String, Instant>, HashMap<String, Duration>) = Default::default();
    let (mut stored, mut sent) = (0, 0);
    let mut started: Option<Instant> = None;
    while ended.len() < count {
        while beginning.len() < AT_ONCE
            && let Some(number) = waiting.pop()
        {
            let (jane, pod) = (jane.clone(), name(number));
            begun.insert(pod.clone(), Instant::now());
            sent += 1;
            beginning.push(async move {
                let change = json!({"metadata": {"labels": {OPERATING: "1", TYPE: "update"}}});
                jane.patch(&pod, &PatchParams::default(), &Patch::Merge(change)).await.unwrap();
            });
        }
        let seen = tokio::select! {
            event = events.next() => match event.unwrap() {
                Ok(Event::Apply(pod) | Event::InitApply(pod)) => {
                    let name = pod.name_any();
                    stored += usize::from(begun.contains_key(&name) && !ended.contains_key(&name));
                    pod
                }
                _ => continue,
            },
            Some(()) = beginning.next(), if !beginning.is_empty() => continue,
            Some(done) = acting.next(), if !acting.is_empty() => {
                let done: String = done;
                match busy.remove(&done).flatten() {
                    Some(pod) => pod,
                    None => continue,
                }
            }
        };
        let pod_name = seen.name_any();
        if let Some(held) = busy.get_mut(&pod_name) {
            *held = Some(seen);
            continue;
        }
        let idle = seen.labels().contains_key(AVAILABLE) && !seen.finalizers().is_empty();
        if idle && !seen.labels().contains_key(OPERATING) && !seen.labels().contains_key(OPERATED) {
            match begun.get(&pod_name) {
                None => drop(in_service.insert(pod_name.clone(), ())),
                Some(since) => drop(ended.entry(pod_name.clone()).or_insert_with(|| since.elapsed())),
            }
            if started.is_none() && in_service.len() == count {
                started = Some(Instant::now());
                waiting = (0..count).collect();
            }
        }
        if let Some(act) = next(&seen) {
            if begun.contains_key(&pod_name) {
                sent += 1;
            }
            busy.insert(pod_name.clone(), None);
            let (jane, kubelet) = (jane.clone(), cluster.pods(&cluster.kubelet, namespace));
            acting.push(async move {
                let params = PatchParams::default();
                match act {
                    Act::Report(ready) => {
                        let status = if ready { "True" } else { "False" };
                        let change = json!({"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": status}]}});
                        kubelet.patch_status(&pod_name, &params, &Patch::Strategic(change)).await.unwrap();
                    }
                    Act::Protect(on) => {
                        let finalizers = if on { json!([PROTECTION]) } else { json!([]) };
                        let change = json!({"metadata": {"finalizers": finalizers}});
                        jane.patch(&pod_name, &params, &Patch::Merge(change)).await.unwrap();
                    }
                    Act::Finish => {
                        let change = json!({"metadata": {"labels": {OPERATING: null}}});
                        jane.patch(&pod_name, &params, &Patch::Merge(change)).await.unwrap();
                    }
                }
                pod_name
            });
        }
    }
    // What the hub has sent is what was stored and nobody else has sent.
    Round {
        took: started.unwrap().elapsed(),
        each: ended.into_values().collect(),
        stored,
        sent: stored.max(sent),
    }
}

/// What somebody other than the hub has to do on a pod like this.
fn next(pod: &Pod) -> Option<Act> {
    let (gate, ready) = (condition(pod, "pod.kusionstack.io/service-ready"), condition(pod, "Ready"));
    if let Some(open) = gate
        && ready != Some(open)
    {
        return Some(Act::Report(open));
    }
    let ready = ready.unwrap_or_default();
    if ready == pod.finalizers().is_empty() && gate.is_some() {
        return Some(Act::Protect(ready));
    }
    let has = |key: &str| pod.labels().contains_key(key);
    (has(OPERATE) && has(OPERATING)).then_some(Act::Finish)
}
