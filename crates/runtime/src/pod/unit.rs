//! One container of a pod, over all its runs.

#[cfg(test)]
mod tests;

use std::{os::fd::OwnedFd, path::PathBuf, process::Child, sync::Arc, time::Duration};

use jiff::Timestamp;
use tokio::{task::AbortHandle, time::Instant};

use super::memory::Checks;
use crate::{
    Backoff, attempt, clock, durable,
    record::{Exit, How, Process, RUN, Run, RunFolder, STOP, Started, Stop},
    spec::{Container, RestartPolicy},
};

pub(crate) struct Unit {
    pub(crate) name: String,
    pub(crate) role: Role,
    /// As the manifest has it, as far as a difference matters.
    pub(crate) entry: Arc<str>,
    pub(crate) spec: Arc<Container>,
    folder: PathBuf,
    /// The newest run, if there was one.
    pub(crate) attempt: Option<u32>,
    pub(crate) life: Life,
    /// The files may say something new.
    pub(crate) stale: bool,
    /// How the run before the newest ended.
    pub(crate) before: Option<Ended>,
    /// What `run.json` of the newest run says, as far as it is asked for later.
    pub(crate) ran: Option<Ran>,
    /// Why it cannot be started now, as the status shows it.
    pub(crate) waiting: Option<(&'static str, String)>,
    /// Not before this, although it is due: the machine refused.
    pub(crate) not_before: Option<Instant>,
    /// The grace of the stop that its shim was told of.
    pub(crate) stopped: Option<Duration>,
    /// The newest run was begun by us, or has been looked at for what an earlier runtime left undone.
    pub(crate) is_ours: bool,
    /// A probe wants it stopped, with this grace, for this reason.
    pub(crate) to_stop: Option<(Duration, String)>,
    /// The shim that we sent, to be reaped.
    pub(crate) child: Option<Child>,
    /// The shim that has the run, and a handle on it.
    pub(crate) shim: Option<(Process, Arc<OwnedFd>)>,
    pub(crate) checks: Checks,
    pub(crate) probes: Vec<Abort>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    Init,
    Sidecar,
    Main,
}

#[derive(Clone, Debug)]
pub(crate) enum Life {
    /// There was no run yet.
    Fresh,
    Starting,
    Running {
        started: Started,
        up: bool,
    },
    Ended(Ended),
}

#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) attempt: u32,
    pub(crate) started: Option<Timestamp>,
    pub(crate) exit: Exit,
}

#[derive(Clone, Debug)]
pub(crate) struct Ran {
    pub(crate) entry: Arc<str>,
    pub(crate) backoff: Option<Duration>,
}

/// When a container is to be started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Due {
    /// Not any more.
    Never,
    Now {
        /// The wait that follows the new run, if it ends too soon.
        backoff: Option<Duration>,
    },
    In {
        wait: Duration,
        /// The whole wait, for the message.
        of: Duration,
    },
}

/// A task that ends with its owner.
pub(crate) struct Abort(pub(crate) AbortHandle);

// === impl Unit ===

impl Unit {
    /// Reads what is known of a container's runs.
    pub(crate) fn load(pod: &std::path::Path, spec: &Container, entry: Arc<str>, role: Role) -> Self {
        let folder = pod.join(&spec.name);
        let attempts = attempt::attempts(&folder).unwrap_or_default();
        let mut unit = Self {
            name: spec.name.clone(),
            role,
            entry,
            spec: Arc::new(spec.clone()),
            folder,
            attempt: attempts.last().copied(),
            life: Life::Fresh,
            stale: true,
            before: None,
            ran: None,
            waiting: None,
            not_before: None,
            stopped: None,
            is_ours: false,
            to_stop: None,
            child: None,
            shim: None,
            checks: Checks::default(),
            probes: Vec::new(),
        };
        if let [.., before, _] = attempts[..] {
            unit.before = unit.end_of(before);
        }
        unit.ran = unit.run_folder().and_then(|folder| {
            let run: Run = durable::read_json(&folder.path(RUN)).ok()??;
            Some(Ran { entry: run.entry, backoff: run.backoff })
        });
        unit
    }

