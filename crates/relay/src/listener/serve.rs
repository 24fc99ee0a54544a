//! The loop that lets clients in, and one connection.
//!
//! Everybody on the machine can open a connection, so what comes before the handshake is kept small and short: of too many
//! who have not shown who they are, the oldest goes, and the kubelet, which shows it within milliseconds, is not kept out.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::ServerConfig;
use tokio::net::TcpStream;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::{sleep, timeout};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::refusals::{Refusal, Refusals};
use super::{Listener, Peer};
use crate::causes::with_causes;
use crate::spawn::Spawn;
use crate::status::Body;
use crate::tls::H2;

/// How long a client may take to show who it is.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How many may be about to.
const HANDSHAKES: usize = 64;
/// How many connections there may be: a kubelet without HTTP/2 has one for every watch.
const CONNECTIONS: usize = 1024;
/// How long answers under way may take to finish when the door closes.
const FAREWELL: Duration = Duration::from_secs(2);
/// How long a connection without HTTP/2 may wait for its next request.
const IDLE: Duration = Duration::from_secs(90);
/// A kubelet has a stream for every secret and every config map of its pods.
const STREAMS: u32 = 4096;
/// What a request may send before we have passed it on, one and all together. They are small, and so are we.
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 256 << 10;
/// What waits of one answer until the client takes it.
const SEND_BUFFER: usize = 64 << 10;
/// What the headers of a request may weigh.
const HEADERS: u32 = 256 << 10;
/// The same where there is one request at a time, and what is read at once.
const BUFFER: usize = 64 << 10;

pub(super) async fn serve<S, F>(listener: Listener, service: Arc<S>, stop: CancellationToken)
where
    S: Fn(Request<Incoming>, Peer) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let Listener { listener, tls, name, refusals, .. } = listener;
    let mut handshakes = JoinSet::new();
    let mut oldest: VecDeque<AbortHandle> = VecDeque::new();
    let mut connections = JoinSet::new();
    let life = CancellationToken::new();
    let _end = life.clone().drop_guard();
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            Some(shaken) = handshakes.join_next(), if !handshakes.is_empty() => {
                let Ok(Some((stream, address))) = shaken else { continue };
                if connections.len() >= CONNECTIONS {
                    refusals.say(Refusal::Crowd, format_args!("{CONNECTIONS} connections are open"));
                    continue;
                }
                let peer = Peer { name: Arc::clone(&name), address };
                connections.spawn(connection(stream, peer, Arc::clone(&service), stop.clone(), life.clone()));
            }
            accepted = listener.accept() => match accepted {
                Ok((stream, address)) => {
                    tls.look();
                    make_room(&mut oldest, &refusals);
                    let config = Arc::clone(&tls.current().value);
                    oldest.push_back(handshakes.spawn(handshake(stream, address, config, Arc::clone(&refusals))));
                }
                Err(error) => {
                    // Mostly too many open files: taking no more for a moment lets some go.
                    warn!(%error, "cannot accept a connection");
                    sleep(Duration::from_millis(100)).await;
                }
            },
        }
    }
    drop(listener);
    handshakes.abort_all();
    let _ = timeout(FAREWELL, async { while connections.join_next().await.is_some() {} }).await;
}

fn make_room(oldest: &mut VecDeque<AbortHandle>, refusals: &Refusals) {
    oldest.retain(|handshake| !handshake.is_finished());
    if oldest.len() >= HANDSHAKES
        && let Some(handshake) = oldest.pop_front()
    {
        handshake.abort();
        refusals.say(Refusal::Crowd, format_args!("{HANDSHAKES} handshakes are under way"));
    }
}

async fn handshake(
    stream: TcpStream,
    address: SocketAddr,
    config: Arc<ServerConfig>,
    refusals: Arc<Refusals>,
) -> Option<(Box<TlsStream<TcpStream>>, SocketAddr)> {
    let _ = stream.set_nodelay(true);
    match timeout(HANDSHAKE, TlsAcceptor::from(config).accept(stream)).await {
        Ok(Ok(stream)) => Some((Box::new(stream), address)),
        Ok(Err(error)) => {
            let tls = error.get_ref().and_then(|error| error.downcast_ref::<rustls::Error>());
            match tls {
                // Whoever has looked at the certificate has told why.
                Some(rustls::Error::InvalidCertificate(_)) => {}
                Some(rustls::Error::NoCertificatesPresented) => refusals.say(Refusal::Nobody, address),
                _ => refusals.say(Refusal::Silent, format_args!("{address}: {}", with_causes(&error))),
            }
            None
        }
        Err(_) => {
            refusals.say(Refusal::Silent, format_args!("{address}: not done within {HANDSHAKE:?}"));
            None
        }
    }
}

async fn connection<S, F>(
    stream: Box<TlsStream<TcpStream>>,
    peer: Peer,
    service: Arc<S>,
    stop: CancellationToken,
    life: CancellationToken,
) where
    S: Fn(Request<Incoming>, Peer) -> F + Send + Sync + 'static,
    F: Future<Output = Response<Body>> + Send + 'static,
{
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(H2);
    let service = service_fn(move |request| {
        // On the heap: what a request needs until its answer begins is not kept for as long as a watch is open.
        let answer = Box::pin(service(request, peer.clone()));
        async move { Ok::<_, Infallible>(answer.await) }
    });
    let stream = TokioIo::new(stream);
    let ended = match is_http2 {
        true => {
            let connection = http2::Builder::new(Spawn(life))
                .timer(TokioTimer::new())
                .auto_date_header(false)
                .max_concurrent_streams(STREAMS)
                .initial_stream_window_size(STREAM_WINDOW)
                .initial_connection_window_size(CONNECTION_WINDOW)
                .max_send_buf_size(SEND_BUFFER)
                .max_header_list_size(HEADERS)
                // These guard against strangers. A kubelet that restarts drops all its watches at once.
                .max_pending_accept_reset_streams(STREAMS as usize)
                .max_local_error_reset_streams(None)
                .serve_connection(stream, service);
            tokio::pin!(connection);
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        }
        false => {
            let connection = http1::Builder::new()
                .timer(TokioTimer::new())
                .auto_date_header(false)
                .header_read_timeout(IDLE)
                .max_buf_size(BUFFER)
                .serve_connection(stream, service);
            tokio::pin!(connection);
            tokio::select! {
                ended = connection.as_mut() => ended,
                () = stop.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            }
        }
    };
    if let Err(error) = ended {
        debug!(error = with_causes(&error), "a connection ended");
    }
}
