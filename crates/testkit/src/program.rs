//! One running program: its log, its end, and what to say when that comes too early.
//!
//! A program ends with its owner. On drop it is killed; where there is no drop (the owner was killed, or keeps it in a
//! static) it ends because its standard input does. Programs of this project's build watch that themselves, others get a
//! shell beside them that does.

use std::fs::{self, File};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};

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
/// Thirty times what the slowest program takes on an idle machine; a busy one may build something else meanwhile.
const PATIENCE: Duration = Duration::from_secs(120);
/// How much of a log a failure shows.
const TAIL: usize = 25;

/// A running program.
#[derive(Debug)]
pub(crate) struct Program {
    name: &'static str,
    child: Child,
    log: PathBuf,
}

impl Program {
    /// Starts a program that writes its log into a folder.
    pub(crate) fn start(
        assets: &Assets,
        folder: &Path,
        name: &'static str,
        arguments: &[String],
    ) -> Result<Self> {
        let path = assets.program(name)?;
        let log = folder.join(format!("{name}.log"));
        let file = File::create(&log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = if assets.leashed {
            let mut command = Command::new(&path);
            command.env("SAFEPOINT_STDIN_LEASH", "1");
            command
        } else {
            let mut command = Command::new("sh");
            command.args(["-c", LEASH, "leash"]).arg(&path);
            command
        };
        let child = command
            .args(arguments)
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(file.try_clone().context("cannot share the log")?)
            .stderr(file)
            // Ctrl-C is for whoever owns the terminal; this ends when its owner does.
            .process_group(0)
            .spawn()
            .with_context(|| format!("cannot run {}", path.display()))?;
        Ok(Self { name, child, log })
    }

    pub(crate) fn name(&self) -> &'static str {
        self.name
    }

    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
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

    /// Looks again and again until there is something; gives up after [`PATIENCE`].
    #[expect(clippy::disallowed_methods, reason = "the programs waited for know no other clock")]
    pub(crate) fn wait_for<T>(&mut self, what: &str, mut look: impl FnMut(&Self) -> Option<T>) -> Result<T> {
        let start = Instant::now();
        while start.elapsed() < PATIENCE {
            // The order matters: what answers in place of a program that has ended is somebody else.
            let found = look(self);
            self.check()?;
            if let Some(found) = found {
                return Ok(found);
            }
            thread::sleep(POLL);
        }
        Err(self.problem(&format!("is running, but not {what} after {PATIENCE:?}")))
    }

    fn problem(&self, what: &str) -> anyhow::Error {
        let log = self.log();
        let lines: Vec<_> = log.lines().collect();
        let tail = lines[lines.len().saturating_sub(TAIL)..].join("\n  ");
        anyhow!("{} {what}; the end of its log:\n  {tail}", self.name)
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // Both fail only for a program that has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
