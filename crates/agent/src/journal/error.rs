//! What can go wrong with the journal, and what to do about it.

use std::io;
use std::path::{Path, PathBuf};

/// Why a journal cannot be opened.
#[derive(Debug, thiserror::Error)]
pub(crate) enum OpenError {
    #[error("cannot use {}: {source}", .path.display())]
    Folder { path: PathBuf, source: io::Error },
    #[error("cannot open {}: another agent uses it; stop that one first", .path.display())]
    Locked { path: PathBuf },
    #[error("{} was written by a newer agent (format {format}); install that version again", .path.display())]
    Format { path: PathBuf, format: u64 },
    #[error("cannot read {}: {why}", .path.display())]
    Unreadable { path: PathBuf, why: String },
}

/// Why something could not be made durable. Nothing of it is in force.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CommitError {
    #[error("cannot write the journal: {0}")]
    Storage(#[from] redb::Error),
    #[error("cannot encode a record: {0}")]
    Encode(serde_json::Error),
    #[error("there is no body for {object}")]
    NoBody { object: String },
}

/// Why a journal that is there cannot be read.
#[derive(Debug)]
pub(super) enum ReadError {
    Storage(redb::Error),
    /// It can be read, and makes no sense.
    Meaning(String),
}

impl OpenError {
    pub(super) fn of_reading(path: &Path, error: ReadError) -> Self {
        match error {
            ReadError::Meaning(why) => Self::Unreadable { path: path.into(), why },
            // A disk that is full or does not answer says nothing about what is on it.
            ReadError::Storage(redb::Error::Io(source)) if source.kind() != io::ErrorKind::InvalidData => {
                Self::Folder { path: path.into(), source }
            }
            ReadError::Storage(redb::Error::PreviousIo) => {
                Self::Folder { path: path.into(), source: io::Error::other("an earlier write has failed") }
            }
            ReadError::Storage(error) => Self::Unreadable { path: path.into(), why: error.to_string() },
        }
    }

    pub(super) fn of_database(path: &Path, error: redb::DatabaseError) -> Self {
        match error {
            redb::DatabaseError::DatabaseAlreadyOpen => Self::Locked { path: path.into() },
            redb::DatabaseError::Storage(redb::StorageError::Io(source))
                if source.kind() != io::ErrorKind::InvalidData =>
            {
                Self::Folder { path: path.into(), source }
            }
            error => Self::Unreadable { path: path.into(), why: error.to_string() },
        }
    }
}

macro_rules! storage {
    ($($error:ident)*) => {$(
        impl From<redb::$error> for CommitError {
            fn from(error: redb::$error) -> Self {
                Self::Storage(error.into())
            }
        }

        impl From<redb::$error> for ReadError {
            fn from(error: redb::$error) -> Self {
                Self::Storage(error.into())
            }
        }
    )*};
}

storage! { TransactionError TableError StorageError CommitError SetDurabilityError }

impl From<redb::Error> for ReadError {
    fn from(error: redb::Error) -> Self {
        Self::Storage(error)
    }
}
