//! Files that are whole or not there, whatever stops the machine.
//!
//! The order is what matters: contents first, then the name, then the folder that has the name. Whoever sees a file written
//! here may rely on all of it, and whoever wrote it may act on it. All of it is for root alone: manifests may hold secrets.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use crate::faults::point;

#[cfg(test)]
mod tests;

/// Puts a file in its place and returns when it would survive a power cut. Only one writer of a name may be at work.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("/"));
    make_folder(folder)?;
    let mut draft = std::ffi::OsString::from(".");
    draft.push(path.file_name().unwrap_or_default());
    draft.push(".draft");
    let draft = folder.join(draft);
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    point("a record is written");
    file.sync_all()?;
    drop(file);
    point("a record is on the disk");
    fs::rename(&draft, path)?;
    point("a record has its name");
    sync_folder(folder)
}

/// Takes a file away for good. One that is not there is away.
pub(crate) fn remove(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_folder(path.parent().unwrap_or(Path::new("/"))),
    }
}

/// `None` if there is no such file.
pub(crate) fn read(path: &Path) -> io::Result<Option<String>> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes a folder and those above it, so that they survive a power cut.
pub(crate) fn make_folder(folder: &Path) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    let above = folder.parent().unwrap_or(Path::new("/"));
    make_folder(above)?;
    match DirBuilder::new().mode(0o700).create(folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_folder(above),
    }
}

/// Makes the names in a folder survive a power cut.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}
