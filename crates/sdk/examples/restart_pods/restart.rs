//! Restarts pods that somebody has marked, a few at a time, each when the lifecycle allows it.
//!
//! Nothing is remembered: which pods are to be restarted is on the pods, and so is how far each of them is.

use std::collections::BTreeMap;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, DeleteParams, Preconditions};
use kube::runtime::watcher::{Config, Event};
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, ResourceExt};
use safepoint_sdk::operation::{Error, Operation, Operations, Permission};

/// The annotation that asks for a restart. It goes with the pod: the one that comes in its place does not have it.
pub(crate) const RESTART: &str = "example.safepoint.dev/restart";
/// Written by the lifecycle on a pod that is in service.
const IN_SERVICE: &str = "podopslifecycle.kusionstack.io/service-available";
/// How long is waited before something that failed is tried again.
const AGAIN: Duration = Duration::from_secs(1);

/// An operation controller for the pods of one workload.
pub(crate) struct Restart {
    pods: Api<Pod>,
    selector: String,
    operations: Operations<Operation>,
    /// So many pods may be out of service at a time.
    at_once: usize,
    /// How long is waited after traffic is off.
    delay: Duration,
}

/// The pods as they were seen: all of them, or those of before. Of half a list it cannot be told how many are out of service.
#[derive(Default)]
pub(crate) struct Seen {
    /// None: they were never listed.
    all: Option<BTreeMap<String, Pod>>,
    /// What a list that is being read has had so far.
    listed: BTreeMap<String, Pod>,
}

// === impl Seen ===

impl Seen {
    pub(crate) fn take(&mut self, event: Event<Pod>) {
        match event {
            Event::Init => self.listed.clear(),
            Event::InitApply(pod) => drop(self.listed.insert(pod.name_any(), pod)),
            Event::InitDone => self.all = Some(std::mem::take(&mut self.listed)),
            Event::Apply(pod) => drop(self.all.get_or_insert_default().insert(pod.name_any(), pod)),
            Event::Delete(pod) => drop(self.all.get_or_insert_default().remove(&pod.name_any())),
        }
    }

    /// None: not everything is known yet.
    pub(crate) const fn all(&self) -> Option<&BTreeMap<String, Pod>> {
        self.all.as_ref()
    }
}

// === impl Restart ===

impl Restart {
    /// Restarts pods of this namespace that have these labels.
    pub(crate) fn new(
        client: Client,
        namespace: &str,
        selector: &str,
        at_once: usize,
        delay: Duration,
    ) -> Result<Self, Error> {
        let operation = Operation::new("restart-pods", "restart").deleting();
        Ok(Self {
            pods: Api::namespaced(client.clone(), namespace),
            selector: format!("kusionstack.io/control=true,{selector}"),
            operations: Operations::new(client, operation)?,
            at_once,
            delay,
        })
    }

    /// Does so until it is dropped.
    pub(crate) async fn run(&self) {
        let config = Config::default().labels(&self.selector);
        let mut events = pin!(watcher(self.pods.clone(), config).default_backoff());
        let mut seen = Seen::default();
        loop {
            let again = match seen.all() {
                Some(pods) => self.look(pods).await,
                None => None,
            };
            let wake = async {
                match again {
                    Some(wait) => tokio::time::sleep(wait).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = wake => {}
                Some(event) = events.next() => match event {
                    Ok(event) => seen.take(event),
                    Err(error) => eprintln!("cannot watch pods, trying again: {error}"),
                },
            }
        }
    }

    /// Takes every step that can be taken. The answer says when to look again although nothing has changed.
    pub(crate) async fn look(&self, pods: &BTreeMap<String, Pod>) -> Option<Duration> {
        let out = |pod: &&Pod| !pod.labels().contains_key(IN_SERVICE) || self.operations.is_during_ops(pod);
        let mut n_out = pods.values().filter(out).count();
        let mut again: Option<Duration> = None;
        for pod in pods.values().filter(|pod| pod.annotations().contains_key(RESTART)) {
            if pod.metadata.deletion_timestamp.is_some() {
                continue;
            }
            let done = match self.operations.allow_ops(pod, self.delay) {
                // One that is out of service anyway costs nothing.
                Permission::NotBegun if out(&pod) => self.operations.begin(pod).await.map(drop),
                Permission::NotBegun if n_out < self.at_once => {
                    n_out += 1;
                    self.operations.begin(pod).await.map(drop)
                }
                Permission::NotBegun | Permission::NotYet => Ok(()),
                Permission::After(wait) => {
                    again = Some(again.map_or(wait, |least| least.min(wait)));
                    Ok(())
                }
                Permission::Granted => {
                    if !self.end(pod).await {
                        again = Some(again.map_or(AGAIN, |least| least.min(AGAIN)));
                    }
                    Ok(())
                }
            };
            if let Err(error) = done {
                eprintln!("pod {}: {error}", pod.name_any());
                again = Some(again.map_or(AGAIN, |least| least.min(AGAIN)));
            }
        }
        again
    }

    /// The restart itself: the workload makes another pod. There is nothing to finish, for the operation goes with the pod. The
    /// answer says whether it goes: nobody else would try again.
    async fn end(&self, pod: &Pod) -> bool {
        let this = Preconditions { uid: pod.uid(), resource_version: None };
        let parameters = DeleteParams { preconditions: Some(this), ..DeleteParams::default() };
        match self.pods.delete(&pod.name_any(), &parameters).await {
            Ok(_) => true,
            Err(error) => {
                eprintln!("pod {} is not deleted, trying again: {error}", pod.name_any());
                false
            }
        }
    }
}
