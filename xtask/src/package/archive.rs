//! Archives that are the same whenever the same is packed.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use aws_lc_rs::digest::{SHA256, digest};

use super::output;

/// Packs a folder. What is in it belongs to root, whoever made it, and is of no date.
pub(super) fn tar(folder: &Path, file: &Path) -> Result<()> {
    let mut command = Command::new("tar");
    command.args(["--create", "--format=ustar", "--owner=0", "--group=0", "--numeric-owner"]);
    command.args(["--mtime=@0", "--sort=name", "--file"]).arg(file).arg("--directory").arg(folder);
    // Not the folder itself: whose it is and what its mode is shall not matter.
    let mut names: Vec<_> = fs::read_dir(folder)
        .and_then(|entries| entries.map(|entry| Ok(entry?.file_name())).collect())
        .with_context(|| format!("cannot list {}", folder.display()))?;
    names.sort();
    output(command.arg("--").args(names)).map(drop)
}

/// Compresses a file in its place, at a level from 1 to 9; its name gets `.gz` at its end.
pub(super) fn gzip(file: impl AsRef<OsStr>, level: u8) -> Result<()> {
    output(Command::new("gzip").args(["--no-name", "--force", &format!("-{level}")]).arg(file)).map(drop)
}

/// The digest of some bytes, as images name them.
pub(super) fn sha256(bytes: &[u8]) -> String {
    let digest: String = digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("sha256:{digest}")
}
