//! Instruction counts: repeatable on a noisy machine, unlike time.

use std::path::Path;
use std::process::Command;

use anyhow::{Result, bail};

use crate::steps::{cargo, run as run_command};
use crate::tools;

/// Counts the instructions of the gate's decisions under valgrind.
pub(crate) fn run(root: &Path) -> Result<()> {
    if Command::new("valgrind").arg("--version").output().is_err() {
        bail!(
            "instruction counts need valgrind: install it (Debian: apt-get install valgrind) and run this again"
        );
    }
    let runner = tools::gungraun_runner()?;
    let mut bench = cargo(root, &["bench", "--package", "safepoint-core", "--bench", "step"]);
    bench.env("GUNGRAUN_RUNNER", runner);
    run_command(bench)
}
