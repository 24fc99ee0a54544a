//! Who is told of an event.
//!
//! Every watch is registered once, under the narrowest thing its scope names: a name, else the value of a
//! field, else a namespace, else the collection. An event looks under those four, for a field under its old
//! and its new value, and so touches the watches that may care and no others.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::sync::Arc;

use crate::event::Event;
use crate::key::Scope;
use crate::queue::{Offered, Queue};

/// Tells registrations apart.
pub(crate) type WatchId = u64;

/// The watches that are registered under one thing.
type Slot = BTreeMap<WatchId, Arc<Queue>>;

/// All live watches.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    next: WatchId,
    collections: HashMap<Arc<str>, Collection>,
    touched: u64,
}

/// The watches of one collection.
#[derive(Debug, Default)]
struct Collection {
    all: Slot,
    namespaces: HashMap<Arc<str>, Slot>,
    /// By namespace, if the scope has one, and name.
    names: HashMap<(Option<Arc<str>>, Arc<str>), Slot>,
    /// By field and value. Few fields are ever watched, so an event asks each of them.
    fields: HashMap<Arc<str>, HashMap<Arc<str>, Slot>>,
}

// === impl Watchers ===

impl Watchers {
    pub(crate) fn register(&mut self, queue: Arc<Queue>) -> WatchId {
        self.next += 1;
        let scope = queue.scope.clone();
        let collection = self.collections.entry(scope.collection).or_default();
        let slot = match (scope.name, scope.field, scope.namespace) {
            (Some(name), _, namespace) => collection.names.entry((namespace, name)).or_default(),
            (None, Some((field, value)), _) => {
                collection.fields.entry(field).or_default().entry(value).or_default()
            }
            (None, None, Some(namespace)) => collection.namespaces.entry(namespace).or_default(),
            (None, None, None) => &mut collection.all,
        };
        slot.insert(self.next, queue);
        self.next
    }

    /// Forgets a watch. One that is not registered, because it lagged, is forgotten already.
    pub(crate) fn unregister(&mut self, id: WatchId, scope: &Scope) {
        let Some(collection) = self.collections.get_mut(&scope.collection) else { return };
        match (&scope.name, &scope.field, &scope.namespace) {
            (Some(name), _, namespace) => {
                vacate(&mut collection.names, &(namespace.clone(), name.clone()), id);
            }
            (None, Some((field, value)), _) => {
                if let Some(values) = collection.fields.get_mut(field) {
                    vacate(values, value, id);
                    if values.is_empty() {
                        collection.fields.remove(field);
                    }
                }
            }
            (None, None, Some(namespace)) => vacate(&mut collection.namespaces, namespace, id),
            (None, None, None) => {
                collection.all.remove(&id);
            }
        }
        if collection.is_empty() {
            self.collections.remove(&scope.collection);
        }
    }

    /// Queues the event where it belongs, and puts whom to wake into `wake`.
    pub(crate) fn offer(&mut self, event: &Arc<Event>, wake: &mut Vec<Arc<Queue>>) {
        let Some(collection) = self.collections.get(&event.object.key.collection) else { return };
        let mut lagged = Vec::new();
        for (id, queue) in collection.interested(event) {
            self.touched += 1;
            match queue.offer(event) {
                Offered::Declined | Offered::Queued => {}
                Offered::First => wake.push(Arc::clone(queue)),
                Offered::Lagged => {
                    wake.push(Arc::clone(queue));
                    lagged.push((*id, Arc::clone(queue)));
                }
            }
        }
        for (id, queue) in lagged {
            self.unregister(id, &queue.scope);
        }
    }

    /// Forgets every watch.
    pub(crate) fn clear(&mut self) -> Vec<Arc<Queue>> {
        let collections = std::mem::take(&mut self.collections);
        collections.into_values().flat_map(Collection::into_queues).collect()
    }

    /// How many watches there are.
    pub(crate) fn len(&self) -> usize {
        self.collections.values().flat_map(Collection::slots).map(Slot::len).sum()
    }

    /// How often an event has looked at a watch.
    pub(crate) fn touched(&self) -> u64 {
        self.touched
    }
}

// === impl Collection ===

impl Collection {
    /// The watches that may care for the event, each once.
    fn interested<'a>(&'a self, event: &'a Event) -> impl Iterator<Item = (&'a WatchId, &'a Arc<Queue>)> {
        let key = &event.object.key;
        let here = self.names.get(&(Some(key.namespace.clone()), key.name.clone()));
        let anywhere = self.names.get(&(None, key.name.clone()));
        let namespace = self.namespaces.get(&key.namespace);
        let fields = self.fields.iter().flat_map(move |(field, values)| {
            let new = event.object.tags.field(field);
            let old = event.previous.as_ref().map(|previous| previous.tags.field(field));
            let old = old.filter(|old| *old != new);
            [Some(new), old].into_iter().flatten().filter_map(|value| values.get(value))
        });
        [here, anywhere, namespace, Some(&self.all)].into_iter().flatten().chain(fields).flatten()
    }

    fn slots(&self) -> impl Iterator<Item = &Slot> {
        let fields = self.fields.values().flat_map(HashMap::values);
        std::iter::once(&self.all).chain(self.namespaces.values()).chain(self.names.values()).chain(fields)
    }

    fn into_queues(self) -> impl Iterator<Item = Arc<Queue>> {
        let fields = self.fields.into_values().flat_map(HashMap::into_values);
        let slots = std::iter::once(self.all).chain(self.namespaces.into_values());
        slots.chain(self.names.into_values()).chain(fields).flat_map(Slot::into_values)
    }

    fn is_empty(&self) -> bool {
        let Self { all, namespaces, names, fields } = self;
        all.is_empty() && namespaces.is_empty() && names.is_empty() && fields.is_empty()
    }
}

/// Takes a watch out of its slot, and the slot out of the map with the last of them.
fn vacate<K: Eq + Hash>(slots: &mut HashMap<K, Slot>, key: &K, id: WatchId) {
    if let Some(slot) = slots.get_mut(key) {
        slot.remove(&id);
        if slot.is_empty() {
            slots.remove(key);
        }
    }
}
