//! How a module is restarted: the effective values, and the profiles they start from.
//!
//! A [`Policy`] has no holes and has been checked. What a person writes, with holes and
//! mistakes, is a [`RestartPolicy`](crate::RestartPolicy). Precedence: defaults, then the
//! profile, then the module's own values.

use std::time::Duration;

use jiff::fmt::serde::unsigned_duration::friendly::compact as friendly;
use serde::{Deserialize, Serialize};

/// When a module is started again. KubeEdge's names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum RestartType {
    /// After every end, also after a one-shot module has completed.
    Always,
    /// After every failure. The return of a module that was declared as long-running is a failure;
    /// only a one-shot module can complete. (KubeEdge restarts after a panic only, and leaves a
    /// process without its module.)
    OnFailure,
}

/// A named set of values for one kind of use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Profile {
    /// On a developer's desk: fail fast and loud. A panic ends the process, three failures in a minute as
    /// well, deadlines are short, and waits have no jitter so that runs can be compared.
    Dev,
    /// On a device nobody can reach: keep going, and give up a process only when a
    /// fresh one is the better bet.
    #[default]
    Production,
}

/// How many failures in which time are too many.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Intensity {
    /// The failure with this number within the window is one too many.
    pub failures: u32,
    /// The window slides: it is not reset by a restart, only by time.
    #[serde(with = "friendly::required")]
    pub window: Duration,
}

/// The values in force for one module, as health shows them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Policy {
    /// When it is started again.
    pub restart_type: RestartType,
    /// Restarts allowed without a healthy window between them; 0 = no limit.
    pub retries: u32,
    /// The first wait, in seconds.
    pub interval_second: u32,
    /// Factor from one wait to the next; 1 or less = waits do not grow.
    pub interval_time_growth_rate: f64,
    /// The longest wait, before jitter.
    #[serde(with = "friendly::required")]
    pub restart_interval_limit: Duration,
    /// Share by which a wait may be longer or shorter, from 0 to 1, so that a fleet that lost its power
    /// together does not come back in step.
    pub jitter: f64,
    /// Ready for so long without a break, and the next failure counts as the first one again.
    #[serde(with = "friendly::required")]
    pub healthy_window: Duration,
    /// Too many failures: a critical module ends the process, another one pauses for a window.
    pub intensity: Intensity,
    /// Not ready after so long is a failure. Stands still while the module waits for something outside.
    #[serde(with = "friendly::required")]
    pub start_deadline: Duration,
    /// From the cancellation to the abort of what is left of the module's tasks.
    #[serde(with = "friendly::required")]
    pub stop_deadline: Duration,
    /// A ready module that was silent for so long hangs. Only for modules that declare a heartbeat.
    #[serde(with = "friendly::optional", default, skip_serializing_if = "Option::is_none")]
    pub heartbeat_deadline: Option<Duration>,
    /// A panic ends the process at once instead of restarting the module.
    pub exit_on_panic: bool,
}

// === impl Policy ===

impl Default for Policy {
    /// KubeEdge's waits (1, 2, 4 … 30 s) and no limit of retries; the rest as in [`Profile::Production`].
    fn default() -> Self {
        Self {
            restart_type: RestartType::OnFailure,
            retries: 0,
            interval_second: 1,
            interval_time_growth_rate: 2.0,
            restart_interval_limit: Duration::from_secs(30),
            jitter: 0.1,
            healthy_window: Duration::from_mins(10),
            // With the waits above, ten failures in a row take two and a half minutes. A fault that outlives
            // that is not going away inside this process, and a fresh one costs no workload anything.
            intensity: Intensity { failures: 10, window: Duration::from_mins(10) },
            // A journal on worn flash may take most of this to replay.
            start_deadline: Duration::from_mins(1),
            // With the five seconds of an abort, a chain of five modules that all miss it still ends within
            // the 90 s that systemd gives a service to stop.
            stop_deadline: Duration::from_secs(10),
            heartbeat_deadline: None,
            exit_on_panic: false,
        }
    }
}

impl Policy {
    /// The values of a profile, before a module's own are laid over them.
    pub fn of(profile: Profile) -> Self {
        match profile {
            Profile::Production => Self::default(),
            Profile::Dev => Self {
                jitter: 0.0,
                healthy_window: Duration::from_mins(1),
                intensity: Intensity { failures: 3, window: Duration::from_mins(1) },
                start_deadline: Duration::from_secs(15),
                stop_deadline: Duration::from_secs(3),
                exit_on_panic: true,
                ..Self::default()
            },
        }
    }
}
