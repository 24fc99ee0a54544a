//! How Kubernetes writes its objects in protobuf, taken from its Go types.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

const TABLE: &str = "crates/apiserver/src/http/protobuf/wire.txt";

/// Writes the table that the embedded API reads protobuf bodies by.
pub(crate) fn write(root: &Path) -> Result<()> {
    let output = Command::new("go")
        .args(["run", "./wire"])
        .current_dir(root.join("xtask/kubernetes"))
        .output()
        .context("cannot run go: install Go 1.26 or later")?;
    if !output.status.success() {
        bail!("the Go program failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    fs::write(root.join(TABLE), output.stdout).with_context(|| format!("cannot write {TABLE}"))
}
