//! What an installation has changed, on disk before it is changed, so that it can be put back byte for byte.
//!
//! The record is `install/record.json` in the data folder, and beside it is a copy of every file that was replaced. It is
//! written anew, atomically, before each change: an installation that was cut off is taken back by `safepoint agent
//! uninstall` like a complete one.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::facts::Facts;
use super::plan::Places;

/// What was changed, and what there is to know for changing it back.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Record {
    /// Of this form.
    version: u32,
    /// Every step was done.
    pub(super) complete: bool,
    pub(super) node: String,
    /// The unit that runs the kubelet.
    pub(super) unit: String,
    pub(super) socket: PathBuf,
    /// Leads to the cluster itself, as the node.
    pub(super) kubeconfig: PathBuf,
    /// The agent may be enabled or running.
    pub(super) agent: bool,
    /// The kubelet may have been restarted with the door for an API server.
    pub(super) pointed: bool,
    /// Folders that were made for the record itself, outermost first.
    made: Vec<PathBuf>,
    changes: Vec<Change>,
    #[serde(skip)]
    data: PathBuf,
}

/// One change.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Change {
    path: PathBuf,
    /// It points the kubelet at the door.
    points: bool,
    before: Before,
}

/// What was there before.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
enum Before {
    Nothing,
    /// No folder.
    NoFolder,
    /// A file of the agent's own, which was moved here.
    Aside {
        to: PathBuf,
    },
    /// A file, whose contents are in the copy of this name.
    File {
        copy: String,
        mode: u32,
        uid: u32,
        gid: u32,
    },
}

const VERSION: u32 = 1;

// === impl Record ===

impl Record {
    /// Begins one in a data folder.
    pub(super) fn begin(places: &Places, facts: &Facts) -> io::Result<Self> {
        let data = &places.data;
        let folder = folder(data);
        let missing = |path: &&Path| !path.exists();
        let mut made: Vec<PathBuf> = folder.ancestors().take_while(missing).map(Path::to_owned).collect();
        made.reverse();
        for path in &made {
            fs::create_dir(path)?;
            fs::set_permissions(path, fs::Permissions::from_mode(0o700))?;
        }
        let record = Self {
            version: VERSION,
            complete: false,
            node: facts.node.clone(),
            unit: facts.unit.clone(),
            socket: places.socket.clone(),
            kubeconfig: places.upstream.clone(),
            agent: false,
            pointed: false,
            made,
            changes: Vec::new(),
            data: data.to_owned(),
        };
        record.save()?;
        Ok(record)
    }

