//! The process that stands between the runtime and one run of one container.
//!
//! It is there so that the runtime need not be: it holds the container's output, its exit code and its
//! end. It lives as long as the run and does one thing at a time; a run has a shim each, so it is kept small.
//!
//! The program is entered in two steps. A *stage* is forked first, becomes known by `started.json`, and
//! enters the program only when told so. A shim that dies before it has written leaves a stage that finds
//! its pipe closed and ends: there is no moment in which a container runs that no file speaks of.

mod ending;
mod hook;
mod keep;
mod log;
mod stage;

use std::{
    fs::{File, OpenOptions},
    io,
    os::unix::fs::OpenOptionsExt,
    path::Path,
    process::ExitCode,
};

use rustix::fs::{FlockOperation, flock};

use crate::{
    durable,
    record::{EXIT, LOCK, RUN, Run, RunFolder, STARTED, Started},
};

pub(crate) use ending::named;

/// Says to the same program that it is the stage and not the shim.
const STAGE: &str = "SAFEPOINT_SHIM_STAGE";

/// Runs what the folder describes, to its end. This is what `safepoint shim FOLDER` calls.
///
/// Called for a folder whose container runs but has lost its shim, it takes the place of that one.
pub fn shim(folder: &Path) -> ExitCode {
    let folder = RunFolder(folder.to_owned());
    if std::env::var_os(STAGE).is_some() {
        return stage::enter(&folder);
    }
    match run(&folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Standard error is the file `shim.log` of the run.
            eprintln!("safepoint shim {}: {error}", folder.as_path().display());
            ExitCode::FAILURE
        }
    }
}

fn run(folder: &RunFolder) -> io::Result<()> {
    // Fails only for a leader of a process group, which then is apart already.
    let _ = rustix::process::setsid();
    let Some(lock) = lock(folder)? else {
        return Ok(()); // Another shim has this run.
    };
    if folder.has(EXIT) {
        return Ok(()); // Someone gave this run up before we came.
    }
    let run: Run = durable::read_json(&folder.path(RUN))?
        .ok_or_else(|| io::Error::other("there is no run.json; the folder is not a run"))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let started: Option<Started> = durable::read_json(&folder.path(STARTED))?;
    runtime.block_on(keep::keep(folder, &run, started))?;
    drop(lock);
    Ok(())
}

/// The lock of a run, if nobody has it.
pub(crate) fn lock(folder: &RunFolder) -> io::Result<Option<File>> {
    let file =
        OpenOptions::new().create(true).write(true).truncate(false).mode(0o600).open(folder.path(LOCK))?;
    match flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(Some(file)),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
        Err(error) => Err(error.into()),
    }
}
