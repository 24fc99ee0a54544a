//! Standing looks: whoever has to show what the gate has decided sees it in the turn that decided it.
//!
//! To hear of an effect first and to ask for a look then takes two more turns, behind everybody else who has heard of it. Of
//! several sights that nobody has taken up only the newest is kept, so they never go back in time.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use safepoint_core::Gate;
use tokio::sync::Notify;

use crate::journal::Journal;

/// A look that is repeated. It says whether anybody still wants to see.
pub(crate) type Standing = Box<dyn FnMut(&Gate, &Journal) -> bool + Send>;

/// What a standing look has seen.
pub(crate) struct Sights<T> {
    slot: Arc<Slot<T>>,
}

struct Slot<T> {
    newest: Mutex<Option<T>>,
    arrived: Notify,
}

// === impl Sights ===

impl<T> Sights<T> {
    /// The newest sight, once there is one that was not taken up yet. Nothing is lost if it is not waited for to the end.
    pub(crate) async fn next(&mut self) -> T {
        loop {
            if let Some(sight) = self.slot.lock().take() {
                return sight;
            }
            self.slot.arrived.notified().await;
        }
    }
}

pub(super) fn pair<T: Send + 'static>(
    mut look: impl FnMut(&Gate, &Journal) -> T + Send + 'static,
) -> (Standing, Sights<T>) {
    let slot = Arc::new(Slot { newest: Mutex::new(None), arrived: Notify::new() });
    let sights: Weak<Slot<T>> = Arc::downgrade(&slot);
    let standing: Standing = Box::new(move |gate, journal| {
        let Some(slot) = sights.upgrade() else { return false };
        let sight = look(gate, journal);
        *slot.lock() = Some(sight);
        slot.arrived.notify_one();
        true
    });
    (standing, Sights { slot })
}

// === impl Slot ===

impl<T> Slot<T> {
    fn lock(&self) -> MutexGuard<'_, Option<T>> {
        // Nothing that can panic happens under the lock.
        self.newest.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use safepoint_core::{Config, Now, Span, Timestamp};

    use super::*;

    fn gate() -> Gate {
        let now = Now { monotonic: Span(0), boot: 1, wall: Timestamp(1_794_700_800_000), trusted: true };
        Gate::new(Config::default(), now)
    }

    #[tokio::test]
    async fn of_several_sights_only_the_newest_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open(folder.path()).unwrap();
        let mut count = 0;
        let (mut standing, mut sights) = pair(move |_, _| {
            count += 1;
            count
        });
        assert!(standing(&gate(), &journal));
        assert!(standing(&gate(), &journal));
        assert_eq!(sights.next().await, 2);
        let waiting = sights.next();
        assert!(standing(&gate(), &journal));
        assert_eq!(waiting.await, 3);
    }

    #[test]
    fn nobody_looks_for_those_who_have_gone() {
        let folder = tempfile::tempdir().unwrap();
        let (journal, _) = Journal::open(folder.path()).unwrap();
        let (mut standing, sights) = pair(|_, _| panic!("nobody wants to see it"));
        drop::<Sights<()>>(sights);
        assert!(!standing(&gate(), &journal));
    }
}
