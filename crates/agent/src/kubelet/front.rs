//! What the kubelet is shown now. The door keeps it true, requests are answered from it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use safepoint_core::{Key, Kind, Uid};
use serde_json::Value;
use tokio::sync::watch;

use super::collection::{Collection, Name};
use super::mask::{End, Showing};

/// A collection of the front.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Shelf {
    Pods,
    ConfigMaps,
    Secrets,
}

/// The front. Nothing that can panic or wait happens under its locks.
#[derive(Debug)]
pub(super) struct Front {
    inner: Mutex<Inner>,
    /// One for each collection: hundreds may watch a ConfigMap each, and are not woken because a pod has changed.
    changes: [watch::Sender<u64>; Shelf::ALL.len()],
    /// How many watch the pods.
    watching: Arc<watch::Sender<u64>>,
}

#[derive(Debug)]
struct Inner {
    /// Why nothing is shown; none while the door is open.
    closed: Option<String>,
    pods: Collection,
    config_maps: Collection,
    secrets: Collection,
    facts: BTreeMap<Name, Facts>,
    /// The ConfigMaps and Secrets that are the gate's to show, and whether it knows each of them.
    judged: BTreeMap<Key, bool>,
}

/// Something to show, or not to show any more.
#[derive(Debug)]
pub(super) enum Step {
    /// A pod. Without facts it is one that the gate has no part in.
    Pod(Key, Uid, Value, Option<Facts>),
    NoPod(Key),
    Config(Key, Uid, Value),
    NoConfig(Key),
}

/// What is behind a pod that is shown.
#[derive(Clone, Debug)]
pub(super) struct Facts {
    pub(super) uid: Uid,
    /// What was admitted.
    pub(super) body: Arc<[u8]>,
    pub(super) end: Option<End>,
    /// The cluster has no object for it any more.
    pub(super) is_private: bool,
    pub(super) configuration: Option<String>,
}

/// An open watch.
#[derive(Debug)]
pub(super) struct Open {
    count: Option<Arc<watch::Sender<u64>>>,
}

// === impl Shelf ===

impl Shelf {
    const ALL: [Self; 3] = [Self::Pods, Self::ConfigMaps, Self::Secrets];

    pub(super) fn of(kind: Kind) -> Self {
        match kind {
            Kind::Secret => Self::Secrets,
            Kind::ConfigMap => Self::ConfigMaps,
            Kind::Pod | Kind::StaticPod => Self::Pods,
        }
    }

    pub(super) fn kind(self) -> &'static str {
        match self {
            Self::Pods => "Pod",
            Self::ConfigMaps => "ConfigMap",
            Self::Secrets => "Secret",
        }
    }
}

// === impl Step ===

impl Step {
    fn key(&self) -> &Key {
        match self {
            Self::Pod(key, ..) | Self::NoPod(key) | Self::Config(key, ..) | Self::NoConfig(key) => key,
        }
    }
}

// === impl Facts ===

impl Facts {
    /// The pod, with the status that it has now. That of the body is of another time, and maybe somebody else's.
    pub(super) fn with_status(&self, status: Option<&Value>) -> Value {
        let body: Value = serde_json::from_slice(&self.body).unwrap_or_default();
        Showing { body: &body, status, end: self.end.as_ref(), configuration: self.configuration.as_deref() }
            .pod()
    }
}

// === impl Front ===

impl Front {
    /// A front behind which nobody has looked yet. Its versions begin after `first`.
    pub(super) fn new(first: u64) -> Self {
        let inner = Inner {
            closed: Some("the agent is starting".into()),
            pods: Collection::new(first),
            config_maps: Collection::new(first),
            secrets: Collection::new(first),
            facts: BTreeMap::new(),
            judged: BTreeMap::new(),
        };
        Self { inner: Mutex::new(inner), changes: Default::default(), watching: Arc::default() }
    }

    /// Why nothing may be shown; none if it may.
    pub(super) fn closed(&self) -> Option<String> {
        self.lock().closed.clone()
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed.is_some()
    }

