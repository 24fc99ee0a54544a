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
use std::path::PathBuf;
use std::time::Duration;

use safepoint_api::names::safepoint::SOCKET;
use tokio::task::JoinSet;
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

/// Where to listen. The default is the unix socket alone, for root and the agent's user.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Listen {
    /// The unix socket.
    pub socket: PathBuf,
    /// Whose members may open the socket and change things, beside root and the agent's user.
    pub group: Option<String>,
    /// Where to answer KubeEdge's clients, usually on port 10550.
    pub kubeedge: Option<SocketAddr>,
    /// Where to answer OpenYurt's clients, usually on port 10267.
    pub yurthub: Option<SocketAddr>,
    /// Where to answer Open Horizon's clients, usually on port 8510.
    pub horizon: Option<SocketAddr>,
}

/// A server that listens and does not answer yet.
#[derive(Debug)]
pub struct Server<N> {
    node: N,
    rights: Rights,
    socket: Socket,
    ports: Vec<Port<N>>,
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

// === impl Listen ===

impl Default for Listen {
    fn default() -> Self {
        Self { socket: SOCKET.into(), group: None, kubeedge: None, yurthub: None, horizon: None }
    }
}

// === impl Server ===

impl<N: Node> Server<N> {
    /// Takes the sockets.
    ///
    /// # Errors
    /// If one of them is in use, may not be bound, or would be open to the network.
    pub async fn bind(node: N, listen: &Listen) -> Result<Self, BindError> {
        let rights = Rights::new(listen.group.as_deref())?;
        let wanted = [
            (Compat::KubeEdge, listen.kubeedge),
            (Compat::YurtHub, listen.yurthub),
            (Compat::Horizon, listen.horizon),
        ];
        let mut ports = Vec::new();
        for (compat, address) in wanted {
            let Some(address) = address else { continue };
            ports.push(Port::with_rights(node.clone(), compat, address, rights.clone()).await?);
        }
        // Last: while this fails, the socket of another agent is left alone.
        let socket = Socket::bind(&listen.socket, rights.group()).await?;
        Ok(Self { node, rights, socket, ports })
    }

    /// Where a compatible API listens, if it does.
    #[must_use]
    pub fn port(&self, compat: Compat) -> Option<SocketAddr> {
        self.ports.iter().find(|port| port.compat() == compat).map(Port::address)
    }

    /// Answers until it is stopped. Requests under way then have two seconds; a freeze that still waits is not taken back.
    pub async fn run(self, stop: CancellationToken) {
        let Self { node, rights, socket, ports } = self;
        let stop = stop.child_token();
        let mut listeners = JoinSet::new();
        let native = routes::router(node, rights, stop.clone());
        listeners.spawn(accept(socket, native, stop.clone(), FAREWELL));
        for port in ports {
            listeners.spawn(port.run(stop.clone()));
        }
        // One that ends by mistake ends all: whoever runs this server starts it again.
        let _ = listeners.join_next().await;
        stop.cancel();
        while listeners.join_next().await.is_some() {}
    }
}
