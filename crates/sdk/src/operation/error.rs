//! Why an operation is not begun, finished or cancelled.

/// What went wrong, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An id or a type that no label can have.
    #[error(
        "{what} {text:?} cannot be part of a label: take at most 63 letters, digits, '-', '_' and '.', with a letter or a \
         digit at both ends"
    )]
    Name {
        /// Which of the two.
        what: &'static str,
        /// What was given.
        text: String,
    },
    /// The lifecycle does not look at the pod.
    #[error(
        "pod {pod} does not take part in the lifecycle, so nobody would ever allow anything: label it \
         kusionstack.io/control=true, best in the template of its workload"
    )]
    NotTakingPart {
        /// Which pod.
        pod: String,
    },
    /// It will soon be gone.
    #[error("pod {pod} is being deleted: leave it alone, and look for the one that comes in its place")]
    Terminating {
        /// Which pod.
        pod: String,
    },
    /// It is gone.
    #[error("pod {pod} is gone, or another one has its name: look for pods anew")]
    Gone {
        /// Which pod.
        pod: String,
    },
    /// The id is in use.
    #[error(
        "operation {id} is on pod {pod} as {running:?} and not as {wanted:?}: finish or cancel that one first, or begin with \
         begin_with_cleaning_old"
    )]
    OtherType {
        /// Which pod.
        pod: String,
        /// The id.
        id: String,
        /// The type that it has there.
        running: String,
        /// The type of this operation.
        wanted: String,
    },
    /// The type is in use.
    #[error(
        "operation {other} on pod {pod} is of the type {kind:?} as well: wait until it is over, or let the adapter allow several"
    )]
    TypeTaken {
        /// Which pod.
        pod: String,
        /// Whose operation that is.
        other: String,
        /// The type.
        kind: String,
    },
    /// Somebody was always faster.
    #[error("pod {pod} was changed by others each of {tries} times: come back later")]
    Contended {
        /// Which pod.
        pod: String,
        /// How often it was tried.
        tries: u32,
    },
    /// What was cancelled or finished is still there.
    #[error(
        "operation {id} on pod {pod} is over, and nobody has cleared it away: see that the hub runs, and come back later"
    )]
    NotCleaned {
        /// Which pod.
        pod: String,
        /// The id.
        id: String,
    },
    /// There was no answer.
    #[error("cannot reach the API server about pod {pod}: come back later")]
    Away {
        /// Which pod.
        pod: String,
        /// Why.
        source: kube::Error,
    },
    /// The answer was no.
    #[error(
        "the API server refused to change pod {pod}: see that this program may get and patch pods, and what it says"
    )]
    Refused {
        /// Which pod.
        pod: String,
        /// What it says.
        source: kube::Error,
    },
}

// === impl Error ===

impl Error {
    /// Whether the same may succeed later, without anybody doing anything about it.
    #[must_use]
    pub const fn is_passing(&self) -> bool {
        match self {
            Self::TypeTaken { .. } | Self::Contended { .. } | Self::NotCleaned { .. } | Self::Away { .. } => {
                true
            }
            Self::Name { .. }
            | Self::NotTakingPart { .. }
            | Self::Terminating { .. }
            | Self::Gone { .. }
            | Self::OtherType { .. }
            | Self::Refused { .. } => false,
        }
    }
}
