//! A server process: ended with its owner, and asked how much memory it has.

use std::fs;
use std::process::{Child, Command};

use anyhow::{Context as _, Result};

/// A running process. It is killed when this is dropped.
pub(crate) struct Process(Child);

impl Process {
    pub(crate) fn start(command: &mut Command) -> Result<Process> {
        Ok(Process(command.spawn().with_context(|| format!("cannot run {:?}", command.get_program()))?))
    }

    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.0
    }

    /// The memory that is its own: its share of what processes share is counted once in all of them together.
    ///
    /// Kubernetes runs two processes of one binary here, whose pages would otherwise count twice.
    pub(crate) fn memory(&self) -> Result<f64> {
        let path = format!("/proc/{}/smaps_rollup", self.0.id());
        let text = fs::read_to_string(&path).with_context(|| format!("cannot read {path}"))?;
        let line = text.lines().find_map(|line| line.strip_prefix("Pss:")).context("no Pss")?;
        let kibibytes: f64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kibibytes / 1024.0)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only for a process that has ended, which is what is wanted.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// How many files this process, and what it starts, may open.
pub(crate) fn most_open_files() -> Result<u64> {
    let limits = fs::read_to_string("/proc/self/limits").context("cannot read the limits of this process")?;
    let line =
        limits.lines().find_map(|line| line.strip_prefix("Max open files")).context("no such limit")?;
    let soft = line.split_whitespace().next().context("no number")?;
    Ok(soft.parse().unwrap_or(u64::MAX))
}
