//! A writer: one request after the other, over names that only it writes and counters that all write.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context as _, Result, bail, ensure};
use http::{Method, StatusCode};
use serde_json::{Value, json};
use tokio::sync::Semaphore;

use super::client::{Access, Connection, JSON, Outcome};
use super::content::{Content, Kind, without_type};
use super::counters::{COUNTERS, Counters};
use super::ledger::{Fate, Ledger};
use super::random::Random;
use super::slot::{Pending, Slot, Wish};

const SLOTS: usize = 12;
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";

/// What all writers of all rounds share.
#[derive(Default)]
pub(crate) struct World {
    pub(crate) ledger: Ledger,
    pub(crate) counters: Counters,
}

/// What the writers of one round share.
pub(crate) struct Round {
    pub(crate) number: u64,
    pub(crate) access: Access,
    /// One permit for each acknowledged write.
    pub(crate) acknowledged: Semaphore,
    /// Set just before the kill: who loses the connection earlier has found a mistake.
    pub(crate) over: AtomicBool,
}

/// A writer, over all rounds.
pub(crate) struct Writer {
    pub(crate) number: u64,
    pub(crate) slots: Vec<Slot>,
    /// The revisions of its acknowledged writes in this round, where the answer tells.
    pub(crate) acknowledged: Vec<(Kind, u64)>,
}

/// Whether a writer goes on.
enum Next {
    GoOn,
    ConnectionLost,
}

/// A request that writes, and what is there when it is done.
struct Plan {
    method: Method,
    path: String,
    content_type: &'static str,
    body: Option<Value>,
    wish: Wish,
}

impl Writer {
    pub(crate) fn new(number: u64) -> Writer {
        let slot = |index: usize| {
            let kind = Kind::ALL[index % Kind::ALL.len()];
            Slot { kind, name: format!("writer-{number}-{index}"), certain: None, pending: None }
        };
        Writer { number, slots: (0..SLOTS).map(slot).collect(), acknowledged: Vec::new() }
    }

    /// Writes until the server is gone.
    pub(crate) async fn run(&mut self, world: &World, round: &Round, mut random: Random) -> Result<()> {
        if let Ok(mut connection) = round.access.connect().await {
            for turn in 0.. {
                let next = match random.percent(15) {
                    true => self.count(&mut connection, world, round, &mut random).await?,
                    false => self.write(&mut connection, world, round, &mut random, turn).await?,
                };
                if let Next::ConnectionLost = next {
                    break;
                }
            }
        }
        ensure!(round.over.load(Ordering::SeqCst), "the connection of a writer broke before the kill");
        Ok(())
    }

    async fn write(
        &mut self,
        connection: &mut Connection,
        world: &World,
        round: &Round,
        random: &mut Random,
        turn: u64,
    ) -> Result<Next> {
        // The same for the same seed, whatever the other writers do; and no other content ever has it.
        let content = Content::new((round.number << 32) | (self.number << 24) | turn);
        let index = usize::try_from(random.below(SLOTS as u64))?;
        let slot = &mut self.slots[index];
        let Plan { method, path, content_type, body, wish } = plan(slot, content, random)?;
        slot.pending = Some(Pending { wish: wish.clone(), promised: false });
        let what = format!("{method} {path}");
        match connection.ask(method, &path, content_type, body.as_ref()).await? {
            Outcome::Unknown => Ok(Next::ConnectionLost),
            Outcome::Begun(status) => {
                ensure!(status.is_success(), "{what} was refused: {status}");
                slot.pending = Some(Pending { wish, promised: true });
                Ok(Next::ConnectionLost)
            }
            Outcome::Answered(status, answer) => {
                ensure!(status.is_success(), "{what} was refused: {status}: {answer}");
                slot.pending = None;
                if let Some(revision) = slot.acknowledge(&wish, answer, world, &what)? {
                    self.acknowledged.push((slot.kind, revision));
                }
                round.acknowledged.add_permits(1);
                Ok(Next::GoOn)
            }
        }
    }

