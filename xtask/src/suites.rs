//! The test binaries of the workspace, two at a time.
//!
//! `cargo test` runs one after the other. Many of ours wait more than they compute (for disks, processes, servers), so on two
//! cores two of them take little longer than one. What a binary prints is shown as a whole when it has ended.

mod watched;

use std::collections::VecDeque;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;

use anyhow::{Context, Result, bail};
use serde_json::Value;

use crate::steps::{Tally, cargo, stopwatch};

/// Begun first, because they take longest: otherwise the last of them would run alone.
const LONG: [&str; 11] = [
    "kubelet",
    "beside",
    "browser",
    "install",
    "node",
    "kill",
    "world",
    "kubectl",
    "conformance",
    "real",
    "safepoint_model",
];
/// Its tests share one kubelet and wait for it: more of them at once take no longer than one.
const WAITS: &str = "beside";
const AT_ONCE: usize = 2;

/// One test binary.
struct Suite {
    name: String,
    program: PathBuf,
    /// The package's folder, in which cargo would run it.
    folder: PathBuf,
}

/// Builds and runs all of them.
pub(crate) fn run(root: &Path) -> Result<Tally> {
    let mut suites = build(root)?;
    suites.sort_by_key(|suite| LONG.iter().position(|long| *long == suite.name).unwrap_or(LONG.len()));
    let waiting = Mutex::new(VecDeque::from(suites));
    let totals = Mutex::new(Tally::default());
    let problem = Mutex::new(None);
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(suite) = waiting.lock().ok().and_then(|mut waiting| waiting.pop_front()) {
                    match suite.run() {
                        Ok(tally) => {
                            if let Ok(mut totals) = totals.lock() {
                                totals.add(tally);
                            }
                        }
                        Err(error) => {
                            if let Ok(mut problem) = problem.lock() {
                                problem.get_or_insert(error);
                            }
                        }
                    }
                }
            });
        }
    });
    if let Some(error) = problem.into_inner().ok().flatten() {
        return Err(error);
    }
    totals.into_inner().ok().context("a test run was cut off")
}

/// Builds them. Where they end up is cargo's to say.
fn build(root: &Path) -> Result<Vec<Suite>> {
    let arguments = [
        "test",
        "--workspace",
        "--lib",
        "--bins",
        "--tests",
        "--no-run",
        "--message-format=json-render-diagnostics",
    ];
    let output = cargo(root, &arguments).stderr(Stdio::inherit()).output().context("cannot run cargo")?;
    if !output.status.success() {
        bail!("the tests do not build");
    }
    let messages = String::from_utf8(output.stdout).context("cargo says something that is not text")?;
    let suites = messages.lines().filter_map(|line| {
        let message: Value = serde_json::from_str(line).ok()?;
        let is_test = message["profile"]["test"].as_bool() == Some(true);
        let program = PathBuf::from(message["executable"].as_str().filter(|_| is_test)?);
        let folder = Path::new(message["manifest_path"].as_str()?).parent()?.to_owned();
        Some(Suite { name: message["target"]["name"].as_str()?.to_owned(), program, folder })
    });
    Ok(suites.collect())
}

impl Suite {
    fn run(&self) -> Result<Tally> {
        let mut command = Command::new(&self.program);
        command.current_dir(&self.folder).env("CARGO_MANIFEST_DIR", &self.folder).env("CARGO", env!("CARGO"));
        if self.name == WAITS {
            command.env("RUST_TEST_THREADS", "8");
        }
        let (ended, took) = stopwatch(|| watched::run(command, &self.program));
        let ended = ended?;
        let mut out = io::stdout().lock();
        writeln!(out, "--- {} ({:.1} s)", self.name, took.as_secs_f64())?;
        out.write_all(ended.stdout.as_bytes())?;
        for remark in &ended.remarks {
            writeln!(out, "--- {}: {remark}", self.name)?;
        }
        let mut tally = Tally::default();
        tally.read(&ended.stdout);
        if !ended.is_success() {
            out.write_all(ended.stderr.as_bytes())?;
            // A binary that dies prints no closing line.
            tally.failed = tally.failed.max(1);
            let remarks = ended.remarks.join("\n");
            tally.said.push(format!("--- {}\n{}{remarks}", self.name, failures(&ended.stdout)));
        }
        Ok(tally)
    }
}

/// What a test binary says of its failures, or how it ended if it does not come to that; shortened at its beginning.
fn failures(text: &str) -> &str {
    const ENOUGH: usize = 6_000;
    let from = text.find("\nfailures:\n").unwrap_or_default();
    let from = from.max(text.len().saturating_sub(ENOUGH));
    &text[text.ceil_char_boundary(from)..]
}

#[cfg(test)]
mod tests {
    use super::failures;

    #[test]
    fn what_failed_is_told_again_without_what_passed() {
        let text = "test one ... ok\ntest two ... FAILED\n\nfailures:\n\n---- two stdout ----\nno\n";
        assert_eq!(failures(text), "\nfailures:\n\n---- two stdout ----\nno\n");
    }

    #[test]
    fn of_a_binary_that_dies_the_end_is_told() {
        let text = format!("test one ... ok\n{}killed", "ä".repeat(10_000));
        assert!(failures(&text).ends_with("killed") && failures(&text).len() <= 6_000);
    }
}
