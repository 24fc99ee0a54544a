//! Begins a store where there is none, so that a power cut leaves either no store or a whole one.
//!
//! The database underneath writes its first pages in place and would refuse the half of them for ever.
//! So the file is made under another name and renamed when it is complete. The folder is locked meanwhile:
//! two processes that begin at once do it one after the other, and the second finds the file of the first.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use redb::Database;

use super::begin;
use crate::error::{OpenError, Unreadable};

/// Makes an empty store at `path`, unless something is there. An empty file is nothing.
pub(super) fn unless_there(path: &Path, cache_bytes: usize) -> Result<(), OpenError> {
    let refused = |source: Unreadable| OpenError::of(path, source);
    if is_there(path).map_err(|error| refused(error.into()))? {
        return Ok(());
    }
    make(path, cache_bytes).map_err(refused)
}

fn make(path: &Path, cache_bytes: usize) -> Result<(), Unreadable> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let folder = File::open(folder)?;
    folder.lock()?;
    if is_there(path)? {
        return Ok(());
    }
    let unfinished = unfinished(path);
    match fs::remove_file(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
        _ => {}
    }
    let database = Database::builder()
        .set_cache_size(cache_bytes)
        .create(&unfinished)
        .map_err(|error| Unreadable::from(redb::Error::from(error)))?;
    begin(&database)?;
    // Dropping it writes the mark of a clean end; only then is the file complete.
    drop(database);
    File::open(&unfinished)?.sync_all()?;
    fs::rename(&unfinished, path)?;
    folder.sync_all()?;
    Ok(())
}

fn is_there(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(!metadata.is_file() || metadata.len() > 0),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn unfinished(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".unfinished");
    PathBuf::from(name)
}
