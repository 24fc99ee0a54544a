//! The only place of this crate that reads a clock.
//!
//! Deadlines are reckoned on tokio's monotonic clock, so that a jump of the wall clock (a device
//! without a battery gets its time from the network, minutes after boot) neither fires nor postpones a
//! restart, and so that tests can pause it. The wall clock is for people only: it dates failures and
//! says when the next try is.

use std::{ops::Add, sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::time::Instant;

/// An instant on both clocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Moment {
    /// Monotonic: the time since the supervisor was built. Decisions use this one.
    pub(crate) at: Duration,
    /// What a person reads.
    pub(crate) wall: Timestamp,
}

/// Reads the wall clock.
pub(crate) type WallClock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

pub(crate) struct Clock {
    origin: Instant,
    wall: WallClock,
}

// === impl Moment ===

impl Add<Duration> for Moment {
    type Output = Moment;

    fn add(self, wait: Duration) -> Moment {
        // A wait beyond the calendar is "never" to a reader as well.
        let wall = self.wall.checked_add(wait).unwrap_or(Timestamp::MAX);
        Moment { at: self.at.saturating_add(wait), wall }
    }
}

// === impl Clock ===

impl Clock {
    pub(crate) fn new(wall: WallClock) -> Self {
        Self { origin: Instant::now(), wall }
    }

    pub(crate) fn now(&self) -> Moment {
        Moment { at: self.origin.elapsed(), wall: (self.wall)() }
    }

    pub(crate) fn origin(&self) -> Instant {
        self.origin
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "the one reader of the wall clock; tests put theirs in its place"
)]
pub(crate) fn read_wall_clock() -> Timestamp {
    Timestamp::now()
}
