//! The server that the API server asks: TLS, and one path for each hook.
//!
//! It runs on every replica, whoever leads, and answers only on paths that begin with what the API server alone knows: of anybody
//! else nothing is read but the head of a request, and when there are too many of them the API server stays. Connections are tasks
//! of their own: one that panics is dropped, and what was asked on it passes.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::extract::{Path, State};
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use axum::routing::post;
use axum::{Extension, Json, Router};
use rustls::ServerConfig;
use safepoint_serving::{Caller, Limits};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use tokio::net::TcpListener;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;

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
/// Two objects of the largest size that an API server takes, and what is around them.
const LARGEST: usize = 8 << 20;
/// An API server keeps few connections, and asks much on each.
const LIMITS: Limits = Limits { connections: 1_000, streams: 1_000 };

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
        router
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
        let (acceptor, router) = (self.tls()?, self.router());
        ctx.ready();
        safepoint_serving::serve(listener, Some(acceptor), router, LIMITS, ctx.token()).await;
        Ok(())
    }
}

async fn answer(
    State(asked): State<Asked>,
    Path(token): Path<String>,
    Extension(caller): Extension<Caller>,
    body: Body,
) -> Response {
    if !asked.certificates.knows(&token) {
        return StatusCode::NOT_FOUND.into_response();
    }
    caller.is_known();
    let Entry { name, patience, .. } = asked.hook.entry();
    let body = match timeout(patience, to_bytes(body, LARGEST)).await {
        Ok(Ok(body)) => body,
        Ok(Err(_)) => return StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        Err(_) => return StatusCode::REQUEST_TIMEOUT.into_response(),
    };
    let request = match Request::read(&body) {
        Ok(request) => request,
        Err(error) => return (StatusCode::BAD_REQUEST, error.to_string()).into_response(),
    };
    let answer =
        timeout(patience.saturating_sub(MARGIN), asked.hook.review(&request)).await.unwrap_or_else(|_| {
            tracing::warn!(hook = name, "an answer took too long; what was asked passes");
            Answer::Warn("Safepoint could not tell in time whether a hold covers this".to_owned())
        });
    asked.facts.reviewed(name, answer.word());
    Json(answer.write(&request.uid)).into_response()
}

#[cfg(test)]
mod tests {
    use axum::http::Request as HttpRequest;
    use tower::ServiceExt;

    use super::super::hook::{Flavour, Reviewing, SideEffects};
    use super::*;

    struct Yes;

    impl Hook for Yes {
        fn entry(&self) -> Entry {
            Entry {
                name: "yes.example.dev",
                path: "/yes",
                flavour: Flavour::Validating,
                rules: Vec::new(),
                labels: &[],
                condition: None,
                side_effects: SideEffects::None,
                patience: PATIENCE,
            }
        }

        fn review<'a>(&'a self, _: &'a Request) -> Reviewing<'a> {
            Box::pin(std::future::ready(Answer::Allow))
        }
    }

    #[tokio::test]
    async fn what_a_stranger_sends_is_not_waited_for() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let (certificates, facts) = (Certificates::new(), Arc::default());
        let server = Server::new(listener, vec![Arc::new(Yes)], certificates, facts, false, vec![]).unwrap();
        let endless = futures::stream::pending::<Result<Vec<u8>, io::Error>>();
        let request = HttpRequest::post("/guessed/yes").body(Body::from_stream(endless)).unwrap();
        let router = server.router().layer(Extension(Caller::default()));
        assert_eq!(router.oneshot(request).await.unwrap().status(), StatusCode::NOT_FOUND);
    }
}
