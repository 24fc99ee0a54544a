//! The kubelets of a simulated fleet, and the tasks that they run.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::Client;
use kube::api::Api;
use safepoint_api::names::safepoint::static_pod as words;
use serde_json::{Value, json};
use tokio::time::sleep;

use super::machine::{Machine, Machines, Nature};
use super::{Pace, writing};
use crate::backoff::Backoff;
use crate::clock::Clock;

/// All kubelets.
pub(super) struct Kubelet<'a> {
    client: &'a Client,
    machines: &'a Machines,
    pace: Pace,
    clock: &'a Clock,
    /// Tasks by uid, and whether each has been told to go.
    tasks: Mutex<HashMap<String, bool>>,
    /// Manifests by namespace, ConfigMap and key.
    manifests: Mutex<HashMap<(String, String, String), Arc<Value>>>,
}

/// What a task pod is to a kubelet.
pub(super) enum Sighting {
    New(Task),
    Known,
}

/// A task pod.
pub(super) struct Task {
    uid: String,
    number: usize,
    node: String,
    namespace: String,
    name: String,
    static_pod: String,
    mode: String,
    /// The ConfigMap and its key.
    source: (String, String),
}

/// Something that a kubelet writes.
enum Write<'a> {
    /// The mirror pod of a manifest.
    Mirror { node: &'a str, uid: &'a str, manifest: &'a Value },
    /// That it is ready.
    Ready { node: &'a str, manifest: &'a Value },
    /// That a pod is gone.
    Remove { namespace: &'a str, name: &'a str },
    /// How far a task is.
    Task { task: &'a Task, status: Value },
}

// === impl Kubelet ===

impl<'a> Kubelet<'a> {
    pub(super) fn new(client: &'a Client, machines: &'a Machines, pace: Pace, clock: &'a Clock) -> Self {
        Self { client, machines, pace, clock, tasks: Mutex::default(), manifests: Mutex::default() }
    }

    /// Sees a pod.
    pub(super) fn see(&self, pod: &Pod) -> Sighting {
        let Some(task) = self.read(pod) else { return Sighting::Known };
        let leaves = pod.metadata.deletion_timestamp.is_some();
        let over = pod.status.as_ref().and_then(|status| status.phase.as_deref());
        let over = matches!(over, Some("Succeeded" | "Failed"));
        let known = lock(&self.tasks).insert(task.uid.clone(), leaves);
        // Whoever waits for a machine waits for this too.
        self.machines.with(task.number, |_| ());
        match known {
            None if !over || leaves => Sighting::New(task),
            None | Some(_) => Sighting::Known,
        }
    }

    pub(super) fn gone(&self, pod: &Pod) {
        let uid = pod.metadata.uid.as_deref().unwrap_or_default();
        lock(&self.tasks).remove(uid);
        if let Some(number) =
            pod.spec.as_ref().and_then(|spec| self.machines.number(spec.node_name.as_deref()?))
        {
            self.machines.with(number, |_| ());
        }
    }

    fn read(&self, pod: &Pod) -> Option<Task> {
        let (meta, spec) = (&pod.metadata, pod.spec.as_ref()?);
        let node = spec.node_name.clone()?;
        let number = self.machines.number(&node)?;
        let command = spec.containers.first()?.command.as_ref()?;
        let flag = |name: &str| {
            let at = command.iter().position(|word| word == name)?;
            command.get(at + 1).cloned()
        };
        let map = spec.volumes.iter().flatten().find_map(|volume| volume.config_map.as_ref())?;
        let key = map.items.iter().flatten().next()?.key.clone();
        Some(Task {
            uid: meta.uid.clone()?,
            number,
            node,
            namespace: meta.namespace.clone()?,
            name: meta.name.clone()?,
            static_pod: flag("--name")?,
            mode: meta.labels.as_ref()?.get(words::WORK)?.clone(),
            source: (map.name.clone(), key),
        })
    }

    /// Runs a task to its end, and removes its pod if it is told to.
    pub(super) async fn play(&self, task: Task) {
        sleep(self.pace.begin).await;
        let present = |machine: &Machine| machine.ready && !machine.frozen;
        let leaves = || lock(&self.tasks).get(&task.uid).is_none_or(|leaves| *leaves);
        // Between the look and the beginning it may be frozen.
        while !leaves() {
            self.machines.until(task.number, |machine| (machine.ready && leaves()) || present(machine)).await;
            if !leaves() && self.machines.with(task.number, Machine::begin) {
                self.work(&task).await;
                self.machines.with(task.number, |machine| machine.busy = false);
                break;
            }
        }
        self.machines.until(task.number, |machine| machine.ready && leaves()).await;
        let is_there = lock(&self.tasks).contains_key(&task.uid);
        if is_there {
            self.write(Write::Remove { namespace: &task.namespace, name: &task.name }).await;
        }
    }

    async fn work(&self, task: &Task) {
        let running = json!({"phase": "Running", "startTime": Time(self.clock.now()),
            "containerStatuses": [container(&json!({"running": {"startedAt": Time(self.clock.now())}}))]});
        self.tell(task, running).await;
        let (code, message, exit) = match &*task.mode {
            "stage" => {
                self.wait(task, self.pace.ready).await;
                ("Unchanged", "it lies ready", 0)
            }
            "remove" => {
                self.machines
                    .with(task.number, |machine| machine.drop_manifest(&task.namespace, &task.static_pod));
                self.remove_mirror(task).await;
                ("Uninstalled", "the manifest is gone, and so is the pod", 0)
            }
            _ => self.swap(task).await,
        };
        self.machines.count(|counts| match exit {
            0 => counts.succeeded += 1,
            _ => counts.failed += 1,
        });
        let words = json!({"code": code, "message": message}).to_string();
        let state = json!({"terminated": {"exitCode": exit, "message": words, "reason": if exit == 0 { "Completed" } else { "Error" },
            "finishedAt": Time(self.clock.now())}});
        let phase = if exit == 0 { "Succeeded" } else { "Failed" };
        self.tell(task, json!({"phase": phase, "containerStatuses": [container(&state)]})).await;
    }

    /// Puts the new manifest in the place of the old one, and the old one back where the node is of that nature.
    async fn swap(&self, task: &Task) -> (&'static str, &'static str, i32) {
        let Some(new) = self.manifest(task).await else {
            return ("ManifestInvalid", "there is no manifest in the ConfigMap", 3);
        };
        let (uid, nature, old) = self.machines.with(task.number, |machine| {
            (machine.uid.clone(), machine.nature, machine.manifest(&task.namespace, &task.static_pod))
        });
        if task.mode == "upgrade" && old.is_none() {
            return ("ManifestMissing", "there is no such manifest on this node", 3);
        }
        self.machines.set_down(task.number, true);
        self.remove_mirror(task).await;
        self.write(Write::Mirror { node: &task.node, uid: &uid, manifest: &new }).await;
        self.wait(task, self.pace.ready).await;
        let (runs, outcome) = match (nature, old) {
            (Nature::Works, _) => (Some(new), ("Upgraded", "the new pod is ready", 0)),
            (Nature::Fails, old) => {
                self.remove_mirror(task).await;
                if let Some(old) = &old {
                    self.write(Write::Mirror { node: &task.node, uid: &uid, manifest: old }).await;
                }
                (
                    old,
                    (
                        "RolledBack",
                        "the new pod was not ready in time; the old manifest is in place again",
                        4,
                    ),
                )
            }
        };
        if let Some(manifest) = runs {
            self.write(Write::Ready { node: &task.node, manifest: &manifest }).await;
            self.machines.with(task.number, |machine| machine.run(manifest));
        }
        self.machines.set_down(task.number, false);
        self.wait(task, self.pace.verify).await;
        outcome
    }

    async fn remove_mirror(&self, task: &Task) {
        let name = format!("{}-{}", task.static_pod, task.node);
        self.write(Write::Remove { namespace: &task.namespace, name: &name }).await;
    }

    /// The manifest that a task brings.
    async fn manifest(&self, task: &Task) -> Option<Arc<Value>> {
        let at = (task.namespace.clone(), task.source.0.clone(), task.source.1.clone());
        if let Some(known) = lock(&self.manifests).get(&at) {
            return Some(Arc::clone(known));
        }
        let maps: Api<ConfigMap> = Api::namespaced(self.client.clone(), &task.namespace);
        let map = maps.get_opt(&task.source.0).await.ok().flatten()?;
        let manifest: Value = serde_json::from_str(map.data?.get(&task.source.1)?).ok()?;
        let manifest = Arc::new(manifest);
        lock(&self.manifests).insert(at, Arc::clone(&manifest));
        Some(manifest)
    }

    /// Waits on the machine's own time: one that is away stands still.
    async fn wait(&self, task: &Task, time: Duration) {
        sleep(time).await;
        self.machines.until(task.number, |machine| machine.ready).await;
    }

    async fn tell(&self, task: &Task, status: Value) {
        self.machines.until(task.number, |machine| machine.ready).await;
        self.write(Write::Task { task, status }).await;
    }

    /// Writes until it is taken. A kubelet does not give up.
    async fn write(&self, what: Write<'_>) {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        loop {
            self.machines.count(|counts| counts.writes += 1);
            match self.try_to_write(&what).await {
                Ok(()) => return,
                // The namespace is gone, and everything in it: nothing is to be told.
                Err(kube::Error::Api(status)) if matches!(status.code, 403 | 404) => return,
                Err(error) => {
                    tracing::debug!(%error, "a simulated node tries again");
                    sleep(backoff.next()).await;
                }
            }
        }
    }

    async fn try_to_write(&self, what: &Write<'_>) -> Result<(), kube::Error> {
        match what {
            Write::Mirror { node, uid, manifest } => writing::mirror(self.client, node, uid, manifest).await,
            Write::Ready { node, manifest } => {
                writing::mirror_ready(self.client, node, manifest, true, self.clock).await
            }
            Write::Remove { namespace, name } => writing::remove(self.client, namespace, name).await,
            Write::Task { task, status } => {
                writing::task(self.client, &task.namespace, &task.name, status.clone()).await
            }
        }
    }
}

fn container(state: &Value) -> Value {
    json!({"name": "task", "image": "simulated", "imageID": "", "ready": false, "restartCount": 0, "state": state})
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change under these locks is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
