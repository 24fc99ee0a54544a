//! What waits for one watch.
//!
//! The writer never waits for a reader: what does not fit makes the watch lag, and drops everything it had.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

use crate::error::WatchEnded;
use crate::event::Event;
use crate::key::Scope;

/// How much may wait in one watch.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    pub(crate) events: usize,
    pub(crate) bytes: usize,
}

/// The queue of one watch, filled by the writer and emptied by the watch.
#[derive(Debug)]
pub(crate) struct Queue {
    pub(crate) scope: Scope,
    limits: Limits,
    waiting: Mutex<Waiting>,
    arrived: Notify,
}

#[derive(Debug)]
struct Waiting {
    /// The past that the watch was started with. It is not bounded here, because the ring it comes from is.
    past: VecDeque<Arc<Event>>,
    /// What happened since.
    events: VecDeque<Arc<Event>>,
    /// The bytes of `events`.
    bytes: usize,
    ended: Option<WatchEnded>,
}

/// What became of an event that was offered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Offered {
    /// It is not for this watch.
    Declined,
    /// It waits behind others.
    Queued,
    /// It is the first to wait: wake the watch.
    First,
    /// It did not fit: unregister and wake the watch.
    Lagged,
}

// === impl Queue ===

impl Queue {
    pub(crate) fn new(scope: Scope, limits: Limits, past: VecDeque<Arc<Event>>) -> Self {
        let waiting = Waiting { past, events: VecDeque::new(), bytes: 0, ended: None };
        Self { scope, limits, waiting: Mutex::new(waiting), arrived: Notify::new() }
    }

    /// Adds the event if it is for this watch and fits. A single event always fits.
    pub(crate) fn offer(&self, event: &Arc<Event>) -> Offered {
        if !event.concerns(&self.scope) {
            return Offered::Declined;
        }
        let mut waiting = self.lock();
        if waiting.ended.is_some() {
            return Offered::Declined;
        }
        let is_first = waiting.events.is_empty();
        let bytes = waiting.bytes.saturating_add(event.bytes());
        if !is_first && (waiting.events.len() >= self.limits.events || bytes > self.limits.bytes) {
            *waiting = Waiting {
                past: VecDeque::new(),
                events: VecDeque::new(),
                bytes: 0,
                ended: Some(WatchEnded::Lagged),
            };
            return Offered::Lagged;
        }
        waiting.bytes = bytes;
        waiting.events.push_back(Arc::clone(event));
        if is_first { Offered::First } else { Offered::Queued }
    }

    /// The next event, or the end; `None` if it has to be waited for.
    pub(crate) fn take(&self) -> Option<Result<Arc<Event>, WatchEnded>> {
        let mut waiting = self.lock();
        if let Some(event) = waiting.past.pop_front() {
            return Some(Ok(event));
        }
        if let Some(event) = waiting.events.pop_front() {
            waiting.bytes -= event.bytes();
            return Some(Ok(event));
        }
        waiting.ended.map(Err)
    }

    /// Whether everything that was queued has been taken, and nothing was dropped.
    pub(crate) fn is_drained(&self) -> bool {
        let waiting = self.lock();
        waiting.past.is_empty() && waiting.events.is_empty() && waiting.ended != Some(WatchEnded::Lagged)
    }

    /// Ends the watch after what waits already.
    pub(crate) fn close(&self) {
        self.lock().ended.get_or_insert(WatchEnded::Closed);
    }

    /// Tells the watch to look again.
    pub(crate) fn wake(&self) {
        self.arrived.notify_one();
    }

    /// Waits for [`Queue::wake`], or returns at once if it was called since the last time.
    pub(crate) async fn arrived(&self) {
        self.arrived.notified().await;
    }

    fn lock(&self) -> MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
