//! Files that are whole or not there, whatever stops the machine.
//!
//! The order is what matters: contents first, then the name, then the folder that has the name. Whoever
//! sees a file written here may rely on all of it, and whoever wrote it may act on it.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    os::unix::fs::OpenOptionsExt,
    path::Path,
};

use serde::{Serialize, de::DeserializeOwned};

/// Puts a file in its place and returns when it would survive a power cut.
pub(crate) fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    swap(path, bytes, true)
}

/// Puts a file in its place, whole, without waiting for the disk: for what can be found out anew.
pub(crate) fn write_lightly(path: &Path, bytes: &[u8]) -> io::Result<()> {
    swap(path, bytes, false)
}

pub(crate) fn write_json(path: &Path, value: &impl Serialize) -> io::Result<()> {
    write(path, &serde_json::to_vec(value)?)
}

/// `None` if there is no such file.
pub(crate) fn read_json<T: DeserializeOwned>(path: &Path) -> io::Result<Option<T>> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Makes the names in a folder survive a power cut.
pub(crate) fn sync_folder(folder: &Path) -> io::Result<()> {
    File::open(folder)?.sync_all()
}

fn swap(path: &Path, bytes: &[u8], sync: bool) -> io::Result<()> {
    // Two writers of one name (a shim, and the one that takes its place) must not share a draft.
    let mut draft = path.as_os_str().to_owned();
    draft.push(format!(".{}.new", std::process::id()));
    let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&draft)?;
    file.write_all(bytes)?;
    if sync {
        file.sync_all()?;
    }
    drop(file);
    fs::rename(&draft, path)?;
    match path.parent() {
        Some(folder) if sync => sync_folder(folder),
        _ => Ok(()),
    }
}
