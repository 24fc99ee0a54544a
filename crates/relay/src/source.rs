//! Where a certificate, a key or a token comes from.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::{fs, io};

/// Something that is known already, or in a file that somebody may replace.
#[derive(Clone)]
pub enum Source {
    /// The thing itself.
    Bytes(Vec<u8>),
    /// A file, read again whenever it has changed. It may be a link that is moved from one file to the next.
    File(PathBuf),
}

/// Why a file cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read.
    #[error("cannot read {}: {source}", .path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system says.
        source: io::Error,
    },
    /// It says something that cannot be used.
    #[error("{}: {problem}", .path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
    },
}

/// By what a file is known again without reading it. Whoever replaces it, in whichever way, changes one of these.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Print {
    device: u64,
    inode: u64,
    size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

// === impl Source ===

impl Source {
    pub(crate) fn read(&self) -> Result<Vec<u8>, FileError> {
        match self {
            Self::Bytes(bytes) => Ok(bytes.clone()),
            Self::File(path) => {
                fs::read(path).map_err(|source| FileError::Read { path: path.clone(), source })
            }
        }
    }

    /// What the file behind all links looks like from outside; nothing if there is none, or nothing to look at.
    pub(crate) fn print(&self) -> Option<Print> {
        match self {
            Self::Bytes(_) => None,
            Self::File(path) => Print::of(path),
        }
    }

    /// Says what is wrong with its content.
    pub(crate) fn bad(&self, problem: impl Into<String>) -> FileError {
        FileError::Content { path: self.name(), problem: problem.into() }
    }

    fn name(&self) -> PathBuf {
        match self {
            Self::Bytes(_) => PathBuf::from("the kubeconfig"),
            Self::File(path) => path.clone(),
        }
    }
}

impl std::fmt::Debug for Source {
    /// Never the bytes: they may be a key.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}", self.name().display())
    }
}

// === impl Print ===

impl Print {
    fn of(path: &Path) -> Option<Self> {
        let found = fs::metadata(path).ok()?;
        Some(Self {
            device: found.dev(),
            inode: found.ino(),
            size: found.size(),
            modified: (found.mtime(), found.mtime_nsec()),
            changed: (found.ctime(), found.ctime_nsec()),
        })
    }
}
