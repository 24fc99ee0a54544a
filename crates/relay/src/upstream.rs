//! A cluster, as one sends requests to it: one or more API servers, of which it is always known whether they answer, and
//! one identity.
//!
//! A request goes to the first server that is believed to answer. What is certain not to have happened is tried again
//! elsewhere; a read that was lost is, once; a write that was lost is not, because it may have happened. Nobody waits for a
//! server that is known to be away, and whoever waits when that becomes known waits no longer.

mod connection;
mod dial;
mod health;
mod hearing;
mod identity;
mod pace;
mod pool;
mod server;

use std::fmt;
use std::sync::Arc;

use http::{Method, Request, Response, StatusCode, Uri};
use http_body::Body as _;
use safepoint_machinery::status::Reason;
use tokio::sync::watch;
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use crate::Kubeconfig;
use crate::headers::end_to_end;
use crate::source::FileError;
use crate::status::{Body, empty, status};
use connection::Failed;
use health::Board;
use identity::Identity;
use server::Server;

pub use health::Reachable;
pub use pace::Pace;

/// How often a request is taken to another connection because the one it was meant for had just been closed. A server that
/// restarts closes all of them.
const STALE: usize = 8;

/// The API servers of a cluster, and the node's identity. Cheap to clone; the clones are one.
#[derive(Clone)]
pub struct Upstream {
    inner: Arc<Inner>,
}

struct Inner {
    servers: Vec<Arc<Server>>,
    board: Arc<Board>,
    identity: Identity,
    pace: Pace,
}

/// Why a request has no answer.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum NoAnswer {
    /// No server can be reached. The request has changed nothing.
    #[error("no API server can be reached: {0}")]
    Unreachable(String),
    /// The server took a write, and then the connection broke. Whether it happened is unknown.
    #[error("{server} did not answer ({why}): whether the request was carried out is not known")]
    Lost {
        /// Which server.
        server: Uri,
        /// What happened to the connection.
        why: String,
        /// Whether the server fell silent, as opposed to hanging up.
        is_silent: bool,
    },
    /// It cannot be sent to any server.
    #[error("the request cannot be passed on: {0}")]
    Unusable(String),
}

// === impl Upstream ===

impl Upstream {
    /// The cluster that a kubeconfig names: its server, and more of them in the order in which they are to be used.
    ///
    /// # Errors
    /// If the kubeconfig says something that cannot be used, such as a certificate that is none.
    pub fn new(config: &Kubeconfig, more_servers: &[Uri]) -> Result<Self, FileError> {
        Self::with_pace(config, more_servers, Pace::default())
    }

    /// The same, with times of one's own.
    ///
    /// # Errors
    /// As for [`Upstream::new`].
    pub fn with_pace(config: &Kubeconfig, more_servers: &[Uri], pace: Pace) -> Result<Self, FileError> {
        let uris: Vec<&Uri> = std::iter::once(config.server()).chain(more_servers).collect();
        let board = Arc::new(Board::new(uris.iter().map(|&uri| uri.clone())));
        let server = |(index, &uri)| Ok(Arc::new(Server::new(index, uri, config, &board, &pace)?));
        let servers = uris.iter().enumerate().map(server).collect::<Result<_, FileError>>()?;
        let identity = Identity::new(config)?;
        Ok(Self { inner: Arc::new(Inner { servers, board, identity, pace }) })
    }

    /// Whether the cluster can be reached, now and whenever that changes. While nobody calls [`Upstream::run`], it is only
    /// learned from requests.
    #[must_use]
    pub fn reachable(&self) -> watch::Receiver<Reachable> {
        self.inner.board.reachable()
    }

