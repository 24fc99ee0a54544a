//! One connection.

use std::time::Duration;

use axum::{Extension, Router};
use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use hyper_util::service::TowerToHyperService;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::awaited::Awaited;
use crate::crowd::Caller;

/// A client that has not finished its handshake, or has not begun then, is let go.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection without HTTP/2 may wait for its next request, or for the rest of its head.
const IDLE: Duration = Duration::from_secs(90);
/// How often a client with HTTP/2 has to show that it is still there.
const STILL_THERE: Duration = Duration::from_secs(30);
/// What the head of a request may weigh: tokens are long.
const HEAD: usize = 64 << 10;
/// What a request may send before it is read, one and all of a connection together.
const STREAM_WINDOW: u32 = 64 << 10;
const CONNECTION_WINDOW: u32 = 256 << 10;
/// What a client with HTTP/2 sends first.
const PREFACE: usize = 24;

pub(crate) async fn serve(
    stream: TcpStream,
    tls: Option<TlsAcceptor>,
    router: Router,
    caller: Caller,
    streams: u32,
    stop: CancellationToken,
) {
    let _ = stream.set_nodelay(true);
    let router = router.layer(Extension(caller));
    let Some(tls) = tls else { return http1(stream, router, &stop).await };
    let Ok(Ok(stream)) = timeout(PATIENCE, tls.accept(stream)).await else { return };
    match stream.get_ref().1.alpn_protocol() {
        Some(b"h2") => http2(stream, router, streams, &stop).await,
        _ => http1(stream, router, &stop).await,
    }
}

async fn http1<S>(stream: S, router: Router, stop: &CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(HEAD);
    let io = TokioIo::new(Awaited::new(stream, 1, PATIENCE));
    until_stopped(builder.serve_connection(io, TowerToHyperService::new(router)), stop).await;
}

async fn http2<S>(stream: S, router: Router, streams: u32, stop: &CancellationToken)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .keep_alive_interval(Some(STILL_THERE))
        .max_concurrent_streams(streams)
        .initial_stream_window_size(STREAM_WINDOW)
        .initial_connection_window_size(CONNECTION_WINDOW)
        .max_header_list_size(HEAD as u32);
    let io = TokioIo::new(Awaited::new(stream, PREFACE, PATIENCE));
    until_stopped(builder.serve_connection(io, TowerToHyperService::new(router)), stop).await;
}

/// Serves a connection until it ends; once the server stops, until its last answer is sent.
async fn until_stopped<C: GracefulConnection>(connection: C, stop: &CancellationToken)
where
    C::Error: std::fmt::Display,
{
    tokio::pin!(connection);
    let ended = tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Err(error) = ended {
        tracing::debug!(%error, "a connection ended");
    }
}
