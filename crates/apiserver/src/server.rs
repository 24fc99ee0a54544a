//! The API on a socket: TLS, a limit on everything, and an end that lets answers finish.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use hyper::server::conn::{http1, http2};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulConnection;
use hyper_util::service::TowerToHyperService;
use rustix::process::{Resource, getrlimit, setrlimit};
use safepoint_serving::Awaited;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use crate::api::{Api, StartError};

/// How long a connection may wait for its next request, as in Kubernetes.
const IDLE: Duration = Duration::from_secs(90);
/// A client that has not finished its handshake by then, or says nothing after it, is let go.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long answers may take to finish when the server ends.
const FAREWELL: Duration = Duration::from_secs(2);
/// How many connections there may be at once, if the system gives as many files.
const MOST_CONNECTIONS: u64 = 10_000;
/// How many requests one connection may have under way.
const MOST_STREAMS: u32 = 250;
/// The longest head of a request, which is read before anybody knows who asks. The longest tokens that are in use have
/// some ten thousand characters.
const LONGEST_HEAD: u32 = 64 * 1024;
/// What an HTTP/2 connection begins with.
const PREFACE: &str = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";
/// How often the server looks whether its certificate is due.
const RENEW_EVERY: Duration = Duration::from_secs(6 * 60 * 60);

/// Where to listen.
#[derive(Debug, Clone)]
pub struct ServerOptions {
    /// The address. Port 0 lets the system pick one.
    pub listen: SocketAddr,
}

impl Default for ServerOptions {
    /// On the loopback, on a port that the system picks.
    fn default() -> ServerOptions {
        ServerOptions { listen: SocketAddr::from(([127, 0, 0, 1], 0)) }
    }
}

/// A server that listens and does not answer yet.
pub struct Server {
    api: Api,
    listener: TcpListener,
    address: SocketAddr,
}

impl Server {
    /// Takes the address.
    ///
    /// # Errors
    ///
    /// If it is in use or not of this machine.
    pub async fn bind(api: Api, options: &ServerOptions) -> Result<Server, StartError> {
        let listen = |source| StartError::Listen { address: options.listen, source };
        let listener = TcpListener::bind(options.listen).await.map_err(listen)?;
        let address = listener.local_addr().map_err(listen)?;
        Ok(Server { api, listener, address })
    }

    /// The address that was taken.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How clients on this machine call it.
    pub fn url(&self) -> String {
        let host = if self.address.ip().is_unspecified() {
            "127.0.0.1".to_owned()
        } else {
            self.address.ip().to_string()
        };
        let host = if self.address.is_ipv6() && !self.address.ip().is_unspecified() {
            format!("[{host}]")
        } else {
            host
        };
        format!("https://{host}:{}", self.address.port())
    }

