//! Files that only their owner reads, and that are either old or new, never half.
//!
//! A write goes to a temporary file in the same folder, is synced, renamed over the old one, and the folder is synced:
//! after a power cut there is the old content or the new, and once `write` has returned it is the new. The temporary
//! file is created with its final mode, so that a secret is at no moment readable by others.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, Permissions},
    io::{self, ErrorKind, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, PermissionsExt},
    path::Path,
};

use super::IdentityError;

/// For keys, tokens and whatever holds one.
pub(super) const SECRET: u32 = 0o600;

/// For certificates, which are shown to everybody who connects.
pub(super) const PUBLIC: u32 = 0o644;

const FOLDER: u32 = 0o700;

/// Makes the folder if it is not there, and closes it to others if it is.
pub(super) fn folder(path: &Path) -> Result<(), IdentityError> {
    let make = || {
        DirBuilder::new().recursive(true).mode(FOLDER).create(path)?;
        if fs::metadata(path)?.permissions().mode() & 0o777 != FOLDER {
            fs::set_permissions(path, Permissions::from_mode(FOLDER))?;
        }
        sync_parent(path)
    };
    make().map_err(|source| IdentityError::Write { path: path.into(), source })
}

/// The content of a file, or nothing if there is no such file.
///
/// What is not text comes back with replacement characters: whoever parses it will say so, with the name of the file.
pub(super) fn read(path: &Path) -> Result<Option<String>, IdentityError> {
    match fs::read(path) {
        Ok(bytes) => Ok(Some(String::from_utf8_lossy(&bytes).into_owned())),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(IdentityError::Read { path: path.into(), source }),
    }
}

/// Replaces the content of a file, durably and all at once.
pub(super) fn write(path: &Path, text: &str, mode: u32) -> Result<(), IdentityError> {
    replace(path, text, mode).map_err(|source| IdentityError::Write { path: path.into(), source })
}

/// Removes a file durably. One that is not there is as good as removed.
pub(super) fn remove(path: &Path) -> Result<(), IdentityError> {
    remove_if_there(path)
        .and_then(|()| sync_parent(path))
        .map_err(|source| IdentityError::Write { path: path.into(), source })
}

fn replace(path: &Path, text: &str, mode: u32) -> io::Result<()> {
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".tmp");
    let temporary = Path::new(&temporary);
    // One may be left over from a crash. It is not reused: it would keep its mode.
    remove_if_there(temporary)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(temporary, path)?;
    sync_parent(path)
}

fn remove_if_there(path: &Path) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        Ok(()) | Err(_) => Ok(()),
    }
}

fn sync_parent(path: &Path) -> io::Result<()> {
    match path.parent() {
        // The parent of a bare file name is the empty path, which means the current folder.
        Some(parent) if parent.as_os_str().is_empty() => File::open(".")?.sync_all(),
        Some(parent) => File::open(parent)?.sync_all(),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).unwrap().permissions().mode() & 0o777
    }

    #[test]
    fn what_was_written_is_read_back_and_nothing_else_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        assert_eq!(read(&path).unwrap(), None);
        for text in ["one", "", "two"] {
            write(&path, text, SECRET).unwrap();
            assert_eq!(read(&path).unwrap().as_deref(), Some(text));
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        remove(&path).unwrap();
        remove(&path).unwrap();
        assert_eq!(read(&path).unwrap(), None);
    }

    #[test]
    fn a_secret_does_not_inherit_the_mode_of_what_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        // Left over from a crash, or put there by somebody who hopes to read on.
        for planted in ["file", "file.tmp"] {
            fs::write(folder.path().join(planted), "old").unwrap();
            fs::set_permissions(folder.path().join(planted), Permissions::from_mode(0o666)).unwrap();
        }
        write(&path, "secret", SECRET).unwrap();
        assert_eq!(mode(&path), SECRET);
    }

    #[test]
    fn folders_are_made_as_deep_as_needed_and_closed() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/c");
        super::folder(&deep).unwrap();
        super::folder(&deep).unwrap();
        for made in ["a", "a/b", "a/b/c"] {
            assert_eq!(mode(&folder.path().join(made)), FOLDER, "{made}");
        }
    }

    #[test]
    fn an_error_names_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none/file");
        let error = write(&path, "x", SECRET).unwrap_err().to_string();
        assert!(error.contains(&path.display().to_string()), "{error}");
    }
}
