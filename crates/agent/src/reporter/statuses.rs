//! What the door last reported of each pod, for whoever shows it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use safepoint_core::Uid;
use serde_json::Value;
use tokio::sync::watch;

/// The newest report of each pod that the door knows.
#[derive(Debug, Default)]
pub(crate) struct Statuses {
    /// As texts, which take a fraction of the memory.
    pods: Mutex<BTreeMap<Uid, Arc<str>>>,
    changes: watch::Sender<()>,
}

// === impl Statuses ===

impl Statuses {
    /// Takes a Kubernetes pod status.
    pub(crate) fn set(&self, uid: Uid, status: &Value) {
        self.lock().insert(uid, status.to_string().into());
        self.changes.send_replace(());
    }

    pub(crate) fn remove(&self, uid: &Uid) {
        self.lock().remove(uid);
    }

    pub(crate) fn get(&self, uid: &Uid) -> Option<Arc<str>> {
        self.lock().get(uid).cloned()
    }

    pub(crate) fn all(&self) -> BTreeMap<Uid, Arc<str>> {
        self.lock().clone()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Uid, Arc<str>>> {
        // Nothing that can panic happens under the lock.
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
