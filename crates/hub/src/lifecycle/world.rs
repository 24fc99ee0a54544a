//! The pods that take part, as they were last seen, and which of them are to be looked at.
//!
//! A pod is looked at by one at a time: what happens to it meanwhile has it looked at once more afterwards. Transition rules read
//! the pods here and say which of them to look at again.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kube::runtime::watcher::Event;
use safepoint_core::Text;
use tokio::sync::{Notify, watch};
use tokio::time::Instant;

use super::known::{Key, Known};
use super::shared::Shared;
use super::slim::SlimPod;

/// The pods. Shared between the controller and the rules.
pub(crate) struct Pods {
    inner: Mutex<Inner>,
    /// There is something to be looked at.
    soiled: Notify,
    /// Counts changes, for whoever looks at all pods.
    changes: watch::Sender<u64>,
}

/// Where pods have changed since somebody asked last.
#[derive(Default, Debug)]
pub(crate) struct Touched {
    /// Anywhere: all pods have been seen anew.
    pub(crate) all: bool,
    /// In these namespaces.
    pub(crate) namespaces: HashSet<Text>,
}

#[derive(Default)]
struct Inner {
    known: HashMap<Key, Arc<Known>>,
    touched: Touched,
    /// What the present list has shown so far.
    fresh: Option<HashSet<Key>>,
    complete: bool,
    dirty: VecDeque<Key>,
    queued: HashSet<Key>,
    /// Pods that somebody looks at right now, and those of them that have to be looked at again.
    acting: HashSet<Key>,
    again: HashSet<Key>,
    /// What is to be looked at later. A pod is in it once at the most: a look that comes earlier takes its place.
    later: BTreeSet<(Instant, Key)>,
    /// The same by pod.
    alarms: HashMap<Key, Instant>,
    shared: Shared,
}

// === impl Pods ===

impl Pods {
    pub(crate) fn new() -> Self {
        Self { inner: Mutex::default(), soiled: Notify::new(), changes: watch::Sender::new(0) }
    }

    /// Takes what the watch tells, and says which pods are gone.
    pub(super) fn take(&self, event: Event<SlimPod>) -> Vec<Key> {
        let mut gone = Vec::new();
        let mut inner = self.inner();
        match event {
            Event::Init => inner.fresh = Some(HashSet::new()),
            Event::InitApply(pod) | Event::Apply(pod) => {
                let (key, known) = read(&pod);
                if let Some(fresh) = &mut inner.fresh {
                    fresh.insert(key.clone());
                }
                inner.put(key, known);
            }
            Event::Delete(pod) => gone.push(read(&pod).0),
            Event::InitDone => {
                inner.complete = true;
                inner.touched.all = true;
                let fresh = inner.fresh.take().unwrap_or_default();
                gone.extend(inner.known.keys().filter(|key| !fresh.contains(*key)).cloned());
            }
        }
        gone.iter().for_each(|key| inner.forget(key));
        drop(inner);
        self.changed();
        gone
    }

    /// Takes the answer to a write, unless the watch was faster.
    pub(super) fn written(&self, pod: &SlimPod) {
        let (key, known) = read(pod);
        let mut inner = self.inner();
        // A pod that is gone by now does not come back with what was written before.
        if inner.known.get(&key).is_some_and(|seen| seen.uid == known.uid && known.is_newer_than(seen)) {
            inner.put(key, known);
        }
        drop(inner);
        self.changed();
    }

    /// These are to be looked at.
    pub(crate) fn soil(&self, keys: impl IntoIterator<Item = Key>) {
        let mut inner = self.inner();
        keys.into_iter().for_each(|key| inner.soil(key));
        drop(inner);
        self.soiled.notify_one();
    }

    /// The next pod to look at. Whoever takes it says so when it is done.
    pub(super) fn next(&self, now: Instant) -> Option<(Key, Arc<Known>)> {
        let mut inner = self.inner();
        if !inner.complete {
            return None;
        }
        while inner.later.first().is_some_and(|(at, _)| *at <= now) {
            if let Some((_, key)) = inner.later.pop_first() {
                inner.alarms.remove(&key);
                inner.soil(key);
            }
        }
        while let Some(key) = inner.dirty.pop_front() {
            inner.queued.remove(&key);
            if inner.acting.contains(&key) {
                inner.again.insert(key);
            } else if let Some(known) = inner.known.get(&key).cloned() {
                // Whoever looks now says when to look again.
                inner.put_off(&key, None);
                inner.acting.insert(key.clone());
                return Some((key, known));
            }
        }
        None
    }

