//! One reader's stream of events.

use std::sync::Arc;

use crate::error::WatchEnded;
use crate::event::Event;
use crate::key::Scope;
use crate::queue::Queue;
use crate::shared::Shared;
use crate::state::Listing;
use crate::watchers::WatchId;

/// The events of a scope, each once and in the order of their revisions. Dropping it ends it.
#[derive(Debug)]
pub struct Watch {
    shared: Arc<Shared>,
    id: WatchId,
    queue: Arc<Queue>,
    listing: Option<Listing>,
}

// === impl Watch ===

impl Watch {
    pub(crate) fn new(shared: Arc<Shared>, id: WatchId, queue: Arc<Queue>, listing: Option<Listing>) -> Self {
        Self { shared, id, queue, listing }
    }

    /// What the watch was started for.
    pub fn scope(&self) -> &Scope {
        &self.queue.scope
    }

    /// What was there when the watch began, once, if it was started with
    /// [`Start::Listing`](crate::Start::Listing).
    pub fn take_listing(&mut self) -> Option<Listing> {
        self.listing.take()
    }

    /// Waits for the next event. Dropping the future before it is done loses nothing.
    pub async fn next(&mut self) -> Result<Event, WatchEnded> {
        loop {
            if let Some(next) = self.try_next() {
                return next;
            }
            self.queue.arrived().await;
        }
    }

    /// The next event if it is there already.
    pub fn try_next(&mut self) -> Option<Result<Event, WatchEnded>> {
        self.queue.take().map(|next| next.map(Arc::unwrap_or_clone))
    }

    /// A revision up to which this watch has handed out everything, for a bookmark; `None` while something
    /// waits to be taken, or was lost.
    pub fn progress(&self) -> Option<u64> {
        // An event is queued and its revision becomes current under the same lock.
        let state = self.shared.read();
        self.queue.is_drained().then(|| state.revision())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.shared.write().unwatch(self.id, &self.queue.scope);
    }
}
