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
    /// How often it was restarted since the agent was installed.
    #[serde(default)]
    pub restarts: i64,
    /// How it ended the last time, if it ever did unplanned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<ModuleFailure>,
    /// When it is started again, in `Backoff`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next_retry: Option<Time>,
}

/// What is true of a module.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize, JsonSchema)]
pub enum ModuleState {
    /// Started, but it has not said yet that it works.
    Starting,
    /// Waits for something outside, such as the container runtime's socket. Not a failure.
    Waiting,
    /// Works.
    Ready,
    /// Works, but not wholly.
    Degraded,
    /// Ended unplanned; it is started again after a pause.
    Backoff,
    /// Ended for good: nothing but a change of configuration will help.
    Failed,
    /// Ended as planned.
    Stopped,
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