    /// The record in a data folder, if there is one.
    pub(super) fn read(data: &Path) -> Result<Option<Self>, String> {
        let path = file(data);
        let text = match fs::read_to_string(&path) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            other => other.map_err(|error| format!("cannot read {}: {error}", path.display()))?,
        };
        let record: Self = serde_json::from_str(&text)
            .map_err(|error| format!("{} is not a record of an installation: {error}", path.display()))?;
        if record.version != VERSION {
            return Err(format!(
                "{} was written by another version of Safepoint: use that one",
                path.display()
            ));
        }
        Ok(Some(Self { data: data.to_owned(), ..record }))
    }

    pub(super) fn save(&self) -> io::Result<()> {
        let text = serde_json::to_vec_pretty(self).map_err(io::Error::other)?;
        replace(&file(&self.data), &text, 0o600, None)
    }

    /// Notes what is at a path, which is about to be written.
    pub(super) fn note(&mut self, path: &Path, points: bool) -> io::Result<()> {
        let before = match fs::symlink_metadata(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => Before::Nothing,
            Err(error) => return Err(error),
            Ok(found) if found.is_file() => {
                let copy = format!("{}.before", self.changes.len());
                replace(&folder(&self.data).join(&copy), &fs::read(path)?, 0o600, None)?;
                Before::File { copy, mode: found.mode() & 0o7777, uid: found.uid(), gid: found.gid() }
            }
            Ok(_) => return Err(io::Error::other("it is there and is no plain file; move it away")),
        };
        self.changes.push(Change { path: path.to_owned(), points, before });
        self.save()
    }

    /// Makes a folder and those around it, noting each.
    pub(super) fn make_folder(&mut self, path: &Path, mode: u32, points: bool) -> io::Result<()> {
        let mut missing: Vec<&Path> = path.ancestors().take_while(|path| !path.exists()).collect();
        missing.reverse();
        for path in missing {
            self.changes.push(Change { path: path.to_owned(), points, before: Before::NoFolder });
            self.save()?;
            fs::create_dir(path)?;
            fs::set_permissions(path, fs::Permissions::from_mode(mode))?;
        }
        Ok(())
    }

    /// Moves a file of an earlier agent's out of the way, if there is one.
    pub(super) fn set_aside(&mut self, path: &Path) -> io::Result<()> {
        if !path.exists() {
            return Ok(());
        }
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let free =
            (1..).map(|number| path.with_file_name(format!("{name}.{number}"))).find(|to| !to.exists());
        let to = free.ok_or_else(|| io::Error::other("there is no name left for it"))?;
        self.changes.push(Change {
            path: path.to_owned(),
            points: false,
            before: Before::Aside { to: to.clone() },
        });
        self.save()?;
        fs::rename(path, to)
    }

    /// Whether there is anything that points the kubelet at the door.
    pub(super) fn has_pointed(&self) -> bool {
        self.pointed || self.changes.iter().any(|change| change.points)
    }

    /// What will be put back, newest first, in words.
    pub(super) fn to_restore(&self, points: bool, keep_data: bool) -> Vec<String> {
        self.returning(points, keep_data)
            .map(|Change { path, before, .. }| match before {
                Before::Nothing => format!("remove {}", path.display()),
                Before::NoFolder => format!("remove the folder {}, if nothing else is in it", path.display()),
                Before::File { .. } | Before::Aside { .. } => {
                    format!("put back {} as it was", path.display())
                }
            })
            .collect()
    }

    /// Puts back what was there, newest first, as far as it has to do with the kubelet or has not. May be repeated.
    pub(super) fn restore(&self, points: bool, keep_data: bool) -> Result<(), String> {
        for change in self.returning(points, keep_data) {
            let path = &change.path;
            let done = match &change.before {
                Before::Nothing => gone(fs::remove_file(path)),
                // Somebody else may have put something in, and then it is theirs.
                Before::NoFolder => gone(match fs::remove_dir(path) {
                    Err(error) if error.kind() == ErrorKind::DirectoryNotEmpty => Ok(()),
                    other => other,
                }),
                Before::Aside { to } => gone(fs::rename(to, path)),
                Before::File { copy, mode, uid, gid } => {
                    let bytes = fs::read(folder(&self.data).join(copy));
                    bytes.and_then(|bytes| replace(path, &bytes, *mode, Some((*uid, *gid))))
                }
            };
            done.map_err(|error| format!("cannot put back {}: {error}", path.display()))?;
        }
        Ok(())
    }

    /// What is put back, newest first. Where data is kept, the newer of two journals stays.
    fn returning(&self, points: bool, keep_data: bool) -> impl Iterator<Item = &Change> {
        let is_kept = move |change: &Change| keep_data && matches!(change.before, Before::Aside { .. });
        self.changes.iter().rev().filter(move |change| change.points == points && !is_kept(change))
    }

    /// Whether the data folder is there because of the installation.
    pub(super) fn made_data(&self) -> bool {
        self.made.contains(&self.data)
    }

    /// Removes the record, after everything else, and with it the data folder if that was made for it and is not kept.
    pub(super) fn close(&self, keep_data: bool) -> Result<(), String> {
        let failed = |path: &Path, error: io::Error| format!("cannot remove {}: {error}", path.display());
        gone(fs::remove_dir_all(folder(&self.data))).map_err(|error| failed(&folder(&self.data), error))?;
        if keep_data || !self.made_data() {
            return Ok(());
        }
        gone(fs::remove_dir_all(&self.data)).map_err(|error| failed(&self.data, error))?;
        for path in self.made.iter().rev().filter(|path| self.data.starts_with(path) && **path != self.data) {
            // Not ours any more if something is in it.
            let _ = fs::remove_dir(path);
        }
        Ok(())
    }
}

fn gone(removed: io::Result<()>) -> io::Result<()> {
    match removed {
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(()),
        other => other,
    }
}

fn folder(data: &Path) -> PathBuf {
    data.join("install")
}

fn file(data: &Path) -> PathBuf {
    folder(data).join("record.json")
}

/// Writes a file so that whoever looks finds the old one or the new one, and so that it survives a power cut.
pub(super) fn replace(path: &Path, bytes: &[u8], mode: u32, owner: Option<(u32, u32)>) -> io::Result<()> {
    let parent = path.parent().ok_or_else(|| io::Error::other("it has no folder"))?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let fresh = parent.join(format!(".{name}.safepoint"));
    let write = || {
        gone(fs::remove_file(&fresh))?;
        let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(&fresh)?;
        // The mode above is subject to a mask.
        file.set_permissions(fs::Permissions::from_mode(mode))?;
        if let Some((uid, gid)) = owner {
            std::os::unix::fs::fchown(&file, Some(uid), Some(gid))?;
        }
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&fresh, path)?;
        fs::File::open(parent)?.sync_all()
    };
    write().inspect_err(|_| drop(fs::remove_file(&fresh)))
}
