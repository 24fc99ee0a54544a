//! What is waited for, on standard error: one line that changes on a terminal, a line for each change elsewhere.
//!
//! Nothing is said in the first two seconds: most things are done by then.

use std::io::{IsTerminal, Write};
use std::time::Duration;

use safepoint_api::local::Blocker;
use tokio::time::Instant;

use super::{style, words};

/// After so long a person wonders.
const PATIENCE: Duration = Duration::from_secs(2);

/// Says what is waited for.
pub(crate) struct Progress {
    begun: Instant,
    quiet: bool,
    terminal: bool,
    last: String,
}

// === impl Progress ===

impl Progress {
    pub(crate) fn new(quiet: bool) -> Self {
        let terminal = std::io::stderr().is_terminal();
        Self { begun: Instant::now(), quiet, terminal, last: String::new() }
    }

    /// What is waited for now.
    pub(crate) fn say(&mut self, what: &str) {
        let waited = self.begun.elapsed();
        let what = &words::clean(what);
        if self.quiet || waited < PATIENCE {
            return;
        }
        if self.terminal {
            let line: String = format!("{what} ({}s)", waited.as_secs()).chars().take(columns()).collect();
            // Back to the beginning of the line, and whatever stood there is gone.
            anstream::eprint!("\r\u{1b}[2K{}{line}{:#}", style::WAITS, style::WAITS);
            let _ = std::io::stderr().flush();
        } else if *what != self.last {
            eprintln!("{what}");
        }
        what.clone_into(&mut self.last);
    }

    /// Takes the line away.
    pub(crate) fn end(&mut self) {
        if self.terminal && !self.last.is_empty() {
            eprint!("\r\u{1b}[2K");
            let _ = std::io::stderr().flush();
        }
        self.last.clear();
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

/// What a freeze waits for, in one line.
pub(crate) fn settling(blockers: &[Blocker]) -> String {
    match blockers {
        [] => "waiting for the node to settle".to_owned(),
        [first] => format!("waiting: {}", first.message),
        [first, rest @ ..] => format!("waiting: {}, and {} more", first.message, rest.len()),
    }
}

fn columns() -> usize {
    let width = rustix::termios::tcgetwinsize(std::io::stderr()).map(|size| usize::from(size.ws_col));
    // One is left free: a full line would wrap and could not be taken away.
    width.ok().filter(|&width| width > 1).map_or(79, |width| width - 1)
}
