//! What can go wrong, one type per operation.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use thiserror::Error;

use crate::object::Object;

/// Why a store could not be opened. The file holds what it held before.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum OpenError {
    /// Another process, or this one, has it open.
    #[error("cannot open the store {}: it is in use; stop the other process that has it open", path.display())]
    Locked {
        /// The file.
        path: PathBuf,
    },
    /// The operating system refused.
    #[error("cannot open the store {}: see that its folder exists and may be written to", path.display())]
    Io {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// It is damaged, or something else.
    #[error(
        "cannot open the store {}: it is not readable as one and was left as it is; \
         restore it from a backup, or move it away to begin with an empty one",
        path.display()
    )]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What was found.
        source: Unreadable,
    },
    /// A later version wrote it.
    #[error(
        "cannot open the store {}: it has format {found} and this version reads up to {known}; \
         run the version that wrote it, or a later one",
        path.display()
    )]
    Newer {
        /// The file.
        path: PathBuf,
        /// The format of the file.
        found: u64,
        /// The newest format known here.
        known: u64,
    },
    /// The operating system gave no thread for the writer.
    #[error("cannot start the writer of the store: no thread could be created")]
    Thread(#[source] io::Error),
}

impl OpenError {
    /// Tells what is wrong with the file from what is wrong around it.
    pub(crate) fn of(path: &Path, source: Unreadable) -> Self {
        let path = path.to_owned();
        match source {
            Unreadable::Io(source)
                if !matches!(source.kind(), io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof) =>
            {
                Self::Io { path, source }
            }
            source => Self::Unreadable { path, source },
        }
    }
}

/// What made a file unreadable as a store.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum Unreadable {
    /// The file ends too early, or is no database.
    #[error(transparent)]
    Io(#[from] io::Error),
    /// The database underneath refused.
    #[error(transparent)]
    Database(Box<redb::Error>),
    /// It is a database, but not of ours.
    #[error("it is a database without the tables of a store")]
    Foreign,
    /// An entry contradicts the rest.
    #[error("the entry {entry} is damaged: {problem}")]
    Damaged {
        /// Which entry.
        entry: String,
        /// What is wrong with it.
        problem: String,
    },
}

impl From<redb::Error> for Unreadable {
    fn from(error: redb::Error) -> Self {
        match error {
            redb::Error::Io(error) => Self::Io(error),
            error => Self::Database(Box::new(error)),
        }
    }
}

/// Why a write was not done. In every case nothing of it is visible.
#[derive(Debug, Clone, Error)]
pub enum WriteError {
    /// The object was expected to be absent.
    #[error("the object exists already")]
    Exists,
    /// The object was expected at another revision.
    #[error("the object is not at the expected revision")]
    Conflict {
        /// What is there instead; `None` if there is no such object.
        current: Option<Arc<Object>>,
    },
    /// There is nothing to delete.
    #[error("there is no such object")]
    NotFound,
    /// The store could not do it.
    #[error(transparent)]
    Failed(#[from] Failure),
    /// The store was closed.
    #[error("the store is closed")]
    Closed,
}

/// Why the store could not do a write that it was free to do.
#[derive(Debug, Clone, Error)]
#[non_exhaustive]
pub enum Failure {
    /// The commit that held this write failed. Whether the disk has it is unknown until the store is opened
    /// again, so neither this nor any later write is taken.
    #[error(
        "the store could not make the write durable and takes no more writes until it is opened again \
         (look for a full disk, or for disk errors in the kernel log)"
    )]
    Storage(#[source] Arc<redb::Error>),
    /// An earlier commit failed.
    #[error(
        "the store takes no writes because an earlier one could not be made durable; open it again \
         (look for a full disk, or for disk errors in the kernel log)"
    )]
    Poisoned(#[source] Arc<redb::Error>),
    /// The writer ended by a panic. Whether the disk has the last writes is unknown until it is opened again.
    #[error("the store takes no writes because its writer ended unexpectedly; open it again")]
    WriterGone,
    /// The object cannot be stored.
    #[error("the object cannot be stored: {0}")]
    Malformed(&'static str),
}

/// Why the past, or the future, cannot be shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum RevisionError {
    /// The events after that revision are no longer all kept.
    #[error("the revision is too old: the oldest that can still be shown is {oldest}")]
    Compacted {
        /// The oldest revision that works.
        oldest: u64,
    },
    /// No write has had that revision yet.
    #[error("the revision is too large: the current one is {current}")]
    Future {
        /// The newest revision that works.
        current: u64,
    },
}

/// Why a watch gives no more events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum WatchEnded {
    /// Its events were not taken fast enough, and some are lost: list again.
    #[error("the watch was too slow and has lost events")]
    Lagged,
    /// The store was closed; every event before that was handed out.
    #[error("the store is closed")]
    Closed,
}