    /// A pod has been looked at, and is to be looked at again at some time, if that is said.
    pub(super) fn done(&self, key: &Key, again: Option<Instant>) {
        let mut inner = self.inner();
        inner.acting.remove(key);
        if inner.again.remove(key) {
            inner.soil(key.clone());
        } else if inner.known.contains_key(key) {
            inner.put_off(key, again);
        }
    }

    /// Nobody looks at anything any more: a run has ended.
    pub(super) fn begin(&self) {
        let mut inner = self.inner();
        *inner = Inner::default();
    }

    /// Waits until there may be something to look at.
    pub(super) async fn dirty(&self) {
        let next = self.inner().later.first().map(|(at, _)| *at);
        tokio::select! {
            () = self.soiled.notified() => {}
            () = async { match next {
                Some(at) => tokio::time::sleep_until(at).await,
                None => std::future::pending().await,
            } } => {}
        }
    }

    /// Whether all pods have been seen once.
    pub(crate) fn is_complete(&self) -> bool {
        self.inner().complete
    }

    /// One pod.
    pub(crate) fn get(&self, key: &Key) -> Option<Arc<Known>> {
        self.inner().known.get(key).cloned()
    }

    /// The pods of a namespace.
    pub(crate) fn of_namespace(&self, namespace: &str) -> Vec<(Key, Arc<Known>)> {
        let inner = self.inner();
        let of = inner.known.iter().filter(|(key, _)| &*key.namespace == namespace);
        of.map(|(key, known)| (key.clone(), Arc::clone(known))).collect()
    }

    /// Which pods there are.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.inner().known.keys().cloned().collect()
    }

    /// Where pods have changed since this was asked last.
    pub(crate) fn touched(&self) -> Touched {
        std::mem::take(&mut self.inner().touched)
    }

    /// Tells of every change of any pod.
    pub(crate) fn changes(&self) -> watch::Receiver<u64> {
        self.changes.subscribe()
    }

    pub(super) fn number(&self) -> usize {
        self.inner().known.len()
    }

    fn changed(&self) {
        self.changes.send_modify(|count| *count += 1);
        self.soiled.notify_one();
    }

    fn inner(&self) -> MutexGuard<'_, Inner> {
        // Every change under this lock is whole or is done again by the next list.
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl Inner ===

impl Inner {
    fn put(&mut self, key: Key, known: Known) {
        let same = self.known.get(&key).is_some_and(|seen| **seen == known);
        let old =
            self.known.get(&key).is_some_and(|seen| seen.uid == known.uid && seen.is_newer_than(&known));
        if same || old {
            return;
        }
        let known = self.shared.pod(known);
        let key = Key { namespace: self.shared.text(&key.namespace), name: key.name };
        self.known.insert(key.clone(), Arc::new(known));
        self.touched.namespaces.insert(key.namespace.clone());
        self.soil(key);
    }

    /// The pod is looked at then, and not at the time that was said before.
    fn put_off(&mut self, key: &Key, again: Option<Instant>) {
        let before = match again {
            Some(at) => self.alarms.insert(key.clone(), at),
            None => self.alarms.remove(key),
        };
        if let Some(before) = before {
            self.later.remove(&(before, key.clone()));
        }
        if let Some(at) = again {
            self.later.insert((at, key.clone()));
        }
    }

    fn forget(&mut self, key: &Key) {
        self.put_off(key, None);
        if self.known.remove(key).is_some() {
            self.touched.namespaces.insert(key.namespace.clone());
        }
    }

    fn soil(&mut self, key: Key) {
        if self.queued.insert(key.clone()) {
            self.dirty.push_back(key);
        }
    }
}

