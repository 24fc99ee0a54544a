//! A temporary folder that is removed however its owner ends.
//!
//! What Rust removes on drop stays behind when a process is killed, and when it ends with something in a static. Etcd
//! alone leaves 64 MB there, so a shell waits beside us for its standard input to end, and then removes the folder.

use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result};

/// Removes `$1` once standard input has ended. The programs that write there end by the same event, perhaps a moment
/// later, hence the few attempts.
const JANITOR: &str =
    r#"cat >/dev/null; for attempt in 1 2 3 4 5; do rm -rf "$1" 2>/dev/null && exit; sleep 0.2; done"#;

/// The folder.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    janitor: Child,
}

impl Folder {
    /// Makes an empty one, which only this user can enter.
    pub(crate) fn create() -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("safepoint-kubernetes-")
            .tempdir()
            .context("cannot make a temporary folder")?;
        let janitor = Command::new("sh")
            .args(["-c", JANITOR, "janitor"])
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            // Ctrl-C goes to everything in the terminal's foreground group, and is not meant for this one.
            .process_group(0)
            .spawn()
            .context("cannot run sh")?;
        Ok(Self { path: folder.keep(), janitor })
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(self.janitor.stdin.take());
        // Nothing could be done about a folder that cannot be removed, and nobody would be told.
        let _ = self.janitor.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::Folder;

    #[test]
    fn a_folder_goes_with_its_owner() {
        let folder = Folder::create().unwrap();
        let path = folder.path().to_owned();
        std::fs::write(path.join("file"), "text").unwrap();
        drop(folder);
        assert!(!path.exists());
    }
}
