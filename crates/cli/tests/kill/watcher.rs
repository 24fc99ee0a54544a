//! Somebody who watches while others write. What a watch has shown stays true, and it leaves nothing out.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail, ensure};
use http_body_util::BodyExt as _;
use hyper::body::Incoming;
use serde_json::Value;

use super::client::{Access, Connection};
use super::content::{Content, Kind, name_of};
use super::ledger::{Fate, Ledger};

/// A watch that the server has begun to answer.
pub(crate) struct Watcher {
    kind: Kind,
    /// The names that exist as far as the watch has shown.
    names: BTreeSet<String>,
    watched: Watched,
    events: Incoming,
    _connection: Connection,
}

/// Everything that a watch has shown.
#[derive(Default)]
pub(crate) struct Watched {
    /// By revision.
    events: BTreeMap<u64, Event>,
    after: u64,
}

/// One event.
pub(crate) struct Event {
    pub(crate) name: String,
    pub(crate) revision: u64,
    pub(crate) deleted: bool,
    /// Of its content; a counter has none.
    pub(crate) number: Option<u64>,
}

// === impl Watcher ===

impl Watcher {
    /// Watches from a listing on, given its revision and the names in it.
    pub(crate) async fn start(
        access: &Access,
        kind: Kind,
        after: u64,
        names: BTreeSet<String>,
    ) -> Result<Watcher> {
        let mut connection = access.connect().await?;
        let path = format!("{}?watch=true&resourceVersion={after}", kind.collection());
        let response = connection.open(&path).await.with_context(|| format!("cannot watch {path}"))?;
        ensure!(response.status().is_success(), "{path} was answered with {}", response.status());
        let watched = Watched { events: BTreeMap::new(), after };
        Ok(Watcher { kind, names, watched, events: response.into_body(), _connection: connection })
    }

    /// Reads events until the stream breaks. An event that has not arrived as a whole has not been shown.
    pub(crate) async fn run(mut self, ledger: &Ledger) -> Result<Watched> {
        let mut unread = Vec::new();
        while let Some(Ok(frame)) = self.events.frame().await {
            unread.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
            let mut begin = 0;
            while let Some(length) = unread[begin..].iter().position(|byte| *byte == b'\n') {
                let event =
                    serde_json::from_slice(&unread[begin..begin + length]).context("an event is not JSON")?;
                self.note(&event, ledger)?;
                begin += length + 1;
            }
            unread.drain(..begin);
        }
        Ok(self.watched)
    }

    fn note(&mut self, event: &Value, ledger: &Ledger) -> Result<()> {
        let (kind, object) = (event["type"].as_str().unwrap_or_default(), &event["object"]);
        let name =
            name_of(object).with_context(|| format!("an event without an object: {event}"))?.to_owned();
        let deleted = kind == "DELETED";
        let fits = match kind {
            "ADDED" => self.names.insert(name.clone()),
            "MODIFIED" => self.names.contains(&name),
            "DELETED" => self.names.remove(&name),
            other => bail!("a watch that began at a known revision shows {other}: {event}"),
        };
        ensure!(fits, "{kind} does not fit what the watch showed of {name} before: {event}");
        let number = match name.starts_with("counter-") {
            true => None,
            false => Some(Content::of(self.kind, object)?.number),
        };
        let fate = if deleted { Fate::Gone } else { Fate::There };
        let revision = ledger.note(self.kind, object, fate, "a watch")?;
        ensure!(
            revision > self.watched.last(),
            "an event at {revision} after one at {}",
            self.watched.last()
        );
        self.watched.events.insert(revision, Event { name, revision, deleted, number });
        Ok(())
    }
}

// === impl Watched ===

impl Watched {
    /// How far the watch came.
    pub(crate) fn last(&self) -> u64 {
        self.events.last_key_value().map_or(self.after, |(revision, _)| *revision)
    }

    /// Whether there was such an event of a name.
    pub(crate) fn saw(&self, name: &str, is: impl Fn(&Event) -> bool) -> bool {
        self.events.values().any(|event| event.name == name && is(event))
    }

    /// Checks that the watch left out none of the writes that were acknowledged while it ran.
    pub(crate) fn is_complete(&self, acknowledged: &[u64]) -> Result<()> {
        let known =
            acknowledged.iter().filter(|revision| **revision > self.after && **revision <= self.last());
        for revision in known {
            ensure!(
                self.events.contains_key(revision),
                "a watch came to {} and left out {revision}, which was acknowledged",
                self.last()
            );
        }
        Ok(())
    }

    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }
}
