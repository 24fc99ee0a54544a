//! Whether the cluster can be reached, for whoever wants to know.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use jiff::Timestamp as Moment;
use tokio::sync::watch;

use crate::clock::Clock;

/// The state of the way to the cluster. Cheap to clone.
#[derive(Clone)]
pub(crate) struct Link {
    clock: Arc<dyn Clock>,
    state: watch::Sender<LinkState>,
    synced: Arc<AtomicBool>,
}

/// What is known of it.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub(crate) struct LinkState {
    pub(crate) connected: bool,
    /// By the machine's clock.
    pub(crate) since: Option<Moment>,
    pub(crate) message: Option<String>,
}

// === impl Link ===

impl Link {
    pub(crate) fn new(clock: Arc<dyn Clock>) -> Self {
        Self { clock, state: watch::Sender::default(), synced: Arc::default() }
    }

    pub(crate) fn up(&self) {
        self.change(true, None);
    }

    pub(crate) fn down(&self, message: String) {
        self.change(false, Some(message));
    }

    /// The gate has been told all configuration that there is.
    pub(crate) fn synced(&self) {
        self.synced.store(true, Ordering::SeqCst);
    }

    /// Whether it ever has, since the agent began.
    pub(crate) fn is_synced(&self) -> bool {
        self.synced.load(Ordering::SeqCst)
    }

    pub(crate) fn now(&self) -> LinkState {
        self.state.borrow().clone()
    }

    pub(crate) fn watch(&self) -> watch::Receiver<LinkState> {
        self.state.subscribe()
    }

    fn change(&self, connected: bool, message: Option<String>) {
        let now = || Moment::from_millisecond(self.clock.now().wall.0).ok();
        self.state.send_if_modified(|state| {
            let turned = state.connected != connected || state.since.is_none();
            let since = if turned { now() } else { state.since };
            if turned {
                match &message {
                    Some(message) => {
                        tracing::warn!(%message, "the cluster cannot be reached; the gate goes on without it");
                    }
                    None => tracing::info!("the cluster can be reached"),
                }
            }
            let next = LinkState { connected, since, message };
            let changed = *state != next;
            *state = next;
            changed
        });
    }
}
