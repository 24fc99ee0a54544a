//! Pages for looking things up, made from what the code says of itself.
//!
//! Each owner says what it has, and its own tests keep that true: the command line, the node API and the numbers by snapshots,
//! definitions and words by `safepoint-api`. The pages are functions of these, so that nothing has to run to see whether
//! they are current.

mod cli;
mod config;
mod crds;
mod fields;
mod markdown;
mod metrics;
mod node_api;
mod source;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

const FOLDER: &str = "docs/reference";

/// Every page with its text.
pub(crate) fn rendered(root: &Path) -> Result<Vec<(PathBuf, String)>> {
    let pages = [
        ("cli", cli::page(root)?),
        ("config", config::page(root)?),
        ("crds", crds::page()?),
        ("metrics", metrics::page(root)?),
        ("node-api", node_api::page(root)?),
        ("words", words::page(root)?),
    ];
    let made = "<!-- Made by `cargo xtask reference`. Do not edit. -->";
    let file = |name: &str| root.join(FOLDER).join(format!("{name}.md"));
    Ok(pages.map(|(name, text)| (file(name), format!("{made}\n\n{}\n", text.trim_end()))).into())
}

/// Writes the pages.
pub(crate) fn write(root: &Path) -> Result<()> {
    fs::create_dir_all(root.join(FOLDER))?;
    for (file, text) in rendered(root)? {
        fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
        println!("wrote {}", file.strip_prefix(root)?.display());
    }
    Ok(())
}
