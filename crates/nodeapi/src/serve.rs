//! The sockets: bound safely, limited in everything, and ended so that answers under way still arrive.
//!
//! HTTP/1.1 only, with small buffers: the agent runs on machines where a megabyte counts. Connections are counted by user,
//! so that one user's forgotten event streams lock nobody else out.

mod connection;
mod port;
mod socket;

#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use crate::compat::Compat;
use crate::node::Node;
use crate::rights::{Rights, UnknownGroup};
use crate::routes;
use connection::accept;
use socket::Socket;

pub use port::Port;

/// How long answers may take to finish when the server ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Server<N> {
    node: N,
    rights: Rights,
    socket: Socket,
}

/// Why a socket could not be bound.
#[derive(Debug, thiserror::Error)]
pub enum BindError {
    /// The configured group does not exist.
    #[error(transparent)]
    Group(#[from] UnknownGroup),
    /// Somebody answers there.
    #[error("another agent answers on {0}: stop it first")]
    InUse(PathBuf),
    /// The system says no.
    #[error("cannot listen on {path}: {what}")]
    Socket {
        /// The path of the socket.
        path: PathBuf,
        /// What was being done.
        what: &'static str,
        /// What the system says.
        source: std::io::Error,
    },
    /// A compatible API would be open to the network.
    #[error("{0} answers on loopback only, and {1} is not: who calls is known on this machine alone")]
    NotLoopback(Compat, SocketAddr),
    /// The port is taken.
    #[error("cannot listen on {address} for {compat}: is the original still running there?")]
    Port {
        /// For whose clients.
        compat: Compat,
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
}

// === impl Server ===

impl<N: Node> Server<N> {
    /// Takes the unix socket. Members of the group may open it and change things, beside root and the agent's user.
    ///
    /// # Errors
    /// If it is in use or may not be bound, or if there is no such group.
    pub async fn bind(node: N, socket: &Path, group: Option<&str>) -> Result<Self, BindError> {
        let rights = Rights::new(group)?;
        let socket = Socket::bind(socket, rights.group()).await?;
        Ok(Self { node, rights, socket })
    }

    /// Answers until it is stopped. Requests under way then have two seconds; a freeze that still waits is not taken back.
    pub async fn run(self, stop: CancellationToken) {
        let Self { node, rights, socket } = self;
        accept(socket, routes::router(node, rights, stop.clone()), stop, FAREWELL).await;
    }
}
