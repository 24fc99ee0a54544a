//! Who was turned away, once a minute for each reason: a client with a wrong certificate comes back several times a second.

use std::collections::HashMap;
use std::fmt::Display;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;
use tracing::warn;

const MINUTE: Duration = Duration::from_secs(60);

/// Why somebody was turned away.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Refusal {
    /// No certificate.
    Nobody,
    /// A certificate that the authority has not signed, or not for clients.
    Foreign,
    /// A certificate of the authority that has ended.
    Expired,
    /// A certificate of the authority that is somebody else's.
    Other,
    /// Not a word for too long, or words that are not TLS.
    Silent,
    /// Too many at once.
    Crowd,
}

/// What has been said about it.
#[derive(Default)]
pub(super) struct Refusals {
    said: Mutex<HashMap<Refusal, Said>>,
}

struct Said {
    at: Instant,
    /// How many have been turned away since.
    since: u64,
}

// === impl Refusals ===

impl Refusals {
    pub(super) fn say(&self, refusal: Refusal, detail: impl Display) {
        if let Some(before) = self.is_due(refusal, Instant::now()) {
            warn!(%detail, before, "{}", refusal.text());
        }
    }

    /// How many there have been since the last time, if it may be said again.
    fn is_due(&self, refusal: Refusal, now: Instant) -> Option<u64> {
        let mut said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        match said.get_mut(&refusal) {
            Some(said) if now - said.at < MINUTE => {
                said.since += 1;
                None
            }
            found => {
                let before = found.map_or(0, |said| said.since);
                said.insert(refusal, Said { at: now, since: 0 });
                Some(before)
            }
        }
    }
}

// === impl Refusal ===

impl Refusal {
    const fn text(self) -> &'static str {
        match self {
            Self::Nobody => {
                "refusing a client that shows no certificate: only this node's kubelet may come here"
            }
            Self::Foreign => "refusing a client whose certificate the cluster's authority has not signed",
            Self::Expired => {
                "refusing a client whose certificate has expired: is the kubelet's rotation stuck?"
            }
            Self::Other => "refusing a client that has a certificate of somebody else",
            Self::Silent => "refusing a client that does not get through the handshake",
            Self::Crowd => "refusing the oldest of too many clients that have not shown who they are",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn each_reason_is_said_once_a_minute_with_the_number_of_those_before() {
        let refusals = Refusals::default();
        let due = |refusal| refusals.is_due(refusal, Instant::now());
        assert_eq!(due(Refusal::Nobody), Some(0));
        assert_eq!(due(Refusal::Nobody), None);
        assert_eq!(due(Refusal::Expired), Some(0));
        tokio::time::advance(MINUTE - Duration::from_millis(1)).await;
        assert_eq!(due(Refusal::Nobody), None);
        tokio::time::advance(Duration::from_millis(1)).await;
        assert_eq!(due(Refusal::Nobody), Some(2));
    }
}
