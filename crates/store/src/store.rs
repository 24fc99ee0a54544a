//! The handle: reads from memory, hands writes to the writer.

use std::path::Path;
use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError, RwLock};
use std::thread::JoinHandle;

use redb::StorageBackend;
use redb::backends::InMemoryBackend;
use tokio::sync::{Semaphore, oneshot};
use tracing::error;

use crate::disk::{Contents, Disk};
use crate::error::{Failure, OpenError, RevisionError, WriteError};
use crate::key::{Key, Scope};
use crate::object::{self, Object, Tags, TagsFn};
use crate::options::Options;
use crate::shared::{Shared, Stats};
use crate::state::{Listing, Start, State};
use crate::watch::Watch;
use crate::write::{Change, Committed, Write};
use crate::writer::{self, Command};

/// The most writes that wait or are being done; further callers wait before they are queued.
const IN_FLIGHT: usize = 1_024;

/// An open store. Clones are the same store; it is closed with the last of them.
#[derive(Debug, Clone)]
pub struct Store {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    shared: Arc<Shared>,
    tags: TagsFn,
    permits: Arc<Semaphore>,
    /// `None` once closed. Never cloned, so that taking it out is what ends the writer.
    commands: RwLock<Option<Sender<Command>>>,
    writer: Mutex<Option<JoinHandle<()>>>,
}

// === impl Store ===

impl Store {
    /// Opens the store in this file, or begins it. The folder must exist. Reads everything, so it blocks.
    pub fn open(path: &Path, options: Options) -> Result<Self, OpenError> {
        Self::start(Disk::open(path, options.cache_bytes, options.tags)?, &options)
    }

    /// A store that is gone with the process.
    pub fn in_memory(options: Options) -> Self {
        Self::with_backend(InMemoryBackend::new(), options).expect("memory is neither locked nor damaged")
    }

    /// Opens what the backend holds, or begins it: for tests that let the disk fail.
    pub fn with_backend(backend: impl StorageBackend, options: Options) -> Result<Self, OpenError> {
        Self::start(Disk::open_backend(backend, options.cache_bytes, options.tags)?, &options)
    }

    fn start((disk, contents): (Disk, Contents), options: &Options) -> Result<Self, OpenError> {
        let shared = Arc::new(Shared::new(State::new(contents, options)));
        let (sender, receiver) = mpsc::channel();
        // A thread of its own because a commit blocks for as long as the disk likes. It is not left to
        // itself: closing the store ends and joins it.
        let writer = std::thread::Builder::new().name("store-writer".to_owned()).spawn({
            let shared = Arc::clone(&shared);
            move || writer::run(&disk, &shared, &receiver)
        });
        let writer = writer.map_err(OpenError::Thread)?;
        let inner = Inner {
            shared,
            tags: options.tags,
            permits: Arc::new(Semaphore::new(IN_FLIGHT)),
            commands: RwLock::new(Some(sender)),
            writer: Mutex::new(Some(writer)),
        };
        Ok(Self { inner: Arc::new(inner) })
    }

    /// The newest visible revision. An empty store has revision 1, and the first write gets 2.
    pub fn revision(&self) -> u64 {
        self.inner.shared.read().revision()
    }

    /// The newest visible state of an object.
    pub fn get(&self, key: &Key) -> Option<Arc<Object>> {
        self.inner.shared.read().get(key).cloned()
    }

    /// The objects in the scope whose keys come after `after`, at most `limit` of them; 0 is no limit.
    pub fn list(&self, scope: &Scope, after: Option<&Key>, limit: usize) -> Listing {
        self.inner.shared.read().list(scope, after, limit)
    }

    /// The same as it was at `revision`, so that the pages of a long listing fit together.
    pub fn list_at(
        &self,
        scope: &Scope,
        revision: u64,
        after: Option<&Key>,
        limit: usize,
    ) -> Result<Listing, RevisionError> {
        self.inner.shared.read().list_at(scope, revision, after, limit)
    }

    /// Watches the scope.
    pub fn watch(&self, scope: Scope, start: Start) -> Result<Watch, RevisionError> {
        let shared = Arc::clone(&self.inner.shared);
        let (id, queue, listing) = shared.write().watch(scope, start)?;
        Ok(Watch::new(shared, id, queue, listing))
    }

    /// Does the write and returns once it is durable and visible.
    ///
    /// A future that is dropped before it is done may or may not have written; the store does not take back
    /// what it was handed.
    pub async fn write(&self, write: Write) -> Result<Committed, WriteError> {
        let inner = &*self.inner;
        // Here and not in the writer: it is the caller's value, and the writer serves everyone.
        let tags = match &write.change {
            Change::Put(value) | Change::PutAndDelete(value) | Change::Delete(Some(value)) => {
                object::check(value)?;
                (inner.tags)(&write.key, value)
            }
            Change::Delete(None) => Tags::default(),
        };
        let permit = Arc::clone(&inner.permits).acquire_owned().await.map_err(|_| WriteError::Closed)?;
        let (answer, answered) = oneshot::channel();
        inner.send(Command { write, tags, answer, permit })?;
        answered.await.map_err(|_| inner.gone())?
    }

    /// Why the store takes no more writes, if that is so. Reads go on with the last durable state.
    pub fn failure(&self) -> Option<Failure> {
        self.inner.shared.failure().cloned()
    }

    /// What the store has done since it was opened.
    pub fn stats(&self) -> Stats {
        self.inner.shared.stats()
    }

    /// Refuses further writes, does those that were handed over, ends the watches and lets go of the file.
    ///
    /// Blocks for that, which is a few commits at most. Other clones can still read.
    pub fn close(self) {
        self.inner.close();
    }
}

// === impl Inner ===

impl Inner {
    fn send(&self, command: Command) -> Result<(), WriteError> {
        let commands = self.commands.read().unwrap_or_else(PoisonError::into_inner);
        let commands = commands.as_ref().ok_or(WriteError::Closed)?;
        commands.send(command).map_err(|_| self.gone())
    }

    /// The writer does not answer any more, and it was not told to end.
    fn gone(&self) -> WriteError {
        self.shared.failure().cloned().unwrap_or(Failure::WriterGone).into()
    }

    fn close(&self) {
        self.permits.close();
        drop(self.commands.write().unwrap_or_else(PoisonError::into_inner).take());
        // Held while joining, so that of two who close at once both return when it is done.
        let mut writer = self.writer.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(writer) = writer.take()
            && writer.join().is_err()
        {
            error!("the writer of the store had ended by a panic");
        }
        self.shared.close();
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        self.close();
    }
}
