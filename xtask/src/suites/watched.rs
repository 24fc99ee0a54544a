//! A test binary that is watched while it runs.
//!
//! It writes to files and not to pipes: a process that a test forgot would keep a pipe open, and reading it to its end would wait
//! for that process for ever. A binary that does not end is ended, and its threads, which carry the names of their tests, tell
//! which of them hung. What it leaves running is named and ended.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result};

/// The longest one takes a quarter of an hour.
const LIMIT: Duration = Duration::from_mins(25);
const LOOK_EVERY: Duration = Duration::from_millis(100);
/// What cleans up after a test may take so long once the test has ended.
const CLEANING: Duration = Duration::from_secs(30);
/// Inherited by everything that a test starts, so that it is found again.
const MARK: &str = "SAFEPOINT_SUITE";

/// How it ended.
pub(super) struct Ended {
    /// Absent if it did not end by itself.
    pub(super) status: Option<ExitStatus>,
    pub(super) stdout: String,
    pub(super) stderr: String,
    /// The tests that hung, and what was left running: sentences for people.
    pub(super) remarks: Vec<String>,
}

impl Ended {
    pub(super) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

/// Runs it to its end, or to the limit.
pub(super) fn run(mut command: Command, program: &Path) -> Result<Ended> {
    run_for(&mut command, program, LIMIT, CLEANING)
}

fn run_for(command: &mut Command, program: &Path, limit: Duration, cleaning: Duration) -> Result<Ended> {
    let mark = format!("{}-{}", std::process::id(), program.display());
    let (out, err) = (beside(program, "stdout"), beside(program, "stderr"));
    command.env(MARK, &mark).stdin(Stdio::null()).stdout(create(&out)?).stderr(create(&err)?);
    let mut child = command.spawn().with_context(|| format!("cannot run {}", program.display()))?;
    let mut remarks = Vec::new();
    let mut looks = limit.as_millis() / LOOK_EVERY.as_millis();
    let status = loop {
        if let Some(status) = child.try_wait().context("cannot tell whether a test binary has ended")? {
            break Some(status);
        }
        if looks == 0 {
            let threads = threads(child.id()).join(", ");
            remarks.push(format!("it did not end within {limit:?} and was killed; its threads: {threads}"));
            child.kill().context("cannot end a test binary that hangs")?;
            child.wait().context("cannot end a test binary that hangs")?;
            break None;
        }
        looks -= 1;
        thread::sleep(LOOK_EVERY);
    };
    for (pid, name) in left(&mark, cleaning) {
        remarks.push(format!("it left {name} (pid {pid}) running, which was killed"));
        // It may have ended by now, which is as good.
        let _ = Command::new("kill").args(["-KILL", &pid]).stderr(Stdio::null()).status();
    }
    Ok(Ended { status, stdout: read(&out)?, stderr: read(&err)?, remarks })
}

fn beside(program: &Path, extension: &str) -> PathBuf {
    let mut path = program.as_os_str().to_owned();
    path.push(".");
    path.push(extension);
    path.into()
}

fn create(path: &Path) -> Result<File> {
    File::create(path).with_context(|| format!("cannot write {}", path.display()))
}

fn read(path: &Path) -> Result<String> {
    let text = fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
    // It is told; nobody looks for it in a file.
    let _ = fs::remove_file(path);
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// The names of a process's threads.
fn threads(pid: u32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{pid}/task")).into_iter().flatten().flatten();
    tasks
        .filter_map(|task| Some(fs::read_to_string(task.path().join("comm")).ok()?.trim().to_owned()))
        .collect()
}

/// What carries a mark and does not end by itself.
fn left(mark: &str, patience: Duration) -> Vec<(String, String)> {
    for _ in 0..patience.as_millis() / LOOK_EVERY.as_millis() {
        if marked(mark).is_empty() {
            return Vec::new();
        }
        thread::sleep(LOOK_EVERY);
    }
    marked(mark)
}

/// The processes that carry a mark: their ids and command lines.
fn marked(mark: &str) -> Vec<(String, String)> {
    let wanted = format!("{MARK}={mark}");
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let marked = processes.filter_map(|process| {
        let environment = fs::read(process.path().join("environ")).ok()?;
        environment.split(|byte| *byte == 0).any(|entry| entry == wanted.as_bytes()).then_some(())?;
        let words = fs::read(process.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&words).replace('\0', " ").trim().to_owned();
        // One that has ended and was not waited for yet has no command line.
        (!line.is_empty()).then(|| (process.file_name().to_string_lossy().into_owned(), line))
    });
    marked.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, name: &str, limit: Duration) -> Ended {
        let folder = std::env::temp_dir().join(format!("safepoint-watched-{}-{name}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut shell = Command::new("sh");
        let ended = run_for(shell.args(["-c", script]), &folder.join("suite"), limit, LOOK_EVERY).unwrap();
        fs::remove_dir_all(folder).unwrap();
        ended
    }

    #[test]
    fn what_it_says_and_how_it_ends_is_known() {
        let ended = shell("echo out; echo err >&2; exit 3", "says", LIMIT);
        assert_eq!((ended.stdout.as_str(), ended.stderr.as_str()), ("out\n", "err\n"));
        assert!(!ended.is_success() && ended.remarks.is_empty());
    }

    #[test]
    fn a_process_that_it_forgot_keeps_nobody_waiting_and_is_ended() {
        let ended = shell("sleep 1000 & echo started", "forgot", LIMIT);
        assert!(ended.is_success() && ended.stdout == "started\n");
        assert!(ended.remarks.len() == 1 && ended.remarks[0].contains("sleep 1000"), "{:?}", ended.remarks);
    }

    #[test]
    fn one_that_does_not_end_is_ended_and_its_threads_are_named() {
        let ended = shell("echo begun; exec sleep 1000", "hangs", Duration::from_secs(1));
        assert!(ended.status.is_none() && ended.stdout == "begun\n");
        assert!(ended.remarks[0].contains("its threads: sleep"), "{:?}", ended.remarks);
    }
}
