//! The start of a run: its folder is written, then a shim is sent into it.

use std::{
    fs::{self, OpenOptions},
    io,
    os::unix::fs::{DirBuilderExt, OpenOptionsExt, symlink},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use crate::{
    Options, durable, message,
    record::{LOG, RUN, Run, RunFolder},
    volume::{self, Mounted},
};

/// What the shim says of itself, if it cannot do its work.
pub(crate) const SHIM_LOG: &str = "shim.log";

/// Everything that is needed for one run.
pub(crate) struct Launch {
    pub(crate) folder: RunFolder,
    pub(crate) run: Run,
    pub(crate) mounts: Vec<Mounted>,
    /// Where the link to the newest log is.
    pub(crate) link: PathBuf,
}

// === impl Launch ===

impl Launch {
    /// Writes the folder, so that what it says survives. Nothing runs yet.
    ///
    /// The outer error is the machine's; the inner one is the manifest's, and says what it asked for in vain.
    pub(crate) fn write(&self) -> io::Result<Result<(), String>> {
        let folder = self.folder.as_path();
        make_folder(folder)?;
        make_folder(&self.folder.root())?;
        let mounted = volume::mount(&self.folder.root(), &self.mounts)?;
        if mounted.is_ok() {
            if let Some(path) = &self.run.message {
                message::prepare(&self.folder.root(), path, self.run.user, self.run.group)?;
            }
            durable::write_json(&self.folder.path(RUN), &self.run)?;
        }
        for above in folder.ancestors().skip(1).take(3) {
            durable::sync_folder(above)?;
        }
        self.link()?;
        Ok(mounted)
    }

    fn link(&self) -> io::Result<()> {
        let draft = self.link.with_extension("log.new");
        let _ = fs::remove_file(&draft);
        symlink(self.folder.path(LOG), &draft)?;
        fs::rename(draft, &self.link)
    }
}

/// Sends a shim into a folder. It tells that the container is up, or itself gone, by closing its standard output.
pub(crate) fn send_shim(options: &Options, folder: &RunFolder) -> io::Result<Child> {
    let (program, arguments) =
        options.shim.split_first().ok_or_else(|| io::Error::other("no shim is named"))?;
    let log = OpenOptions::new().create(true).append(true).mode(0o600).open(folder.path(SHIM_LOG))?;
    Command::new(program)
        .args(arguments)
        .arg(folder.as_path())
        .current_dir("/")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(log)
        .spawn()
}

/// The last words of a shim that failed.
pub(crate) fn last_words(folder: &RunFolder) -> String {
    let text = fs::read(folder.path(SHIM_LOG)).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[text.len().saturating_sub(1024)..]).trim().to_owned();
    if text.is_empty() { "the shim ended without a word".to_owned() } else { text }
}

/// Makes a folder, and those above, which others may pass but not read.
pub(crate) fn make_folder(path: &Path) -> io::Result<()> {
    fs::DirBuilder::new().recursive(true).mode(0o711).create(path)
}
