//! The unix socket.
//!
//! It is bound under another name, given its mode and group, and only then moved to where clients look: at no instant can
//! anybody connect who should not. The move also replaces what a dead agent left behind. A socket on which somebody
//! answers, and anything that is no socket, is never touched.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

use super::BindError;
use crate::rights::Group;

/// Who may enter a folder that is made for the socket: its group, and no others.
const FOLDER: u32 = 0o750;
/// Who may connect.
const MODE: u32 = 0o660;
/// An agent that is busy for longer than this still counts as one that answers.
const PATIENCE: Duration = Duration::from_secs(1);

/// A bound socket. Its file goes away with it.
#[derive(Debug)]
pub(super) struct Socket {
    listener: UnixListener,
    path: PathBuf,
    /// Which file is ours: another agent may have put its own there since.
    file: (u64, u64),
}

// === impl Socket ===

impl Socket {
    pub(super) async fn bind(path: &Path, group: Option<&Group>) -> Result<Self, BindError> {
        let failed =
            |what| move |source: io::Error| BindError::Socket { path: path.to_owned(), what, source };
        let gid = group.map(|group| group.gid);
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
        make_folder(folder, gid).map_err(failed("its folder cannot be made"))?;
        if is_taken(path).await.map_err(failed("what is there cannot be looked at"))? {
            return Err(BindError::InUse(path.to_owned()));
        }
        // Short, because a socket's whole path may have no more than 107 bytes.
        let aside = folder.join(format!(".{}", std::process::id()));
        let _ = fs::remove_file(&aside);
        let listener = UnixListener::bind(&aside)
            .map_err(failed("it cannot be bound (a path has 107 bytes at most)"))?;
        let placed = (|| {
            fs::set_permissions(&aside, Permissions::from_mode(MODE))?;
            if gid.is_some() {
                chown(&aside, None, gid)?;
            }
            let found = fs::symlink_metadata(&aside)?;
            fs::rename(&aside, path)?;
            Ok((found.dev(), found.ino()))
        })();
        let file = placed.map_err(|error| {
            let _ = fs::remove_file(&aside);
            failed("its mode and group cannot be set")(error)
        })?;
        Ok(Self { listener, path: path.to_owned(), file })
    }

    pub(super) const fn listener(&self) -> &UnixListener {
        &self.listener
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let ours =
            fs::symlink_metadata(&self.path).is_ok_and(|found| (found.dev(), found.ino()) == self.file);
        if ours {
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A folder that is there is somebody's decision and stays as it is.
fn make_folder(folder: &Path, gid: Option<u32>) -> io::Result<()> {
    if folder.is_dir() {
        return Ok(());
    }
    DirBuilder::new().recursive(true).mode(FOLDER).create(folder)?;
    // An inherited mask may have taken the group's rights away.
    fs::set_permissions(folder, Permissions::from_mode(FOLDER))?;
    if gid.is_some() {
        chown(folder, None, gid)?;
    }
    Ok(())
}

/// Whether somebody answers there. What is no socket is an error.
async fn is_taken(path: &Path) -> io::Result<bool> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(error),
        Ok(found) if !found.file_type().is_socket() => {
            return Err(io::Error::new(ErrorKind::AlreadyExists, "there is something that is no socket"));
        }
        Ok(_) => {}
    }
    match timeout(PATIENCE, UnixStream::connect(path)).await {
        Ok(Err(error)) => Ok(!matches!(error.kind(), ErrorKind::ConnectionRefused | ErrorKind::NotFound)),
        Ok(Ok(_)) | Err(_) => Ok(true),
    }
}
