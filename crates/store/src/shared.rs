//! What the store, its watches and its writer have in common.
//!
//! The one lock order: the state first, then the queue of a watch. Neither is ever held while waiting for
//! anything else.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use crate::error::Failure;
use crate::event::Event;
use crate::state::State;

/// What the store has done since it was opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stats {
    /// Transactions that were made durable.
    pub commits: u64,
    /// Writes in them.
    pub writes: u64,
    /// How often an event has looked at a watch, whether or not the watch cared in the end.
    pub touched: u64,
    /// How many watches there are.
    pub watches: usize,
}

#[derive(Debug)]
pub(crate) struct Shared {
    state: RwLock<State>,
    commits: AtomicU64,
    writes: AtomicU64,
    /// Why no more writes are taken.
    failure: OnceLock<Failure>,
}

// === impl Shared ===

impl Shared {
    pub(crate) fn new(state: State) -> Self {
        let (commits, writes) = (AtomicU64::new(0), AtomicU64::new(0));
        Self { state: RwLock::new(state), commits, writes, failure: OnceLock::new() }
    }

    // A panic while the lock is held leaves a state that was valid before it, so reading goes on.
    pub(crate) fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes the events of a commit visible and wakes who waits for them.
    pub(crate) fn publish(&self, events: Vec<Arc<Event>>) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.writes.fetch_add(events.len() as u64, Ordering::Relaxed);
        let aftermath = self.write().publish(events);
        aftermath.wake.iter().for_each(|queue| queue.wake());
    }

    /// Ends all watches.
    pub(crate) fn close(&self) {
        let queues = self.write().close();
        queues.iter().for_each(|queue| queue.wake());
    }

    /// From now on no write is taken. The first reason stays.
    pub(crate) fn fail(&self, failure: Failure) {
        let _ = self.failure.set(failure);
    }

    pub(crate) fn failure(&self) -> Option<&Failure> {
        self.failure.get()
    }

    pub(crate) fn stats(&self) -> Stats {
        let state = self.read();
        Stats {
            commits: self.commits.load(Ordering::Relaxed),
            writes: self.writes.load(Ordering::Relaxed),
            touched: state.watchers().touched(),
            watches: state.watchers().len(),
        }
    }
}
