//! The client: a method for each path of the node API.

mod static_pods;

use std::path::{Path, PathBuf};
use std::time::Duration;

use http::Method;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use safepoint_api::local::{
    ChangeList, FreezeState, Hold, HoldDropped, HoldList, HoldTaken, LogPage, ModuleList, NodeStatus,
    Overriding, Release, Released, RenewHold, TakeFreeze, TakeHold, Why,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::events::Events;
use crate::transport::{self, Ask};
use crate::{Error, socket};

/// How long an answer may take. The agent answers in milliseconds; a minute is for machines in trouble.
const PATIENCE: Duration = Duration::from_secs(60);

/// What may stand in a name as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');

/// Speaks to the agent of this machine. Cheap to make and to clone; nothing is connected until something is asked.
///
/// ```no_run
/// # async fn look() -> Result<(), safepoint_sdk::Error> {
/// let agent = safepoint_sdk::Client::new();
/// for change in agent.changes().await?.items {
///     println!("{}/{}: {}", change.namespace, change.name, change.why);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Client {
    socket: PathBuf,
}

// === impl Client ===

impl Default for Client {
    fn default() -> Self {
        Self::new()
    }
}

impl Client {
    /// The agent of this machine, wherever its [socket](socket()) is.
    #[must_use]
    pub fn new() -> Self {
        Self { socket: socket() }
    }

    /// The agent at this socket.
    #[must_use]
    pub fn at(socket: impl Into<PathBuf>) -> Self {
        Self { socket: socket.into() }
    }

    /// The socket.
    #[must_use]
    pub fn socket(&self) -> &Path {
        &self.socket
    }

    /// What the gate does and why.
    ///
    /// # Errors
    /// If the agent cannot be reached or does not answer.
    pub async fn status(&self) -> Result<NodeStatus, Error> {
        self.get("/v1/status").await
    }

    /// What waits, oldest first.
    ///
    /// # Errors
    /// If the agent cannot be reached or does not answer.
    pub async fn changes(&self) -> Result<ChangeList, Error> {
        self.get("/v1/changes").await
    }

    /// Why a pod waits, or that it does not.
    ///
    /// # Errors
    /// `NotFound` if the agent does not know the pod.
    pub async fn why(&self, namespace: &str, pod: &str) -> Result<Why, Error> {
        self.get(&format!("/v1/why/{}/{}", name(namespace), name(pod))).await
    }

    /// Who holds, oldest first.
    ///
    /// # Errors
    /// If the agent cannot be reached or does not answer.
    pub async fn holds(&self) -> Result<HoldList, Error> {
        self.get("/v1/holds").await
    }

    /// Takes a hold that nobody renews. A program wants a [`Hold`](crate::Hold), which renews itself.
    ///
    /// # Errors
    /// `NameTaken` if another holder uses the id, `Overridden` if it was overridden; `BadRequest`, `Forbidden`.
    pub async fn take_hold(&self, hold: &TakeHold) -> Result<HoldTaken, Error> {
        self.send(Method::POST, "/v1/holds", hold).await
    }

    /// Shows that the holder lives; takes an orphaned hold up again.
    ///
    /// # Errors
    /// `NotFound` if the hold is gone, `NameTaken` if it is somebody else's.
    pub async fn renew_hold(&self, id: &str, renew: &RenewHold) -> Result<Hold, Error> {
        self.send(Method::PUT, &format!("/v1/holds/{}", name(id)), renew).await
    }

    /// Ends a hold, or puts one of the cluster's out of force for a while.
    ///
    /// # Errors
    /// `NotFound` if there is none, `Vetoed` if it is the cluster's and nothing is overridden.
    pub async fn drop_hold(&self, id: &str, overriding: &Overriding) -> Result<HoldDropped, Error> {
        self.send(Method::DELETE, &format!("/v1/holds/{}", name(id)), overriding).await
    }

    /// Whether the node is frozen, and by whom.
    ///
    /// # Errors
    /// If the agent cannot be reached or does not answer.
    pub async fn freeze_state(&self) -> Result<FreezeState, Error> {
        self.get("/v1/freeze").await
    }

