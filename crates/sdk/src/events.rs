//! What happens on the node, as it happens: the stream of server-sent events, read.

use std::path::PathBuf;

use bytes::{Buf, BytesMut};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use safepoint_api::local::Notice;

use crate::Error;
use crate::transport::Driver;

/// The longest event that is waited for. A sentence is a fraction of it; more than this is no event.
const LONGEST: usize = 1024 * 1024;

/// Something that came over the stream.
#[derive(Clone, PartialEq, Debug)]
#[non_exhaustive]
pub enum News {
    /// Something happened.
    Notice(Box<Notice>),
    /// The program was too slow and has missed something; how many, where that is known. Look at
    /// [`Client::status`](crate::Client::status) again, which is always whole.
    Missed(Option<u64>),
}

/// A stream of what happens. It ends when the agent ends.
pub struct Events {
    socket: PathBuf,
    body: Incoming,
    driver: Option<Driver>,
    buffer: BytesMut,
}

// === impl Events ===

impl Events {
    pub(crate) fn new(socket: PathBuf, body: Incoming, driver: Driver) -> Self {
        Self { socket, body, driver: Some(driver), buffer: BytesMut::new() }
    }

    /// The next; none when the agent has ended the stream. It may be dropped while it waits: nothing is lost.
    ///
    /// # Errors
    /// If the connection breaks off, or what comes is not what an agent sends.
    pub async fn next(&mut self) -> Result<Option<News>, Error> {
        loop {
            while let Some(event) = cut(&mut self.buffer) {
                if let Some(news) = parse(&event).map_err(|what| self.strange(what))? {
                    return Ok(Some(news));
                }
            }
            if self.buffer.len() > LONGEST {
                return Err(self.strange("an event without end".to_owned()));
            }
            let frame = match &mut self.driver {
                None => self.body.frame().await,
                Some(driver) => tokio::select! {
                    biased;
                    frame = self.body.frame() => frame,
                    _ = driver => {
                        self.driver = None;
                        continue;
                    }
                },
            };
            match frame {
                None => return Ok(None),
                Some(Ok(frame)) => {
                    if let Ok(mut data) = frame.into_data() {
                        self.buffer.extend_from_slice(&data.copy_to_bytes(data.remaining()));
                    }
                }
                Some(Err(source)) => {
                    return Err(Error::Broken { socket: self.socket.clone(), source: source.into() });
                }
            }
        }
    }

    fn strange(&self, what: String) -> Error {
        Error::Strange { socket: self.socket.clone(), what }
    }
}

impl std::fmt::Debug for Events {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Events").field("socket", &self.socket).finish_non_exhaustive()
    }
}

/// Cuts a whole event off: everything up to an empty line.
fn cut(buffer: &mut BytesMut) -> Option<BytesMut> {
    let end = buffer.windows(2).position(|pair| pair == b"\n\n")?;
    Some(buffer.split_to(end + 2))
}

/// Reads an event. None: a sign of life, or a kind of event that this version does not know.
fn parse(event: &[u8]) -> Result<Option<News>, String> {
    let text = std::str::from_utf8(event).map_err(|error| error.to_string())?;
    let (mut kind, mut data) = ("", String::new());
    for line in text.lines() {
        match line.split_once(": ").or_else(|| line.split_once(':')) {
            Some(("event", value)) => kind = value,
            Some(("data", value)) => {
                if !data.is_empty() {
                    data.push('\n');
                }
                data.push_str(value);
            }
            _ => {}
        }
    }
    if data.is_empty() {
        return Ok(None);
    }
    if kind == "lagged" {
        let said: serde_json::Value = serde_json::from_str(&data).map_err(|error| error.to_string())?;
        return Ok(Some(News::Missed(said["missed"].as_u64())));
    }
    // A newer agent may tell of kinds of things that this version has no word for.
    Ok(serde_json::from_str(&data).ok().map(|notice| News::Notice(Box::new(notice))))
}

#[cfg(test)]
mod tests {
    use safepoint_api::local::NoticeKind;

    use super::*;

    const HELD: &str = "event: Held\nid: 1\ndata: {\"at\":\"2026-11-14T08:00:00Z\",\"kind\":\"Held\",\
                        \"subject\":\"pod a/b\",\"message\":\"pod a/b waits\"}\n\n";

    #[test]
    fn events_are_cut_wherever_the_network_cuts_them() {
        let mut buffer = BytesMut::new();
        let mut cuts = Vec::new();
        for byte in format!("{HELD}: alive\n\n{HELD}").bytes() {
            buffer.extend_from_slice(&[byte]);
            cuts.extend(cut(&mut buffer));
        }
        let read: Vec<_> = cuts.iter().map(|event| parse(event).unwrap()).collect();
        let [Some(News::Notice(first)), None, Some(News::Notice(second))] = &*read else {
            panic!("{read:?}")
        };
        assert_eq!((first, first.kind), (second, NoticeKind::Held));
        assert!(buffer.is_empty());
    }

    #[test]
    fn what_was_missed_is_told() {
        assert_eq!(parse(b"event: lagged\ndata: {\"missed\":7}\n\n"), Ok(Some(News::Missed(Some(7)))));
        assert_eq!(parse(b"event: lagged\ndata: {\"missed\":null}\n\n"), Ok(Some(News::Missed(None))));
    }

    #[test]
    fn a_kind_that_is_not_known_is_passed_over() {
        assert_eq!(parse(b"event: Sunrise\ndata: {\"kind\":\"Sunrise\"}\n\n"), Ok(None));
    }
}
