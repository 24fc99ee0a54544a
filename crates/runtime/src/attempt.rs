//! The runs of one container on disk: which there are, and what is to be made of the newest.

use std::{fs, io, path::Path};

use crate::{
    clock, durable,
    process::boot_id,
    record::{EXIT, Exit, RunFolder, STARTED, Started, UP},
    shim,
};

/// What the files and processes of one run say together.
#[derive(Debug)]
pub(crate) enum Observed {
    /// The folder is written, and no shim has it.
    Idle,
    /// A shim has it and has not entered the program yet.
    Starting,
    Running {
        started: Started,
        /// The postStart hook is through.
        up: bool,
    },
    /// The container runs and has lost its shim.
    Orphaned,
    Ended {
        started: Option<Started>,
        exit: Exit,
    },
}

/// The numbers of the runs that a container has, in order.
pub(crate) fn attempts(container: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    let entries = match fs::read_dir(container) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(numbers),
        Err(error) => return Err(error),
    };
    for entry in entries {
        let entry = entry?;
        // A folder without its run.json was not finished; its number is used up all the same.
        if let Some(number) = entry.file_name().to_str().and_then(|name| name.parse().ok()) {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    Ok(numbers)
}

/// Looks, and writes down an end that nobody else can write any more.
pub(crate) fn observe(folder: &RunFolder) -> io::Result<Observed> {
    if let Some(ended) = ended(folder)? {
        return Ok(ended);
    }
    let lock = shim::lock(folder)?;
    // Looked at again under the lock, or with a shim that has it: between the two a shim may have finished.
    if let Some(ended) = ended(folder)? {
        return Ok(ended);
    }
    let started: Option<Started> = durable::read_json(&folder.path(STARTED))?;
    Ok(match (lock, started) {
        (None, Some(started)) => Observed::Running { started, up: folder.has(UP) },
        (None, None) => Observed::Starting,
        (Some(_), None) => Observed::Idle,
        (Some(_), Some(started)) if started.lives() => Observed::Orphaned,
        (Some(_), Some(started)) => {
            let now = clock::now();
            let exit = if started.boot == boot_id() { Exit::lost(now) } else { Exit::rebooted(now) };
            durable::write_json(&folder.path(EXIT), &exit)?;
            Observed::Ended { started: Some(started), exit }
        }
    })
}

/// Ends a run that was never started, so that no shim that comes late starts it. `false` if one was sooner.
pub(crate) fn give_up(folder: &RunFolder, exit: &Exit) -> io::Result<bool> {
    let Some(_lock) = shim::lock(folder)? else { return Ok(false) };
    if folder.has(STARTED) || folder.has(EXIT) {
        return Ok(false);
    }
    durable::write_json(&folder.path(EXIT), exit)?;
    Ok(true)
}

fn ended(folder: &RunFolder) -> io::Result<Option<Observed>> {
    let exit: Option<Exit> = durable::read_json(&folder.path(EXIT))?;
    let Some(exit) = exit else { return Ok(None) };
    Ok(Some(Observed::Ended { started: durable::read_json(&folder.path(STARTED))?, exit }))
}
