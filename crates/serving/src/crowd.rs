//! Who is connected, and who has to go when there are too many.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use tokio::task::AbortHandle;

/// Whoever is at the other end of a connection. Every request has it as an extension.
#[derive(Clone, Default, Debug)]
pub struct Caller(Arc<AtomicBool>);

/// Everybody, the oldest first.
pub(crate) struct Crowd {
    all: VecDeque<(AbortHandle, Caller)>,
    most: usize,
}

// === impl Caller ===

impl Caller {
    /// The caller has shown that it may call: it does not have to go for another one.
    pub fn is_known(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    fn is_stranger(&self) -> bool {
        !self.0.load(Ordering::Relaxed)
    }
}

// === impl Crowd ===

impl Crowd {
    pub(crate) const fn new(most: usize) -> Self {
        Self { all: VecDeque::new(), most }
    }

    pub(crate) fn enter(&mut self, connection: AbortHandle, caller: Caller) {
        self.all.push_back((connection, caller));
    }

    /// Whether there is room for one more, if need be by letting the oldest stranger go.
    pub(crate) fn make_room(&mut self) -> bool {
        self.all.retain(|(connection, _)| !connection.is_finished());
        if self.all.len() < self.most {
            return true;
        }
        let Some(at) = self.all.iter().position(|(_, caller)| caller.is_stranger()) else { return false };
        if let Some((connection, _)) = self.all.remove(at) {
            tracing::debug!(most = self.most, "too many connections: the oldest of a stranger is closed");
            connection.abort();
        }
        true
    }
}
