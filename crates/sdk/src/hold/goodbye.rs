//! The last words of a guard that is dropped: end the hold, if that can be done quickly.
//!
//! A guard is often dropped while its program ends, and then no task is run any more. So this speaks HTTP by hand over a
//! blocking socket, for at most a second. If it fails, the hold stays until its lease is over, and then as an orphan.

use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::client::name;

/// How long each step may take. The agent writes to its disk before it answers.
const PATIENCE: Duration = Duration::from_secs(1);

/// Says goodbye when it is dropped.
pub(super) struct Goodbye {
    pub(super) socket: PathBuf,
    pub(super) id: String,
}

// === impl Goodbye ===

impl Goodbye {
    /// The hold stands, and somebody else looks after it.
    pub(super) fn unsaid(mut self) {
        self.id.clear();
    }
}

impl Drop for Goodbye {
    fn drop(&mut self) {
        if !self.id.is_empty() {
            say(&self.socket, &self.id);
        }
    }
}

/// Ends a hold. Whether that worked is of no use to anybody any more.
pub(super) fn say(socket: &Path, id: &str) {
    let _ = drop_hold(socket, id);
}

fn drop_hold(socket: &Path, id: &str) -> io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let id = name(id);
    write!(
        stream,
        "DELETE /v1/holds/{id} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
    )?;
    // An agent whose caller is gone need not go on: this waits for the first byte of its answer.
    stream.read_exact(&mut [0])
}
