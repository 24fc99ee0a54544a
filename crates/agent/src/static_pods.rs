//! The static pods that run here, for whoever shows them or waits for them to be well.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use safepoint_core::Uid;
use serde_json::Value;
use tokio::sync::watch;

use crate::link::Link;
use crate::reporter::Statuses;
use crate::seen::SeenPods;

/// Who knows how the static pods are.
#[derive(Clone)]
pub(crate) enum Witness {
    /// The cluster, by the mirrors that the kubelet keeps there.
    Mirrors(Arc<SeenPods>, Link),
    /// The door that runs them as processes.
    Door(Arc<StaticPods>, Arc<Statuses>),
}

/// The static pods of a machine without a kubelet as its door knows them, with those that are ending.
#[derive(Debug, Default)]
pub(crate) struct StaticPods {
    pods: Mutex<Option<BTreeMap<Uid, Arc<Value>>>>,
    changes: watch::Sender<()>,
}

// === impl Witness ===

impl Witness {
    /// How they were when they were last seen.
    pub(crate) fn last_seen(&self) -> Vec<Value> {
        match self {
            Self::Mirrors(seen, _) => seen.mirrors(),
            Self::Door(pods, statuses) => pods.with_statuses(statuses).unwrap_or_default(),
        }
    }

    /// How they are now.
    ///
    /// # Errors
    /// Why that is not known.
    pub(crate) fn now(&self) -> Result<Vec<Value>, &'static str> {
        match self {
            // What was seen before the link broke says nothing about now.
            Self::Mirrors(seen, link) if link.now().connected && seen.is_listed() => Ok(seen.mirrors()),
            Self::Mirrors(..) => Err("the cluster cannot be reached"),
            Self::Door(pods, statuses) => {
                pods.with_statuses(statuses).ok_or("the folder of manifests has not been read yet")
            }
        }
    }
}

// === impl StaticPods ===

impl StaticPods {
    pub(crate) fn set(&self, pods: BTreeMap<Uid, Arc<Value>>) {
        let mut known = self.lock();
        if known.as_ref() == Some(&pods) {
            return;
        }
        *known = Some(pods);
        drop(known);
        self.changes.send_replace(());
    }

    /// None before the folder was looked at.
    pub(crate) fn all(&self) -> Option<BTreeMap<Uid, Arc<Value>>> {
        self.lock().clone()
    }

    /// The same as a kubelet would list them, with how they are.
    fn with_statuses(&self, statuses: &Statuses) -> Option<Vec<Value>> {
        let with_status = |(uid, pod): (Uid, Arc<Value>)| {
            let mut pod = Value::clone(&pod);
            let status = statuses.get(&uid).and_then(|text| serde_json::from_str(&text).ok());
            pod["status"] = status.unwrap_or_default();
            pod
        };
        Some(self.all()?.into_iter().map(with_status).collect())
    }

    pub(crate) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Option<BTreeMap<Uid, Arc<Value>>>> {
        // Nothing that can panic happens under the lock.
        self.pods.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
