//! Watch streams: JSON frames `{"type": …, "object": …}`, one after another.
//!
//! A server writes one frame per line. The [`Decoder`] follows the brackets instead of the lines, as Kubernetes'
//! clients do, so that it also reads frames that span lines or share one, however the bytes are cut. It holds no
//! more than one unfinished frame, and that one is bounded.

#[cfg(test)]
mod tests;

use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The limit for a frame that suits objects as Kubernetes stores them: those are at most 1.5 MiB, and JSON is larger
/// than the form in which they are kept.
pub const DEFAULT_MAX_FRAME: usize = 16 * 1024 * 1024;

/// What has happened to the object of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum EventType {
    /// The object is new to this watch.
    Added,
    /// The object has changed.
    Modified,
    /// The object is gone, or no longer selected; the frame has its last state.
    Deleted,
    /// Nothing: the object only carries a resource version.
    Bookmark,
    /// The watch is over; the object is a `Status`.
    Error,
}

/// One frame of a watch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WatchEvent {
    /// What has happened.
    #[serde(rename = "type")]
    pub kind: EventType,
    /// To which object.
    pub object: Value,
}

/// Why a stream could not be read on. After the first error nothing more comes out of a decoder.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum WatchError {
    /// A frame is larger than allowed.
    #[error("a watch frame is larger than {limit} bytes; raise the limit or look for a runaway object")]
    TooLarge {
        /// The limit that was passed.
        limit: usize,
    },
    /// The stream is not one of JSON objects.
    #[error("the watch stream has byte 0x{byte:02x} where a frame should begin")]
    NotAFrame {
        /// The byte that was found.
        byte: u8,
    },
    /// A frame is JSON, but no event.
    #[error("cannot read a watch frame: {reason}")]
    Malformed {
        /// What the parser says.
        reason: String,
    },
    /// The stream ended inside a frame.
    #[error("the watch stream ended inside a frame, after {bytes} bytes of it")]
    Truncated {
        /// How much of the frame there was.
        bytes: usize,
    },
}

/// Takes bytes as they come and gives the frames in them.
#[derive(Clone, Debug)]
pub struct Decoder {
    limit: usize,
    /// The bytes that are not yet given out, after `start`.
    buffer: Vec<u8>,
    /// Where the current frame begins.
    start: usize,
    /// How far the current frame has been looked at.
    scanned: usize,
    /// How many brackets are open; 0 is between frames.
    open: usize,
    in_string: bool,
    escaped: bool,
    failed: Option<WatchError>,
}

/// A frame with its newline, as it goes on the wire.
#[must_use]
pub fn encode(kind: EventType, object: &Value) -> Vec<u8> {
    let mut out = vec![];
    encode_into(&mut out, kind, object);
    out
}

/// Appends a frame with its newline to `out`.
pub fn encode_into(out: &mut Vec<u8>, kind: EventType, object: &Value) {
    #[derive(Serialize)]
    struct Frame<'a> {
        #[serde(rename = "type")]
        kind: EventType,
        object: &'a Value,
    }
    serde_json::to_writer(&mut *out, &Frame { kind, object }).expect("a Value always serialises into memory");
    out.push(b'\n');
}

// === impl Decoder ===

impl Default for Decoder {
    fn default() -> Self {
        Self::new(DEFAULT_MAX_FRAME)
    }
}

impl Decoder {
    /// A decoder that refuses frames of more than `limit` bytes.
    #[must_use]
    pub fn new(limit: usize) -> Self {
        Self {
            limit,
            buffer: vec![],
            start: 0,
            scanned: 0,
            open: 0,
            in_string: false,
            escaped: false,
            failed: None,
        }
    }

    /// Takes the next bytes of the stream. Ask for frames with [`Decoder::next_event`] until there are none.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.failed.is_none() {
            self.buffer.drain(..self.start);
            self.scanned -= self.start;
            self.start = 0;
            self.buffer.extend_from_slice(bytes);
        }
    }

    /// The next complete frame; `None` if more bytes are needed.
    pub fn next_event(&mut self) -> Option<Result<WatchEvent, WatchError>> {
        if let Some(error) = &self.failed {
            return Some(Err(error.clone()));
        }
        let frame = match self.scan() {
            Ok(true) => serde_json::from_slice(&self.buffer[self.start..self.scanned])
                .map_err(|error| WatchError::Malformed { reason: error.to_string() }),
            Ok(false) => return None,
            Err(error) => Err(error),
        };
        self.start = self.scanned;
        if let Err(error) = &frame {
            self.failed = Some(error.clone());
            self.buffer = vec![];
            self.start = 0;
        }
        Some(frame)
    }

    /// To be called when the stream has ended.
    ///
    /// # Errors
    /// If it ended inside a frame, or had failed before.
    pub fn finish(self) -> Result<(), WatchError> {
        match (self.failed, self.buffer[self.start..].trim_ascii_start().len()) {
            (Some(error), _) => Err(error),
            (None, 0) => Ok(()),
            (None, bytes) => Err(WatchError::Truncated { bytes }),
        }
    }

    /// Goes on to the end of the current frame; whether it was reached.
    fn scan(&mut self) -> Result<bool, WatchError> {
        while let Some(&byte) = self.buffer.get(self.scanned) {
            if self.open == 0 {
                match byte {
                    b' ' | b'\t' | b'\r' | b'\n' => {
                        self.scanned += 1;
                        self.start = self.scanned;
                        continue;
                    }
                    b'{' => {}
                    _ => return Err(WatchError::NotAFrame { byte }),
                }
            }
            self.scanned += 1;
            if self.scanned - self.start > self.limit {
                return Err(WatchError::TooLarge { limit: self.limit });
            }
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' if self.in_string => self.escaped = true,
                b'"' => self.in_string = !self.in_string,
                b'{' | b'[' if !self.in_string => self.open += 1,
                b'}' | b']' if !self.in_string => {
                    self.open -= 1;
                    if self.open == 0 {
                        return Ok(true);
                    }
                }
                _ => {}
            }
        }
        Ok(false)
    }
}