    /// Answers until it is stopped, and runs the controllers meanwhile.
    pub async fn run(self, stop: CancellationToken) {
        let acceptor = TlsAcceptor::from(Arc::new(self.api.0.identity.authority.server_config()));
        let mut connections = JoinSet::new();
        let most = most_connections();
        // In tasks of their own: nobody who connects waits for them.
        let mut background = JoinSet::new();
        let (api, ended) = (self.api.clone(), stop.clone());
        background.spawn(async move { api.run_controllers(ended).await });
        background.spawn(renew(self.api.clone()));
        loop {
            tokio::select! {
                () = stop.cancelled() => break,
                // They end only by mistake. Whoever runs this server starts it again.
                Some(_) = background.join_next() => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = self.listener.accept(), if connections.len() < most => match accepted {
                    Ok((stream, peer)) => {
                        connections.spawn(serve(self.api.clone(), acceptor.clone(), stream, peer, stop.clone()));
                    }
                    Err(error) => {
                        // Mostly too many open files: taking no more for a moment lets some go.
                        warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
        drop(self.listener);
        let _ = timeout(FAREWELL, async { while connections.join_next().await.is_some() {} }).await;
    }
}

/// Asks the system for as many files as it gives, and leaves some for the store and for webhooks.
fn most_connections() -> usize {
    let mut files = getrlimit(Resource::Nofile);
    files.current = files.maximum;
    // If it is refused, there are as many as there were.
    let _ = setrlimit(Resource::Nofile, files);
    let files = getrlimit(Resource::Nofile).current.unwrap_or(u64::MAX);
    usize::try_from(MOST_CONNECTIONS.min(files / 4 * 3)).unwrap_or(usize::MAX)
}

async fn serve(
    api: Api,
    acceptor: TlsAcceptor,
    stream: TcpStream,
    peer: SocketAddr,
    stop: CancellationToken,
) {
    // A watch event is small and somebody waits for it.
    let _ = stream.set_nodelay(true);
    let stream = match timeout(PATIENCE, acceptor.accept(stream)).await {
        Ok(Ok(stream)) => stream,
        Ok(Err(error)) => return debug!(%peer, %error, "a TLS handshake failed"),
        Err(_) => return debug!(%peer, "a TLS handshake took too long"),
    };
    let is_http2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    let service = TowerToHyperService::new(api.guarded_router());
    let ended = if is_http2 {
        let builder = http2();
        let io = TokioIo::new(Awaited::new(stream, PREFACE.len(), PATIENCE));
        until_stopped(builder.serve_connection(io, service), &stop).await
    } else {
        let builder = http1();
        let io = TokioIo::new(Awaited::new(stream, 1, PATIENCE));
        until_stopped(builder.serve_connection(io, service), &stop).await
    };
    if let Err(error) = ended {
        debug!(%peer, %error, "a connection ended");
    }
}

fn http1() -> http1::Builder {
    let mut builder = http1::Builder::new();
    // The timeout runs while a connection waits for its next request, too, and clients keep them for later.
    builder.timer(TokioTimer::new()).header_read_timeout(IDLE).max_buf_size(LONGEST_HEAD as usize);
    builder
}

fn http2() -> http2::Builder<TokioExecutor> {
    let mut builder = http2::Builder::new(TokioExecutor::new());
    builder
        .timer(TokioTimer::new())
        .max_concurrent_streams(MOST_STREAMS)
        .max_header_list_size(LONGEST_HEAD)
        .keep_alive_interval(Some(Duration::from_secs(30)));
    builder
}

/// Serves a connection until it ends; once the server stops, until its last answer is sent.
async fn until_stopped<C: GracefulConnection>(
    connection: C,
    stop: &CancellationToken,
) -> Result<(), C::Error> {
    tokio::pin!(connection);
    tokio::select! {
        ended = connection.as_mut() => ended,
        () = stop.cancelled() => {
            connection.as_mut().graceful_shutdown();
            connection.await
        }
    }
}

async fn renew(api: Api) {
    loop {
        tokio::time::sleep(RENEW_EVERY).await;
        if let Err(error) = api.0.identity.authority.renew(api.0.clock.now()) {
            warn!(%error, "cannot renew the server's certificate");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use http_body_util::Empty;
    use hyper::body::Bytes;
    use hyper::service::service_fn;
    use hyper::{Request, Response, StatusCode};
    use tokio::io::duplex;

    use super::*;

    async fn ok<B>(_: Request<B>) -> Result<Response<Empty<Bytes>>, Infallible> {
        Ok(Response::new(Empty::new()))
    }

    /// A request with a token of this length.
    fn request(token: usize) -> Request<Empty<Bytes>> {
        let token = format!("Bearer {}", "x".repeat(token));
        Request::get("https://a/").header("authorization", token).body(Empty::new()).unwrap()
    }

    /// More than is ever under way: nobody waits for the other side to read.
    const ROOM: usize = 256 * 1024;

    /// The code that a request with a token of this length gets with HTTP/1.1.
    async fn code(token: usize) -> StatusCode {
        let (ours, theirs) = duplex(ROOM);
        let server = http1().serve_connection(TokioIo::new(theirs), service_fn(ok));
        let asked = async {
            let (mut client, connection) =
                hyper::client::conn::http1::handshake(TokioIo::new(ours)).await.unwrap();
            beside(client.send_request(request(token)), connection).await.unwrap().status()
        };
        beside(asked, server).await
    }

    /// The same with HTTP/2, where the server may also end the connection.
    async fn code2(token: usize) -> Option<StatusCode> {
        let (ours, theirs) = duplex(ROOM);
        let server = http2().serve_connection(TokioIo::new(theirs), service_fn(ok));
        let asked = async {
            let client = hyper::client::conn::http2::Builder::new(TokioExecutor::new());
            let (mut client, connection) = client.handshake(TokioIo::new(ours)).await.unwrap();
            let answer = beside(client.send_request(request(token)), connection).await;
            answer.ok().map(|answer| answer.status())
        };
        beside(asked, server).await
    }

    /// What comes of it while something else goes on, or has ended.
    async fn beside<T>(of: impl Future<Output = T>, other: impl Future) -> T {
        tokio::select! {
            done = of => done,
            never = async { other.await; std::future::pending().await } => never,
        }
    }

    #[tokio::test]
    async fn a_head_as_long_as_the_longest_tokens_is_read_and_one_without_end_is_not() {
        assert_eq!(code(48 * 1024).await, StatusCode::OK);
        assert_eq!(code(200 * 1024).await, StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE);
        assert_eq!(code2(48 * 1024).await, Some(StatusCode::OK));
        assert_ne!(code2(200 * 1024).await, Some(StatusCode::OK));
    }
}
