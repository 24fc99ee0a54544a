//! What a container prints, line by line, in the format of the container runtimes: time, stream, `F` or
//! `P` (a piece of a longer line), text. `kubectl logs` and every log shipper read it.

#[cfg(test)]
mod tests;

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::PathBuf,
};

use crate::{Logs, clock};

/// Longer lines are written in pieces, as container runtimes do.
const LONGEST: usize = 16 * 1024;

#[derive(Clone, Copy)]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

pub(super) struct Log {
    path: PathBuf,
    file: File,
    length: u64,
    limits: Logs,
    /// What of a line has come so far, by stream.
    begun: [Vec<u8>; 2],
}

impl Log {
    pub(super) fn open(path: PathBuf, limits: Logs) -> io::Result<Self> {
        let file = append(&path)?;
        let length = file.metadata()?.len();
        Ok(Self { path, file, length, limits, begun: [Vec::new(), Vec::new()] })
    }

    /// Takes what was read. A full disk loses lines and never the container.
    pub(super) fn take(&mut self, stream: Stream, mut bytes: &[u8]) {
        let mut lines = Vec::with_capacity(bytes.len() + 64);
        while !bytes.is_empty() {
            let room = LONGEST - self.begun[stream as usize].len();
            let end = bytes.iter().take(room).position(|byte| *byte == b'\n');
            let (text, rest, whole) = match end {
                Some(end) => (&bytes[..end], &bytes[end + 1..], true),
                None => (&bytes[..bytes.len().min(room)], &bytes[bytes.len().min(room)..], false),
            };
            self.begun[stream as usize].extend_from_slice(text);
            bytes = rest;
            if whole || self.begun[stream as usize].len() == LONGEST {
                self.line(stream, whole, &mut lines);
            }
        }
        self.write(&lines);
    }

    /// Writes what has no end of line. The buffers do not stay: most containers are silent most of the time.
    pub(super) fn finish(&mut self) {
        let mut lines = Vec::new();
        for stream in [Stream::Stdout, Stream::Stderr] {
            if !self.begun[stream as usize].is_empty() {
                self.line(stream, true, &mut lines);
            }
        }
        self.write(&lines);
    }

    fn line(&mut self, stream: Stream, whole: bool, out: &mut Vec<u8>) {
        let name = match stream {
            Stream::Stdout => "stdout",
            Stream::Stderr => "stderr",
        };
        let tag = if whole { 'F' } else { 'P' };
        let text = std::mem::take(&mut self.begun[stream as usize]);
        let _ = write!(out, "{:.9} {name} {tag} ", clock::now());
        out.extend_from_slice(&text);
        out.push(b'\n');
    }

    fn write(&mut self, lines: &[u8]) {
        if lines.is_empty() {
            return;
        }
        if self.length > 0 && self.length + lines.len() as u64 > self.limits.bytes {
            let _ = self.rotate();
        }
        if self.file.write_all(lines).is_ok() {
            self.length += lines.len() as u64;
        }
    }

    fn rotate(&mut self) -> io::Result<()> {
        let aside = |number: u32| {
            let mut path = self.path.clone().into_os_string();
            path.push(format!(".{number}"));
            PathBuf::from(path)
        };
        let old = self.limits.files.max(1) - 1;
        if old == 0 {
            fs::remove_file(&self.path)?;
        } else {
            for number in (1..old).rev() {
                let _ = fs::rename(aside(number), aside(number + 1));
            }
            fs::rename(&self.path, aside(1))?;
        }
        self.file = append(&self.path)?;
        self.length = 0;
        Ok(())
    }
}

fn append(path: &PathBuf) -> io::Result<File> {
    OpenOptions::new().create(true).append(true).mode(0o640).open(path)
}
