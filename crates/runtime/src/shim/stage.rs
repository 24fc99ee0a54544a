//! The last moment before the container's program: everything is set, and the word to go is awaited.

use std::{
    fs,
    io::{self, Read, Write},
    os::{
        fd::OwnedFd,
        unix::{net::UnixStream, process::CommandExt},
    },
    process::{Command, ExitCode, Stdio},
};

use crate::record::{RUN, Run, RunFolder};

/// Why the program could not be entered; the stage leaves it for the shim.
pub(super) const REFUSED: &str = "refused";

/// A stage that waits.
pub(super) struct Stage {
    pid: i32,
    line: UnixStream,
}

impl Stage {
    /// Forks the same program again. It does nothing until [`Stage::go`], and ends if that never comes.
    pub(super) fn fork(stdout: fs::File, stderr: fs::File) -> io::Result<Self> {
        let (ours, theirs) = UnixStream::pair()?;
        let child = Command::new("/proc/self/exe")
            .args(std::env::args_os().skip(1))
            .env(super::STAGE, "1")
            .stdin(OwnedFd::from(theirs))
            .stdout(stdout)
            .stderr(stderr)
            .process_group(0)
            .spawn()?;
        Ok(Self { pid: i32::try_from(child.id()).map_err(io::Error::other)?, line: ours })
    }

    pub(super) fn pid(&self) -> i32 {
        self.pid
    }

    /// Enters the program. The returned line is closed from the other side when that has happened, or has failed.
    pub(super) fn go(mut self) -> io::Result<UnixStream> {
        // A stage that is gone already is reaped and reported like any other end.
        let _ = self.line.write_all(b"g");
        self.line.set_nonblocking(true)?;
        Ok(self.line)
    }
}

/// What the forked program does.
pub(super) fn enter(folder: &RunFolder) -> ExitCode {
    let mut word = [0];
    if io::stdin().read_exact(&mut word).is_err() {
        return ExitCode::SUCCESS; // The shim is gone, and nobody knows of us.
    }
    // Standard input is exchanged on the way into the program, whether that succeeds or not. This copy is
    // closed by the system in the moment of success, and so tells the shim which of the two it was.
    let _line = rustix::io::fcntl_dupfd_cloexec(io::stdin(), 3);
    let error = match run(folder) {
        Ok(never) => match never {},
        Err(error) => error,
    };
    let _ = fs::write(folder.path(REFUSED), &error);
    ExitCode::from(128)
}

fn run(folder: &RunFolder) -> Result<std::convert::Infallible, String> {
    let text = fs::read(folder.path(RUN)).map_err(|error| error.to_string())?;
    let run: Run = serde_json::from_slice(&text).map_err(|error| error.to_string())?;
    let (program, arguments) = run.argv.split_first().ok_or("there is no command")?;
    if !run.cwd.is_dir() {
        return Err(format!("the working directory {} is no folder of this machine", run.cwd.display()));
    }
    let mut command = Command::new(program);
    command.args(arguments).env_clear().envs(run.env).current_dir(&run.cwd).stdin(Stdio::null());
    if let Some(group) = run.group {
        command.gid(group);
    }
    if let Some(user) = run.user {
        command.uid(user);
    }
    Err(format!("cannot run {program:?}: {}", command.exec()))
}
