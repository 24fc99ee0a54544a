//! What a person is told when a command fails, and what a script is told: the message, what to do, and the exit code.
//!
//! | code | means |
//! |---|---|
//! | 1 | it failed |
//! | 2 | the command line is wrong |
//! | 3 | it was refused: something stands against it |
//! | 4 | there is no such thing |
//! | 5 | the agent or the cluster cannot be reached, or cannot answer now |

use std::error::Error as _;
use std::process::ExitCode;

use safepoint_api::local::{Blocker, reason};

use crate::called;

/// Why a command failed.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Problem {
    pub(crate) exit: Exit,
    /// What is wrong, as a sentence.
    pub(crate) message: String,
    /// What to do, where the message does not say it.
    pub(crate) hint: Option<String>,
    /// What is not settled.
    pub(crate) blockers: Vec<Blocker>,
}

/// The exit codes beside 0.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Exit {
    Failed = 1,
    Usage = 2,
    Refused = 3,
    NotFound = 4,
    Unreachable = 5,
}

/// What a command ends with.
pub(crate) type Done = Result<(), Problem>;

// === impl Problem ===

impl Problem {
    pub(crate) fn new(exit: Exit, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None, blockers: Vec::new() }
    }

    pub(crate) fn failed(message: impl Into<String>) -> Self {
        Self::new(Exit::Failed, message)
    }

    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(Exit::Usage, message)
    }

    pub(crate) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }

    /// Tells it on standard error.
    pub(crate) fn tell(&self) {
        use crate::show::{age, style, tables, words};
        anstream::eprintln!(
            "{}error:{:#} {}",
            style::ERROR,
            style::ERROR,
            words::clean(&called::words(&self.message))
        );
        if !self.blockers.is_empty() {
            anstream::eprint!("{}", tables::blockers(&self.blockers, age::now()).text());
        }
        if let Some(hint) = &self.hint {
            anstream::eprintln!("{}hint:{:#} {}", style::GOOD, style::GOOD, called::words(hint));
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit as u8)
    }
}

impl From<safepoint_sdk::Error> for Problem {
    fn from(error: safepoint_sdk::Error) -> Self {
        let hint = error.hint();
        let mut message = error.to_string();
        let mut cause = error.source();
        while let Some(source) = cause {
            message = format!("{message}: {source}");
            cause = source.source();
        }
        let exit = match &error {
            safepoint_sdk::Error::Refused(failure) => match &*failure.reason {
                reason::UNAVAILABLE => Exit::Unreachable,
                _ if failure.code == 409 => Exit::Refused,
                _ if failure.code == 404 => Exit::NotFound,
                _ => Exit::Failed,
            },
            safepoint_sdk::Error::Unreachable { .. }
            | safepoint_sdk::Error::Broken { .. }
            | safepoint_sdk::Error::Slow { .. } => Exit::Unreachable,
            safepoint_sdk::Error::Asked(_) => Exit::Usage,
            _ => Exit::Failed,
        };
        let blockers = error.refusal().map(|failure| failure.blockers.clone()).unwrap_or_default();
        Self { exit, message, hint, blockers }
    }
}

#[cfg(test)]
mod tests {
    use safepoint_api::local::Failure;

    use super::*;

    fn refused(code: u16, reason: &str) -> Exit {
        let failure = Failure {
            code,
            reason: reason.to_owned(),
            message: "no".to_owned(),
            blockers: Vec::new(),
            holds: Vec::new(),
            barrier_kept: false,
            retry_after: None,
        };
        Problem::from(safepoint_sdk::Error::Refused(Box::new(failure))).exit
    }

    #[test]
    fn a_refusal_is_told_from_what_is_not_there_and_from_an_agent_in_trouble() {
        assert_eq!(refused(409, reason::FROZEN), Exit::Refused);
        assert_eq!(refused(404, reason::NOT_FOUND), Exit::NotFound);
        assert_eq!(refused(503, reason::UNAVAILABLE), Exit::Unreachable);
        assert_eq!(refused(403, reason::FORBIDDEN), Exit::Failed);
        assert_eq!(refused(400, reason::BAD_REQUEST), Exit::Failed);
    }
}
