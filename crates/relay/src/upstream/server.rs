//! One API server: its address, its connections, and the questions whether it is well.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{HeaderValue, Request, Response, StatusCode, Uri, header, request};
use http_body_util::BodyExt;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep, sleep_until, timeout_at};

use super::connection::{Connection, Failed, PROBES, STREAMS, Slot};
use super::dial::Dialer;
use super::health::{Board, Lesson};
use super::identity::{Credentials, Identity};
use super::pace::{Pace, about};
use super::pool::Pool;
use crate::Kubeconfig;
use crate::source::FileError;
use crate::status::{Body, empty};
use crate::watched::Edition;

/// Whether a server can do its work, which it cannot while it begins or ends, though it answers then.
const READY: &str = "/readyz";
/// What is read of the answer.
const ANSWER: usize = 64 << 10;
/// A server that sends this much while a probe waits is busy, and not dead. Pings, bookmarks and what TLS sends behind a
/// handshake are smaller.
const BUSY: u64 = 8 << 10;
/// Probes are at least so far apart, whatever goes wrong.
const GAP: Duration = Duration::from_millis(200);

pub(super) struct Server {
    /// Its place in the order of preference.
    index: usize,
    pub(super) uri: Uri,
    authority: Authority,
    host: HeaderValue,
    /// What comes before every path, without a slash at its end.
    base: String,
    pool: Arc<Pool>,
    board: Arc<Board>,
    trouble: Arc<Notify>,
    pace: Pace,
}

/// A connection on which a probe got no answer.
struct Suspect {
    connection: Arc<Connection>,
    /// How much had come over it by then.
    heard: u64,
}

// === impl Server ===

impl Server {
    pub(super) fn new(
        index: usize,
        uri: &Uri,
        config: &Kubeconfig,
        board: &Arc<Board>,
        pace: &Pace,
    ) -> Result<Self, FileError> {
        let bad = |problem: String| FileError::Content { path: "the kubeconfig".into(), problem };
        crate::kubeconfig::is_https(uri).map_err(bad)?;
        let authority = uri.authority().ok_or_else(|| bad(format!("server {uri} has no host")))?.clone();
        let host = HeaderValue::from_str(authority.as_str())
            .map_err(|_| bad(format!("server {uri} has a host that cannot be sent")))?;
        let trouble = Arc::new(Notify::new());
        let dialer = Dialer::new(uri, config, pace, Arc::clone(&trouble))?;
        Ok(Self {
            index,
            uri: uri.clone(),
            authority,
            host,
            base: uri.path().trim_end_matches('/').to_owned(),
            pool: Arc::new(Pool::new(dialer)),
            board: Arc::clone(board),
            trouble,
            pace: pace.clone(),
        })
    }

    /// A stream for a request.
    pub(super) async fn acquire(
        self: &Arc<Self>,
        identity: &Arc<Edition<Credentials>>,
    ) -> Result<Slot, Lesson> {
        let server = Arc::clone(self);
        let failed = move |lesson: &Lesson| {
            server.learn(lesson);
            server.trouble.notify_one();
        };
        self.pool.acquire(identity, failed).await
    }

    /// Sends a request over a stream.
    pub(super) async fn send(
        &self,
        slot: Slot,
        head: &request::Parts,
        body: Body,
        credentials: &Credentials,
    ) -> Result<Response<Body>, Failed> {
        let mut request = Request::new(body);
        *request.method_mut() = head.method.clone();
        *request.headers_mut() = head.headers.clone();
        *request.uri_mut() = self.address(&head.uri, slot.is_shared());
        let headers = request.headers_mut();
        headers.remove(header::HOST);
        if !slot.is_shared() {
            headers.insert(header::HOST, self.host.clone());
            if headers.contains_key(header::TE) {
                // HTTP/1.1 wants to be told that this header is for the next hop (RFC 9110, section 10.1.4).
                headers.insert(header::CONNECTION, HeaderValue::from_static("te"));
            }
        }
        if let Some(authorization) = &credentials.authorization {
            headers.insert(header::AUTHORIZATION, authorization.clone());
        }
        let response = slot.send(request).await?;
        if self.board.is_unknown(self.index) {
            self.learn(&Lesson::Answers);
        }
        Ok(response)
    }

    /// HTTP/2 sends the whole address, HTTP/1.1 the path, and the host beside it.
    fn address(&self, asked: &Uri, is_whole: bool) -> Uri {
        let asked = asked.path_and_query();
        let path = match (self.base.as_str(), asked) {
            ("", Some(asked)) => asked.clone(),
            (base, asked) => {
                let asked = asked.map_or("/", PathAndQuery::as_str);
                // Both parts are valid already. Were they not together, the server would answer for its root.
                format!("{base}{asked}").parse().unwrap_or(PathAndQuery::from_static("/"))
            }
        };
        let mut parts = http::uri::Parts::default();
        parts.path_and_query = Some(path);
        if is_whole {
            parts.scheme = Some(Scheme::HTTPS);
            parts.authority = Some(self.authority.clone());
        }
        Uri::from_parts(parts).unwrap_or_else(|_| self.uri.clone())
    }

