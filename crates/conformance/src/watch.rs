//! A stream of watch events, one JSON document per line.

use anyhow::{Context as _, Result, bail, ensure};
use bytes::BytesMut;
use http_body_util::BodyExt as _;
use kube::client::Body;
use serde_json::Value;
use tokio::time::timeout;

use crate::{call::Call, doc::Doc, server::LIMIT, transcript::Transcript};

/// A watch that the server accepted.
pub struct Watch {
    origin: String,
    body: Body,
    unread: BytesMut,
    transcript: Transcript,
}

/// One event of a watch.
#[derive(Clone, Debug)]
pub struct Event {
    /// `ADDED`, `MODIFIED`, `DELETED`, `BOOKMARK` or `ERROR`.
    pub kind: String,
    /// What it happened to.
    pub object: Doc,
}

// === impl Watch ===

impl Watch {
    pub(crate) fn new(call: &Call, body: Body, transcript: Transcript) -> Watch {
        transcript.note(format_args!("{call}\n"));
        Watch { origin: call.to_string(), body, unread: BytesMut::new(), transcript }
    }

    /// The next event, or nothing if the stream ended.
    pub async fn next(&mut self) -> Result<Option<Event>> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line = self.unread.split_to(end + 1);
                self.transcript.note(format_args!("event {}", String::from_utf8_lossy(&line)));
                return Ok(Some(self.parse(&line)?));
            }
            let frame = timeout(LIMIT, self.body.frame())
                .await
                .with_context(|| format!("no event\n  request: {}", self.origin))?;
            match frame {
                None if self.unread.is_empty() => return Ok(None),
                None => bail!("the stream breaks off within an event\n  request: {}", self.origin),
                Some(frame) => {
                    let frame = frame.with_context(|| format!("broken stream: {}", self.origin))?;
                    self.unread.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
                }
            }
        }
    }

    /// The next event, which is not a bookmark. The end of the stream is an error.
    pub async fn event(&mut self) -> Result<Event> {
        loop {
            match self.next().await? {
                Some(event) if event.kind == "BOOKMARK" => {}
                Some(event) => return Ok(event),
                None => bail!("the stream ended\n  request: {}", self.origin),
            }
        }
    }

    /// Claims that the next event is of this kind and about the object of this name.
    pub async fn expect(&mut self, kind: &str, name: &str) -> Result<Doc> {
        let event = self.event().await?;
        let expected = format!("{kind} of {name}, not {}", event.kind);
        event.object.holds(event.kind == kind, &expected)?.at("/metadata/name", name)?;
        Ok(event.object)
    }

    /// Claims that the next events are of this kind and about objects of these names, in any order.
    pub async fn expect_all(&mut self, kind: &str, names: &[&str]) -> Result<()> {
        let mut missing: Vec<&str> = names.to_vec();
        while !missing.is_empty() {
            let event = self.event().await?;
            let name = event.object.text("/metadata/name")?;
            let place = missing.iter().position(|missing| *missing == name);
            match place {
                Some(place) if event.kind == kind => missing.remove(place),
                _ => bail!(event.object.unexpected(&format!("{kind} of {missing:?}, not {}", event.kind))),
            };
        }
        Ok(())
    }

    /// The next bookmark, whatever comes before it.
    pub async fn bookmark(&mut self) -> Result<Doc> {
        loop {
            match self.next().await? {
                Some(event) if event.kind == "BOOKMARK" => return Ok(event.object),
                Some(_) => {}
                None => bail!("the stream ended without a bookmark\n  request: {}", self.origin),
            }
        }
    }

    /// Reads until an event for which `wanted` holds.
    pub async fn until(&mut self, wanted: impl Fn(&Event) -> bool) -> Result<Event> {
        loop {
            let event = self.event().await?;
            if wanted(&event) {
                return Ok(event);
            }
        }
    }

    /// Claims that the stream ends, and that nothing but bookmarks comes before.
    pub async fn ends(&mut self) -> Result<()> {
        while let Some(event) = self.next().await? {
            event.object.holds(event.kind == "BOOKMARK", &format!("the end, not {}", event.kind))?;
        }
        Ok(())
    }

    fn parse(&self, line: &[u8]) -> Result<Event> {
        let mut event: Value = serde_json::from_slice(line)
            .with_context(|| format!("no JSON: {}", String::from_utf8_lossy(line)))?;
        ensure!(event["type"].is_string(), "an event without a type: {event}");
        let kind = event["type"].as_str().unwrap_or_default().to_owned();
        let origin = format!("{} (event {kind})", self.origin);
        Ok(Event { object: Doc::new(origin, event["object"].take()), kind })
    }
}
