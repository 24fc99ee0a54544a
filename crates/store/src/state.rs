//! What is visible: the objects, the recent past and the watches, at one revision.
//!
//! Everything here is behind one lock (see `shared`), so a listing, the revision it has and a watch that is
//! registered with it always agree. Nothing gets in here before it is durable.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use crate::disk::Contents;
use crate::error::RevisionError;
use crate::event::Event;
use crate::index::Index;
use crate::key::{Key, Scope};
use crate::object::Object;
use crate::options::Options;
use crate::queue::{Limits, Queue};
use crate::ring::Ring;
use crate::watchers::{WatchId, Watchers};

/// A page of objects, all as they were at one revision.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Listing {
    /// The revision of the state that was listed. A watch after it misses nothing.
    pub revision: u64,
    /// The objects, in the order of their keys.
    pub objects: Vec<Arc<Object>>,
    /// Whether there are more after the last of these.
    pub more: bool,
    /// How many there are after the last of these.
    pub remaining: usize,
}

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Start {
    /// With the next write.
    Now,
    /// With the first write after this revision.
    After(u64),
    /// With a listing of what is there, and then the next write, with nothing lost or doubled in between.
    Listing,
}

/// Everything that readers see.
#[derive(Debug)]
pub(crate) struct State {
    revision: u64,
    index: Index,
    ring: Ring,
    watchers: Watchers,
    limits: Limits,
    is_closed: bool,
}

/// What is left to do after events became visible, outside of the lock.
#[derive(Debug, Default)]
pub(crate) struct Aftermath {
    pub(crate) wake: Vec<Arc<Queue>>,
    /// Only to be dropped: freeing memory is not worth holding the lock for.
    pub(crate) evicted: Vec<Arc<Event>>,
}

// === impl State ===

impl State {
    pub(crate) fn new(contents: Contents, options: &Options) -> Self {
        let Contents { revision, objects } = contents;
        Self {
            revision,
            index: Index::new(options.indexed, objects),
            // The past is not on disk, so it begins with the opening.
            ring: Ring::new(revision, options.ring_events, options.ring_bytes),
            watchers: Watchers::default(),
            limits: Limits { events: options.queue_events, bytes: options.queue_bytes },
            is_closed: false,
        }
    }

    pub(crate) fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.index.get(key)
    }

    pub(crate) fn watchers(&self) -> &Watchers {
        &self.watchers
    }

    /// Makes durable events visible, all at once to whoever takes the lock next.
    pub(crate) fn publish(&mut self, events: Vec<Arc<Event>>) -> Aftermath {
        let mut aftermath = Aftermath::default();
        for event in events {
            debug_assert_eq!(event.revision, self.revision + 1, "revisions have no gaps");
            self.revision = event.revision;
            self.index.apply(&event);
            self.watchers.offer(&event, &mut aftermath.wake);
            self.ring.push(event, &mut aftermath.evicted);
        }
        aftermath
    }

    pub(crate) fn list(&self, scope: &Scope, after: Option<&Key>, limit: usize) -> Listing {
        page(self.index.range(scope, after), self.revision, limit)
    }

    /// The same at a past revision: what changed since is taken from the events, the rest is as it is now.
    pub(crate) fn list_at(
        &self,
        scope: &Scope,
        revision: u64,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Listing, RevisionError> {
        self.check(revision)?;
        let mut before: BTreeMap<&Key, Option<&Arc<Object>>> = BTreeMap::new();
        for event in self.ring.after(revision).filter(|event| scope.covers(&event.object.key)) {
            // The first change after the revision knows what was there at the revision.
            before.entry(&event.object.key).or_insert(event.previous.as_ref());
        }
        let untouched = self.index.range(scope, after).filter(|object| !before.contains_key(&object.key));
        let changed = before.iter().filter(|(key, _)| after.is_none_or(|after| **key > after));
        let changed = changed.filter_map(|(_, object)| *object).filter(|object| scope.matches(object));
        Ok(page(merge(untouched, changed), revision, limit))
    }

    /// Registers a watch, with the past or the listing that it begins with.
    pub(crate) fn watch(
        &mut self,
        scope: Scope,
        start: Start,
    ) -> Result<(WatchId, Arc<Queue>, Option<Listing>), RevisionError> {
        let mut past = VecDeque::new();
        let mut listing = None;
        match start {
            Start::Now => {}
            Start::After(revision) => {
                self.check(revision)?;
                past.extend(self.ring.after(revision).filter(|event| event.concerns(&scope)).cloned());
            }
            Start::Listing => listing = Some(self.list(&scope, None, 0)),
        }
        let queue = Arc::new(Queue::new(scope, self.limits, past));
        if self.is_closed {
            queue.close();
            return Ok((0, queue, listing));
        }
        Ok((self.watchers.register(Arc::clone(&queue)), queue, listing))
    }

    pub(crate) fn unwatch(&mut self, id: WatchId, scope: &Scope) {
        self.watchers.unregister(id, scope);
    }

    /// Ends every watch, and every one that is yet to come.
    pub(crate) fn close(&mut self) -> Vec<Arc<Queue>> {
        self.is_closed = true;
        let queues = self.watchers.clear();
        queues.iter().for_each(|queue| queue.close());
        queues
    }

    fn check(&self, revision: u64) -> Result<(), RevisionError> {
        if revision > self.revision {
            return Err(RevisionError::Future { current: self.revision });
        }
        if revision < self.ring.floor() {
            return Err(RevisionError::Compacted { oldest: self.ring.floor() });
        }
        Ok(())
    }
}

/// The first `limit` of the objects, or all of them if it is 0, and how many follow.
fn page<'a>(mut objects: impl Iterator<Item = &'a Arc<Object>>, revision: u64, limit: usize) -> Listing {
    let limit = if limit == 0 { usize::MAX } else { limit };
    let page = objects.by_ref().take(limit).cloned().collect();
    let remaining = objects.count();
    Listing { revision, objects: page, more: remaining > 0, remaining }
}

/// Two ordered sequences without a key in common as one.
fn merge<'a>(
    left: impl Iterator<Item = &'a Arc<Object>>,
    right: impl Iterator<Item = &'a Arc<Object>>,
) -> impl Iterator<Item = &'a Arc<Object>> {
    let (mut left, mut right) = (left.peekable(), right.peekable());
    std::iter::from_fn(move || match (left.peek(), right.peek()) {
        (Some(a), Some(b)) if b.key < a.key => right.next(),
        (Some(_), _) => left.next(),
        (None, _) => right.next(),
    })
}
