//! A line that shows that something long is still going on: rewritten every second on a terminal, repeated now and then
//! in a log.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, IsTerminal, Read, Write, stderr};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread;
use std::time::{Duration, Instant};

/// How often a terminal is told.
pub(super) const TICK: Duration = Duration::from_secs(1);
/// How often a log is told.
const LOG_TICK: Duration = Duration::from_secs(15);
/// How many of the last lines are kept for the case of failure.
const KEPT: usize = 40;

pub(super) struct Progress {
    name: &'static str,
    start: Instant,
    shown: Option<Duration>,
    terminal: bool,
}

impl Progress {
    #[expect(clippy::disallowed_methods, reason = "how long it takes is shown to people and decides nothing")]
    pub(super) fn new(name: &'static str) -> Self {
        Self { name, start: Instant::now(), shown: None, terminal: stderr().is_terminal() }
    }

    /// Shows the line, if it was not shown just now.
    pub(super) fn tick(&mut self, status: &str) {
        let elapsed = self.start.elapsed();
        let every = if self.terminal { TICK } else { LOG_TICK };
        if elapsed < self.shown.unwrap_or_default() + every {
            return;
        }
        self.shown = Some(elapsed);
        let (begin, end) = if self.terminal { ("\r\x1b[K", "") } else { ("", "\n") };
        let seconds = elapsed.as_secs();
        let line = format!("  {} {}:{:02} {status}", self.name, seconds / 60, seconds % 60);
        // A terminal that cannot be written to is no reason to stop.
        let _ = write!(stderr(), "{begin}{}{end}", line.trim_end());
    }

    /// Reads lines until there are no more, shows what `status` makes of the latest, and returns the last of them.
    pub(super) fn follow(
        &mut self,
        output: impl Read + Send,
        mut status: impl FnMut(&str) -> String,
    ) -> Vec<String> {
        let (sender, lines) = channel();
        let mut kept = VecDeque::new();
        let mut latest = String::new();
        thread::scope(|scope| {
            scope.spawn(move || {
                for line in BufReader::new(output).lines().map_while(Result::ok) {
                    if sender.send(line).is_err() {
                        return;
                    }
                }
            });
            loop {
                match lines.recv_timeout(TICK) {
                    Ok(line) => {
                        latest = status(&line);
                        kept.push_back(line);
                        if kept.len() > KEPT {
                            kept.pop_front();
                        }
                    }
                    Err(RecvTimeoutError::Timeout) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                }
                self.tick(&latest);
            }
        });
        kept.into()
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if self.terminal && self.shown.is_some() {
            let _ = writeln!(stderr());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{KEPT, Progress};

    #[test]
    fn every_line_counts_and_the_last_are_kept() {
        let output: String = (0..100).map(|number| format!("line {number}\n")).collect();
        let mut seen = 0;
        let kept = Progress::new("reading").follow(output.as_bytes(), |_| {
            seen += 1;
            String::new()
        });
        assert_eq!(seen, 100);
        assert_eq!((kept.len(), kept.last().map(String::as_str)), (KEPT, Some("line 99")));
    }
}
