//! The parts of the agent, as its supervisor sees them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::KubeSchema;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One module of the agent.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModuleStatus {
    /// Its name.
    pub name: String,
    /// What is true of it now.
    pub state: ModuleState,
    /// What it waits for, or what is wrong, as a sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// How often it was started again since the agent's process began.
    #[serde(default)]
    pub restarts: i64,
    /// How it ended the last time, if it ever did unplanned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<ModuleFailure>,
    /// When it is started again, in `Backoff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_retry: Option<Time>,
}

/// What is true of a module, in the words of the supervisor.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum ModuleState {
    /// Not running: not started yet, or stopped for good.
    Stopped,
    /// Started, but it has not said yet that it works.
    Starting,
    /// Waits for another module or for something outside, such as the container runtime's socket. Not a failure.
    WaitingFor,
    /// Works.
    Ready,
    /// Works, but not wholly.
    Degraded,
    /// Ended unplanned; it is started again after a pause.
    Backoff,
    /// Ended for good: nothing but a change of configuration will help.
    Failed,
    /// Its tasks are being ended.
    Stopping,
    /// It had one thing to do, and that is done.
    Completed,
}

/// An unplanned end of a module.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize, KubeSchema)]
#[serde(rename_all = "camelCase")]
pub struct ModuleFailure {
    /// When.
    pub at: Time,
    /// The cause, as the module told it.
    pub message: String,
}
