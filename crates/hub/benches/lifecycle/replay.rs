//! The writes of the reference implementation for one operation, as its protocol has them: thirteen, seven of them by its
//! lifecycle controller, two of which change nothing.
//!
//! What its webhook adds to a write is in the write here, so no webhook is called. Everybody writes once the write before has come
//! through the watch, as controllers do; the lifecycle controller has five workers. Writes of objects are whole objects with their
//! version, as the reference sends them; conditions are merged.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{Api, Patch, PatchParams, PostParams};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::json;
use tokio::sync::{Mutex, Semaphore, watch};

use super::cluster::{Cluster, PROTECTION, name, pod};
use super::play::AT_ONCE;
use crate::Round;

const AVAILABLE: &str = "podopslifecycle.kusionstack.io/service-available";
const GATE: &str = "pod.kusionstack.io/service-ready";
/// The workers of its lifecycle controller.
const WORKERS: usize = 5;

/// One write.
enum Write {
    /// Labels to set and to take off, on the whole object.
    Labels(&'static [&'static str], &'static [&'static str]),
    /// The same, with the finalizer of the cooperation controller put on or taken off.
    Finalizer(bool, &'static [&'static str], &'static [&'static str]),
    /// A condition, by the lifecycle controller or by the kubelet.
    Condition(&'static str, bool),
}

/// Whose it is: the lifecycle controller has few workers.
#[derive(PartialEq)]
enum By {
    Lifecycle,
    Other,
    Kubelet,
}

/// The thirteen.
const WRITES: [(By, Write); 13] = [
    (By::Other, Write::Labels(&["operating/1", "operation-type/1", "pre-check/1"], &[])),
    (
        By::Lifecycle,
        Write::Labels(
            &["operation-permission/update", "pre-checked/1", "preparing/1"],
            &["pre-check/1", "service-available"],
        ),
    ),
    (By::Lifecycle, Write::Condition(GATE, false)),
    (By::Kubelet, Write::Condition("Ready", false)),
    (By::Lifecycle, Write::Labels(&[], &["service-available"])),
    (By::Other, Write::Finalizer(false, &["operate/1"], &["preparing/1"])),
    (
        By::Other,
        Write::Labels(
            &["operated/1", "done-operation-type/1", "post-check/1"],
            &["operating/1", "operation-type/1", "operation-permission/update", "pre-checked/1", "operate/1"],
        ),
    ),
    (By::Lifecycle, Write::Labels(&["post-checked/1", "completing/1"], &["post-check/1"])),
    (By::Lifecycle, Write::Condition(GATE, true)),
    (By::Lifecycle, Write::Labels(&[], &["service-available"])),
    (By::Kubelet, Write::Condition("Ready", true)),
    (
        By::Other,
        Write::Finalizer(
            true,
            &[],
            &["operated/1", "done-operation-type/1", "post-checked/1", "completing/1"],
        ),
    ),
    (By::Lifecycle, Write::Labels(&["service-available"], &[])),
];

/// What is seen of each pod: the number of its version.
type Seen = Arc<Mutex<HashMap<String, watch::Sender<u64>>>>;

