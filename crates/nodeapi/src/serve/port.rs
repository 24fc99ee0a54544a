//! A loopback port for the clients of another system, by itself: one that is taken costs nobody else anything.

use std::net::SocketAddr;

use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use super::connection::accept;
use super::{BindError, FAREWELL};
use crate::compat::{self, Compat};
use crate::node::Node;
use crate::rights::Rights;

/// A port that listens and does not answer yet.
#[derive(Debug)]
pub struct Port<N> {
    node: N,
    rights: Rights,
    compat: Compat,
    listener: TcpListener,
    address: SocketAddr,
}

// === impl Port ===

impl<N: Node> Port<N> {
    /// Takes the port. Port 0 lets the system pick one. Members of the group may change things, beside root and the
    /// agent's user.
    ///
    /// # Errors
    /// If it is in use or not on loopback, or if there is no such group.
    pub async fn bind(
        node: N,
        compat: Compat,
        address: SocketAddr,
        group: Option<&str>,
    ) -> Result<Self, BindError> {
        let rights = Rights::new(group)?;
        if !address.ip().is_loopback() {
            return Err(BindError::NotLoopback(compat, address));
        }
        let taken = |source| BindError::Port { compat, address, source };
        let listener = TcpListener::bind(address).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        Ok(Self { node, rights, compat, listener, address })
    }

    /// The address that was taken.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// Answers until it is stopped.
    pub async fn run(self, stop: CancellationToken) {
        let Self { node, rights, compat, listener, address } = self;
        tracing::info!(%compat, %address, "answering clients of another system");
        accept((listener, address), compat::router(compat, node, rights), stop, FAREWELL).await;
    }
}
