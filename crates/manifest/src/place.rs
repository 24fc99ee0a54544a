//! One manifest in the kubelet's folder: looking at it, and putting another in its place.
//!
//! The kubelet reads every file in its folder whose name does not begin with a dot, at any moment. So a manifest is never
//! written there: it is written beside the folder, made durable, and renamed. Where beside is another file system (a task that
//! has only the folder mounted) it is written into the folder under a name that the kubelet does not read.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use rustix::fs::{XattrFlags, fsetxattr, getxattr};
use serde::{Deserialize, Serialize};

use crate::durable::sync_folder;
use crate::faults::point;
use crate::folder::Folder;
use crate::manifest::Digest;
use crate::names::FileName;
use crate::outcome::Code;
use crate::stop::Stop;

#[cfg(test)]
mod tests;

/// Beside the kubelet's folder, for as long as a manifest is written.
const DRAFTS: &str = ".safepoint-manifests";
/// A manifest that is longer is none: the kubelet reads no more than ten megabytes either.
const LONGEST: u64 = 10 << 20;
const LABEL: &str = "security.selinux";

/// What a file holds, and whose it is.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Content {
    pub(crate) digest: Digest,
    pub(crate) text: String,
    pub(crate) mode: u32,
    pub(crate) uid: u32,
    pub(crate) gid: u32,
}

/// A manifest's place.
#[derive(Debug)]
pub(crate) struct Place {
    folder: PathBuf,
    file: String,
}

/// Why a manifest was not replaced.
#[derive(Debug)]
pub(crate) enum Unplaced {
    /// Somebody else has written it meanwhile.
    Changed,
    Stop(Stop),
}

// === impl Content ===

impl Content {
    /// Contents for a file that nobody has yet: for root alone, as kubeadm makes them.
    pub(crate) fn fresh(text: &str) -> Self {
        let (uid, gid) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
        Self { digest: Digest::of(text.as_bytes()), text: text.to_owned(), mode: 0o600, uid, gid }
    }

    /// The same file with other contents.
    pub(crate) fn with(&self, text: &str) -> Self {
        Self { digest: Digest::of(text.as_bytes()), text: text.to_owned(), ..*self }
    }
}

// === impl Place ===

