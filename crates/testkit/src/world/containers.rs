//! Containers as the runtime has them, whatever the API says of them.
//!
//! What never changes of a container is asked of containerd's own client, once. What does change is in a small file that
//! containerd keeps for each of them.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};

use anyhow::{Context, Result};
use serde_json::Value;

use super::containerd::Containerd;
use super::machine::Machine;

/// A container, as the runtime has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContainerSeen {
    /// Its number at the runtime.
    pub id: String,
    /// Its name in the pod.
    pub name: String,
    /// The pod's namespace.
    pub pod_namespace: String,
    /// The pod's name.
    pub pod_name: String,
    /// The pod's UID; of a static pod the one that the kubelet knows, which is not its mirror's.
    pub pod_uid: String,
    /// The image that it runs, such as `app:v1`.
    pub image: String,
    /// How often one of this name was started before in this pod.
    pub attempt: u32,
    /// Whether it runs.
    pub state: ContainerState,
    /// When it was started, if it was.
    pub started_at: Option<SystemTime>,
}

/// Whether a container runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ContainerState {
    /// It was made, and not started yet.
    Created,
    /// It runs.
    Running {
        /// Its first process, as this process sees it.
        pid: u32,
    },
    /// It has ended.
    Exited {
        /// What its first process ended with.
        code: i64,
    },
}

/// The sandbox of a pod, as the runtime has it. It is there before the pod's first container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SandboxSeen {
    /// Its number at the runtime.
    pub id: String,
    /// The pod's namespace.
    pub pod_namespace: String,
    /// The pod's name.
    pub pod_name: String,
    /// The pod's UID.
    pub pod_uid: String,
}

impl ContainerSeen {
    /// Its first process, if it runs.
    pub fn pid(&self) -> Option<u32> {
        match self.state {
            ContainerState::Running { pid } => Some(pid),
            ContainerState::Created | ContainerState::Exited { .. } => None,
        }
    }
}

/// What is known of containers that does not change.
#[derive(Debug, Default)]
pub(crate) struct Known(Mutex<HashMap<String, Arc<Value>>>);

impl Known {
    /// All containers, in the order of their pods and names, then of their attempts.
    pub(crate) fn containers(
        &self,
        machine: &Machine,
        containerd: &Containerd,
    ) -> Result<Vec<ContainerSeen>> {
        let folder = containerd.root().join("io.containerd.grpc.v1.cri/containers");
        let mut seen = Vec::new();
        for id in names(&folder) {
            // One that is being made or removed right now is not there.
            let status = fs::read_to_string(folder.join(&id).join("status"));
            let Some((info, status)) = self.info(containerd, &id).zip(status.ok()) else { continue };
            let status: Value =
                serde_json::from_str(&status).context("containerd's status of a container")?;
            seen.push(container(machine, id, &info, &status));
        }
        seen.sort_by(|one, other| order(one).cmp(&order(other)));
        Ok(seen)
    }

    /// All sandboxes whose process is there.
    pub(crate) fn sandboxes(&self, machine: &Machine, containerd: &Containerd) -> Vec<SandboxSeen> {
        let running = machine.files().join("run/containerd/io.containerd.runtime.v2.task/k8s.io");
        let sandbox = |id: String| {
            let info = self.info(containerd, &id)?;
            let label = |name: &str| text(&info["Labels"][format!("io.kubernetes.pod.{name}")]);
            let is_sandbox = info["Labels"]["io.cri-containerd.kind"] == "sandbox";
            let (pod_namespace, pod_name, pod_uid) = (label("namespace"), label("name"), label("uid"));
            is_sandbox.then_some(SandboxSeen { id, pod_namespace, pod_name, pod_uid })
        };
        names(&running).into_iter().filter_map(sandbox).collect()
    }

    fn info(&self, containerd: &Containerd, id: &str) -> Option<Arc<Value>> {
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains_key(id) {
            let info = containerd.ctr(&["containers", "info", id]).ok()?;
            known.insert(id.to_owned(), Arc::new(serde_json::from_str(&info).ok()?));
        }
        known.get(id).cloned()
    }
}

fn container(machine: &Machine, id: String, info: &Value, status: &Value) -> ContainerSeen {
    let label = |name: &str| text(&info["Labels"][format!("io.kubernetes.{name}")]);
    let annotation = |name: &str| text(&info["Spec"]["annotations"][format!("io.kubernetes.{name}")]);
    let time = |name: &str| status[name].as_u64().filter(|nanoseconds| *nanoseconds > 0);
    let inner = status["Pid"].as_u64().and_then(|pid| u32::try_from(pid).ok());
    let exited = ContainerState::Exited { code: status["ExitCode"].as_i64().unwrap_or_default() };
    let state = match (time("StartedAt"), time("FinishedAt")) {
        (_, Some(_)) => exited,
        (None, None) => ContainerState::Created,
        // A process may have ended before containerd has written so.
        (Some(_), None) => match inner.and_then(|inner| machine.host_pid(inner)) {
            Some(pid) => ContainerState::Running { pid },
            None => exited,
        },
    };
    let image = annotation("cri.image-name");
    ContainerSeen {
        name: label("container.name"),
        pod_namespace: label("pod.namespace"),
        pod_name: label("pod.name"),
        pod_uid: label("pod.uid"),
        // Without the registry that every name has, given or not.
        image: image.rsplit('/').next().unwrap_or_default().to_owned(),
        attempt: annotation("container.restartCount").parse().unwrap_or_default(),
        state,
        started_at: time("StartedAt").map(|start| SystemTime::UNIX_EPOCH + Duration::from_nanos(start)),
        id,
    }
}

fn order(container: &ContainerSeen) -> (&str, &str, &str, u32) {
    (&container.pod_namespace, &container.pod_name, &container.name, container.attempt)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten();
    entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect()
}
