//! What can go wrong when the agent is asked.

use std::io;
use std::path::PathBuf;

use safepoint_api::local::{Failure, reason};

/// Why there is no answer, or why the answer is no.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Nobody answers on the socket.
    #[error("cannot reach the agent at {socket}")]
    Unreachable {
        /// The socket.
        socket: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// The agent said no.
    #[error("{}", .0.message)]
    Refused(Box<Failure>),
    /// The connection broke off. Whether the agent did what it was asked is not known: ask it.
    #[error("the connection to the agent at {socket} broke off before it answered")]
    Broken {
        /// The socket.
        socket: PathBuf,
        /// What went wrong.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The agent did not answer in time. Whether it did what it was asked is not known: ask it.
    #[error("the agent at {socket} did not answer within {seconds} seconds")]
    Slow {
        /// The socket.
        socket: PathBuf,
        /// How long was waited.
        seconds: u64,
    },
    /// The answer is not one that an agent gives.
    #[error("what answers at {socket} is not an agent, or one of another version: {what}")]
    Strange {
        /// The socket.
        socket: PathBuf,
        /// What is strange.
        what: String,
    },
    /// What was asked for cannot be asked.
    #[error("{0}")]
    Asked(String),
}

// === impl Error ===

impl Error {
    /// The agent's refusal, if it is one.
    #[must_use]
    pub fn refusal(&self) -> Option<&Failure> {
        match self {
            Self::Refused(failure) => Some(failure),
            _ => None,
        }
    }

    /// The word that says why the agent refused: one of [`reason`](crate::reason).
    #[must_use]
    pub fn reason(&self) -> Option<&str> {
        self.refusal().map(|failure| &*failure.reason)
    }

    /// Whether the same may succeed in a moment, without anybody doing anything: the agent is away or is being restarted.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        match self {
            Self::Unreachable { .. } | Self::Broken { .. } | Self::Slow { .. } => true,
            Self::Refused(failure) => failure.reason == reason::UNAVAILABLE,
            Self::Strange { .. } | Self::Asked(_) => false,
        }
    }

    /// What to do about it, as a sentence for an operator, where the message does not say it already.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Unreachable { source, .. } => Some(match source.kind() {
                io::ErrorKind::PermissionDenied => {
                    "call as root, as the agent's user, or as a member of the agent's group".to_owned()
                }
                io::ErrorKind::ConnectionRefused => {
                    "the agent has ended and left its socket behind: start it again".to_owned()
                }
                _ => format!(
                    "start it with `safepoint up` or `safepoint agent`, or say where its socket is with {}",
                    crate::ENVIRONMENT
                ),
            }),
            Self::Broken { .. } | Self::Slow { .. } => {
                Some("`safepoint status` shows what holds now".to_owned())
            }
            Self::Refused(failure) => {
                failure.retry_after.map(|seconds| format!("ask again in {seconds} seconds"))
            }
            Self::Strange { .. } | Self::Asked(_) => None,
        }
    }
}
