//! Carries a plan out, and takes it back: all of it happens, or none of it.
//!
//! Taking back begins with the kubelet. Only when it runs on its own kubeconfig again is the agent stopped that it would
//! otherwise look for.

use std::io::{self, Write};
use std::net::IpAddr;
use std::path::Path;

use super::machine::Machine;
use super::plan::{Action, Step, Text};
use super::record::{Record, replace};

/// Why a plan was not carried out.
#[derive(Debug)]
pub(super) struct Failure {
    /// What was being done.
    pub(super) step: String,
    pub(super) cause: String,
    /// The last lines of the log of the unit that it was about.
    pub(super) log: Option<String>,
}

/// Whether taking back goes on although the node does not become ready.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Unready {
    GoOn,
    Stop,
}

/// Carries the steps out, each announced before it is done. At the first that fails it stops.
pub(super) async fn carry_out(
    steps: &[Step],
    address: IpAddr,
    record: &mut Record,
    machine: &mut impl Machine,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    for (index, step) in steps.iter().enumerate() {
        tell(out, &format!("[{}/{}] {}", index + 1, steps.len(), step.announcement()));
        if let Err(cause) = one(step, address, record, machine, out).await {
            let log = match step {
                Step::Do(action) => machine.log_of(action).await,
                Step::Folder { .. } | Step::Write(_) | Step::Certificate { .. } | Step::SetAside { .. } => {
                    None
                }
            };
            return Err(Failure { step: step.announcement(), cause, log });
        }
    }
    record.complete = true;
    record.save().map_err(|error| Failure {
        step: "write the record".into(),
        cause: error.to_string(),
        log: None,
    })
}

async fn one(
    step: &Step,
    address: IpAddr,
    record: &mut Record,
    machine: &mut impl Machine,
    out: &mut dyn Write,
) -> Result<(), String> {
    let words = |error: io::Error| error.to_string();
    match step {
        Step::Folder { path, mode } => record.make_folder(path, *mode, false).map_err(words),
        Step::Write(Text { path, text, mode, points, .. }) => {
            let parent = path.parent().unwrap_or(Path::new("/"));
            record.make_folder(parent, 0o755, *points).map_err(words)?;
            record.note(path, *points).map_err(words)?;
            replace(path, text.as_bytes(), *mode, None).map_err(words)
        }
        Step::Certificate { folder } => {
            use safepoint_daemon::door::{AUTHORITY, CERTIFICATE, KEY, make_certificate};
            record.make_folder(folder, 0o755, false).map_err(words)?;
            for name in [KEY, CERTIFICATE, AUTHORITY] {
                record.note(&folder.join(name), false).map_err(words)?;
            }
            make_certificate(folder, address).map_err(|error| format!("{error:#}"))
        }
        Step::SetAside { path } => record.set_aside(path).map_err(words),
        Step::Do(action) => {
            match action {
                Action::Enable | Action::Start => record.agent = true,
                Action::Restart { .. } => record.pointed = true,
                Action::CheckNode
                | Action::Reload
                | Action::Remove
                | Action::AwaitAgent
                | Action::AwaitNode
                | Action::AwaitWatch => {}
            }
            record.save().map_err(words)?;
            machine.act(action, &mut |note| tell(out, &format!("      {note}"))).await
        }
    }
}

/// Puts everything back. The kubelet first, then the agent, then what is left of it. May be repeated after a failure.
pub(super) async fn take_back(
    record: &mut Record,
    keep_data: bool,
    unready: Unready,
    machine: &mut impl Machine,
    out: &mut dyn Write,
) -> Result<(), String> {
    if record.has_pointed() {
        put_back(record, true, keep_data, out)?;
        act(machine, &Action::Reload, out).await?;
    }
    let mut not_ready = None;
    if record.pointed {
        act(machine, &Action::Restart { unit: record.unit.clone() }, out).await?;
        not_ready = act(machine, &Action::AwaitNode, out).await.err();
        if let (Some(cause), Unready::Stop) = (&not_ready, unready) {
            return Err(cause.clone());
        }
        // What is done need not be done again, and could not be: the next steps remove what it needs.
        record.pointed = false;
        record.save().map_err(|error| error.to_string())?;
    }
    if record.agent {
        act(machine, &Action::Remove, out).await?;
    }
    put_back(record, false, keep_data, out)?;
    if record.agent {
        act(machine, &Action::Reload, out).await?;
    }
    record.close(keep_data)?;
    not_ready.map_or(Ok(()), Err)
}

fn put_back(record: &Record, points: bool, keep_data: bool, out: &mut dyn Write) -> Result<(), String> {
    for line in record.to_restore(points, keep_data) {
        tell(out, &line);
    }
    record.restore(points, keep_data)
}

async fn act(machine: &mut impl Machine, action: &Action, out: &mut dyn Write) -> Result<(), String> {
    tell(out, &action.announcement());
    let done = machine.act(action, &mut |note| tell(out, &format!("      {note}"))).await;
    done.map_err(|cause| format!("{}: {cause}", action.announcement()))
}

/// Tells whoever watches. If nobody does any more, that is no reason to leave a machine half changed.
pub(super) fn tell(out: &mut dyn Write, line: &str) {
    let _ = writeln!(out, "{line}");
    let _ = out.flush();
}