    pub(super) fn close(&self, why: &str) {
        self.lock().closed = Some(why.to_owned());
        Shelf::ALL.into_iter().for_each(|shelf| self.tell(shelf));
    }

    pub(super) fn open(&self) {
        self.lock().closed = None;
    }

    /// Looks at one collection.
    pub(super) fn shelf<T>(&self, shelf: Shelf, look: impl FnOnce(&Collection) -> T) -> T {
        look(self.lock().shelf(shelf))
    }

    /// Changes what is shown, all at once. Everybody who watches hears of it once it is done.
    pub(super) fn apply(&self, steps: Vec<Step>) {
        let mut changed: Vec<Shelf> = steps.iter().map(|step| Shelf::of(step.key().kind)).collect();
        changed.dedup();
        let mut inner = self.lock();
        for step in steps {
            inner.apply(step);
        }
        drop(inner);
        changed.into_iter().for_each(|shelf| self.tell(shelf));
    }

    fn tell(&self, shelf: Shelf) {
        self.changes[shelf as usize].send_modify(|changes| *changes += 1);
    }

    /// Says which ConfigMaps and Secrets are the gate's to show.
    pub(super) fn judge(&self, judged: BTreeMap<Key, bool>) {
        self.lock().judged = judged;
    }

    /// Whether a ConfigMap or Secret is the gate's to show, and whether the gate knows it.
    pub(super) fn is_judged(&self, key: &Key) -> Option<bool> {
        self.lock().judged.get(key).copied()
    }

    /// What is behind a pod that is shown.
    pub(super) fn facts(&self, pod: &Key) -> Option<Facts> {
        self.lock().facts.get(&name_of(pod)).cloned()
    }

    pub(super) fn has(&self, uid: &Uid) -> bool {
        self.lock().facts.values().any(|facts| facts.uid == *uid)
    }

    pub(super) fn changes(&self, shelf: Shelf) -> watch::Receiver<u64> {
        self.changes[shelf as usize].subscribe()
    }

    /// How many watch the pods.
    pub(super) fn watching(&self) -> watch::Receiver<u64> {
        self.watching.subscribe()
    }

    pub(super) fn opened(&self, shelf: Shelf) -> Open {
        if shelf != Shelf::Pods {
            return Open { count: None };
        }
        self.watching.send_modify(|count| *count += 1);
        Open { count: Some(Arc::clone(&self.watching)) }
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        if let Some(watching) = &self.count {
            watching.send_modify(|count| *count = count.saturating_sub(1));
        }
    }
}

// === impl Inner ===

impl Inner {
    fn shelf(&self, shelf: Shelf) -> &Collection {
        match shelf {
            Shelf::Pods => &self.pods,
            Shelf::ConfigMaps => &self.config_maps,
            Shelf::Secrets => &self.secrets,
        }
    }

    fn shelf_mut(&mut self, kind: Kind) -> &mut Collection {
        match Shelf::of(kind) {
            Shelf::Pods => &mut self.pods,
            Shelf::ConfigMaps => &mut self.config_maps,
            Shelf::Secrets => &mut self.secrets,
        }
    }

    fn apply(&mut self, step: Step) {
        match step {
            Step::Pod(key, uid, pod, facts) => {
                let name = name_of(&key);
                match facts {
                    Some(facts) => drop(self.facts.insert(name.clone(), facts)),
                    None => drop(self.facts.remove(&name)),
                }
                self.pods.put(&name, &uid, pod);
            }
            Step::NoPod(key) => {
                self.facts.remove(&name_of(&key));
                self.pods.take(&name_of(&key));
            }
            Step::Config(key, uid, mut object) => {
                object["kind"] = Shelf::of(key.kind).kind().into();
                object["apiVersion"] = "v1".into();
                if let Value::Object(metadata) = &mut object["metadata"] {
                    metadata.remove("managedFields");
                }
                self.shelf_mut(key.kind).put(&name_of(&key), &uid, object);
            }
            Step::NoConfig(key) => self.shelf_mut(key.kind).take(&name_of(&key)),
        }
    }
}

fn name_of(key: &Key) -> Name {
    (key.namespace.to_string(), key.name.to_string())
}
