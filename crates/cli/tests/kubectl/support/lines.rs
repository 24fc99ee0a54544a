//! Reading what a running program prints, line by line, and never waiting for ever.

use std::io::{BufRead, BufReader, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::thread;

use super::PATIENCE;

/// The lines of a pipe.
pub(crate) struct Lines {
    lines: Receiver<String>,
    /// What has been read, to be shown if the wanted line does not come.
    seen: Vec<String>,
}

impl Lines {
    #[expect(
        clippy::disallowed_methods,
        reason = "a pipe can be waited for with a limit from another thread only"
    )]
    pub(crate) fn of(pipe: impl Read + Send + 'static) -> Self {
        let (sender, lines) = channel();
        // It ends with the pipe, which ends with the program, or when nobody wants to know.
        thread::spawn(move || {
            let mut lines = BufReader::new(pipe).lines().map_while(Result::ok);
            lines.try_for_each(|line| sender.send(line))
        });
        Self { lines, seen: Vec::new() }
    }

    /// Reads until a line is what is wanted, and returns that line, or what was said instead.
    pub(crate) fn find(&mut self, what: &str, wanted: impl Fn(&str) -> bool) -> Result<String, String> {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if wanted(&line) {
                        return Ok(line);
                    }
                }
                Err(why) => {
                    return Err(format!("no line {what} came ({why}), but:\n{}", self.seen.join("\n")));
                }
            }
        }
    }

    /// Reads until there is nothing more.
    #[track_caller]
    pub(crate) fn until_end(&mut self) {
        loop {
            match self.lines.recv_timeout(PATIENCE) {
                Ok(line) => self.seen.push(line),
                Err(RecvTimeoutError::Disconnected) => return,
                Err(RecvTimeoutError::Timeout) => panic!("it goes on and on:\n{}", self.seen.join("\n")),
            }
        }
    }

    /// Reads until a line has all of these words, in this order and one beside the other.
    #[track_caller]
    pub(crate) fn until_words(&mut self, words: &str) -> String {
        let wanted: Vec<&str> = words.split_whitespace().collect();
        let found = self.find(&format!("with {words:?}"), |line| {
            let line: Vec<&str> = line.split_whitespace().collect();
            line.windows(wanted.len()).any(|part| part == wanted)
        });
        found.unwrap_or_else(|why| panic!("{why}"))
    }
}
