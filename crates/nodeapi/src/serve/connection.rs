//! One connection, and the loop that takes them in.

use std::collections::HashMap;
use std::convert::Infallible;
use std::future::Future;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;
use tracing::{debug, warn};

use super::socket::Socket;
use crate::caller::Peer;
use crate::rights::peer;

/// How long a connection may wait for its next request.
const IDLE: Duration = Duration::from_secs(90);
/// How many connections one listener has at once.
const MOST: usize = 256;
/// How many of them one user has: a program that forgets to close its streams locks out itself alone.
const MOST_OF_ONE: usize = 64;
/// The longest head of a request, and what is read of a body at once.
const BUFFER: usize = 16 * 1024;

/// Where connections come from.
pub(super) trait Acceptor: Send + 'static {
    type Stream: AsyncRead + AsyncWrite + Send + Unpin + 'static;

    /// The next connection, and who it is.
    fn next(&self) -> impl Future<Output = io::Result<(Self::Stream, Peer)>> + Send;
}

/// Takes connections until it is stopped.
pub(super) async fn accept<A: Acceptor>(
    acceptor: A,
    router: Router,
    stop: CancellationToken,
    farewell: Duration,
) {
    let mut connections = JoinSet::new();
    let mut users: HashMap<Option<u32>, Arc<Semaphore>> = HashMap::new();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            accepted = acceptor.next(), if connections.len() < MOST => match accepted {
                Ok((stream, peer)) => {
                    let user = users.entry(uid(&peer)).or_insert_with(|| Arc::new(Semaphore::new(MOST_OF_ONE)));
                    let Ok(place) = Arc::clone(user).try_acquire_owned() else {
                        warn!(?peer, "refusing a connection: this user has too many");
                        continue;
                    };
                    let (router, stop) = (router.clone(), stop.clone());
                    connections.spawn(async move {
                        serve(stream, peer, router, &stop).await;
                        drop(place);
                    });
                }
                Err(error) => {
                    // Mostly too many open files: taking no more for a moment lets some go.
                    warn!(%error, "cannot accept a connection");
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    drop(acceptor);
    let _ = timeout(farewell, async { while connections.join_next().await.is_some() {} }).await;
}

async fn serve<S>(stream: S, peer: Peer, router: Router, stop: &CancellationToken)
where
    S: AsyncRead + AsyncWrite + Send + Unpin + 'static,
{
    let service = service_fn(move |request: Request<Incoming>| {
        let (router, peer) = (router.clone(), peer.clone());
        async move {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            router.oneshot(request).await.map_err(|error: Infallible| error)
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(BUFFER);
    let connection = builder.serve_connection(TokioIo::new(stream), service);
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        debug!(%error, "a connection ended");
    }
}

const fn uid(peer: &Peer) -> Option<u32> {
    match peer {
        Peer::Known(known) => Some(known.uid),
        Peer::Unknown => None,
    }
}

// === impl Acceptor ===

impl Acceptor for Socket {
    type Stream = UnixStream;

    async fn next(&self) -> io::Result<(UnixStream, Peer)> {
        let (stream, _) = self.listener().accept().await?;
        let peer = peer::of_unix(&stream);
        Ok((stream, peer))
    }
}

impl Acceptor for (TcpListener, SocketAddr) {
    type Stream = TcpStream;

    async fn next(&self) -> io::Result<(TcpStream, Peer)> {
        let (stream, theirs) = self.0.accept().await?;
        let _ = stream.set_nodelay(true);
        // The connection's own end: a listener on all of 127.0.0.0/8 has many.
        let ours = stream.local_addr().unwrap_or(self.1);
        Ok((stream, peer::of_tcp(ours, theirs)))
    }
}