    /// Freezes the node. Waits until it is frozen or cannot be, at most as long as the freeze's deadline.
    ///
    /// # Errors
    /// `Unsettled`, with every blocker, if the node did not settle in time.
    pub async fn freeze(&self, freeze: &TakeFreeze) -> Result<FreezeState, Error> {
        let settling = freeze.deadline.map_or(Duration::ZERO, Duration::from);
        let body = transport::json(freeze)?;
        let patience = PATIENCE.saturating_add(settling);
        transport::ask(self.asking(Method::POST, "/v1/freeze", Some(body), patience)).await
    }

    /// Ends every freeze of this machine. Where the cluster keeps it frozen, the answer says so.
    ///
    /// # Errors
    /// `Vetoed` if only the cluster freezes it and nothing is overridden.
    pub async fn thaw(&self, overriding: &Overriding) -> Result<FreezeState, Error> {
        self.send(Method::DELETE, "/v1/freeze", overriding).await
    }

    /// Lets pending upgrades through.
    ///
    /// # Errors
    /// `NothingHeld`, `Frozen`, `Held`, `Vetoed`, `AnotherRevision`, `NotFound`.
    pub async fn release(&self, release: &Release) -> Result<Released, Error> {
        self.send(Method::POST, "/v1/releases", release).await
    }

    /// The parts of the agent.
    ///
    /// # Errors
    /// If the agent cannot be reached or does not answer.
    pub async fn modules(&self) -> Result<ModuleList, Error> {
        self.get("/v1/modules").await
    }

    /// Starts a part of the agent afresh. Returns when that was begun.
    ///
    /// # Errors
    /// `NotFound` if there is no such module.
    pub async fn restart_module(&self, module: &str) -> Result<(), Error> {
        let path = format!("/v1/modules/{}/restart", name(module));
        transport::text(self.asking(Method::POST, &path, None, PATIENCE)).await.map(drop)
    }

    /// At most `limit` lines of the audit log, 1000 at most, after the line of this number.
    ///
    /// # Errors
    /// If the agent cannot be reached or cannot read its log.
    pub async fn log(&self, after: u64, limit: usize) -> Result<LogPage, Error> {
        self.get(&format!("/v1/log?after={after}&limit={limit}")).await
    }

    /// What happens from now on, as it happens.
    ///
    /// # Errors
    /// If the agent cannot be reached.
    pub async fn events(&self) -> Result<Events, Error> {
        let (body, driver) = transport::open(self.asking(Method::GET, "/v1/events", None, PATIENCE)).await?;
        Ok(Events::new(self.socket.clone(), body, driver))
    }

    /// What the agent counts, in the text form of Prometheus.
    ///
    /// # Errors
    /// If the agent cannot be reached.
    pub async fn metrics(&self) -> Result<String, Error> {
        transport::text(self.asking(Method::GET, "/metrics", None, PATIENCE)).await
    }

    async fn get<T: DeserializeOwned>(&self, path: &str) -> Result<T, Error> {
        transport::ask(self.asking(Method::GET, path, None, PATIENCE)).await
    }

    async fn send<T: DeserializeOwned>(
        &self,
        method: Method,
        path: &str,
        body: &impl Serialize,
    ) -> Result<T, Error> {
        let body = transport::json(body)?;
        transport::ask(self.asking(method, path, Some(body), PATIENCE)).await
    }

    fn asking<'a>(
        &'a self,
        method: Method,
        path: &'a str,
        body: Option<Vec<u8>>,
        patience: Duration,
    ) -> Ask<'a> {
        Ask { socket: &self.socket, method, path, body, patience }
    }
}

/// A name as it stands in a path.
pub(crate) fn name(name: &str) -> String {
    utf8_percent_encode(name, PLAIN).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_never_changes_the_path_it_stands_in() {
        assert_eq!(name("web-1.a_b~c"), "web-1.a_b~c");
        assert_eq!(name("../../x?y#z z"), "..%2F..%2Fx%3Fy%23z%20z");
    }
}
