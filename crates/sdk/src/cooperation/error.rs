//! Why a frame cannot start. What goes wrong later is tried again and told in the log.

/// What is wrong with what a frame was told.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A finalizer that does not protect, or that the API server would refuse.
    #[error(
        "{finalizer:?} cannot be the finalizer of {employer}: it begins with prot.podopslifecycle.kusionstack.io/, and at most 63 \
         letters, digits, '-', '_' and '.' follow"
    )]
    Finalizer {
        /// Whose.
        employer: String,
        /// What it was to be.
        finalizer: String,
    },
    /// Two employers that could not be told apart on a pod.
    #[error("{one} and {other} have the same name or the same finalizer: give each its own")]
    Twice {
        /// One of them.
        one: String,
        /// The other.
        other: String,
    },
    /// An employer whose pods would never be seen.
    #[error(
        "{employer} is not in the namespace {namespace:?}, to which the frame is limited: leave out `namespace`, or change one"
    )]
    Namespace {
        /// Which employer.
        employer: String,
        /// Where the frame looks.
        namespace: String,
    },
    /// An employer that would be taken for a Service.
    #[error(
        "{employer} cannot be named as an employer: the lifecycle takes back what is declared for a Service that does not select the \
         pod; have Services be employers with `services`, or give it another kind"
    )]
    Service {
        /// Which employer.
        employer: String,
    },
    /// There is nothing to do.
    #[error("there is no employer: name one with `employer`, or have Services be it with `services`")]
    NoEmployer,
}
