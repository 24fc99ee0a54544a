//! What the API last showed of the pods of this node, as far as the reporter needs it to write only what is not there yet.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use safepoint_api::names::kubeedge::condition::HELD_UPGRADE;
use safepoint_api::names::kubernetes::CONFIG_MIRROR;
use safepoint_api::names::openyurt::pod_condition::NEED_UPGRADE;
use safepoint_api::names::safepoint::static_pod::STAGED;
use safepoint_core::{Key, Needs, Uid};
use serde_json::Value;
use tokio::sync::watch;

use crate::needs;
use crate::uplink::metadata;

/// The reason with which the hub takes back what it had told the owner of a node, and that of a refusal because of it.
pub(crate) const NOTHING_TO_UPGRADE: &str = "NothingToUpgrade";

/// The pods that the API shows.
#[derive(Debug, Default)]
pub(crate) struct SeenPods {
    /// Whether their statuses are kept, for a kubelet that is to be shown them.
    keeps_statuses: bool,
    pods: Mutex<BTreeMap<Uid, SeenPod>>,
    /// ConfigMaps and Secrets that a pod uses and the cluster says are not there.
    absent: Mutex<BTreeSet<Key>>,
    is_listed: AtomicBool,
    changes: watch::Sender<()>,
}

/// One of them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct SeenPod {
    pub(crate) key: Key,
    /// Whether the API says that it is held, if it says anything about it.
    pub(crate) held: Option<bool>,
    pub(crate) deleting: bool,
    /// Which static pod it shows, if it is a mirror.
    pub(crate) mirror_of: Option<Uid>,
    /// The cluster has taken back what it had laid ready for the static pod of this mirror: which revision that was, or
    /// nothing where it does not say.
    pub(crate) taken_back: Option<Arc<str>>,
    /// What others say in the conditions that the pod makes its readiness depend on.
    pub(crate) gates: Gates,
    /// The status, if statuses are kept.
    pub(crate) status: Option<Arc<str>>,
    /// All of it, if it is the mirror of a static pod and statuses are kept.
    pub(crate) mirror: Option<Arc<str>>,
}

/// Which conditions are true, by their type.
pub(crate) type Gates = BTreeMap<String, bool>;

// === impl SeenPods ===

impl SeenPods {
    /// Keeps the statuses as well.
    pub(crate) fn with_statuses() -> Self {
        Self { keeps_statuses: true, ..Self::default() }
    }

    pub(crate) fn listed(&self, pods: &[Value]) {
        *self.lock() = pods.iter().map(|pod| self.read(pod)).collect();
        self.is_listed.store(true, Ordering::SeqCst);
        self.changes.send_replace(());
    }

    pub(crate) fn changed(&self, pod: &Value) {
        let (uid, pod) = self.read(pod);
        self.lock().insert(uid, pod);
        self.changes.send_replace(());
    }

