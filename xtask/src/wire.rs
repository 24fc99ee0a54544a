//! How Kubernetes writes its objects, in protobuf and in JSON, taken from its Go types.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

/// A Go program below `xtask/kubernetes`, and the table that it prints.
const TABLES: [(&str, &str); 2] = [
    ("./wire", "crates/apiserver/src/http/protobuf/wire.txt"),
    ("./structs", "crates/apiserver/src/typed/table.txt"),
];

/// Writes the tables by which the embedded API reads and writes built-in kinds.
pub(crate) fn write(root: &Path) -> Result<()> {
    for (program, table) in TABLES {
        let output = Command::new("go")
            .args(["run", program])
            .current_dir(root.join("xtask/kubernetes"))
            .output()
            .context("cannot run go: install Go 1.26 or later")?;
        if !output.status.success() {
            bail!("{program} failed: {}", String::from_utf8_lossy(&output.stderr));
        }
        fs::write(root.join(table), output.stdout).with_context(|| format!("cannot write {table}"))?;
    }
    Ok(())
}
