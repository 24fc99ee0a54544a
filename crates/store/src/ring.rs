//! The recent past: the events after the floor, all of them, in order.
//!
//! Every write makes exactly one event and takes exactly the next revision, so the event of a revision is
//! found by subtraction.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::event::Event;

/// The last events, bounded by number and by bytes.
#[derive(Debug)]
pub(crate) struct Ring {
    events: VecDeque<Arc<Event>>,
    bytes: usize,
    /// Every event of a larger revision is here.
    floor: u64,
    max_events: usize,
    max_bytes: usize,
}

// === impl Ring ===

impl Ring {
    /// An empty past: nothing before `floor` is known.
    pub(crate) fn new(floor: u64, max_events: usize, max_bytes: usize) -> Self {
        Self { events: VecDeque::new(), bytes: 0, floor, max_events, max_bytes }
    }

    /// The oldest revision after which every event is still here.
    pub(crate) fn floor(&self) -> u64 {
        self.floor
    }

    /// Adds the next event, and puts what no longer fits into `evicted`.
    pub(crate) fn push(&mut self, event: Arc<Event>, evicted: &mut Vec<Arc<Event>>) {
        self.bytes += event.bytes();
        self.events.push_back(event);
        while self.events.len() > self.max_events || self.bytes > self.max_bytes {
            let Some(oldest) = self.events.pop_front() else { break };
            self.bytes -= oldest.bytes();
            self.floor = oldest.revision;
            evicted.push(oldest);
        }
    }

    /// The events after a revision that is not below the floor, oldest first.
    pub(crate) fn after(&self, revision: u64) -> impl Iterator<Item = &Arc<Event>> {
        let known = usize::try_from(revision.saturating_sub(self.floor)).unwrap_or(usize::MAX);
        self.events.range(known.min(self.events.len())..)
    }
}
