//! What has to be remembered of each pod that is shown, because nobody else does: the kubelet's last word where the cluster
//! cannot have it, that the pod is over by that word, what an update replaces, and how often it was told to look again.
//!
//! It is on disk before it counts: a row for each pod, which goes with the pod.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use safepoint_core::Uid;
use serde::{Deserialize, Serialize};
use tokio::sync::watch;

use super::condition::Replaced;
use super::spare::{KEPT, Keep};

/// Under this and its uid a pod's row is kept, after [`KEPT`].
pub(super) const POD: &str = "pod/";

/// What is remembered of one pod.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
pub(super) struct Word {
    /// Its status, where the cluster has none, or as it was when it came to its end.
    pub(super) status: Option<Arc<str>>,
    /// The kubelet itself has said that it is over.
    pub(super) is_over: bool,
    /// The containers that the version which is shown replaces, as they were before.
    pub(super) replaced: Replaced,
    /// How often it has been told to look at its configuration.
    pub(super) nudges: u64,
}

/// What is remembered of all.
#[derive(Debug, Default)]
pub(super) struct Said {
    inner: Mutex<Inner>,
    changes: watch::Sender<()>,
    /// Who has it may read a word, keep it and set it.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Debug, Default)]
struct Inner {
    words: BTreeMap<Uid, Word>,
    /// What could not be told to the cluster, which is away. It is said again when it is back, so it is on no disk.
    untold: BTreeMap<Uid, Arc<str>>,
}

// === impl Word ===

impl Word {
    /// The row to keep.
    pub(super) fn row(&self, uid: &Uid) -> Keep {
        (format!("{KEPT}{POD}{uid}"), serde_json::to_vec(self).ok())
    }
}

// === impl Said ===

impl Said {
    /// Takes up rows that were kept, by their names after [`KEPT`].
    pub(super) fn load(&self, rows: &[(String, Vec<u8>)]) {
        let mut inner = self.lock();
        for (name, value) in rows {
            if let Some(uid) = name.strip_prefix(POD)
                && let Ok(word) = serde_json::from_slice(value)
            {
                inner.words.insert(Uid::from(uid), word);
            }
        }
    }

    pub(super) fn word(&self, uid: &Uid) -> Word {
        self.lock().words.get(uid).cloned().unwrap_or_default()
    }

    /// Waits until nobody else is between reading a word and setting it: the last one would undo what the other has said.
    pub(super) async fn turn(&self) -> tokio::sync::MutexGuard<'_, ()> {
        self.turn.lock().await
    }

    /// Remembers it. Its row has to be on disk by now.
    pub(super) fn set(&self, uid: &Uid, word: Word) {
        self.lock().words.insert(uid.clone(), word);
        self.changes.send_replace(());
    }

    pub(super) fn untold(&self, uid: &Uid) -> Option<Arc<str>> {
        self.lock().untold.get(uid).cloned()
    }

    pub(super) fn set_untold(&self, uid: &Uid, status: Arc<str>) {
        self.lock().untold.insert(uid.clone(), status);
        self.changes.send_replace(());
    }

    /// Forgets pods that are not shown any more, and what the cluster has been told by now. Returns the rows to forget.
    pub(super) fn forget(&self, shown: &BTreeSet<Uid>, is_connected: bool) -> Vec<Keep> {
        let mut inner = self.lock();
        inner.untold.retain(|uid, _| !is_connected && shown.contains(uid));
        let gone: Vec<Uid> = inner.words.keys().filter(|uid| !shown.contains(*uid)).cloned().collect();
        for uid in &gone {
            inner.words.remove(uid);
        }
        gone.into_iter().map(|uid| (format!("{KEPT}{POD}{uid}"), None)).collect()
    }

    pub(super) fn changes(&self) -> watch::Receiver<()> {
        self.changes.subscribe()
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        // Nothing that can panic happens under the lock.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_kept_is_remembered_and_goes_with_its_pod() {
        let (said, uid) = (Said::default(), Uid::from("u1"));
        let word = Word { is_over: true, nudges: 3, status: Some("{}".into()), ..Word::default() };
        let (name, row) = word.row(&uid);
        said.load(&[(name.strip_prefix(KEPT).unwrap().to_owned(), row.unwrap())]);
        assert_eq!(said.word(&uid), word);
        assert_eq!(said.forget(&BTreeSet::from([uid.clone()]), true), []);
        assert_eq!(said.forget(&BTreeSet::new(), true), [(name, None)]);
        assert_eq!(said.word(&uid), Word::default());
    }

    #[test]
    fn what_could_not_be_told_counts_until_the_cluster_is_back() {
        let (said, uid) = (Said::default(), Uid::from("u1"));
        let shown = BTreeSet::from([uid.clone()]);
        said.set_untold(&uid, "{}".into());
        said.forget(&shown, false);
        assert!(said.untold(&uid).is_some());
        said.forget(&shown, true);
        assert!(said.untold(&uid).is_none());
    }
}
