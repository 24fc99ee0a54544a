//! What is remembered about a failure.

use std::{sync::Arc, time::Duration};

use jiff::{Timestamp, fmt::serde::unsigned_duration::friendly::compact as friendly};
use serde::{Deserialize, Serialize};

/// How many failures are kept per module: enough to see a pattern, few enough to rewrite the file each time.
pub const KEPT_PER_MODULE: usize = 16;

/// Longest cause and backtrace that are kept, in bytes. An error that quotes a whole
/// reply must not fill the disk.
const LONGEST_CAUSE: usize = 2_000;
const LONGEST_BACKTRACE: usize = 8_000;

/// How a module failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum FailureKind {
    /// It returned a [`Fault::Transient`](crate::Fault::Transient).
    Transient,
    /// It returned a [`Fault::Permanent`](crate::Fault::Permanent).
    Permanent,
    /// One of its tasks panicked.
    Panic,
    /// It returned, although it was declared as long-running.
    UnexpectedReturn,
    /// It was not ready before the start deadline.
    StartDeadline,
    /// It was ready, and then silent for longer than its heartbeat allows.
    Hang,
    /// Its tasks could not be ended, not even by an abort: they block their thread.
    Stuck,
}

/// One failure of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Failure {
    /// When it was noticed.
    pub at: Timestamp,
    /// What kind of failure it was.
    pub kind: FailureKind,
    /// What the module said, or what was seen.
    pub cause: String,
    /// The task it happened in; `main` is the module's own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<String>,
    /// Where a panic was raised: file, line and column.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub location: Option<String>,
    /// How a panic came about, if the environment asks for backtraces.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub backtrace: Option<String>,
    /// The number of this failure since the module was last healthy; the first is 1.
    pub attempt: u32,
    /// The wait that followed; none if the module was not started again.
    #[serde(default, with = "friendly::optional", skip_serializing_if = "Option::is_none")]
    pub next_wait: Option<Duration>,
}

/// The last failures of one module, oldest first. Shared, because every health value carries it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Ring(Arc<Vec<Failure>>);

// === impl Failure ===

impl Failure {
    /// Cuts texts to the length we keep.
    pub(crate) fn shortened(mut self) -> Self {
        shorten(&mut self.cause, LONGEST_CAUSE);
        if let Some(backtrace) = &mut self.backtrace {
            shorten(backtrace, LONGEST_BACKTRACE);
        }
        self
    }
}

fn shorten(text: &mut String, longest: usize) {
    if text.len() > longest {
        text.truncate(text.floor_char_boundary(longest));
        text.push('…');
    }
}

// === impl Ring ===

impl Ring {
    pub(crate) fn push(&mut self, failure: Failure) {
        let failures = Arc::make_mut(&mut self.0);
        failures.push(failure);
        failures.drain(..failures.len().saturating_sub(KEPT_PER_MODULE));
    }

    pub(crate) fn share(&self) -> Arc<Vec<Failure>> {
        Arc::clone(&self.0)
    }
}
