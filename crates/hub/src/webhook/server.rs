//! The server that the API server asks: TLS, and one path for each hook.
//!
//! It runs on every replica, whoever leads, and answers only on paths that begin with what the API server alone knows. Connections are tasks of their own: one that panics is dropped, and what was asked
//! on it passes.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Json, Router};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use super::hook::{Entry, Hook};
use super::keeper::Certificates;
use super::review::{Answer, Request};
use crate::facts::Facts;

/// How long the API server waits for an answer where everybody's pods are asked about.
pub(crate) const PATIENCE: Duration = Duration::from_secs(2);
/// An answer that comes later than this before the end of all patience would come too late; a warning at least tells why nothing was
/// said.
const MARGIN: Duration = Duration::from_millis(300);
/// What a refusal writes before it is said is given up then: that it is a refusal is known by then, and has to be said in time.
pub(crate) const NOTING: Duration = Duration::from_millis(1_400);
/// A client that has not finished its handshake by then is let go.
const HANDSHAKE: Duration = Duration::from_secs(10);
/// How long answers may take to finish when the server ends.
const FAREWELL: Duration = Duration::from_secs(2);
/// Two objects of the largest size that an API server takes, and what is around them.
const LARGEST: usize = 8 << 20;
/// An API server keeps few connections; more than this is somebody else.
const MOST_CONNECTIONS: usize = 1_000;

/// The server as a module: it is restarted on the same address if it ends.
pub(crate) struct Server {
    address: SocketAddr,
    /// The socket that was bound before anything else, for the first run.
    first: Mutex<Option<std::net::TcpListener>>,
    hooks: Vec<Arc<dyn Hook>>,
    certificates: Certificates,
    facts: Arc<Facts>,
    critical: bool,
    after: Vec<&'static str>,
}

#[derive(Clone)]
struct Asked {
    hook: Arc<dyn Hook>,
    certificates: Certificates,
    facts: Arc<Facts>,
}

// === impl Server ===

impl Server {
    /// The name of the module.
    pub(crate) const NAME: &str = "webhooks";

    pub(crate) fn new(
        listener: std::net::TcpListener,
        hooks: Vec<Arc<dyn Hook>>,
        certificates: Certificates,
        facts: Arc<Facts>,
        critical: bool,
        after: Vec<&'static str>,
    ) -> io::Result<Self> {
        let address = listener.local_addr()?;
        Ok(Self { address, first: Mutex::new(Some(listener)), hooks, certificates, facts, critical, after })
    }

    async fn listen(&self) -> io::Result<TcpListener> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        match first {
            Some(listener) => TcpListener::from_std(listener),
            None => TcpListener::bind(self.address).await,
        }
    }

    fn router(&self) -> Router {
        let mut router = Router::new();
        for hook in &self.hooks {
            let (hook, certificates) = (Arc::clone(hook), self.certificates.clone());
            let path = format!("/{{token}}{}", hook.entry().path);
            let asked = Asked { hook, certificates, facts: Arc::clone(&self.facts) };
            router = router.route(&path, post(answer).with_state(asked));
        }
        router.layer(DefaultBodyLimit::max(LARGEST))
    }

    fn tls(&self) -> Result<TlsAcceptor, Fault> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(Fault::permanent)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::new(self.certificates.clone()));
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

impl Module for Server {
    fn spec(&self) -> Spec {
        let spec = Spec::new(Self::NAME).after(self.after.iter().copied());
        if self.critical { spec.critical() } else { spec }
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let listener = self.listen().await.map_err(Fault::transient)?;
        let (acceptor, router, stop) = (self.tls()?, self.router(), ctx.token());
        ctx.ready();
        let mut connections = JoinSet::new();
        loop {
            tokio::select! {
                () = ctx.cancelled() => break,
                Some(_) = connections.join_next(), if !connections.is_empty() => {}
                accepted = listener.accept(), if connections.len() < MOST_CONNECTIONS => match accepted {
                    Ok((stream, _)) => {
                        connections.spawn(serve(acceptor.clone(), router.clone(), stream, stop.clone()));
                    }
                    Err(error) => {
                        // Mostly too many open files: taking no more for a moment lets some go.
                        tracing::warn!(%error, "cannot accept a connection");
                        tokio::time::sleep(Duration::from_millis(100)).await;
                    }
                },
            }
        }
        drop(listener);
        let _ = timeout(FAREWELL, async { while connections.join_next().await.is_some() {} }).await;
        Ok(())
    }
}

async fn answer(State(asked): State<Asked>, Path(token): Path<String>, body: Bytes) -> Response {
    if !asked.certificates.knows(&token) {
        return StatusCode::NOT_FOUND.into_response();
    }
    let request = match Request::read(&body) {
        Ok(request) => request,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let Entry { name, patience, .. } = asked.hook.entry();
    let answer =
        timeout(patience.saturating_sub(MARGIN), asked.hook.review(&request)).await.unwrap_or_else(|_| {
            tracing::warn!(hook = name, "an answer took too long; what was asked passes");
            Answer::Warn("Safepoint could not tell in time whether a hold covers this".to_owned())
        });
    asked.facts.reviewed(name, answer.word());
    Json(answer.write(&request.uid)).into_response()
}

async fn serve(acceptor: TlsAcceptor, router: Router, stream: TcpStream, stop: CancellationToken) {
    let _ = stream.set_nodelay(true);
    let Ok(Ok(stream)) = timeout(HANDSHAKE, acceptor.accept(stream)).await else { return };
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new());
    builder.http2().timer(TokioTimer::new()).keep_alive_interval(Some(Duration::from_secs(30)));
    let service = TowerToHyperService::new(router);
    let mut connection = std::pin::pin!(builder.serve_connection(TokioIo::new(stream), service));
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
