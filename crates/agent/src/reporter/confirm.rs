//! Ends that the cluster waits to hear of: a pod with a deletion timestamp is gone only when its node says so.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use safepoint_core::{Key, Uid};
use tokio::sync::watch;

/// Pods whose end is to be confirmed. In memory only: after a restart the gate names them again, because the cluster still
/// shows them.
#[derive(Debug, Default)]
pub(crate) struct Confirmations {
    ends: Mutex<BTreeMap<Uid, Key>>,
    changes: watch::Sender<()>,
}

// === impl Confirmations ===

impl Confirmations {
    pub(crate) fn add(&self, key: Key, uid: Uid) {
        self.lock().insert(uid, key);
        self.changes.send_replace(());
    }

    pub(crate) fn done(&self, uid: &Uid) {
        self.lock().remove(uid);
    }

    pub(crate) fn all(&self) -> BTreeMap<Uid, Key> {
        self.lock().clone()
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Uid, Key>> {
        // Nothing that can panic happens under the lock.
        self.ends.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
