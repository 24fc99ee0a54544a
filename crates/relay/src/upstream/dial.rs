//! Opens a connection: name, TCP, TLS, and the first words of HTTP.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use http::Uri;
use hyper::client::conn::{http1, http2};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::connection::{Connection, Sender};
use super::health::Lesson;
use super::hearing::Hearing;
use super::identity::Credentials;
use super::pace::Pace;
use crate::causes::{is_refusal, with_causes};
use crate::source::FileError;
use crate::spawn::Spawn;
use crate::status::BoxError;
use crate::tls::H2;
use crate::watched::Edition;
use crate::{Kubeconfig, Source};

/// What the other side may send us before we have read what it sent. All streams of a connection share the second, so one
/// that is not read holds up the others only after four such; a megabyte is what a connection can cost.
const STREAM_WINDOW: u32 = 256 << 10;
const CONNECTION_WINDOW: u32 = 1 << 20;
/// What waits of one request's body until the other side takes it.
const SEND_BUFFER: usize = 64 << 10;
/// What the headers of an answer may weigh.
const HEADERS: u32 = 256 << 10;

/// Opens connections to one server.
pub(super) struct Dialer {
    uri: Uri,
    name: ServerName<'static>,
    tcp: HttpConnector,
    connect: Duration,
    ping: Duration,
    /// How much has come over all connections.
    heard: Arc<AtomicU64>,
    /// Given to every connection.
    trouble: Arc<Notify>,
}

/// On the heap: hyper makes every task of a connection as large as the largest, which holds this.
type Stream = TokioIo<Box<TlsStream<Hearing<TcpStream>>>>;

// === impl Dialer ===

impl Dialer {
    pub(super) fn new(
        uri: &Uri,
        config: &Kubeconfig,
        pace: &Pace,
        trouble: Arc<Notify>,
    ) -> Result<Self, FileError> {
        let inline = Source::Bytes(Vec::new());
        let name = match (&config.server_name, uri.host()) {
            (Some(name), _) => name,
            (None, Some(host)) => host.trim_start_matches('[').trim_end_matches(']'),
            (None, None) => return Err(inline.bad(format!("server {uri} has no host"))),
        };
        let name = ServerName::try_from(name.to_owned())
            .map_err(|error| inline.bad(format!("server name {name:?}: {error}")))?;
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        tcp.set_connect_timeout(Some(pace.connect));
        // HTTP/1.1 has no pings of its own, and an open watch sends nothing.
        tcp.set_keepalive(Some(pace.ping));
        tcp.set_keepalive_interval(Some(pace.ping / 4));
        tcp.set_keepalive_retries(Some(2));
        let heard = Arc::new(AtomicU64::new(0));
        Ok(Self { uri: uri.clone(), name, tcp, connect: pace.connect, ping: pace.ping, heard, trouble })
    }

    pub(super) const fn heard(&self) -> &Arc<AtomicU64> {
        &self.heard
    }

    /// Opens a connection that lives as long as the token at most.
    pub(super) async fn dial(
        &self,
        identity: &Edition<Credentials>,
        life: CancellationToken,
    ) -> Result<Connection, Lesson> {
        let guard = life.clone().drop_guard();
        match timeout(self.connect, self.open(identity, life)).await {
            Ok(Ok(connection)) => {
                guard.disarm();
                Ok(connection)
            }
            Ok(Err(error)) if is_refusal(&*error) => Err(Lesson::Refuses(with_causes(&*error))),
            Ok(Err(error)) => Err(Lesson::Silent(with_causes(&*error))),
            Err(_) => Err(Lesson::Silent(format!("no connection within {:?}", self.connect))),
        }
    }

    async fn open(
        &self,
        identity: &Edition<Credentials>,
        life: CancellationToken,
    ) -> Result<Connection, BoxError> {
        let tcp = self.tcp.clone().oneshot(self.uri.clone()).await?.into_inner();
        let tls = TlsConnector::from(Arc::clone(&identity.value.tls));
        let mut stream = tls.connect(self.name.clone(), Hearing::new(tcp)).await?;
        let is_http2 = stream.get_ref().1.alpn_protocol() == Some(H2);
        let heard = Arc::new(AtomicU64::new(0));
        stream.get_mut().0.count([Arc::clone(&heard), Arc::clone(&self.heard)]);
        let stream = TokioIo::new(Box::new(stream));
        let sender = match is_http2 {
            true => self.http2(stream, &life).await?,
            false => self.http1(stream, &life).await?,
        };
        Ok(Connection::new(sender, life, heard, identity.number, Arc::clone(&self.trouble)))
    }

    async fn http2(&self, stream: Stream, life: &CancellationToken) -> Result<Sender, BoxError> {
        let spawn = Spawn(life.clone());
        let (sender, mut connection) = http2::Builder::new(spawn.clone())
            .timer(TokioTimer::new())
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .max_send_buf_size(SEND_BUFFER)
            .max_header_list_size(HEADERS)
            // None until the server has said how many it allows, see below.
            .initial_max_send_streams(0)
            // Every watch that a client drops while the server sends may count as one, and connections live for months.
            .max_local_error_reset_streams(None)
            .keep_alive_interval(self.ping)
            .keep_alive_timeout(self.ping / 2)
            .keep_alive_while_idle(true)
            .handshake(stream)
            .await?;
        // Whoever shares out streams before that number is known may share out too many, and what is too many waits for
        // a watch to end. Hyper says the number, but not when it comes. A server that never says it is of no use.
        let mut wait = Duration::from_millis(1);
        while connection.current_max_send_streams() == 0 {
            tokio::select! {
                ended = &mut connection => {
                    ended?;
                    return Err("the server has closed the connection".into());
                }
                () = sleep(wait) => wait = (wait * 2).min(Duration::from_millis(20)),
            }
        }
        let allowed = Arc::new(AtomicUsize::new(connection.current_max_send_streams()));
        let known = Arc::clone(&allowed);
        // It wakes up for every request at least, and a server seldom changes its mind.
        spawn.start(poll_fn(move |cx| {
            let polled = Pin::new(&mut connection).poll(cx);
            known.store(connection.current_max_send_streams(), Ordering::Relaxed);
            polled
        }));
        Ok(Sender::Many { sender, allowed })
    }

    async fn http1(&self, stream: Stream, life: &CancellationToken) -> Result<Sender, BoxError> {
        let (mut sender, connection) =
            http1::Builder::new().max_buf_size(SEND_BUFFER).handshake(stream).await?;
        Spawn(life.clone()).start(connection);
        sender.ready().await?;
        Ok(Sender::One(sender.into()))
    }
}
