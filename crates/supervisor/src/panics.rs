//! Turns the panic of a task into a value that says what happened and where.
//!
//! `catch_unwind` gives the message only. The place is known to the panic hook alone, so ours notes it for
//! the thread it runs on and then calls the hook that was there before: what is printed does not change. If
//! other code replaces our hook, panics are still caught and only the place is missing. A build with `panic =
//! "abort"` cannot contain anything.

use std::{
    any::Any,
    backtrace::{Backtrace, BacktraceStatus},
    cell::Cell,
    future::{Future, poll_fn},
    panic::{AssertUnwindSafe, PanicHookInfo, catch_unwind, set_hook, take_hook},
    pin::pin,
    sync::Once,
    task::Poll,
};

/// A panic that was caught.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Panic {
    pub(crate) message: String,
    pub(crate) site: Option<Site>,
}

/// Where a panic was raised.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// File, line and column.
    pub(crate) location: String,
    /// Only if the environment asks for it (`RUST_BACKTRACE`): taking one can cost more than the restart.
    pub(crate) backtrace: Option<String>,
}

thread_local! {
    static LAST_SITE: Cell<Option<Site>> = const { Cell::new(None) };
}

/// Puts our hook in front of the present one, once per process.
pub(crate) fn install_hook() {
    static INSTALLED: Once = Once::new();
    INSTALLED.call_once(|| {
        let previous = take_hook();
        set_hook(Box::new(move |info| {
            // The thread may be past the end of its locals; then there is nobody left to tell.
            let _ = LAST_SITE.try_with(|last| last.set(Site::of(info)));
            previous(info);
        }));
    });
}

/// Runs a future and catches what it throws.
pub(crate) async fn caught<T>(future: impl Future<Output = T>) -> Result<T, Panic> {
    let mut future = pin!(future);
    poll_fn(|cx| match caught_now(|| future.as_mut().poll(cx)) {
        Ok(poll) => poll.map(Ok),
        Err(panic) => Poll::Ready(Err(panic)),
    })
    .await
}

/// Runs a closure and catches what it throws.
///
/// Unwind safety is the restart's business: everything the task could have left half done is dropped with it.
pub(crate) fn caught_now<T>(f: impl FnOnce() -> T) -> Result<T, Panic> {
    // A panic that is passed on (`resume_unwind`) never meets the hook, and must not get
    // the place of an older one.
    LAST_SITE.take();
    catch_unwind(AssertUnwindSafe(f))
        .map_err(|payload| Panic { site: LAST_SITE.take(), ..Panic::from(payload) })
}

// === impl Panic ===

impl From<Box<dyn Any + Send>> for Panic {
    fn from(payload: Box<dyn Any + Send>) -> Self {
        let message = match payload.downcast_ref::<&str>() {
            Some(text) => (*text).to_owned(),
            None => {
                payload.downcast_ref().cloned().unwrap_or_else(|| "panicked without a message".to_owned())
            }
        };
        Self { message, site: None }
    }
}

// === impl Site ===

impl Site {
    fn of(info: &PanicHookInfo<'_>) -> Option<Self> {
        let trace = Backtrace::capture();
        let backtrace = (trace.status() == BacktraceStatus::Captured).then(|| trace.to_string());
        Some(Self { location: info.location()?.to_string(), backtrace })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_is_caught_with_its_message_and_its_place() {
        install_hook();
        let panic = caught_now(|| panic!("no {}", "more")).unwrap_err();
        assert_eq!(panic.message, "no more");
        assert!(panic.site.unwrap().location.contains("panics.rs"));
    }

    #[test]
    fn a_panic_that_is_passed_on_does_not_borrow_the_place_of_an_older_one() {
        install_hook();
        let older = catch_unwind(|| panic!("older")).unwrap_err();
        let panic = caught_now(|| std::panic::resume_unwind(older)).unwrap_err();
        assert_eq!(panic, Panic { message: "older".into(), site: None });
    }

    #[test]
    fn a_payload_that_is_no_text_is_still_a_panic() {
        let panic = caught_now(|| std::panic::panic_any(42)).unwrap_err();
        assert_eq!(panic.message, "panicked without a message");
    }
}