    fn learn(&self, lesson: &Lesson) {
        if self.board.learn(self.index, lesson) {
            self.pool.kill();
        }
    }

    /// See [`Pool::tidy`].
    pub(super) fn tidy(&self, identity: &Edition<Credentials>) {
        self.pool.tidy(identity, self.pace.idle);
    }

    /// Asks the server how it is, for ever.
    pub(super) async fn probe(&self, identity: &Identity) {
        let mut suspects: Vec<Suspect> = Vec::new();
        loop {
            let (lesson, suspect) = self.ask(identity).await;
            suspects.extend(suspect);
            if lesson == Lesson::Answers {
                // A new connection works, so the silence was that of the old one: whoever waits there waits in vain.
                for Suspect { connection, heard } in suspects.drain(..) {
                    if connection.heard() == heard {
                        connection.kill();
                    }
                }
            }
            self.learn(&lesson);
            let asked = Instant::now();
            tokio::select! {
                () = sleep(about(self.board.pause(self.index, &lesson, &self.pace))) => {}
                // Of a server that is down nobody expects good news, and it gets no requests that could bring any.
                () = self.trouble.notified(), if !self.board.is_down(self.index) => {
                    sleep_until(asked + GAP).await;
                }
            }
        }
    }

    /// Asks once. If a connection was silent, it comes back with the lesson.
    async fn ask(&self, identity: &Identity) -> (Lesson, Option<Suspect>) {
        let deadline = Instant::now() + self.pace.probe;
        let edition = identity.current();
        let heard = || self.pool.dialer().heard().load(Ordering::Relaxed);
        let before = heard();
        let late = || match heard() - before > BUSY {
            true => Lesson::Busy,
            false => Lesson::Silent(format!("no answer within {:?}", self.pace.probe)),
        };
        // The second opinion comes from a connection that has nothing to do with the first.
        let is_suspect = self.board.is_suspect(self.index);
        let there = if is_suspect { None } else { self.pool.reserve(&edition, STREAMS + PROBES) };
        let slot = match there {
            Some(slot) => slot,
            None => match timeout_at(deadline, self.pool.open(&edition)).await {
                Ok(Ok(slot)) => slot,
                Ok(Err(Lesson::Silent(_))) if heard() - before > BUSY => return (Lesson::Busy, None),
                Ok(Err(lesson)) => return (lesson, None),
                Err(_) => return (late(), None),
            },
        };
        let connection = Arc::clone(slot.connection());
        let heard_there = connection.heard();
        match timeout_at(deadline, self.question(slot, &edition.value)).await {
            Ok(Ok(StatusCode::UNAUTHORIZED)) => {
                identity.doubt();
                (Lesson::Answers, None)
            }
            Ok(Ok(status)) if status.is_server_error() => {
                (Lesson::Ill(format!("it is not ready ({READY} says {status})")), None)
            }
            Ok(Ok(_)) => (Lesson::Answers, None),
            Ok(Err(why)) => {
                self.pool.retire(&connection);
                (Lesson::Silent(why), None)
            }
            Err(_) => {
                let heard = connection.heard();
                if heard - heard_there > BUSY {
                    return (late(), None);
                }
                self.pool.retire(&connection);
                (late(), Some(Suspect { connection, heard }))
            }
        }
    }

    async fn question(&self, slot: Slot, credentials: &Credentials) -> Result<StatusCode, String> {
        let mut request = Request::new(());
        *request.uri_mut() = Uri::from_static(READY);
        let agent = HeaderValue::from_static(concat!("safepoint-relay/", env!("CARGO_PKG_VERSION")));
        request.headers_mut().insert(header::USER_AGENT, agent);
        let head = request.into_parts().0;
        match self.send(slot, &head, empty(), credentials).await {
            Ok(response) => {
                let status = response.status();
                // Read to its end, so that the connection can be used again. What it says does not matter.
                let mut body = response.into_body();
                let mut rest = ANSWER;
                while let Some(Ok(frame)) = body.frame().await {
                    rest = rest.saturating_sub(frame.data_ref().map_or(0, Bytes::len));
                    if rest == 0 {
                        break;
                    }
                }
                Ok(status)
            }
            Err(Failed::Unsent(_)) => Err("it has closed the connection".into()),
            Err(Failed::Untouched(why) | Failed::Broken(why)) => Err(why),
            Err(Failed::Silent) => Err("it has stopped answering".into()),
        }
    }
}
