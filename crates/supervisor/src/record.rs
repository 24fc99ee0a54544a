//! The last failures of all modules, on disk, so that a device that was power-cycled can still tell why.
//!
//! One small JSON file, rewritten as a whole: temporary file, fsync, rename, fsync of the directory. A crash
//! leaves the old file or the new one. The record is an aid and never an obstacle: a file that cannot be read
//! is set aside, one that cannot be written is a warning, and modules run without it.

use std::{
    collections::BTreeMap,
    fs::{self, File},
    future::pending,
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use tokio::{task::JoinHandle, time::timeout};
use tracing::warn;

use crate::failure::Ring;

/// The file's name within the directory that the record is kept in.
const FILE: &str = "module-failures.json";

/// Of the file. Another number is another program's file: set aside, not guessed at.
const VERSION: u32 = 1;

/// How long an exiting process waits for its last write. A healthy disk needs milliseconds; a dead one must
/// not keep the process from being replaced.
const LAST_WRITE: Duration = Duration::from_secs(2);

/// All modules by name, each with its failures. Also those that this process does not have: they may
/// belong to another role on the same machine, or to the version before an upgrade.
pub(crate) type Failures = BTreeMap<String, Ring>;

/// Keeps the record.
///
/// Writes happen on a blocking thread, one at a time; while one is under way only the newest state is
/// remembered, so a slow disk costs detail between two writes and never memory or the supervisor's time.
/// (Tokio holds a paused clock while a blocking task runs, so tests see writes as taking no time.)
pub(crate) struct Record {
    failures: Failures,
    path: Option<PathBuf>,
    writing: Option<JoinHandle<io::Result<()>>>,
    changed: bool,
}

#[derive(Serialize, Deserialize)]
struct Content {
    version: u32,
    modules: Failures,
}

#[derive(Debug, thiserror::Error)]
enum ReadError {
    #[error("cannot read it: {0}")]
    Io(#[from] io::Error),
    #[error("it is damaged: {0}")]
    Damaged(#[from] serde_json::Error),
    #[error("it has version {0}, and this program knows version {VERSION}")]
    Version(u32),
}

// === impl Record ===

impl Record {
    /// Opens the record in a directory, or one that is forgotten with the process. Reads a small file; meant
    /// to be called before anything runs.
    pub(crate) fn open(dir: Option<&Path>, now: Timestamp) -> Self {
        let path = dir.map(|dir| dir.join(FILE));
        let failures = path.as_deref().map(|path| load(path, now)).unwrap_or_default();
        Self { failures, path, writing: None, changed: false }
    }

    pub(crate) fn of(&self, module: &str) -> Ring {
        self.failures.get(module).cloned().unwrap_or_default()
    }

    /// Replaces the failures of one module. They are on disk some time later; see [`flush`](Self::flush).
    pub(crate) fn set(&mut self, module: &str, failures: Ring) {
        self.failures.insert(module.to_owned(), failures);
        self.changed = true;
        self.write_if_idle();
    }

    /// Resolves when a write has finished, and begins the next one if there is something to write. Never
    /// resolves while nothing is being written. Can be dropped and called again.
    pub(crate) async fn written(&mut self) {
        let Some(writing) = &mut self.writing else { return pending().await };
        let outcome = writing.await.unwrap_or_else(|panicked| Err(io::Error::other(panicked)));
        self.writing = None;
        if let Err(error) = outcome {
            warn!(%error, path = ?self.path, "failures not recorded; is the disk full or read-only?");
        }
        self.write_if_idle();
    }

    /// Waits, but not for ever, until everything is on disk.
    pub(crate) async fn flush(&mut self) {
        let all = async {
            while self.writing.is_some() {
                self.written().await;
            }
        };
        if timeout(LAST_WRITE, all).await.is_err() {
            warn!(path = ?self.path, "leaving without the last failures on disk: the write takes too long");
        }
    }

    fn write_if_idle(&mut self) {
        let Some(path) = &self.path else { return };
        if !self.changed || self.writing.is_some() {
            return;
        }
        self.changed = false;
        let content = Content { version: VERSION, modules: self.failures.clone() };
        let path = path.clone();
        self.writing = Some(tokio::task::spawn_blocking(move || write(&path, &content)));
    }
}

/// Reads the record, and sets it aside if that is not possible.
fn load(path: &Path, now: Timestamp) -> Failures {
    let error = match read(path) {
        Ok(failures) => return failures,
        Err(ReadError::Io(error)) if error.kind() == io::ErrorKind::NotFound => return Failures::new(),
        Err(error) => error,
    };
    let mut aside = path.as_os_str().to_owned();
    aside.push(format!(".corrupt-{}", now.as_second()));
    let aside = PathBuf::from(aside);
    match fs::rename(path, &aside) {
        Ok(()) => {
            warn!(%error, ?path, ?aside, "starting without the record of earlier failures; it was set aside");
        }
        Err(rename) => warn!(%error, %rename, ?path, "starting without the record of earlier failures"),
    }
    Failures::new()
}

fn read(path: &Path) -> Result<Failures, ReadError> {
    let content: Content = serde_json::from_slice(&fs::read(path)?)?;
    if content.version == VERSION { Ok(content.modules) } else { Err(ReadError::Version(content.version)) }
}

fn write(path: &Path, content: &Content) -> io::Result<()> {
    let dir = path.parent().expect("the path is a file within a directory");
    fs::create_dir_all(dir)?;
    let temporary = path.with_extension("tmp");
    let mut file = File::create(&temporary)?;
    file.write_all(&serde_json::to_vec_pretty(content)?)?;
    // Without this the rename may reach the disk before the content does.
    file.sync_all()?;
    fs::rename(&temporary, path)?;
    // And without this the rename may not reach it at all.
    File::open(dir)?.sync_all()
}