    /// Counts up. That another writer is faster is part of it.
    async fn count(
        &mut self,
        connection: &mut Connection,
        world: &World,
        round: &Round,
        random: &mut Random,
    ) -> Result<Next> {
        let counter = usize::try_from(random.below(COUNTERS as u64))?;
        let path = Counters::path(counter);
        let current = match connection.ask(Method::GET, &path, JSON, None).await? {
            Outcome::Answered(StatusCode::OK, current) => current,
            Outcome::Answered(status, answer) => {
                bail!("counter {counter} cannot be read: {status}: {answer}")
            }
            Outcome::Begun(_) | Outcome::Unknown => return Ok(Next::ConnectionLost),
        };
        world.ledger.note(Kind::ConfigMap, &current, Fate::There, "a read")?;
        let (object, number) = Counters::next(current)?;
        world.counters.begin(counter);
        match connection.ask(Method::PUT, &path, JSON, Some(&object)).await? {
            Outcome::Unknown => Ok(Next::ConnectionLost),
            Outcome::Begun(StatusCode::OK) => {
                world.counters.done(counter, number)?;
                Ok(Next::ConnectionLost)
            }
            Outcome::Begun(_) => {
                world.counters.refused(counter);
                Ok(Next::ConnectionLost)
            }
            Outcome::Answered(StatusCode::OK, answer) => {
                let revision = world.ledger.note(Kind::ConfigMap, &answer, Fate::There, "a count")?;
                self.acknowledged.push((Kind::ConfigMap, revision));
                world.counters.done(counter, number)?;
                round.acknowledged.add_permits(1);
                Ok(Next::GoOn)
            }
            Outcome::Answered(StatusCode::CONFLICT, _) => {
                world.counters.refused(counter);
                Ok(Next::GoOn)
            }
            Outcome::Answered(status, answer) => {
                bail!("counter {counter} cannot be written: {status}: {answer}")
            }
        }
    }
}

/// What to do next to a slot.
fn plan(slot: &Slot, content: Content, random: &mut Random) -> Result<Plan> {
    let Some(current) = slot.certain.clone() else {
        return Ok(Plan {
            method: Method::POST,
            path: slot.kind.collection().to_owned(),
            content_type: JSON,
            body: Some(slot.kind.object(&slot.name, &content)),
            wish: Wish::Content(content),
        });
    };
    let revision = current.pointer("/metadata/resourceVersion").cloned().context("a revision")?;
    let (method, content_type, body, wish) = match random.below(10) {
        0 => (Method::DELETE, JSON, None, Wish::Deleted),
        1 => {
            let only_if = json!({ "preconditions": { "resourceVersion": revision } });
            (Method::DELETE, JSON, Some(only_if), Wish::Deleted)
        }
        choice => {
            let (method, content_type, body) = match choice {
                2..6 => (Method::PUT, JSON, slot.kind.with(current, &content)?),
                6 => (Method::PATCH, STRATEGIC, slot.kind.merge_patch(&content)),
                7 => (Method::PATCH, JSON_PATCH, slot.kind.json_patch(&content)),
                _ => (Method::PATCH, MERGE, slot.kind.merge_patch(&content)),
            };
            (method, content_type, Some(body), Wish::Content(content))
        }
    };
    Ok(Plan { method, path: slot.kind.path(&slot.name), content_type, body, wish })
}

// === impl Slot ===

impl Slot {
    /// Takes an answer for certain; its revision, if it tells one.
    fn acknowledge(&mut self, wish: &Wish, answer: Value, world: &World, what: &str) -> Result<Option<u64>> {
        match wish {
            Wish::Content(content) => {
                ensure!(Content::of(self.kind, &answer)? == *content, "{what} was answered with {answer}");
                let revision = world.ledger.note(self.kind, &answer, Fate::There, what)?;
                self.certain = Some(without_type(answer));
                Ok(Some(revision))
            }
            Wish::Deleted => {
                self.certain = None;
                // Some kinds are answered with what was deleted, others with a word.
                match answer["kind"].as_str() {
                    Some("Status") => Ok(None),
                    _ => world.ledger.note(self.kind, &answer, Fate::Gone, what).map(Some),
                }
            }
        }
    }
}
