//! The only place of this crate that reads the wall clock. Waits are reckoned on tokio's clock, which tests can pause.

use jiff::Timestamp;

#[expect(clippy::disallowed_methods, reason = "the driver's clock; everything else is given a time")]
pub(crate) fn now() -> Timestamp {
    Timestamp::now()
}
