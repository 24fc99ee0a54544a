//! The supervisor as the rest of the process sees it.

use tokio::sync::{mpsc, oneshot, watch};

use crate::{
    config::{Config, ConfigError},
    health::{Health, Liveness},
};

/// Requests that may wait for the supervisor. It answers at once, so a longer queue would
/// only hide that it does not.
pub(crate) const QUEUE: usize = 16;

/// Asks the supervisor for things while it runs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Handle {
    health: watch::Receiver<Health>,
    commands: mpsc::Sender<Command>,
}

/// A request and where the answer goes.
#[derive(Debug)]
pub(crate) enum Command {
    Restart { name: String, answer: oneshot::Sender<Result<(), RestartError>> },
    Reconfigure { config: Config, answer: oneshot::Sender<Result<(), ReconfigureError>> },
    Check { answer: oneshot::Sender<Liveness> },
    Stop,
}

/// Why a module is not restarted on request.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RestartError {
    /// There is no module of that name.
    #[error("there is no module `{name}`; there are: {}", .known.join(", "))]
    Unknown {
        /// What was asked for.
        name: String,
        /// What could have been.
        known: Vec<String>,
    },
    /// Its old tasks are still there.
    #[error("module `{name}` is stuck: tasks of it block their threads; restart the process")]
    Stuck {
        /// The module.
        name: String,
    },
    /// The process is on its way out.
    #[error("the supervisor is stopping; a restart would come too late")]
    Stopping,
}

/// Why a new configuration was not taken over.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReconfigureError {
    /// It is wrong; the old one stays in force.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The process is on its way out.
    #[error("the supervisor is stopping; the configuration counts from the next start on")]
    Stopping,
}

// === impl Handle ===

impl Handle {
    pub(crate) fn new(health: watch::Receiver<Health>, commands: mpsc::Sender<Command>) -> Self {
        Self { health, commands }
    }

    /// The state of all modules, and every change of it.
    pub fn health(&self) -> watch::Receiver<Health> {
        self.health.clone()
    }

    /// Tears a module down and starts it afresh, together with those that require it. Also starts one that
    /// has failed for good, and ends a wait. Counts as no failure, and the next wait is the first again.
    ///
    /// Returns as soon as it is under way; what comes of it is in [`health`](Self::health).
    ///
    /// # Errors
    /// If there is no such module, or none that could be restarted.
    pub async fn restart(&self, name: &str) -> Result<(), RestartError> {
        let name = name.to_owned();
        self.ask(|answer| Command::Restart { name, answer }).await.unwrap_or(Err(RestartError::Stopping))
    }

    /// Puts a new configuration in force, from the next decision about each module on (its stop deadline from
    /// its next start on). Modules that had failed for good are tried again.
    ///
    /// # Errors
    /// If the configuration is wrong. Nothing has changed then.
    pub async fn reconfigure(&self, config: Config) -> Result<(), ReconfigureError> {
        self.ask(|answer| Command::Reconfigure { config, answer })
            .await
            .unwrap_or(Err(ReconfigureError::Stopping))
    }

    /// Asks the supervisor itself whether init's watchdog should be fed.
    ///
    /// Other than the value in [`health`](Self::health) this cannot be stale: a supervisor that does not get
    /// to run does not answer, so whoever awaits this before feeding the watchdog does not feed it.
    pub async fn check(&self) -> Liveness {
        self.ask(|answer| Command::Check { answer }).await.unwrap_or(Liveness::Gone)
    }

    /// Stops all modules in reverse order. [`Supervisor::run`](crate::Supervisor::run)
    /// returns when they are gone.
    pub async fn stop(&self) {
        // If there is nobody to tell, it has stopped already.
        let _ = self.commands.send(Command::Stop).await;
    }

    /// `None` if the supervisor is gone.
    async fn ask<T>(&self, command: impl FnOnce(oneshot::Sender<T>) -> Command) -> Option<T> {
        let (answer, answered) = oneshot::channel();
        self.commands.send(command(answer)).await.ok()?;
        answered.await.ok()
    }
}
