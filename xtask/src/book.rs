//! The documentation as a book.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, bail};

use crate::tools;

/// Builds the book into `target/book`, and fails where it is not whole.
pub(crate) fn build(root: &Path) -> Result<()> {
    let mdbook = tools::mdbook()?;
    let output = Command::new(mdbook).arg("build").current_dir(root).output().context("cannot run mdbook")?;
    let said = String::from_utf8_lossy(&output.stderr);
    // It warns of what it could not make sense of, and is content.
    if !output.status.success() || said.contains("WARN") || said.contains("ERROR") {
        bail!("the book is not whole:\n{said}");
    }
    println!("the book is in {}", root.join("target/book/index.html").display());
    Ok(())
}
