//! One connection to an API server, the streams that are open on it, and how it ends.
//!
//! A stream is open from the moment somebody reserves it until its answer has been read or dropped. A connection that is
//! in no pool any more takes no new streams and ends by itself after the last one. One that is killed ends at once, and
//! every stream on it with an error: never as if the answer had been complete.

use std::pin::Pin;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::causes::{is_untouched, with_causes};
use crate::status::{Body, BoxError};

/// How many streams one connection gets. Servers allow 100 at the least, Go's 250; a server that allows fewer is asked for
/// four fifths of what it allows. Somebody else may share the connection's fate, such as a probe.
pub(super) const STREAMS: usize = 80;
/// How many more a probe may use: it had better ask on a connection that is in use.
pub(super) const PROBES: usize = 8;

/// A connection that can take requests.
pub(super) struct Connection {
    sender: Sender,
    open: AtomicUsize,
    /// Ends all its tasks.
    life: CancellationToken,
    /// How much has come from the other side.
    heard: Arc<AtomicU64>,
    /// Which edition of the node's identity it shows.
    pub(super) identity: u64,
    /// Tells the prober that something is wrong.
    trouble: Arc<Notify>,
}

pub(super) enum Sender {
    /// HTTP/1.1: one request at a time.
    One(Mutex<http1::SendRequest<Body>>),
    /// HTTP/2
    Many {
        sender: http2::SendRequest<Body>,
        /// How many streams the server allows.
        allowed: Arc<AtomicUsize>,
    },
}

/// The right to one stream of a connection.
pub(super) struct Slot(Arc<Connection>);

/// Why there was no answer.
pub(super) enum Failed {
    /// The connection was over before anything was sent: here is the request again.
    Unsent(Box<Request<Body>>),
    /// The server says that it has not looked at it.
    Untouched(String),
    /// The connection broke. It may have happened.
    Broken(String),
    /// The server fell silent, and the connection was given up. It may have happened, or may yet.
    Silent,
}

/// An answer's body. Holds the stream.
struct Answer {
    incoming: Incoming,
    slot: Option<Slot>,
}

// === impl Connection ===

impl Connection {
    pub(super) fn new(
        sender: Sender,
        life: CancellationToken,
        heard: Arc<AtomicU64>,
        identity: u64,
        trouble: Arc<Notify>,
    ) -> Self {
        Self { sender, open: AtomicUsize::new(0), life, heard, identity, trouble }
    }

    /// Reserves a stream, if the connection has fewer open than that and can take one. The pool's lock makes sure that
    /// nobody else does so at the same time.
    pub(super) fn reserve(self: &Arc<Self>, most: usize) -> Option<Slot> {
        let open = self.open.load(Ordering::Acquire);
        let has_room = match &self.sender {
            Sender::One(sender) => {
                open == 0 && sender.lock().unwrap_or_else(PoisonError::into_inner).is_ready()
            }
            Sender::Many { allowed, .. } => {
                let allowed = allowed.load(Ordering::Relaxed);
                open < most.min(allowed - allowed / 5)
            }
        };
        if !has_room || self.is_over() {
            return None;
        }
        self.open.fetch_add(1, Ordering::AcqRel);
        Some(Slot(Arc::clone(self)))
    }

    /// Whether it takes no more requests, because either side has said so.
    pub(super) fn is_over(&self) -> bool {
        self.life.is_cancelled()
            || match &self.sender {
                Sender::One(sender) => sender.lock().unwrap_or_else(PoisonError::into_inner).is_closed(),
                Sender::Many { sender, .. } => sender.is_closed(),
            }
    }

    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Acquire)
    }

    pub(super) const fn is_shared(&self) -> bool {
        matches!(self.sender, Sender::Many { .. })
    }

    pub(super) fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }

    pub(super) fn kill(&self) {
        self.life.cancel();
    }
}

// === impl Slot ===

impl Slot {
    pub(super) const fn connection(&self) -> &Arc<Connection> {
        &self.0
    }

    /// Whether requests on it are those of HTTP/2.
    pub(super) fn is_shared(&self) -> bool {
        self.0.is_shared()
    }

    /// Sends a request in the form that the connection's version of HTTP wants. Waits as long as the connection lives.
    pub(super) async fn send(self, request: Request<Body>) -> Result<Response<Body>, Failed> {
        let sent = match &self.0.sender {
            Sender::One(sender) => {
                let sent = sender.lock().unwrap_or_else(PoisonError::into_inner).try_send_request(request);
                sent.await
            }
            Sender::Many { sender, .. } => sender.clone().try_send_request(request).await,
        };
        match sent {
            Ok(response) => Ok(response.map(|incoming| Answer { incoming, slot: Some(self) }.boxed_unsync())),
            Err(mut failed) => {
                self.0.trouble.notify_one();
                Err(match failed.take_message() {
                    Some(request) => Failed::Unsent(Box::new(request)),
                    None if is_untouched(failed.error()) => Failed::Untouched(with_causes(failed.error())),
                    None if self.0.life.is_cancelled() => Failed::Silent,
                    None => Failed::Broken(with_causes(failed.error())),
                })
            }
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::AcqRel);
    }
}

// === impl Answer ===

impl http_body::Body for Answer {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let polled = ready!(Pin::new(&mut self.incoming).poll_frame(cx));
        let is_killed = || self.slot.as_ref().is_some_and(|slot| slot.0.life.is_cancelled());
        Poll::Ready(match polled {
            Some(Ok(frame)) => Some(Ok(frame)),
            // To HTTP/1.1 a connection that we kill looks like an answer that is complete.
            None if is_killed() => {
                self.slot = None;
                Some(Err("the API server has stopped answering".into()))
            }
            None => {
                self.slot = None;
                None
            }
            Some(Err(error)) => {
                if let Some(slot) = self.slot.take() {
                    slot.0.trouble.notify_one();
                }
                Some(Err(error.into()))
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
