//! How a supervisor is done.

/// Why a supervisor is done. Every module has been stopped by then, in reverse order.
///
/// After [`Exit::Escalated`] leave the process with a failure code, so that init starts a fresh
/// one. Do it with `std::process::exit` or `Runtime::shutdown_timeout`: dropping a runtime waits
/// for threads that are stuck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Exit {
    /// It was asked to stop.
    Stopped,
    /// All modules were one-shot, and all have completed.
    Completed,
    /// A module cannot be kept running in this process, or none is left that runs.
    Escalated {
        /// The module that gave the reason.
        module: String,
        /// The reason.
        cause: String,
    },
}
