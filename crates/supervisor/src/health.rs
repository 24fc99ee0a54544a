//! What the supervisor knows about its modules, as a value that an API can serve.

use std::{collections::BTreeMap, sync::Arc};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::{
    failure::Failure,
    policy::{Policy, Profile},
};

/// The whole picture at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Health {
    /// No critical module is stuck, and the process is not on its way out because of one. A module that waits
    /// or backs off is late for nothing: ending the process would not bring it back sooner.
    ///
    /// This value is only as fresh as the supervisor. Who feeds a watchdog asks
    /// [`Handle::check`](crate::Handle::check).
    pub live: bool,
    /// Every critical module is serving.
    pub ready: bool,
    /// The profile that policies start from.
    pub profile: Profile,
    /// The feature gate: whether modules that fail are started again.
    pub module_restart: bool,
    /// Each module by its name.
    pub modules: BTreeMap<String, ModuleHealth>,
}

/// One module.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ModuleHealth {
    /// What it is doing.
    #[serde(flatten)]
    pub state: State,
    /// Whether the process is of any use without it.
    pub critical: bool,
    /// How often it was started again in this process, after a failure or on request. Looking again for
    /// something that is missing does not count.
    pub restarts: u64,
    /// Failures since it was last healthy.
    pub consecutive_failures: u32,
    /// Its last failures, oldest first, those of earlier processes included.
    pub failures: Arc<Vec<Failure>>,
    /// The values in force.
    pub policy: Arc<Policy>,
}

/// What a module is doing, with what is known in that state only.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "state", rename_all_fields = "camelCase")]
pub enum State {
    /// Not running: not started yet, or stopped for good.
    Stopped,
    /// Running, but cannot do its work yet.
    Starting {
        /// When it began to.
        since: Timestamp,
    },
    /// Can do nothing before something else is there: another module, or something outside.
    WaitingFor {
        /// What is missing.
        what: String,
    },
    /// Does its work.
    Ready,
    /// Does its work in part.
    Degraded {
        /// What is wrong.
        reason: String,
    },
    /// Failed, and will be started again.
    Backoff {
        /// The number of the failure since it was last healthy.
        attempt: u32,
        /// When it will be started again.
        until: Timestamp,
        /// Why it failed.
        cause: String,
    },
    /// Failed, and will not be started again unless somebody asks for it.
    Failed {
        /// Why it failed.
        cause: String,
    },
    /// Its tasks are being ended.
    Stopping,
    /// A one-shot module that is done.
    Completed,
}

/// Whether init's watchdog should be fed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Liveness {
    /// The supervisor answered, and every critical module is within its deadlines.
    Live,
    /// The supervisor answered, but this process cannot be saved.
    Lost,
    /// There is no supervisor any more.
    Gone,
}

// === impl State ===

impl State {
    /// Whether those that depend on the module can work with it.
    pub fn is_serving(&self) -> bool {
        matches!(self, Self::Ready | Self::Degraded { .. } | Self::Completed)
    }
}

// === impl ModuleHealth ===

impl ModuleHealth {
    /// The most recent failure.
    pub fn last_failure(&self) -> Option<&Failure> {
        self.failures.last()
    }

    /// When it is started again, if it waits for that.
    pub fn next_retry(&self) -> Option<Timestamp> {
        match self.state {
            State::Backoff { until, .. } => Some(until),
            _ => None,
        }
    }
}
