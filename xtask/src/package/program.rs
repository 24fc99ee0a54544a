//! The program as it is packaged: compiled as usual, and linked in one of two ways.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::{Profile, Shop, copy, output};
use crate::steps::cargo;

/// Where its libraries are.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Linking {
    /// In it.
    Static,
    /// On the machine.
    Dynamic,
}

/// Builds it.
///
/// The flag for static linking is given to the last crate alone: whether the C library comes in is decided where a program is
/// linked, so everything below it is compiled once for both.
pub(super) fn build(shop: &Shop, linking: Linking) -> Result<PathBuf> {
    let mut arguments = vec!["rustc", "--package", "safepoint", "--bin", "safepoint"];
    if shop.profile == Profile::Release {
        arguments.push("--release");
    }
    arguments.push("--message-format=json-render-diagnostics");
    if linking == Linking::Static {
        arguments.extend(["--", "-C", "target-feature=+crt-static"]);
    }
    let built = executable(&shop.root, &arguments)?;
    let folder = if linking == Linking::Static { "static" } else { "dynamic" };
    // The next one has the same name in cargo's folder.
    let program = shop.out.join(folder).join("safepoint");
    copy(&built, &program)?;
    output(Command::new("strip").arg(&program))?;
    let loader = output(Command::new("readelf").args(["--program-headers", "--wide"]).arg(&program))?;
    ensure!(
        loader.contains("INTERP") == (linking == Linking::Dynamic),
        "{} is not linked as it was asked for",
        program.display()
    );
    Ok(program)
}

/// Runs cargo, and returns where the executable is that it built: that is cargo's to say. One of the arguments is
/// `--message-format=json-render-diagnostics`.
pub(crate) fn executable(root: &Path, arguments: &[&str]) -> Result<PathBuf> {
    let output = cargo(root, arguments).stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("the binary does not build");
    }
    let messages = String::from_utf8(output.stdout).context("cargo says something that is not text")?;
    let mut executables = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        Some(PathBuf::from(message.get("executable")?.as_str()?))
    });
    executables.next_back().context("cargo built no executable")
}
