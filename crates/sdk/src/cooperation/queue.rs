//! What is to be looked at: each key once, never two of the same at a time, and later each time that it fails. Pure.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

/// The keys that wait and those that are being looked at.
pub(super) struct Queue<K> {
    ready: VecDeque<K>,
    /// What is in `ready`.
    queued: HashSet<K>,
    delayed: BTreeSet<(Instant, K)>,
    running: HashSet<K>,
    /// Those of the running that are to be looked at once more.
    again: HashSet<K>,
    failures: HashMap<K, u32>,
    first: Duration,
    most: Duration,
}

// === impl Queue ===

impl<K: Clone + Eq + Hash + Ord> Queue<K> {
    /// A key that fails waits for the first of these, and twice as long each further time, up to the second.
    pub(super) fn new(first: Duration, most: Duration) -> Self {
        Self {
            ready: VecDeque::new(),
            queued: HashSet::new(),
            delayed: BTreeSet::new(),
            running: HashSet::new(),
            again: HashSet::new(),
            failures: HashMap::new(),
            first,
            most,
        }
    }

    /// Something has changed: the key is looked at as soon as possible, also if it was to wait.
    pub(super) fn add(&mut self, key: K) {
        if self.running.contains(&key) {
            self.again.insert(key);
        } else if self.queued.insert(key.clone()) {
            if self.failures.contains_key(&key) {
                self.delayed.retain(|(_, other)| *other != key);
            }
            self.ready.push_back(key);
        }
    }

    /// The next key to look at.
    pub(super) fn take(&mut self, now: Instant) -> Option<K> {
        while let Some((due, _)) = self.delayed.first()
            && *due <= now
        {
            let Some((_, key)) = self.delayed.pop_first() else { break };
            self.add(key);
        }
        let key = self.ready.pop_front()?;
        self.queued.remove(&key);
        self.running.insert(key.clone());
        Some(key)
    }

    /// Whether there is such a key among those that wait or are being looked at.
    pub(super) fn any(&self, is: impl Fn(&K) -> bool) -> bool {
        let waiting = self.queued.iter().chain(self.delayed.iter().map(|(_, key)| key));
        waiting.chain(&self.running).any(is)
    }

    /// When the next key is due of those that wait.
    pub(super) fn due(&self) -> Option<Instant> {
        self.delayed.first().map(|(due, _)| *due)
    }

    /// A key has been looked at. One that failed comes back by itself; the answer says when.
    pub(super) fn done(&mut self, key: K, well: bool, now: Instant) -> Option<Duration> {
        self.running.remove(&key);
        let again = self.again.remove(&key);
        if well {
            self.failures.remove(&key);
        } else {
            let failures = self.failures.entry(key.clone()).or_default();
            let wait = self.first.saturating_mul(1 << (*failures).min(20)).min(self.most);
            *failures = failures.saturating_add(1);
            if !again {
                self.delayed.insert((now + wait, key));
                return Some(wait);
            }
        }
        if again {
            self.add(key);
        }
        None
    }
}
