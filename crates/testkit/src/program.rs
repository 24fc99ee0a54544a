//! One running program: its log, its end, and what to say when that comes too early.
//!
//! A program ends with its owner. On drop it is killed; where there is no drop (the owner was killed, or keeps it in a
//! static) it ends because its standard input does. Programs of this project's build watch that themselves, others get a
//! shell beside them that does.

use std::ffi::OsStr;
use std::fs::{self, OpenOptions};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow, bail};
use rustix::process::{Pid, Signal, kill_process};

use crate::assets::Assets;

#[cfg(test)]
mod tests;

/// Becomes the program named by the arguments, with a shell beside it that kills it when standard input ends. The shell
/// first looks whether that program is still its parent: a number of a process that has ended may belong to another.
const LEASH: &str = r#"
exec 3<&0
( cat <&3 >/dev/null; read -r _ _ _ parent _ </proc/self/stat; [ "$parent" = $$ ] && kill -9 $$ ) >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null"#;

const POLL: Duration = Duration::from_millis(25);
/// Far more than the slowest program takes on an idle machine: a busy one may build something else meanwhile.
const PATIENCE: Duration = Duration::from_secs(300);
/// How much of a log a failure shows.
const TAIL: usize = 25;

/// A running program.
#[derive(Debug)]
pub(crate) struct Program {
    name: String,
    /// Starts it, again if need be.
    command: Command,
    child: Child,
    /// Whether the command only starts the program and waits for it, as `unshare` and `nsenter` do for another process
    /// namespace. Signals are then for the child of our child.
    forks: bool,
    log: PathBuf,
}

/// A command that runs a program of somebody else's on a leash: `enter` makes a command of what it is to run.
pub(crate) fn on_leash(program: &OsStr, enter: impl FnOnce(&OsStr) -> Command) -> Command {
    let mut command = enter(OsStr::new("sh"));
    command.args(["-c", LEASH, "leash"]).arg(program);
    command
}

/// A command that runs a program of Kubernetes on a leash.
pub(crate) fn kubernetes(
    assets: &Assets,
    name: &str,
    enter: impl FnOnce(&OsStr) -> Command,
) -> Result<Command> {
    let path = assets.program(name)?;
    if !assets.leashed {
        return Ok(on_leash(path.as_os_str(), enter));
    }
    let mut command = enter(path.as_os_str());
    command.env("SAFEPOINT_STDIN_LEASH", "1");
    Ok(command)
}

impl Program {
    /// Starts a program that writes its log into a folder.
    pub(crate) fn start(name: &str, folder: &Path, mut command: Command) -> Result<Self> {
        let log = folder.join(format!("{name}.log"));
        let file = OpenOptions::new().append(true).create(true).open(&log);
        let file = file.with_context(|| format!("cannot write {}", log.display()))?;
        command
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(file.try_clone().context("cannot share the log")?)
            .stderr(file)
            // Ctrl-C is for whoever owns the terminal; this ends when its owner does.
            .process_group(0);
        let child = spawn(&mut command)?;
        Ok(Self { name: name.to_owned(), command, child, forks: false, log })
    }

    /// Says that the command starts the program in another process namespace, and waits for it.
    pub(crate) fn that_forks(mut self) -> Self {
        self.forks = true;
        self
    }

    /// The number of the program's own process, as this process sees it.
    pub(crate) fn pid(&self) -> u32 {
        let child = self.child.id();
        let inner = || {
            let children = fs::read_to_string(format!("/proc/{child}/task/{child}/children")).ok()?;
            children.split_whitespace().next()?.parse().ok()
        };
        // Before it has forked, and after the program has ended, the child is all there is.
        self.forks.then(inner).flatten().unwrap_or(child)
    }

    pub(crate) fn log_path(&self) -> &Path {
        &self.log
    }

    /// What the program has written so far.
    pub(crate) fn log(&self) -> String {
        String::from_utf8_lossy(&fs::read(&self.log).unwrap_or_default()).into_owned()
    }

    /// An error if the program has ended.
    pub(crate) fn check(&mut self) -> Result<()> {
        match self.child.try_wait().with_context(|| format!("cannot ask after {}", self.name))? {
            None => Ok(()),
            Some(status) => Err(self.problem(&format!("ended with {status}"))),
        }
    }

    /// Whether it has not ended.
    pub(crate) fn runs(&mut self) -> bool {
        self.check().is_ok()
    }

    /// Sends a signal to the program, unless it has ended.
    pub(crate) fn signal(&mut self, signal: Signal) -> Result<()> {
        if !self.runs() {
            bail!("{} is not running", self.name);
        }
        kill(self.pid(), signal).with_context(|| format!("cannot send a signal to {}", self.name))
    }

    /// Ends the program as an operator would, and waits for it.
    pub(crate) fn stop(&mut self) -> Result<()> {
        self.signal(Signal::TERM)?;
        self.wait_for_end()
    }

    /// Waits for the end of a program that has been asked for it.
    pub(crate) fn wait_for_end(&mut self) -> Result<()> {
        let ended = wait_for(|| (!self.runs()).then_some(()));
        ended.with_context(|| format!("{} did not end when asked to", self.name))
    }

    /// Ends the program as a power cut would, and waits for it. One that has ended stays so.
    pub(crate) fn kill(&mut self) {
        if self.runs() {
            // Both fail only for a program that has ended, which is what is wanted.
            let _ = kill(self.pid(), Signal::KILL);
            let _ = self.child.wait();
        }
    }

    /// Starts it again, as it was started before, with its log going on.
    pub(crate) fn start_again(&mut self) -> Result<()> {
        if self.runs() {
            bail!("{} is running already", self.name);
        }
        self.child = spawn(&mut self.command)?;
        Ok(())
    }

    /// Looks again and again until there is something; gives up after [`PATIENCE`], or when the program ends.
    pub(crate) fn wait_for<T>(&mut self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> Result<T> {
        let found = wait_for(|| {
            // The order matters: what answers in place of a program that has ended is somebody else.
            let found = look(self);
            match self.check() {
                Err(error) => Some(Err(error)),
                Ok(()) => found.map(Ok),
            }
        });
        found.unwrap_or_else(|| Err(self.problem(&format!("is running, but not {what} after {PATIENCE:?}"))))
    }

    fn problem(&self, what: &str) -> anyhow::Error {
        anyhow!("{} {what}; {}", self.name, tail(&self.log))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        self.kill();
    }
}

fn spawn(command: &mut Command) -> Result<Child> {
    command.spawn().with_context(|| format!("cannot run {}", command.get_program().display()))
}

/// Sends a signal to a process.
pub(crate) fn kill(pid: u32, signal: Signal) -> Result<()> {
    let pid = i32::try_from(pid).ok().and_then(Pid::from_raw).context("not the number of a process")?;
    kill_process(pid, signal).with_context(|| format!("process {} has ended", pid.as_raw_nonzero()))
}

/// The last lines of a log, with a few words before them.
pub(crate) fn tail(log: &Path) -> String {
    let text = String::from_utf8_lossy(&fs::read(log).unwrap_or_default()).into_owned();
    let lines: Vec<_> = text.lines().collect();
    format!("the end of its log:\n  {}", lines[lines.len().saturating_sub(TAIL)..].join("\n  "))
}

/// Looks again and again until there is something; nothing after [`PATIENCE`].
#[expect(clippy::disallowed_methods, reason = "the programs waited for know no other clock")]
pub(crate) fn wait_for<T>(mut look: impl FnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        if let Some(found) = look() {
            return Some(found);
        }
        if start.elapsed() > PATIENCE {
            return None;
        }
        thread::sleep(POLL);
    }
}
