//! An API server that does what a test wants, and tells what it was asked.

use std::convert::Infallible;
use std::future::Future;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use http::{HeaderMap, Method, Request, Response, Uri};
use hyper::body::Incoming;
use hyper::server::conn::{http1, http2};
use hyper::service::service_fn;
use hyper_util::rt::{TokioExecutor, TokioIo};
use rustls::ServerConfig;
use rustls::pki_types::CertificateDer;
use rustls::server::WebPkiClientVerifier;
use safepoint_relay::{Body, full};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::{Authority, Pair, Version};

/// What a server was asked.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    pub(crate) method: Method,
    pub(crate) uri: Uri,
    pub(crate) headers: HeaderMap,
    pub(crate) version: http::Version,
    pub(crate) certificate: Option<CertificateDer<'static>>,
}

type Answering = Pin<Box<dyn Future<Output = Response<Body>> + Send>>;
type Handler = Arc<dyn Fn(Request<Incoming>) -> Answering + Send + Sync>;

/// A server that runs until it is dropped.
pub(crate) struct Server {
    pub(crate) address: SocketAddr,
    shared: Arc<Shared>,
    _tasks: JoinSet<()>,
}

struct Shared {
    handler: Handler,
    /// What it says about its health.
    ready: Mutex<u16>,
    asked: Mutex<Vec<Asked>>,
    connections: watch::Sender<usize>,
    /// How many connections there have ever been.
    accepted: AtomicUsize,
    /// Counts farewells.
    farewell: watch::Sender<u32>,
}

/// How a server is.
pub(crate) struct Settings {
    pub(crate) version: Version,
    /// Streams of one connection.
    pub(crate) streams: u32,
    /// Its certificate, if it is not one of the authority's usual.
    pub(crate) own: Option<Pair>,
}

impl Settings {
    pub(crate) const fn of(version: Version, streams: u32) -> Self {
        Self { version, streams, own: None }
    }
}

impl Server {
    pub(crate) async fn start<F>(
        authority: &Authority,
        version: Version,
        handler: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        Self::start_with(authority, Settings::of(version, 250), handler).await
    }

    pub(crate) async fn start_with<F>(
        authority: &Authority,
        settings: Settings,
        handler: impl Fn(Request<Incoming>) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        let shared = Arc::new(Shared {
            handler: Arc::new(move |request| Box::pin(handler(request))),
            ready: Mutex::new(200),
            asked: Mutex::default(),
            connections: watch::Sender::new(0),
            accepted: AtomicUsize::new(0),
            farewell: watch::Sender::new(0),
        });
        let own = settings.own.unwrap_or_else(|| authority.server());
        let tls = tls(authority, &own, settings.version);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(accept(listener, tls, settings.streams, Arc::clone(&shared)));
        Self { address, shared, _tasks: tasks }
    }

    pub(crate) fn uri(&self) -> String {
        format!("https://{}", self.address)
    }

    /// From now on it answers questions after its health so.
    pub(crate) fn say_ready(&self, code: u16) {
        *self.shared.ready.lock().unwrap() = code;
    }

    /// Asks every client to use another connection from now on, and lets what is under way go on.
    pub(crate) fn say_goodbye(&self) {
        self.shared.farewell.send_modify(|count| *count += 1);
    }

    /// What it was asked beside its health.
    pub(crate) fn asked(&self) -> Vec<Asked> {
        self.shared.asked.lock().unwrap().clone()
    }

    /// How many connections are open.
    pub(crate) fn connections(&self) -> watch::Receiver<usize> {
        self.shared.connections.subscribe()
    }

    pub(crate) fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }
}

fn tls(authority: &Authority, own: &Pair, version: Version) -> Arc<ServerConfig> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    let pem = Authority::pem(authority);
    let ca = <CertificateDer<'_> as rustls::pki_types::pem::PemObject>::from_pem_slice(pem.as_bytes());
    roots.add(ca.unwrap()).unwrap();
    let clients = WebPkiClientVerifier::builder_with_provider(roots.into(), Arc::clone(&provider))
        .allow_unauthenticated()
        .build()
        .unwrap();
    let mut config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_client_cert_verifier(clients)
        .with_single_cert(vec![own.certificate_der()], own.key_der())
        .unwrap();
    config.alpn_protocols = vec![version.alpn()];
    Arc::new(config)
}

async fn accept(listener: TcpListener, tls: Arc<ServerConfig>, streams: u32, shared: Arc<Shared>) {
    let mut connections = JoinSet::new();
    loop {
        let Ok((stream, _)) = listener.accept().await else { return };
        shared.accepted.fetch_add(1, Ordering::SeqCst);
        let acceptor = TlsAcceptor::from(Arc::clone(&tls));
        let shared = Arc::clone(&shared);
        connections.spawn(async move {
            let Ok(stream) = acceptor.accept(stream).await else { return };
            let session = stream.get_ref().1;
            let is_http2 = session.alpn_protocol() == Some(b"h2");
            let certificate = session.peer_certificates().map(|chain| chain[0].clone().into_owned());
            shared.connections.send_modify(|count| *count += 1);
            let counted = Arc::clone(&shared);
            let mut farewell = shared.farewell.subscribe();
            let service = service_fn(move |request| {
                let (shared, certificate) = (Arc::clone(&shared), certificate.clone());
                async move { Ok::<_, Infallible>(answer(&shared, request, certificate).await) }
            });
            let stream = TokioIo::new(stream);
            let _ = match is_http2 {
                true => {
                    let mut builder = http2::Builder::new(TokioExecutor::new());
                    builder.max_concurrent_streams(streams).auto_date_header(false);
                    let mut connection = std::pin::pin!(builder.serve_connection(stream, service));
                    tokio::select! {
                        ended = connection.as_mut() => ended,
                        _ = farewell.changed() => {
                            connection.as_mut().graceful_shutdown();
                            connection.await
                        }
                    }
                }
                false => {
                    let mut builder = http1::Builder::new();
                    builder.auto_date_header(false);
                    let mut connection = std::pin::pin!(builder.serve_connection(stream, service));
                    tokio::select! {
                        ended = connection.as_mut() => ended,
                        _ = farewell.changed() => {
                            connection.as_mut().graceful_shutdown();
                            connection.await
                        }
                    }
                }
            };
            counted.connections.send_modify(|count| *count -= 1);
        });
    }
}

async fn answer(
    shared: &Shared,
    request: Request<Incoming>,
    certificate: Option<CertificateDer<'static>>,
) -> Response<Body> {
    if request.uri().path().ends_with("/readyz") {
        let mut response = Response::new(full("ok"));
        *response.status_mut() = shared.ready.lock().unwrap().to_owned().try_into().unwrap();
        return response;
    }
    shared.asked.lock().unwrap().push(Asked {
        method: request.method().clone(),
        uri: request.uri().clone(),
        headers: request.headers().clone(),
        version: request.version(),
        certificate,
    });
    (shared.handler)(request).await
}