fn read(pod: &SlimPod) -> (Key, Known) {
    let text = |text: &Option<String>| text.as_deref().unwrap_or_default().into();
    let key = Key { namespace: text(&pod.metadata.namespace), name: text(&pod.metadata.name) };
    (key, Known::of(pod))
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    fn pod(name: &str, version: u32) -> SlimPod {
        SlimPod::deserialize(&json!({"metadata": {"namespace": "shop", "name": name, "uid": name,
            "resourceVersion": version.to_string()}}))
        .unwrap()
    }

    fn listed(names: &[&str]) -> Pods {
        let pods = Pods::new();
        pods.take(Event::Init);
        names.iter().for_each(|name| drop(pods.take(Event::InitApply(pod(name, 1)))));
        pods.take(Event::InitDone);
        pods
    }

    fn next(pods: &Pods) -> Option<Key> {
        pods.next(Instant::now()).map(|(key, _)| key)
    }

    #[tokio::test]
    async fn nothing_is_looked_at_before_all_have_been_seen() {
        let pods = Pods::new();
        pods.take(Event::Init);
        pods.take(Event::InitApply(pod("a", 1)));
        assert_eq!(next(&pods), None);
        pods.take(Event::InitDone);
        assert!(next(&pods).is_some());
    }

    #[tokio::test]
    async fn what_changes_while_it_is_looked_at_is_looked_at_again() {
        let pods = listed(&["a"]);
        let key = next(&pods).unwrap();
        pods.take(Event::Apply(pod("a", 2)));
        assert_eq!(next(&pods), None);
        pods.done(&key, None);
        assert_eq!(next(&pods), Some(key.clone()));
        pods.done(&key, None);
        assert_eq!(next(&pods), None);
    }

    #[tokio::test]
    async fn an_answer_that_is_older_than_what_was_seen_is_not_taken() {
        let pods = listed(&["a"]);
        let key = next(&pods).unwrap();
        pods.take(Event::Apply(pod("a", 3)));
        pods.written(&pod("a", 2));
        assert_eq!(&*pods.get(&key).unwrap().version, "3");
        pods.take(Event::Delete(pod("a", 4)));
        pods.written(&pod("a", 5));
        assert!(pods.get(&key).is_none(), "what is gone does not come back");
        assert!(pods.of_namespace("shop").is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_put_off_is_looked_at_when_its_time_has_come() {
        let pods = listed(&["a"]);
        let key = next(&pods).unwrap();
        pods.done(&key, Some(Instant::now() + std::time::Duration::from_secs(5)));
        assert_eq!(next(&pods), None);
        pods.soiled.notified().await;
        pods.dirty().await;
        assert_eq!(next(&pods), Some(key));
        assert!(*pods.changes().borrow() > 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_pod_that_changes_often_is_not_looked_at_more_often_later() {
        let pods = listed(&["a"]);
        let later = || Instant::now() + std::time::Duration::from_secs(5);
        for version in 2..50 {
            let key = next(&pods).unwrap();
            pods.done(&key, Some(later()));
            tokio::time::advance(std::time::Duration::from_millis(10)).await;
            pods.take(Event::Apply(pod("a", version)));
        }
        let key = next(&pods).unwrap();
        pods.done(&key, Some(later()));
        // Each look has said when the next one is to be: the last one counts.
        let mut looks = 0;
        for _ in 0..100 {
            tokio::time::advance(std::time::Duration::from_millis(100)).await;
            if let Some(key) = next(&pods) {
                looks += 1;
                pods.done(&key, Some(later()));
            }
        }
        assert_eq!(looks, 2, "ten seconds are two looks");
        pods.take(Event::Delete(pod("a", 51)));
        let inner = pods.inner();
        assert!(inner.later.is_empty() && inner.alarms.is_empty(), "what is gone is not waited for");
    }

    #[tokio::test]
    async fn a_list_that_does_not_show_a_pod_has_it_forgotten() {
        let pods = listed(&["a", "b"]);
        pods.take(Event::Init);
        pods.take(Event::InitApply(pod("b", 1)));
        let gone = pods.take(Event::InitDone);
        assert_eq!(gone.iter().map(|key| &*key.name).collect::<Vec<_>>(), ["a"]);
        assert_eq!(pods.take(Event::Delete(pod("c", 1))).len(), 1);
        assert_eq!(pods.number(), 1);
        assert_eq!(next(&pods).map(|key| key.name.to_string()), Some("b".into()));
        assert_eq!(next(&pods), None);
    }
}
