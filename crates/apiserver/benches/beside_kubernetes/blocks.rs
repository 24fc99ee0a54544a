//! The two servers, and how they take turns.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{Method, StatusCode};

use super::client::Access;
use super::kubernetes::Recipe;
use super::process::Process;
use super::safepoint::Binary;

/// Something for each of the two.
pub(crate) struct Pair<T> {
    pub(crate) safepoint: T,
    pub(crate) kubernetes: T,
}

/// How to start one of them.
pub(crate) enum Side {
    Safepoint(Binary),
    Kubernetes(Recipe),
}

/// One of them, running.
pub(crate) struct Server {
    processes: Vec<Process>,
    pub(crate) access: Access,
}

// === impl Pair ===

impl<T> Pair<T> {
    pub(crate) fn of(safepoint: T, kubernetes: T) -> Pair<T> {
        Pair { safepoint, kubernetes }
    }

    /// Does the same to one, then to the other.
    pub(crate) async fn try_map<U>(&self, work: impl AsyncFn(&T) -> Result<U>) -> Result<Pair<U>> {
        let safepoint = work(&self.safepoint).await.context("Safepoint")?;
        let kubernetes = work(&self.kubernetes).await.context("Kubernetes")?;
        Ok(Pair { safepoint, kubernetes })
    }

    /// The same for things that change.
    pub(crate) async fn try_map_mut<U>(
        &mut self,
        mut work: impl AsyncFnMut(&mut T) -> Result<U>,
    ) -> Result<Pair<U>> {
        let safepoint = work(&mut self.safepoint).await.context("Safepoint")?;
        let kubernetes = work(&mut self.kubernetes).await.context("Kubernetes")?;
        Ok(Pair { safepoint, kubernetes })
    }
}

// === impl Side ===

impl Side {
    pub(crate) fn name(&self) -> &'static str {
        match self {
            Side::Safepoint(_) => "safepoint",
            Side::Kubernetes(_) => "kubernetes",
        }
    }

    /// Starts it and waits until it says over TLS that it is ready.
    pub(crate) async fn start(&self, data: &Path) -> Result<Server> {
        let (processes, access) = match self {
            Side::Safepoint(binary) => binary.start(data)?,
            Side::Kubernetes(recipe) => recipe.start(data).await?,
        };
        let server = Server { processes, access };
        while !server.is_ready().await {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        Ok(server)
    }
}

// === impl Server ===

impl Server {
    async fn is_ready(&self) -> bool {
        let Ok(mut connection) = self.access.connect().await else { return false };
        let answer = connection.ask(Method::GET, "/readyz", Bytes::new()).await;
        answer.is_ok_and(|(status, _)| status == StatusCode::OK)
    }

    /// The memory of all its processes, in MiB.
    pub(crate) fn memory(&self) -> Result<f64> {
        self.processes.iter().map(Process::memory).sum()
    }
}
