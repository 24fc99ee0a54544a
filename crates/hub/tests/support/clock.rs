//! A clock that a test can move.

use std::sync::{Arc, Mutex};

use jiff::{SignedDuration, Timestamp};
use safepoint_hub::Clock;

#[derive(Clone)]
pub(crate) struct Shifted(Arc<Mutex<SignedDuration>>);

impl Shifted {
    pub(crate) fn new() -> Self {
        Self(Arc::default())
    }

    pub(crate) fn advance(&self, by: SignedDuration) {
        *self.0.lock().unwrap() += by;
    }

    #[expect(clippy::disallowed_methods, reason = "it is the machine's clock, and something")]
    pub(crate) fn now(&self) -> Timestamp {
        Timestamp::now() + *self.0.lock().unwrap()
    }

    pub(crate) fn clock(&self) -> Clock {
        let clock = self.clone();
        Clock::of(move || clock.now())
    }
}
