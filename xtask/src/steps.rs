//! Steps that announce themselves, take their time, and count what passed.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};

/// The root of the checkout.
pub(crate) fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask lives in the workspace").to_owned()
}

/// Runs something and says how long it took.
#[expect(clippy::disallowed_methods, reason = "how long a step takes is shown to people and decides nothing")]
pub(crate) fn stopwatch<T>(work: impl FnOnce() -> T) -> (T, Duration) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed())
}

/// A list of steps, each of which passes or fails; one that fails does not stop the others.
#[derive(Default)]
pub(crate) struct Steps {
    passed: usize,
    failed: Vec<String>,
}

impl Steps {
    /// Runs one step that counts as one check.
    pub(crate) fn check(&mut self, name: &str, work: impl FnOnce() -> Result<()>) {
        self.count(name, || work().map(|()| (1, 0)));
    }

    /// Runs one step that counts checks of its own: how many passed, how many failed.
    pub(crate) fn count(&mut self, name: &str, work: impl FnOnce() -> Result<(usize, usize)>) {
        println!("==> {name}");
        let (result, took) = stopwatch(work);
        let verdict = match result {
            Ok((passed, 0)) => {
                self.passed += passed;
                "ok".to_owned()
            }
            Ok((passed, failed)) => {
                self.passed += passed;
                self.failed.extend((0..failed).map(|_| name.to_owned()));
                format!("{failed} FAILED")
            }
            Err(error) => {
                self.failed.push(name.to_owned());
                format!("FAILED: {error:#}")
            }
        };
        println!("<== {name}: {verdict} ({:.1} s)\n", took.as_secs_f64());
    }

    /// Ends with the one line that says it all.
    pub(crate) fn finish(self) -> Result<()> {
        println!("{} passed, {} failed", self.passed, self.failed.len());
        if self.failed.is_empty() {
            return Ok(());
        }
        let mut names = self.failed;
        names.dedup();
        bail!("failed: {}", names.join(", "))
    }
}

/// A cargo command in the checkout.
pub(crate) fn cargo(root: &Path, args: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO"));
    command.args(args).current_dir(root);
    command
}

/// Runs a command whose success is all that matters.
pub(crate) fn run(mut command: Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot run {command:?}"))?;
    if !status.success() {
        bail!("{:?} failed: {status}", command.get_program());
    }
    Ok(())
}
