//! The supervisor, seen from within: how the modules do, in the words of the API.
//!
//! The modules are made before their supervisor, so the way to it is put in afterwards.

use std::sync::OnceLock;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use safepoint_api::node_gate::{ModuleFailure, ModuleState, ModuleStatus};
use safepoint_supervisor::{Fault, Handle, Health, ModuleHealth, State};
use tokio::sync::watch;

/// The way to the supervisor.
#[derive(Debug, Default)]
pub(crate) struct Overseer(OnceLock<Handle>);

// === impl Overseer ===

impl Overseer {
    pub(crate) fn set(&self, handle: Handle) {
        // One agent has one supervisor; a second would be a mistake in the assembly, and the first stays.
        let _ = self.0.set(handle);
    }

    pub(crate) fn handle(&self) -> Option<&Handle> {
        self.0.get()
    }

    pub(crate) fn health(&self) -> Option<Health> {
        self.0.get().map(|handle| handle.health().borrow().clone())
    }

    /// Every change of it.
    pub(crate) fn changes(&self) -> Result<watch::Receiver<Health>, Fault> {
        self.0
            .get()
            .map(Handle::health)
            .ok_or_else(|| Fault::transient("nobody has said who the supervisor is"))
    }

    pub(crate) fn modules(&self) -> Vec<ModuleStatus> {
        let health = self.health();
        health
            .into_iter()
            .flat_map(|health| health.modules)
            .map(|(name, module)| status(name, &module))
            .collect()
    }
}

fn status(name: String, module: &ModuleHealth) -> ModuleStatus {
    let (state, message) = match &module.state {
        State::Stopped => (ModuleState::Stopped, None),
        State::Starting { .. } => (ModuleState::Starting, None),
        State::WaitingFor { what } => (ModuleState::WaitingFor, Some(what)),
        State::Ready => (ModuleState::Ready, None),
        State::Degraded { reason } => (ModuleState::Degraded, Some(reason)),
        State::Backoff { cause, .. } => (ModuleState::Backoff, Some(cause)),
        State::Failed { cause } => (ModuleState::Failed, Some(cause)),
        State::Stopping => (ModuleState::Stopping, None),
        State::Completed => (ModuleState::Completed, None),
    };
    let failure = module.last_failure();
    ModuleStatus {
        name,
        state,
        message: message.cloned(),
        restarts: i64::try_from(module.restarts).unwrap_or(i64::MAX),
        last_failure: failure
            .map(|failure| ModuleFailure { at: Time(failure.at), message: failure.cause.clone() }),
        next_retry: module.next_retry().map(Time),
    }
}
