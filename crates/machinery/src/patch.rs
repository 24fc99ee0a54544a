//! The three ways to change an object by describing the change.
//!
//! | media type | function | result |
//! |---|---|---|
//! | `application/json-patch+json` | [`json`] | a list of operations, applied in order or not at all |
//! | `application/merge-patch+json` | [`merge`] | objects merge, lists are replaced, null deletes |
//! | `application/strategic-merge-patch+json` | [`strategic`] | as `merge`, but some lists merge by a key |
//!
//! All three follow Kubernetes where it differs from the RFCs. They take the object as it is stored and return the
//! changed one; validation, defaults and immutable fields are the caller's. No input makes them overflow the stack:
//! what is nested deeper than [`MAX_DEPTH`] is refused, and so is a result that would be.

mod json;
mod merge;
pub mod merge_keys;
mod strategic;

use serde_json::Value;

pub use json::{MAX_COPIED_BYTES, MAX_OPERATIONS, json};
pub use merge::merge;
pub use strategic::{Field, Lookup, Rule, strategic};

use crate::{
    depth::{MAX_DEPTH, depth},
    status::{Reason, Status},
};

/// Why a patch was not applied. [`PatchError::status`] is the answer to the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The document is no patch of this kind (400).
    #[error("{0}")]
    Malformed(String),
    /// The patch has too many operations (413).
    #[error("the allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {0}")]
    TooManyOperations(usize),
    /// A `test` did not hold (422).
    #[error("testing value {path} failed: test failed")]
    TestFailed {
        /// The path that was tested.
        path: String,
    },
    /// The patch does not fit the object (422).
    #[error("{0}")]
    DoesNotApply(String),
    /// The object, the patch or the result is nested too deeply (422).
    #[error("the document is nested deeper than {MAX_DEPTH} levels")]
    TooDeep,
    /// A strategic merge patch breaks its rules in a way for which Kubernetes has no better answer than 500.
    #[error("{0}")]
    Failed(String),
}

// === impl PatchError ===

impl PatchError {
    /// What an API server answers.
    #[must_use]
    pub fn status(&self) -> Status {
        match self {
            Self::Malformed(text) => Status::bad_request(text),
            Self::TooManyOperations(got) => Status::too_large(&format!(
                "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {got}"
            )),
            Self::TestFailed { .. } | Self::DoesNotApply(_) | Self::TooDeep => Status::unprocessable(),
            Self::Failed(text) => Status::new(500, Reason::Unknown, text),
        }
    }
}

impl From<PatchError> for Status {
    fn from(error: PatchError) -> Self {
        error.status()
    }
}

/// Refuses what could not be walked recursively.
fn shallow(value: &Value) -> Result<(), PatchError> {
    if depth(value) > MAX_DEPTH { Err(PatchError::TooDeep) } else { Ok(()) }
}
