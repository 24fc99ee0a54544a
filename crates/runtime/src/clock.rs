//! The only place of this crate that reads the wall clock.
//!
//! Waits are reckoned on tokio's monotonic clock wherever the process lives long enough; the wall clock
//! dates what people read, and bridges the time in which nobody was there to wait.

use std::time::Duration;

use jiff::Timestamp;

#[expect(clippy::disallowed_methods, reason = "the driver's clock; everything else is given a time")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}

/// As Kubernetes writes a time: whole seconds.
pub(crate) fn show(at: Timestamp) -> String {
    format!("{at:.0}")
}

/// How long ago that was; nothing if the clock was set back since.
pub(crate) fn since(at: Timestamp, now: Timestamp) -> Duration {
    Duration::try_from(now.duration_since(at)).unwrap_or_default()
}