    pub(crate) fn is_alive(&self) -> bool {
        matches!(self.life, Life::Starting | Life::Running { .. })
    }

    pub(crate) fn ended(&self) -> Option<&Ended> {
        match &self.life {
            Life::Ended(ended) => Some(ended),
            Life::Fresh | Life::Starting | Life::Running { .. } => None,
        }
    }

    /// It runs what an older version of the manifest said.
    pub(crate) fn is_outdated(&self) -> bool {
        self.ran.as_ref().is_some_and(|ran| ran.entry != self.entry)
    }

    /// The image of what runs; of what does not, the one that is wanted.
    pub(crate) fn shown_image(&self) -> String {
        let ran = self.ran.as_ref().filter(|_| self.is_alive() && self.is_outdated());
        let entry = ran.and_then(|ran| serde_json::from_str::<serde_json::Value>(&ran.entry).ok());
        let image = entry.as_ref().and_then(|entry| entry["image"].as_str());
        image.unwrap_or(&self.spec.image).to_owned()
    }

    pub(crate) fn folder_of(&self, attempt: u32) -> RunFolder {
        RunFolder(self.folder.join(attempt.to_string()))
    }

    pub(crate) fn run_folder(&self) -> Option<RunFolder> {
        self.attempt.map(|attempt| self.folder_of(attempt))
    }

    fn end_of(&self, attempt: u32) -> Option<Ended> {
        match attempt::observe(&self.folder_of(attempt)) {
            Ok(attempt::Observed::Ended { started, exit }) => {
                Some(Ended { attempt, started: started.map(|started| started.at), exit })
            }
            _ => None,
        }
    }

    /// When the next run is due, now that this one has ended (or there was none).
    pub(crate) fn due(&self, policy: RestartPolicy, backoff: Backoff, now: Timestamp) -> Due {
        let ended = match &self.life {
            Life::Fresh => return Due::Now { backoff: None },
            Life::Starting | Life::Running { .. } => return Due::Never,
            Life::Ended(ended) => ended,
        };
        let level = self.ran.as_ref().and_then(|ran| ran.backoff);
        // A run that was given up, or renewed, says nothing about the container.
        if matches!(ended.exit.how, How::NeverStarted) || self.was_renewed(ended.attempt) {
            return Due::Now { backoff: level };
        }
        match policy {
            RestartPolicy::Never => return Due::Never,
            RestartPolicy::OnFailure if ended.exit.code == 0 => return Due::Never,
            RestartPolicy::OnFailure | RestartPolicy::Always => {}
        }
        // Nor does the wait of what it ran before hold back what it is to run now.
        if ended.exit.how == How::Rebooted || self.is_outdated() {
            return Due::Now { backoff: None };
        }
        let lasted = ended.started.map_or(Duration::ZERO, |started| clock::since(started, ended.exit.at));
        let Some(level) = level.filter(|_| lasted < backoff.reset) else {
            return Due::Now { backoff: Some(backoff.first) };
        };
        let wait = level.saturating_sub(clock::since(ended.exit.at, now));
        if wait.is_zero() {
            Due::Now { backoff: Some(level.saturating_mul(2).min(backoff.most)) }
        } else {
            Due::In { wait, of: level }
        }
    }

    /// A stop that was written down before we came. Whoever wrote it may not have told the shim.
    pub(crate) fn begun_stop(&mut self) -> Option<Stop> {
        if std::mem::replace(&mut self.is_ours, true) {
            return None;
        }
        durable::read_json(&self.run_folder()?.path(STOP)).unwrap_or_default()
    }

    /// It was stopped to be started anew.
    fn was_renewed(&self, attempt: u32) -> bool {
        let stop: Option<Stop> = durable::read_json(&self.folder_of(attempt).path(STOP)).unwrap_or_default();
        stop.is_some_and(|stop| stop.renew)
    }
}

// === impl Abort ===

impl Drop for Abort {
    fn drop(&mut self) {
        self.0.abort();
    }
}
