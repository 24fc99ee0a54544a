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

/// What a step counted.
#[derive(Default)]
pub(crate) struct Tally {
    pub(crate) passed: usize,
    pub(crate) failed: usize,
    /// What the failed ones said: told once more at the end, which is what people read.
    pub(crate) said: Vec<String>,
}

impl Tally {
    /// Adds up the closing lines of test binaries.
    pub(crate) fn read(&mut self, text: &str) {
        for result in text.lines().filter_map(|line| line.strip_prefix("test result: ")) {
            self.passed += count(result, "passed");
            self.failed += count(result, "failed");
        }
    }

    /// Adds another one.
    pub(crate) fn add(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.said.extend(other.said);
    }
}

/// A list of steps, each of which passes or fails; one that fails does not stop the others.
#[derive(Default)]
pub(crate) struct Steps {
    passed: usize,
    failed: Vec<String>,
    said: Vec<String>,
}

impl Steps {
    /// Runs one step that counts as one check.
    pub(crate) fn check(&mut self, name: &str, work: impl FnOnce() -> Result<()>) {
        self.count(name, || work().map(|()| Tally { passed: 1, ..Tally::default() }));
    }

    /// Runs one step that counts checks of its own.
    pub(crate) fn count(&mut self, name: &str, work: impl FnOnce() -> Result<Tally>) {
        println!("==> {name}");
        let (result, took) = stopwatch(work);
        let verdict = match result {
            Ok(tally) => {
                self.passed += tally.passed;
                self.failed.extend((0..tally.failed).map(|_| name.to_owned()));
                self.said.extend(tally.said);
                if tally.failed == 0 { "ok".to_owned() } else { format!("{} FAILED", tally.failed) }
            }
            Err(error) => {
                self.failed.push(name.to_owned());
                format!("FAILED: {error:#}")
            }
        };
        println!("<== {name}: {verdict} ({:.1} s)\n", took.as_secs_f64());
    }

    /// Ends with what failed, and the one line that says it all.
    pub(crate) fn finish(self) -> Result<()> {
        for said in &self.said {
            println!("{said}\n");
        }
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

/// The number before a word in `ok. 12 passed; 0 failed; …`.
fn count(result: &str, word: &str) -> usize {
    let mut words = result.split([' ', ';']).filter(|word| !word.is_empty()).peekable();
    while let Some(number) = words.next() {
        if words.peek() == Some(&word) {
            return number.parse().unwrap_or_default();
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::count;

    #[test]
    fn closing_lines_are_read() {
        let line = "FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 1 filtered out; finished in 0.5s";
        assert_eq!((count(line, "passed"), count(line, "failed"), count(line, "other")), (12, 3, 0));
    }
}