/// Makes pods in service, and operates on all of them.
pub(crate) async fn operate(cluster: &Cluster, namespace: &str, count: usize) -> Round {
    cluster.namespace(namespace).await;
    let (jane, kubelet) = (cluster.pods(&cluster.jane, namespace), cluster.pods(&cluster.kubelet, namespace));
    let seen: Seen = Arc::default();
    let make = |number: usize| {
        let (jane, kubelet, seen) = (jane.clone(), kubelet.clone(), Arc::clone(&seen));
        async move {
            let mut made = pod(number, &[(AVAILABLE, "1")]);
            made.metadata.finalizers = Some(vec![PROTECTION.to_owned()]);
            jane.create(&PostParams::default(), &made).await.unwrap();
            let conditions = json!([{"type": GATE, "status": "True"}, {"type": "Ready", "status": "True"}]);
            let change = json!({"status": {"phase": "Running", "conditions": conditions}});
            let change = Patch::Strategic(change);
            kubelet.patch_status(&name(number), &PatchParams::default(), &change).await.unwrap();
            seen.lock().await.insert(name(number), watch::Sender::new(0));
        }
    };
    futures::stream::iter(0..count).map(make).buffer_unordered(AT_ONCE).collect::<Vec<()>>().await;
    let watching = follow(cluster.pods(&cluster.admin, namespace), Arc::clone(&seen));
    let (workers, started) = (Arc::new(Semaphore::new(WORKERS)), Instant::now());
    let others = Arc::new(Semaphore::new(AT_ONCE));
    let mut running: FuturesUnordered<_> = (0..count)
        .map(|number| {
            one(
                name(number),
                jane.clone(),
                kubelet.clone(),
                Arc::clone(&seen),
                Arc::clone(&workers),
                Arc::clone(&others),
            )
        })
        .collect();
    let mut watching = std::pin::pin!(watching);
    let (mut each, mut stored) = (Vec::new(), 0);
    while each.len() < count {
        tokio::select! {
            Some((took, changed)) = running.next() => {
                each.push(took);
                stored += changed;
            }
            () = watching.as_mut() => unreachable!("a watch goes on"),
        }
    }
    Round { took: started.elapsed(), each, stored, sent: count * WRITES.len() }
}

async fn follow(pods: Api<Pod>, seen: Seen) {
    let mut events = std::pin::pin!(watcher(pods, watcher::Config::default()).default_backoff());
    while let Some(event) = events.next().await {
        if let Ok(Event::Apply(pod) | Event::InitApply(pod)) = event {
            let version = version(&pod);
            if let Some(known) = seen.lock().await.get(&pod.name_any()) {
                known.send_replace(version);
            }
        }
    }
}

/// One operation. How long it took, and how many of its writes changed something.
async fn one(
    name: String,
    jane: Api<Pod>,
    kubelet: Api<Pod>,
    seen: Seen,
    workers: Arc<Semaphore>,
    others: Arc<Semaphore>,
) -> (Duration, usize) {
    let mut told = seen.lock().await[&name].subscribe();
    let mut pod = jane.get(&name).await.unwrap();
    let first = others.acquire().await.unwrap();
    let begun = Instant::now();
    drop(first);
    let mut changed = 0;
    for (by, write) in &WRITES {
        let at = version(&pod);
        told.wait_for(|seen| *seen >= at).await.unwrap();
        let of = if *by == By::Lifecycle { &workers } else { &others };
        let _worker = of.acquire().await.unwrap();
        let written = match write {
            Write::Labels(set, off) => {
                label(&mut pod, set, off);
                jane.replace(&name, &PostParams::default(), &pod).await.unwrap()
            }
            Write::Finalizer(on, set, off) => {
                label(&mut pod, set, off);
                pod.metadata.finalizers = Some(if *on { vec![PROTECTION.to_owned()] } else { Vec::new() });
                jane.replace(&name, &PostParams::default(), &pod).await.unwrap()
            }
            Write::Condition(kind, is) => {
                let status = if *is { "True" } else { "False" };
                let change = json!({"status": {"conditions": [{"type": kind, "status": status}]}});
                let by = if *by == By::Kubelet { &kubelet } else { &jane };
                by.patch_status(&name, &PatchParams::default(), &Patch::Strategic(change)).await.unwrap()
            }
        };
        changed += usize::from(version(&written) != at);
        pod = written;
    }
    (begun.elapsed(), changed)
}

fn label(pod: &mut Pod, set: &[&str], off: &[&str]) {
    let key = |short: &str| match short.split_once('/') {
        Some((prefix, name)) => format!("{prefix}.podopslifecycle.kusionstack.io/{name}"),
        None => format!("podopslifecycle.kusionstack.io/{short}"),
    };
    let labels = pod.metadata.labels.get_or_insert_default();
    off.iter().for_each(|short| drop(labels.remove(&key(short))));
    labels.extend(set.iter().map(|short| (key(short), "1731745845197871195".to_owned())));
}

fn version(pod: &Pod) -> u64 {
    pod.resource_version().and_then(|version| version.parse().ok()).unwrap_or_default()
}
