//! What is kept about one static pod: `<data>/static-pods/<namespace>_<name>/`, and the lock that makes its holder the only one
//! at work on it.
//!
//! ```text
//! lock                   held while somebody works
//! journal.json           the swap that is under way, or the last one
//! nginx.yaml.upgrade     a manifest that is staged for the node's owner
//! history/000007.yaml    manifests that were good, the newest with the highest number
//! ```
//!
//! A kept manifest begins with one line, a comment, that says what is known of it. So the two cannot be torn apart.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use serde::{Serialize, de::DeserializeOwned};

use crate::durable;
use crate::names::PodKey;
use crate::outcome::Code;
use crate::stop::Stop;

const PODS: &str = "static-pods";

/// A pod's folder.
#[derive(Clone, Debug)]
pub(crate) struct Slot {
    folder: PathBuf,
}

/// The right to work on a pod's manifest. The system gives it back when the process ends, however it does.
#[derive(Debug)]
pub(crate) struct Held(#[expect(dead_code, reason = "its end is what matters")] File);

// === impl Slot ===

impl Slot {
    pub(crate) fn of(data: &Path, key: &PodKey) -> Self {
        Self { folder: data.join(PODS).join(key.folder()) }
    }

    /// All pods of which something is kept.
    pub(crate) fn all(data: &Path) -> Result<Vec<PodKey>, Stop> {
        let folder = data.join(PODS);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(Stop::io("list", &folder))?,
        };
        let names = entries.flatten().filter_map(|entry| entry.file_name().into_string().ok());
        let mut keys: Vec<_> = names.filter_map(|name| PodKey::from_folder(&name)).collect();
        keys.sort();
        Ok(keys)
    }

    pub(crate) fn hold(&self, key: &PodKey) -> Result<Held, Stop> {
        durable::make_folder(&self.folder).map_err(Stop::io("make", &self.folder))?;
        let path = self.folder.join("lock");
        let file = OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(&path);
        let file = file.map_err(Stop::io("open", &path))?;
        match file.try_lock() {
            Ok(()) => Ok(Held(file)),
            Err(TryLockError::WouldBlock) => {
                let why = format!("somebody else is at work on the manifest of {key}: try again later");
                Err(Stop::new(Code::Busy, why))
            }
            Err(TryLockError::Error(error)) => Err(Stop::io("lock", &path)(error)),
        }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    pub(crate) fn journal(&self) -> PathBuf {
        self.path("journal.json")
    }

    /// The names of the files in the folder, or in one below it.
    pub(crate) fn names(&self, below: &str) -> Result<Vec<String>, Stop> {
        let folder = self.folder.join(below);
        let entries = match fs::read_dir(&folder) {
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
            other => other.map_err(Stop::io("list", &folder))?,
        };
        let mut names: Vec<_> =
            entries.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
        names.sort();
        Ok(names)
    }
}

/// Keeps a manifest with what is known of it.
pub(crate) fn keep(path: &Path, mark: &str, known: &impl Serialize, text: &str) -> Result<(), Stop> {
    let head = serde_json::to_string(known).map_err(|error| Stop::io("write", path)(error.into()))?;
    durable::write(path, format!("# {mark} {head}\n{text}").as_bytes()).map_err(Stop::io("write", path))
}

/// Reads a kept manifest. Nothing, if the file is not one.
pub(crate) fn kept<T: DeserializeOwned>(path: &Path, mark: &str) -> Result<Option<(T, String)>, Stop> {
    let Some(whole) = durable::read(path).map_err(Stop::io("read", path))? else { return Ok(None) };
    let parsed = whole.split_once('\n').and_then(|(head, text)| {
        let head = head.strip_prefix("# ")?.strip_prefix(mark)?.strip_prefix(' ')?;
        Some((serde_json::from_str(head).ok()?, text.to_owned()))
    });
    Ok(parsed)
}
