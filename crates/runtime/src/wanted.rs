//! The words between the runtime and who uses it: what shall run, and what is.

use std::{collections::BTreeMap, ffi::OsString, net::IpAddr, path::PathBuf, sync::Arc, time::Duration};

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// How a [`Runtime`](crate::Runtime) works.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where everything that has to survive is kept. Nothing is ever written outside of it.
    pub folder: PathBuf,
    /// The program, and its arguments, that becomes a shim; the folder of the run is appended.
    pub shim: Vec<OsString>,
    /// Shown as `hostIP` and `podIP`: there is one network.
    pub address: IpAddr,
    /// How long to wait before a container that ended is started again.
    pub backoff: Backoff,
    /// How the shims keep what the containers print.
    pub logs: Logs,
}

/// The waits between two runs of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Backoff {
    /// The wait before the second restart; the first is immediate.
    pub first: Duration,
    /// No wait is longer than this.
    pub most: Duration,
    /// A run as long as this starts the waits anew.
    pub reset: Duration,
}

/// How much is kept of what a container prints.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Logs {
    /// A log file is put aside when it is as long as this.
    pub bytes: u64,
    /// How many files are kept, the one that is written to included.
    pub files: u32,
}

/// One pod that shall run, change or end.
#[derive(Clone, Debug)]
pub struct Wanted {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub name: String,
    /// What tells this pod from others that had the same name.
    pub uid: String,
    /// Opaque, and repeated in reports: which version of the pod a report is about.
    pub version: String,
    /// The whole pod as the API has it.
    pub manifest: Arc<Value>,
    /// What the pod reads its variables and files from.
    pub configs: Arc<Configs>,
    /// The pod shall end, with so much grace.
    pub ending: Option<Duration>,
}

/// What the folder says was wanted, for a user that lost its own record.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Found {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub name: String,
    /// What tells this pod from others that had the same name.
    pub uid: String,
    /// The version that was wanted last.
    pub version: String,
    /// The whole pod as it was wanted last.
    pub manifest: Arc<Value>,
    /// The grace with which it was to end, if it was.
    pub ending: Option<Duration>,
}

/// The ConfigMaps and Secrets that a pod uses. One that is missing is missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Configs(pub BTreeMap<ConfigKey, Arc<Config>>);

/// Names a ConfigMap or Secret in the namespace of the pod.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ConfigKey {
    /// Which of the two it is.
    pub kind: ConfigKind,
    /// Its name.
    pub name: String,
}

/// The kinds of object that a pod reads its configuration from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ConfigKind {
    /// A ConfigMap; its `binaryData` counts as data.
    ConfigMap,
    /// A Secret.
    Secret,
}

/// One ConfigMap or Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Config {
    /// Opaque, and repeated in reports.
    pub version: String,
    /// Decoded.
    pub data: BTreeMap<String, Vec<u8>>,
}

/// What is, of one pod.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The namespace of the pod.
    pub namespace: String,
    /// The name of the pod.
    pub name: String,
    /// The uid of the pod.
    pub uid: String,
    /// The version that was wanted when this was true.
    pub version: String,
    /// The status in one word.
    pub health: Health,
    /// The end was wanted, and nothing of the pod is left. Answer with [`Runtime::forget`](crate::Runtime::forget).
    pub ended: bool,
    /// A Kubernetes PodStatus.
    pub status: Value,
    /// The versions that the mounted files of the pod show now.
    pub configs: BTreeMap<ConfigKey, String>,
}

/// A pod's status in one word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Health {
    /// Not every container has been started yet.
    Starting,
    /// Every container has been started once, and the pod is not ready.
    Unready,
    /// Ready, as Kubernetes understands it.
    Ready,
    /// Succeeded or failed for good; nothing of it runs or will run again.
    Finished,
}

// === impl Options ===

impl Options {
    /// What Kubernetes does, on the loopback address.
    pub fn new(folder: impl Into<PathBuf>, shim: Vec<OsString>) -> Self {
        Self {
            folder: folder.into(),
            shim,
            address: IpAddr::from([127, 0, 0, 1]),
            backoff: Backoff::default(),
            logs: Logs::default(),
        }
    }
}

impl Default for Backoff {
    /// The kubelet's.
    fn default() -> Self {
        Self {
            first: Duration::from_secs(10),
            most: Duration::from_secs(300),
            reset: Duration::from_secs(600),
        }
    }
}

impl Default for Logs {
    fn default() -> Self {
        Self { bytes: 10 * 1024 * 1024, files: 2 }
    }
}

// === impl ConfigKey ===

impl ConfigKey {
    /// Names a ConfigMap.
    pub fn config_map(name: impl Into<String>) -> Self {
        Self { kind: ConfigKind::ConfigMap, name: name.into() }
    }

    /// Names a Secret.
    pub fn secret(name: impl Into<String>) -> Self {
        Self { kind: ConfigKind::Secret, name: name.into() }
    }
}

impl std::fmt::Display for ConfigKey {
    /// As the kubelet's messages name them.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let kind = match self.kind {
            ConfigKind::ConfigMap => "configmap",
            ConfigKind::Secret => "secret",
        };
        write!(f, "{kind} {:?}", self.name)
    }
}
