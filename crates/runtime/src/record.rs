//! What the runtime and the shim tell each other, as files in the folder of one run.
//!
//! | file | written by | says |
//! |---|---|---|
//! | `run.json` | runtime | what to run; never changes |
//! | `lock` | shim | locked as long as a shim of this run lives |
//! | `alive` | shim | a pipe that it holds open, so that its end is noticed at once |
//! | `started.json` | shim | which process it is; durable before the program is entered |
//! | `up` | shim | the program was entered and its postStart hook, if any, is through |
//! | `stop.json` | runtime | end it, with so much grace; SIGTERM to the shim says "read it" |
//! | `exit.json` | shim, or the runtime under the lock | how it ended; this run is over for good |

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{Logs, spec::Handler};

pub(crate) const RUN: &str = "run.json";
pub(crate) const LOCK: &str = "lock";
pub(crate) const STARTED: &str = "started.json";
pub(crate) const UP: &str = "up";
pub(crate) const STOP: &str = "stop.json";
pub(crate) const EXIT: &str = "exit.json";
pub(crate) const LOG: &str = "log";
pub(crate) const ALIVE: &str = "alive";

/// What a shim is to run.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    pub(crate) argv: Vec<String>,
    /// All of it: nothing is inherited.
    pub(crate) env: Vec<(String, String)>,
    pub(crate) cwd: PathBuf,
    pub(crate) user: Option<u32>,
    pub(crate) group: Option<u32>,
    pub(crate) logs: Logs,
    /// The grace, if it has to end and no `stop.json` says better.
    pub(crate) grace: Duration,
    /// A signal's name; SIGTERM if none.
    pub(crate) stop_signal: Option<String>,
    pub(crate) pre_stop: Option<Handler>,
    pub(crate) post_start: Option<Handler>,
    /// The container as the manifest had it: what a later version is compared with. Text takes less memory.
    pub(crate) entry: Arc<str>,
    /// The wait that follows this run if it ends too soon; none for the first.
    pub(crate) backoff: Option<Duration>,
    /// Where its last words are, below its root.
    #[serde(default)]
    pub(crate) message: Option<String>,
}

/// A process, and not another one that got its number later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Process {
    pub(crate) pid: i32,
    /// In clock ticks since boot, from `/proc/PID/stat`.
    pub(crate) start: u64,
}

/// Who runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Started {
    #[serde(flatten)]
    pub(crate) process: Process,
    pub(crate) shim: Process,
    pub(crate) boot: String,
    pub(crate) at: Timestamp,
}

/// The wish that a run ends.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Stop {
    pub(crate) grace: Duration,
    /// Why, for the log of the runtime and for the status.
    pub(crate) reason: String,
    /// The container is to be started again at once: it was not its fault.
    pub(crate) renew: bool,
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Exit {
    /// As a shell counts: 128 and the signal, if it was one.
    pub(crate) code: i32,
    pub(crate) signal: Option<i32>,
    pub(crate) at: Timestamp,
    pub(crate) how: How,
    pub(crate) message: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum How {
    /// The program ended, by itself or by a signal.
    Ended,
    /// The program could not be entered.
    CannotRun,
    /// Its postStart hook failed, and it was killed.
    HookFailed,
    /// It ended and nobody was there to be told how.
    Lost,
    /// The machine was restarted under it.
    Rebooted,
    /// The run was given up before the program was entered.
    NeverStarted,
}

/// The folder of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RunFolder(pub(crate) PathBuf);

// === impl RunFolder ===

impl RunFolder {
    pub(crate) fn path(&self, file: &str) -> PathBuf {
        self.0.join(file)
    }

    pub(crate) fn as_path(&self) -> &Path {
        &self.0
    }

    /// The folder in which every mount path of the container is found.
    pub(crate) fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    pub(crate) fn has(&self, file: &str) -> bool {
        self.path(file).exists()
    }
}

// === impl Exit ===

impl Exit {
    /// It ended and nobody was there to be told how: the worst is assumed.
    pub(crate) fn lost(at: Timestamp) -> Self {
        Self::unseen(How::Lost, at, "the shim of the container was lost, and with it how the container ended")
    }

    pub(crate) fn rebooted(at: Timestamp) -> Self {
        Self::unseen(How::Rebooted, at, "the machine was restarted while the container ran")
    }

    pub(crate) fn never_started(at: Timestamp) -> Self {
        Self::unseen(How::NeverStarted, at, "the container was given up before its program was entered")
    }

    pub(crate) fn cannot_run(at: Timestamp, message: String) -> Self {
        Self { code: 128, signal: None, at, how: How::CannotRun, message: Some(message) }
    }

    fn unseen(how: How, at: Timestamp, message: &str) -> Self {
        Self { code: 137, signal: None, at, how, message: Some(message.to_owned()) }
    }
}
