//! What time it is. The one place of the hub that reads the wall clock.

use std::fmt;
use std::sync::Arc;

use jiff::Timestamp;

/// A clock that everything of a hub goes by. Cheap to clone.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

// === impl Clock ===

impl Clock {
    /// The clock of the machine.
    #[must_use]
    #[expect(clippy::disallowed_methods, reason = "this is the driver's clock")]
    pub fn wall() -> Self {
        Self(Arc::new(Timestamp::now))
    }

    /// A clock of another kind, such as one that a test moves.
    pub fn of(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::wall()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Clock").field(&self.now()).finish()
    }
}
