//! HTTP for whoever comes: the loop that lets clients in, for servers that strangers can reach.
//!
//! A stranger costs little and keeps nobody out: it has to begin in time, what it sends before it is known is small, and of too
//! many strangers the oldest goes. Whoever answers says by [`Caller::is_known`] who is none.
//!
//! ```no_run
//! use axum::{Extension, Router, routing::get};
//! use safepoint_serving::{Caller, Limits, serve};
//! use tokio::net::TcpListener;
//! use tokio_util::sync::CancellationToken;
//!
//! # async fn example(listener: TcpListener, stop: CancellationToken) {
//! let hello = async |Extension(caller): Extension<Caller>| {
//!     caller.is_known();
//!     "hello"
//! };
//! serve(listener, None, Router::new().route("/", get(hello)), Limits::of(64), stop).await;
//! # }
//! ```

mod awaited;
mod connection;
mod crowd;
#[cfg(test)]
mod tests;

use std::time::Duration;

use axum::Router;
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

pub use awaited::Awaited;
pub use crowd::Caller;
use crowd::Crowd;

/// How long answers may take to finish when the server ends.
const FAREWELL: Duration = Duration::from_secs(2);

/// What clients may take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Requests at once on one connection.
    pub streams: u32,
}

// === impl Limits ===

impl Limits {
    /// So many connections, with as many requests on each as a browser has.
    #[must_use]
    pub const fn of(connections: usize) -> Self {
        Self { connections, streams: 100 }
    }
}

/// Answers until it is stopped, and then until what is under way is answered. Without TLS only HTTP/1 is spoken.
pub async fn serve(
    listener: TcpListener,
    tls: Option<TlsAcceptor>,
    router: Router,
    limits: Limits,
    stop: CancellationToken,
) {
    let mut connections = JoinSet::new();
    let mut crowd = Crowd::new(limits.connections);
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    // Dropped: everybody here is known, and there is no room for one more.
                    if !crowd.make_room() {
                        continue;
                    }
                    let caller = Caller::default();
                    let served = connection::serve(
                        stream, tls.clone(), router.clone(), caller.clone(), limits.streams, stop.clone(),
                    );
                    crowd.enter(connections.spawn(served), caller);
                }
                Err(error) => {
                    // Mostly too many open files: taking no more for a moment lets some go.
                    tracing::warn!(%error, "cannot accept a connection");
                    sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    drop(listener);
    let _ = timeout(FAREWELL, async { while connections.join_next().await.is_some() {} }).await;
}
