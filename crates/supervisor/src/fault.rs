//! Why a module, or one of its tasks, could not go on.
//!
//! The kinds differ in what the supervisor does next, so a module has to choose. KubeEdge knows
//! only "panicked" and "returned", and a kubelet that returned because its runtime was missing is
//! never started again there.

use std::error::Error;

/// The end of a module that did not go as planned, as the module itself sees it.
///
/// `?` turns any error into [`Fault::Transient`], because trying again is the right answer to most of them:
///
/// ```
/// # use safepoint_supervisor::Fault;
/// fn load(text: &str) -> Result<u16, Fault> {
///     let port = text.trim().parse::<u16>()?; // transient
///     if port == 0 {
///         return Err(Fault::permanent("`port` must not be 0")); // a restart will not mend this
///     }
///     Ok(port)
/// }
/// # assert!(matches!(load("x"), Err(Fault::Transient(_))));
/// # assert!(matches!(load("0"), Err(Fault::Permanent(_))));
/// ```
///
/// It is not a [`std::error::Error`] itself, since it could then not be made from every error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fault {
    /// May go away by itself: restarted after a wait that grows.
    Transient(String),
    /// Something outside the module is missing. Not a failure: nothing is counted, and it is tried again
    /// every half second for as long as it takes.
    Dependency {
        /// What is missing, for example `containerRuntime`.
        name: String,
        /// How we know.
        cause: String,
    },
    /// Cannot go away without a person, typically a wrong configuration: not restarted until asked.
    Permanent(String),
}

// === impl Fault ===

impl Fault {
    /// A fault that may go away by itself.
    pub fn transient(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Transient(chain(&*cause.into()))
    }

    /// Something outside the module is missing.
    pub fn dependency(name: impl Into<String>, cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Dependency { name: name.into(), cause: chain(&*cause.into()) }
    }

    /// A fault that stays until a person has changed something.
    pub fn permanent(cause: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::Permanent(chain(&*cause.into()))
    }
}

impl<E: Error + Send + Sync + 'static> From<E> for Fault {
    fn from(error: E) -> Self {
        Self::transient(error)
    }
}

/// Writes an error and all its causes in one line: after a restart only this text is left of them.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(": ");
        text.push_str(&cause.to_string());
        source = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, thiserror::Error)]
    #[error("cannot open the store")]
    struct CannotOpen(#[source] std::io::Error);

    #[test]
    fn a_fault_keeps_the_whole_chain_of_causes() {
        let fault = Fault::from(CannotOpen(std::io::Error::other("disk is full")));
        assert_eq!(fault, Fault::Transient("cannot open the store: disk is full".into()));
    }
}
