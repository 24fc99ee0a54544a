//! The rules that the tree keeps about itself, as a check that says what to do.

mod links;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

pub(crate) use links::Slugs;

use crate::steps::cargo;
use crate::{crds, reference};

/// A file that is longer than this has a second noun in it.
const LONGEST_FILE: usize = 500;

/// Checks the rules.
pub(crate) fn run(root: &Path) -> Result<()> {
    let mut problems = Vec::new();
    stale(root, crds::rendered(root)?, "crates/api", "crds", &mut problems)?;
    stale(root, reference::rendered(root)?, "the code", "reference", &mut problems)?;
    sources(root, &mut problems)?;
    links::check(root, &tracked(root)?, &mut problems)?;
    core_is_pure(root, &mut problems)?;
    sdk_is_small(root, &mut problems)?;
    agent_is_small(root, &mut problems)?;
    mutants_are_not_shipped(root, &mut problems)?;
    for problem in &problems {
        println!("tidy: {problem}");
    }
    if !problems.is_empty() {
        bail!("{} things are not tidy", problems.len());
    }
    Ok(())
}

/// Says which of these files are not what they are made from, and how they are made anew.
fn stale(
    root: &Path,
    rendered: Vec<(PathBuf, String)>,
    source: &str,
    command: &str,
    problems: &mut Vec<String>,
) -> Result<()> {
    for (file, text) in rendered {
        if fs::read_to_string(&file).ok().as_deref() != Some(&text) {
            let name = file.strip_prefix(root)?.display();
            problems.push(format!("{name} is not what {source} says: run `cargo xtask {command}`"));
        }
    }
    Ok(())
}

fn sources(root: &Path, problems: &mut Vec<String>) -> Result<()> {
    for file in tracked(root)? {
        let Ok(text) = fs::read_to_string(root.join(&file)) else { continue };
        let name = file.display();
        let mut say = |problem: String| problems.push(format!("{name}{problem}"));
        if !text.is_empty() && !text.ends_with('\n') {
            say(" does not end with a newline".into());
        }
        let markdown = file.extension().is_some_and(|extension| extension == "md" || extension == "snap");
        for (number, line) in text.lines().enumerate() {
            if !markdown && line.ends_with([' ', '\t']) {
                say(format!(":{}: trailing space", number + 1));
            }
        }
        if file.extension().is_none_or(|extension| extension != "rs") {
            continue;
        }
        if file.file_name().is_some_and(|name| name == "mod.rs") {
            say(": a module is `foo.rs` beside `foo/`, not `foo/mod.rs`".into());
        }
        if !text.starts_with("//!") && !text.starts_with("#!") {
            say(": the file does not say what it is for; begin it with `//!`".into());
        }
        let lines = text.lines().count();
        if lines > LONGEST_FILE {
            say(format!(": {lines} lines; look for the second noun and give it a file"));
        }
    }
    Ok(())
}

/// A decision is a function of state, event and `now`: whatever could read a clock, a socket or a file stays out.
fn core_is_pure(root: &Path, problems: &mut Vec<String>) -> Result<()> {
    let args =
        ["tree", "--package", "safepoint-core", "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    const ALLOWED: [&str; 8] = [
        "safepoint-core",
        "serde",
        "serde_core",
        "serde_derive",
        "proc-macro2",
        "quote",
        "syn",
        "unicode-ident",
    ];
    for line in output(cargo(root, &args))?.lines() {
        let name = line.split(' ').next().unwrap_or_default();
        if !name.is_empty() && !ALLOWED.contains(&name) {
            problems.push(format!("safepoint-core depends on {name}: decisions need serde and nothing else"));
        }
    }
    Ok(())
}

/// A program on a device that only holds and releases has no use for a Kubernetes client.
fn sdk_is_small(root: &Path, problems: &mut Vec<String>) -> Result<()> {
    let args = ["tree", "--package", "safepoint-sdk", "--edges", "normal", "--prefix", "none"];
    if output(cargo(root, &args))?.lines().any(|line| line.starts_with("kube-client ")) {
        problems.push(
            "safepoint-sdk depends on kube-client without its feature `lifecycle`: make it optional".into(),
        );
    }
    Ok(())
}

/// The agent alone is for small devices, at which nobody sits.
fn agent_is_small(root: &Path, problems: &mut Vec<String>) -> Result<()> {
    let args = ["tree", "--package", "safepoint-daemon", "--edges", "normal", "--prefix", "none"];
    if output(cargo(root, &args))?.lines().any(|line| line.starts_with("ratatui")) {
        problems.push("safepoint-agent would have ratatui in it: that is for `safepoint top`".into());
    }
    Ok(())
}

fn mutants_are_not_shipped(root: &Path, problems: &mut Vec<String>) -> Result<()> {
    let args = ["tree", "--package", "safepoint", "--edges", "normal,features", "--prefix", "none"];
    if output(cargo(root, &args))?.contains("mutants") {
        problems.push("the safepoint binary would be built with switchable guards".into());
    }
    Ok(())
}

fn tracked(root: &Path) -> Result<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]).current_dir(root);
    Ok(output(git)?.lines().map(PathBuf::from).collect())
}

fn output(mut command: Command) -> Result<String> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    String::from_utf8(output.stdout).context("not UTF-8")
}
