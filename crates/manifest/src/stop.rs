//! Why an operation cannot go on, on its way to becoming its outcome.

use std::io;
use std::path::Path;

use crate::outcome::{Code, Outcome};

/// A code and a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Stop {
    pub(crate) code: Code,
    pub(crate) why: String,
}

impl Stop {
    pub(crate) fn new(code: Code, why: impl Into<String>) -> Self {
        Self { code, why: why.into() }
    }

    /// Something could not be read or written.
    pub(crate) fn io(what: &'static str, path: &Path) -> impl Fn(io::Error) -> Self {
        move |error| Self::new(Code::Failed, format!("cannot {what} {}: {error}", path.display()))
    }
}

impl From<Stop> for Outcome {
    fn from(stop: Stop) -> Self {
        Self::new(stop.code, stop.why)
    }
}