    /// Asks the servers how they are, follows the files of the identity, and lets idle connections go, until it is stopped.
    /// Requests need somebody to call this: without it nobody notices that a server has fallen silent.
    pub async fn run(&self, stop: CancellationToken) {
        let Inner { servers, identity, .. } = &*self.inner;
        let mut probes = Vec::with_capacity(servers.len());
        for server in servers {
            probes.push(server.probe(identity));
        }
        tokio::select! {
            () = stop.cancelled() => {}
            _ = futures::future::join_all(probes) => {}
            () = self.tidy() => {}
        }
    }

    async fn tidy(&self) {
        let Inner { servers, identity, pace, .. } = &*self.inner;
        let mut ticks = interval(pace.look);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            identity.look();
            let edition = identity.current();
            for server in servers {
                server.tidy(&edition);
            }
        }
    }

    /// Sends a request, and returns as soon as the head of an answer is there. The request's path is absolute, without
    /// what the server's address may have before it. Host and credentials are put in here, and headers that were meant for
    /// us only are taken out; everything else is the caller's. Dropping the future or the answer's body cancels the request.
    ///
    /// # Errors
    /// If there is no answer. What the server answers is never an error.
    pub async fn send(&self, request: Request<Body>) -> Result<Response<Body>, NoAnswer> {
        let Inner { servers, board, identity, .. } = &*self.inner;
        let (mut head, body) = request.into_parts();
        head.headers = end_to_end(&head.headers);
        if !head.uri.path().starts_with('/') || head.method == Method::CONNECT {
            return Err(NoAnswer::Unusable(format!("{} {} is no path", head.method, head.uri)));
        }
        let is_read = matches!(head.method, Method::GET | Method::HEAD | Method::OPTIONS);
        let is_repeatable = body.is_end_stream();
        let mut body = Some(body);
        let mut useless = Vec::new();
        let mut stale = 0;
        let mut is_second = false;
        loop {
            let Some(index) = board.choose(&useless) else {
                return Err(NoAnswer::Unreachable(board.complaint(&useless)));
            };
            let server = &servers[index];
            let edition = identity.current();
            let slot = match server.acquire(&edition).await {
                Ok(slot) => slot,
                Err(lesson) => {
                    useless.push((index, lesson));
                    continue;
                }
            };
            let sent = server.send(slot, &head, body.take().unwrap_or_else(empty), &edition.value).await;
            let failed = match sent {
                Ok(response) => {
                    if response.status() == StatusCode::UNAUTHORIZED {
                        identity.doubt();
                    }
                    return Ok(response);
                }
                Err(Failed::Unsent(request)) if stale < STALE => {
                    stale += 1;
                    body = Some(request.into_body());
                    continue;
                }
                Err(failed) => failed,
            };
            let is_harmless = is_read || matches!(failed, Failed::Unsent(_) | Failed::Untouched(_));
            if is_harmless && is_repeatable && !is_second {
                is_second = true;
                continue;
            }
            let (why, is_silent) = match failed {
                Failed::Unsent(_) => ("it closes every connection".into(), false),
                Failed::Untouched(why) | Failed::Broken(why) => (why, false),
                Failed::Silent => ("it has stopped answering".into(), true),
            };
            return Err(match is_harmless {
                true => NoAnswer::Unreachable(format!("{}: {why}", server.uri)),
                false => NoAnswer::Lost { server: server.uri.clone(), why, is_silent },
            });
        }
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let servers: Vec<_> = self.inner.servers.iter().map(|server| server.uri.to_string()).collect();
        f.debug_struct("Upstream").field("servers", &servers).finish_non_exhaustive()
    }
}

// === impl NoAnswer ===

impl NoAnswer {
    /// What to tell a client of Kubernetes.
    #[must_use]
    pub fn to_response(&self) -> Response<Body> {
        let (code, reason) = match self {
            Self::Unreachable(_) => (503, Reason::ServiceUnavailable),
            Self::Lost { is_silent: true, .. } => (504, Reason::Timeout),
            Self::Lost { is_silent: false, .. } => (502, Reason::Unknown),
            Self::Unusable(_) => (400, Reason::BadRequest),
        };
        status(code, reason, self.to_string())
    }
}
