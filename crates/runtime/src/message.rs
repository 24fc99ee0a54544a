//! The last words of a container: what it wrote to its `terminationMessagePath`, which lies below its root.
//!
//! The container may be someone else than the agent, and must not make it read what the container itself may not: no link is
//! followed.

use std::{
    fs::{self, OpenOptions},
    io::{self, Read},
    os::unix::fs::{OpenOptionsExt, chown},
    path::Path,
};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

use crate::{launch::make_folder, names::inside};

/// As much as the kubelet reads.
const MOST: u64 = 4096;
/// Where a manifest does not say.
const USUAL: &str = "/dev/termination-log";

/// The path of a container below its root.
pub(crate) fn path(given: &str) -> Option<String> {
    let given = if given.is_empty() { USUAL } else { given };
    inside(given.trim_start_matches('/'))?.to_str().map(str::to_owned)
}

/// Makes the file, for the user of the container. Where a volume is mounted there, the container makes it.
pub(crate) fn prepare(root: &Path, path: &str, user: Option<u32>, group: Option<u32>) -> io::Result<()> {
    let at = root.join(path);
    let above = at.ancestors().skip(1).take_while(|above| *above != root);
    if fs::symlink_metadata(&at).is_ok() || above.into_iter().any(Path::is_symlink) {
        return Ok(());
    }
    at.parent().map_or(Ok(()), make_folder)?;
    OpenOptions::new().create_new(true).write(true).mode(0o600).open(&at)?;
    match (user, group) {
        (None, None) => Ok(()),
        _ => chown(&at, user, group),
    }
}

/// What is in the file, if anything is.
pub(crate) fn read(root: &Path, path: &str) -> Option<String> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK;
    let folder = openat2(CWD, root, flags | OFlags::DIRECTORY, Mode::empty(), ResolveFlags::empty()).ok()?;
    let within = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let file = fs::File::from(openat2(folder, path, flags, Mode::empty(), within).ok()?);
    let mut bytes = Vec::new();
    file.metadata().ok().filter(fs::Metadata::is_file)?;
    file.take(MOST).read_to_end(&mut bytes).ok()?;
    (!bytes.is_empty()).then(|| String::from_utf8_lossy(&bytes).into_owned())
}
