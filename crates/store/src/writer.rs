//! The one thread that writes: durable first, then visible, then answered.
//!
//! While a commit waits for the disk, writes queue up; the next commit takes all of them, so the more is
//! written the more each fsync carries. Within a batch every write sees those before it. A caller learns
//! nothing of a batch, not even that its write conflicts with another one of it, before the batch is durable.

use std::sync::Arc;
use std::sync::mpsc::Receiver;

use serde_json::Value;
use tokio::sync::{OwnedSemaphorePermit, oneshot};
use tracing::error;

use crate::disk::{Changes, Disk};
use crate::error::{Failure, WriteError};
use crate::event::{Event, EventKind};
use crate::key::Key;
use crate::object::{Object, Tags, render};
use crate::shared::Shared;
use crate::write::{Change, Committed, Expect, Write};

/// The most writes in one commit: enough that the fsync no longer matters, few enough that the first of
/// them does not wait for the last for long.
const BATCH_WRITES: usize = 256;
/// The text of a batch may exceed this by one object.
const BATCH_BYTES: usize = 4 << 20;

/// A write on its way.
pub(crate) struct Command {
    pub(crate) write: Write,
    /// Of the value in the write, if it has one.
    pub(crate) tags: Tags,
    pub(crate) answer: oneshot::Sender<Answer>,
    /// Held until it is answered, so that the queue has a bound.
    pub(crate) permit: OwnedSemaphorePermit,
}

pub(crate) type Answer = Result<Committed, WriteError>;

/// Writes that become durable together.
struct Batch<'a> {
    shared: &'a Shared,
    revision: u64,
    changes: Changes,
    events: Vec<Arc<Event>>,
    bytes: usize,
    answers: Vec<(oneshot::Sender<Answer>, OwnedSemaphorePermit, Answer)>,
}

/// Writes until there is nobody left who could ask for it.
pub(crate) fn run(disk: &Disk, shared: &Shared, commands: &Receiver<Command>) {
    let _obituary = Obituary(shared);
    while let Ok(command) = commands.recv() {
        let mut batch = Batch::new(shared);
        batch.admit(command);
        while !batch.is_full()
            && let Ok(command) = commands.try_recv()
        {
            batch.admit(command);
        }
        batch.finish(disk);
    }
}

// === impl Batch ===

impl<'a> Batch<'a> {
    fn new(shared: &'a Shared) -> Self {
        let revision = shared.read().revision();
        let (changes, events, answers) = (Changes::new(), Vec::new(), Vec::new());
        Self { shared, revision, changes, events, bytes: 0, answers }
    }

    fn is_full(&self) -> bool {
        self.answers.len() >= BATCH_WRITES || self.bytes >= BATCH_BYTES
    }

    /// Decides a write, on top of those before it.
    fn admit(&mut self, command: Command) {
        let Command { write, tags, answer, permit } = command;
        let outcome = match self.shared.failure() {
            Some(failure) => Err(failure.clone().into()),
            None => self.decide(write, tags),
        };
        self.answers.push((answer, permit, outcome));
    }

    fn decide(&mut self, write: Write, tags: Tags) -> Answer {
        let Write { key, expect, change } = write;
        if let Change::PutAndDelete(value) = change {
            let put = Write { key: key.clone(), expect, change: Change::Put(value) };
            self.decide(put, tags)?;
            return self.decide(Write::delete(key), Tags::default());
        }
        let current = self.current(&key);
        match (expect, &current) {
            (Expect::Any, _) | (Expect::Absent, None) => {}
            (Expect::Absent, Some(_)) => return Err(WriteError::Exists),
            (Expect::Revision(expected), Some(object)) if object.revision == expected => {}
            (Expect::Revision(_), _) => return Err(WriteError::Conflict { current }),
        }
        let revision = self.revision + 1;
        let (kind, created, tags, value) = match (change, &current) {
            (Change::Put(value), Some(current)) => (EventKind::Put, current.created, tags, value),
            (Change::Put(value), None) => (EventKind::Put, revision, tags, value),
            (Change::Delete(_), None) => return Err(WriteError::NotFound),
            (Change::PutAndDelete(_), _) => unreachable!("it was taken apart above"),
            (Change::Delete(Some(value)), Some(current)) => (EventKind::Delete, current.created, tags, value),
            (Change::Delete(None), Some(current)) => {
                let value: Value =
                    serde_json::from_slice(&current.json).expect("only what can be read back is stored");
                (EventKind::Delete, current.created, current.tags.clone(), value)
            }
        };
        let json = render(value, revision);
        self.bytes += json.len();
        let object = Arc::new(Object { key: key.clone(), revision, created, json, tags });
        let event = Event { revision, kind, object: Arc::clone(&object), previous: current };
        self.revision = revision;
        self.changes.insert(key, event.after().cloned());
        self.events.push(Arc::new(event));
        Ok(Committed { revision, object })
    }

    /// The state of an object as this batch will leave it so far.
    fn current(&self, key: &Key) -> Option<Arc<Object>> {
        match self.changes.get(key) {
            Some(object) => object.clone(),
            None => self.shared.read().get(key).cloned(),
        }
    }

    fn finish(self, disk: &Disk) {
        let Self { shared, revision, changes, events, answers, .. } = self;
        let mut failed = None;
        if !events.is_empty() {
            match disk.commit(&changes, revision) {
                Ok(()) => shared.publish(events),
                Err(cause) => {
                    error!(error = %cause, "the store could not commit and takes no more writes until it is opened again");
                    let cause = Arc::new(cause);
                    shared.fail(Failure::Poisoned(Arc::clone(&cause)));
                    failed = Some(Failure::Storage(cause));
                }
            }
        }
        for (answer, _permit, outcome) in answers {
            // Even a refusal may rest on a write of this batch, and that one has failed.
            let outcome = failed.clone().map_or(outcome, |failure| Err(failure.into()));
            // Whoever asked may have gone; the write is done all the same.
            let _ = answer.send(outcome);
        }
    }
}

/// Says that the writer is gone if it ends by a panic, so that nobody waits for it.
struct Obituary<'a>(&'a Shared);

impl Drop for Obituary<'_> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.0.fail(Failure::WriterGone);
        }
    }
}
