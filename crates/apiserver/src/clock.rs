//! The one place that reads the wall clock, and the two forms in which Kubernetes writes time.

use std::sync::Arc;

use jiff::Timestamp;

/// Tells the time. Tests bring their own.
#[derive(Clone)]
pub(crate) struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    #[expect(clippy::disallowed_methods, reason = "the server's clock; everything else is given a time")]
    pub(crate) fn wall() -> Clock {
        Clock(Arc::new(Timestamp::now))
    }

    pub(crate) fn now(&self) -> Timestamp {
        (self.0)()
    }

    /// Now, as `metav1.Time`.
    pub(crate) fn text(&self) -> String {
        time(self.now())
    }
}

/// `metav1.Time`: whole seconds, UTC.
pub(crate) fn time(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}