impl Place {
    /// The place of a manifest. A link is followed as long as it stays in the folder.
    pub(crate) fn find(folder: &Folder, name: &FileName) -> Result<Self, Stop> {
        let mut file = name.as_str().to_owned();
        for _ in 0..8 {
            let path = folder.path().join(&file);
            match fs::symlink_metadata(&path) {
                Ok(found) if found.is_symlink() => {}
                Ok(_) => return Ok(Self { folder: folder.path().to_owned(), file }),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Ok(Self { folder: folder.path().to_owned(), file });
                }
                Err(error) => return Err(Stop::io("look at", &path)(error)),
            }
            let target = fs::read_link(&path).map_err(Stop::io("read the link", &path))?;
            let above = target.parent().unwrap_or(Path::new(""));
            let stays = above == Path::new("") || above == folder.on_node() || above == folder.path();
            let Some(next) = target.file_name().and_then(|it| it.to_str()).filter(|_| stays) else {
                let why = format!(
                    "{} is a link to {}, outside the kubelet's folder: put the manifest itself there",
                    path.display(),
                    target.display()
                );
                return Err(Stop::new(Code::LinkLeadsOut, why));
            };
            file = next.to_owned();
        }
        let why = format!("the links at {name} lead in a circle");
        Err(Stop::new(Code::LinkLeadsOut, why))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.join(&self.file)
    }

    /// What is there.
    pub(crate) fn read(&self) -> Result<Option<Content>, Stop> {
        let path = self.path();
        let found = match fs::symlink_metadata(&path) {
            Ok(found) => found,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Stop::io("look at", &path)(error)),
        };
        let refuse = |why: &str| Err(Stop::new(Code::NotAFile, format!("{} {why}", path.display())));
        if !found.is_file() {
            return refuse("is not a file");
        }
        if found.len() > LONGEST {
            return refuse("is larger than any manifest");
        }
        let bytes = fs::read(&path).map_err(Stop::io("read", &path))?;
        let Ok(text) = String::from_utf8(bytes) else { return refuse("is not a text") };
        let digest = Digest::of(text.as_bytes());
        let mode = found.mode() & 0o7777;
        Ok(Some(Content { digest, text, mode, uid: found.uid(), gid: found.gid() }))
    }

    /// Puts a manifest where another one is, or none: `put` takes the place of what has the digest `expected`. When this
    /// returns, it would survive a power cut.
    pub(crate) fn replace(&self, expected: Option<&Digest>, put: Option<&Content>) -> Result<(), Unplaced> {
        let stop = |stop: Stop| Unplaced::Stop(stop);
        let io = |what| move |error| stop(Stop::io(what, &self.path())(error));
        // Whoever else uses this library, with whatever data folder, waits here: it takes milliseconds.
        let held = File::open(&self.folder).map_err(io("open the folder of"))?;
        held.lock().map_err(io("lock the folder of"))?;
        let live = self.read().map_err(stop)?;
        let live = live.map(|it| it.digest);
        if live.as_ref() != expected {
            return Err(Unplaced::Changed);
        }
        match put {
            Some(content) => self.put(content).map_err(io("replace"))?,
            None => {
                if expected.is_some() {
                    fs::remove_file(self.path()).map_err(io("remove"))?;
                }
                point("the manifest is removed");
            }
        }
        held.sync_all().map_err(io("make durable"))?;
        point("the manifest's folder is on the disk");
        Ok(())
    }

    fn put(&self, content: &Content) -> io::Result<()> {
        match self.put_from_beside(content) {
            Err(error) if is_elsewhere(&error) => {
                let draft = self.hidden();
                self.write(&draft, content)?;
                fs::rename(&draft, self.path())?;
            }
            other => other?,
        }
        point("the manifest is replaced");
        Ok(())
    }

    /// Writes it beside the kubelet's folder.
    fn put_from_beside(&self, content: &Content) -> io::Result<()> {
        let Some((drafts, draft)) = self.beside() else { return Err(io::ErrorKind::CrossesDevices.into()) };
        // What mounts look the same from outside only a rename can tell; but most differ.
        let above = drafts.parent().unwrap_or(Path::new("/"));
        if fs::metadata(above)?.dev() != fs::metadata(&self.folder)?.dev() {
            return Err(io::ErrorKind::CrossesDevices.into());
        }
        match fs::create_dir(&drafts) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => fs::set_permissions(&drafts, fs::Permissions::from_mode(0o700))?,
        }
        let done = self.write(&draft, content).and_then(|()| fs::rename(&draft, self.path()));
        // One that somebody else uses is not empty and stays.
        let _ = fs::remove_file(&draft);
        let _ = fs::remove_dir(&drafts);
        done
    }

    fn write(&self, draft: &Path, content: &Content) -> io::Result<()> {
        let mut file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(draft)?;
        file.write_all(content.text.as_bytes())?;
        fchown(&file, Some(content.uid), Some(content.gid))?;
        file.set_permissions(fs::Permissions::from_mode(content.mode))?;
        // A file that comes from elsewhere would keep the label of elsewhere. Without SELinux there is none.
        let mut label = [0; 256];
        if let Ok(length) = getxattr(self.path(), LABEL, &mut label) {
            let _ = fsetxattr(&file, LABEL, &label[..length], XattrFlags::empty());
        }
        point("the draft is written");
        file.sync_all()?;
        point("the draft is on the disk");
        Ok(())
    }

    /// Removes what an interrupted replacement has left behind. The pod's lock is held.
    pub(crate) fn sweep(&self) {
        // The folder of drafts is everybody's: whoever has just made it must find it.
        let Ok(held) = File::open(&self.folder) else { return };
        if held.lock().is_err() {
            return;
        }
        let _ = fs::remove_file(self.hidden());
        if let Some((drafts, draft)) = self.beside() {
            let _ = fs::remove_file(draft);
            let _ = fs::remove_dir(drafts);
        }
        let _ = sync_folder(&self.folder);
    }

    fn hidden(&self) -> PathBuf {
        self.folder.join(format!(".{}.safepoint", self.file.trim_start_matches('.')))
    }

    fn beside(&self) -> Option<(PathBuf, PathBuf)> {
        let drafts = self.folder.parent()?.join(DRAFTS);
        let draft = drafts.join(&self.file);
        Some((drafts, draft))
    }
}

/// Whether nothing can be renamed from there, or nothing written.
fn is_elsewhere(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::CrossesDevices
            | io::ErrorKind::ReadOnlyFilesystem
            | io::ErrorKind::PermissionDenied
            | io::ErrorKind::StorageFull
    )
}