    pub(crate) fn gone(&self, pod: &Value) {
        self.lock().remove(&Uid::from(metadata(pod, "uid")));
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

    /// Whether the cluster has listed them since the agent began.
    pub(crate) fn is_listed(&self) -> bool {
        self.is_listed.load(Ordering::SeqCst)
    }

    /// The cluster says whether a ConfigMap or Secret that a pod uses is there.
    pub(crate) fn config(&self, key: &Key, is_there: bool) {
        let mut absent = self.absent.lock().unwrap_or_else(PoisonError::into_inner);
        let is_news = if is_there { absent.remove(key) } else { absent.insert(key.clone()) };
        drop(absent);
        if is_news {
            self.changes.send_replace(());
        }
    }

    /// Whether the cluster has said that a ConfigMap or Secret is not there.
    pub(crate) fn is_absent(&self, key: &Key) -> bool {
        self.absent.lock().unwrap_or_else(PoisonError::into_inner).contains(key)
    }

    pub(crate) fn absent(&self) -> BTreeSet<Key> {
        self.absent.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Whether the cluster has laid this revision ready for the static pod of a mirror, and says that it is not to be applied.
    pub(crate) fn is_taken_back(&self, mirror: &Key, revision: &str) -> bool {
        let pods = self.lock();
        let mut said =
            pods.values().filter(|pod| pod.key == *mirror).filter_map(|pod| pod.taken_back.as_deref());
        said.any(|said| said.is_empty() || said == revision)
    }

    /// The mirrors of static pods, where they are kept.
    pub(crate) fn mirrors(&self) -> Vec<Value> {
        let mirrors: Vec<Arc<str>> = self.lock().values().filter_map(|pod| pod.mirror.clone()).collect();
        mirrors.into_iter().filter_map(|text| serde_json::from_str(&text).ok()).collect()
    }

    /// What the static pods take of the machine, by their mirrors.
    pub(crate) fn mirrors_need(&self) -> Vec<Needs> {
        let running = |pod: &Value| !matches!(pod["status"]["phase"].as_str(), Some("Succeeded" | "Failed"));
        self.mirrors().into_iter().filter(running).map(|pod| needs::of_pod(&pod["spec"])).collect()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Uid, SeenPod>> {
        // Nothing that can panic happens under the lock.
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn read(&self, pod: &Value) -> (Uid, SeenPod) {
        let items = |list: &'static str, of: &'static str| pod[of][list].as_array().into_iter().flatten();
        let condition =
            |kind: &str| items("conditions", "status").find(|condition| condition["type"] == kind);
        let held = condition(HELD_UPGRADE);
        let gates = items("readinessGates", "spec").filter_map(|gate| gate["conditionType"].as_str());
        let is_true = |kind: &str| condition(kind).is_some_and(|condition| condition["status"] == "True");
        let annotation = |name: &str| pod["metadata"]["annotations"][name].as_str();
        let mirror_of = annotation(CONFIG_MIRROR).map(Uid::from);
        let is_mirror = mirror_of.is_some();
        // Others say so of every pod that is as it should be. The hub says it where it had said something else.
        let no_more = condition(NEED_UPGRADE).filter(|_| is_mirror).is_some_and(|condition| {
            condition["status"] == "False" && condition["reason"] == NOTHING_TO_UPGRADE
        });
        let seen = SeenPod {
            key: Key::pod(metadata(pod, "namespace"), metadata(pod, "name")),
            held: held.map(|condition| condition["status"] == "True"),
            deleting: !pod["metadata"]["deletionTimestamp"].is_null(),
            mirror_of,
            taken_back: no_more.then(|| annotation(STAGED).unwrap_or_default().into()),
            gates: gates.map(|kind| (kind.to_owned(), is_true(kind))).collect(),
            status: self.keeps_statuses.then(|| pod["status"].to_string().into()),
            mirror: (self.keeps_statuses && is_mirror).then(|| {
                let mut pod = pod.clone();
                if let Value::Object(metadata) = &mut pod["metadata"] {
                    metadata.remove("managedFields");
                }
                pod.to_string().into()
            }),
        };
        (Uid::from(metadata(pod, "uid")), seen)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_the_hub_has_laid_ready_and_does_not_want_any_more_is_taken_back() {
        let seen = SeenPods::default();
        let key = Key::pod("default", "nav-rover-7");
        let is_taken_back = |staged: Value, condition: Value, revision: &str| {
            seen.listed(&[json!({"metadata": {"namespace": "default", "name": "nav-rover-7", "uid": "m",
                "annotations": {CONFIG_MIRROR: "hash", STAGED: staged}}, "status": {"conditions": [condition]}})]);
            seen.is_taken_back(&key, revision)
        };
        let untold = json!({"type": NEED_UPGRADE, "status": "False", "reason": NOTHING_TO_UPGRADE});
        assert!(is_taken_back(json!("two"), untold.clone(), "two"));
        assert!(is_taken_back(Value::Null, untold.clone(), "two"), "it had no time to say what lies ready");
        assert!(!is_taken_back(json!("two"), untold, "mine"), "somebody else has laid that ready");
        let told = json!({"type": NEED_UPGRADE, "status": "True", "reason": "NewRevision"});
        assert!(!is_taken_back(json!("two"), told, "two"));
        let of_others = json!({"type": NEED_UPGRADE, "status": "False"});
        assert!(!is_taken_back(json!("two"), of_others, "two"));
    }
}
