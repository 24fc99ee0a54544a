//! What the API last showed of the pods of this node, as far as the reporter needs it to write only what is not there yet.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use safepoint_api::names::kubeedge::condition::HELD_UPGRADE;
use safepoint_core::{Key, Uid};
use serde_json::Value;
use tokio::sync::watch;

use crate::uplink::metadata;

/// The pods that the API shows.
#[derive(Debug, Default)]
pub(crate) struct SeenPods {
    pods: Mutex<BTreeMap<Uid, SeenPod>>,
    changes: watch::Sender<()>,
}

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SeenPod {
    pub(crate) key: Key,
    /// Whether the API says that it is held, if it says anything about it.
    pub(crate) held: Option<bool>,
    pub(crate) deleting: bool,
    /// What others say in the conditions that the pod makes its readiness depend on.
    pub(crate) gates: Gates,
}

/// Which conditions are true, by their type.
pub(crate) type Gates = BTreeMap<String, bool>;

// === impl SeenPods ===

impl SeenPods {
    pub(crate) fn listed(&self, pods: &[Value]) {
        *self.lock() = pods.iter().map(read).collect();
        self.changes.send_replace(());
    }

    pub(crate) fn changed(&self, pod: &Value) {
        let (uid, pod) = read(pod);
        self.lock().insert(uid, pod);
        self.changes.send_replace(());
    }

    pub(crate) fn gone(&self, pod: &Value) {
        self.lock().remove(&read(pod).0);
        self.changes.send_replace(());
    }

    pub(crate) fn all(&self) -> BTreeMap<Uid, SeenPod> {
        self.lock().clone()
    }

    /// What others say of the readiness of pods, where any of it counts.
    pub(crate) fn gates(&self) -> BTreeMap<Uid, Gates> {
        let pods = self.lock();
        let gated = pods.iter().filter(|(_, pod)| !pod.gates.is_empty());
        gated.map(|(uid, pod)| (uid.clone(), pod.gates.clone())).collect()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Uid, SeenPod>> {
        // Nothing that can panic happens under the lock.
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn read(pod: &Value) -> (Uid, SeenPod) {
    let items = |list: &'static str, of: &'static str| pod[of][list].as_array().into_iter().flatten();
    let condition = |kind: &str| items("conditions", "status").find(|condition| condition["type"] == kind);
    let held = condition(HELD_UPGRADE);
    let gates = items("readinessGates", "spec").filter_map(|gate| gate["conditionType"].as_str());
    let is_true = |kind: &str| condition(kind).is_some_and(|condition| condition["status"] == "True");
    let seen = SeenPod {
        key: Key::pod(metadata(pod, "namespace"), metadata(pod, "name")),
        held: held.map(|condition| condition["status"] == "True"),
        deleting: !pod["metadata"]["deletionTimestamp"].is_null(),
        gates: gates.map(|kind| (kind.to_owned(), is_true(kind))).collect(),
    };
    (Uid::from(metadata(pod, "uid")), seen)
}
