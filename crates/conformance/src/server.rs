//! The server under test: how to reach it, who is its administrator, and what runs beside it.

use std::{any::Any, sync::Arc, time::Duration};

use anyhow::{Context as _, Result};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use http::{Request, Response};
use http_body_util::BodyExt as _;
use kube::{Client, Config, client::Body};
use tokio::time::timeout;
use tower::{BoxError, Service};

use crate::{call::Call, reply::Reply, transcript::Transcript, watch::Watch};

#[cfg(test)]
mod tests;

/// How long anything may take before it counts as a hang.
///
/// It is no measure of speed: it is as long as a very busy machine may need.
pub(crate) const LIMIT: Duration = Duration::from_secs(30);

/// A server that the cases run against.
#[derive(Clone)]
pub struct Server {
    name: &'static str,
    client: Client,
    token: Arc<str>,
    controllers: bool,
    _kept: Option<Arc<dyn Any + Send + Sync>>,
}

// === impl Server ===

impl Server {
    /// A server behind a URL, with the PEM of the authority that signed its certificate and the bearer token of an
    /// administrator.
    pub fn connect(name: &'static str, url: &str, ca: &[u8], token: &str) -> Result<Server> {
        let mut config = Config::new(url.parse().with_context(|| format!("{url} is no URL"))?);
        config.root_cert = Some(certificates(ca)?);
        // A case must see the answer that the server gave first.
        config.default_retry = false;
        Ok(Server::from_client(name, Client::try_from(config)?, token))
    }

    /// A server in this process, as the service that answers its requests.
    pub fn in_process<S, B>(name: &'static str, service: S, token: &str) -> Server
    where
        S: Service<Request<Body>, Response = Response<B>> + Send + 'static,
        S::Future: Send + 'static,
        S::Error: Into<BoxError>,
        B: http_body::Body<Data = bytes::Bytes> + Send + 'static,
        B::Error: Into<BoxError>,
    {
        Server::from_client(name, Client::new(service, "default"), token)
    }

    fn from_client(name: &'static str, client: Client, token: &str) -> Server {
        Server { name, client, token: token.into(), controllers: false, _kept: None }
    }

    /// Says that namespaces are emptied and removed, and that dependents go with their owners.
    #[must_use]
    pub fn with_controllers(mut self) -> Server {
        self.controllers = true;
        self
    }

    /// Keeps `guard` as long as this server is in use.
    #[must_use]
    pub fn keeping(mut self, guard: impl Any + Send + Sync) -> Server {
        self._kept = Some(Arc::new(guard));
        self
    }

    /// What it is called in the documents about differences.
    #[must_use]
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// Whether something removes what is to be removed after others.
    #[must_use]
    pub fn has_controllers(&self) -> bool {
        self.controllers
    }

    /// Sends a request and reads the whole answer.
    pub(crate) async fn send(&self, call: &Call, transcript: &Transcript) -> Result<Reply> {
        let response = self.open(call).await?;
        let (head, body) = response.into_parts();
        let bytes = timeout(LIMIT, body.collect())
            .await
            .with_context(|| format!("the answer never ends\n  request: {call}"))?
            .with_context(|| format!("the answer breaks off\n  request: {call}"))?
            .to_bytes();
        Ok(Reply::new(call, &head, &bytes, transcript))
    }

    /// Sends a request whose answer is a stream of events. A refusal is an error.
    pub(crate) async fn watch(&self, call: &Call, transcript: &Transcript) -> Result<Watch> {
        let response = self.open(call).await?;
        if !response.status().is_success() {
            let (head, body) = response.into_parts();
            let bytes = body.collect().await?.to_bytes();
            return Err(Reply::new(call, &head, &bytes, transcript).unexpected("a stream of events"));
        }
        Ok(Watch::new(call, response.into_body(), transcript.clone()))
    }

    async fn open(&self, call: &Call) -> Result<Response<Body>> {
        timeout(LIMIT, self.client.send(call.request(&self.token)?))
            .await
            .with_context(|| format!("no answer\n  request: {call}"))?
            .with_context(|| format!("cannot send\n  request: {call}"))
    }
}

/// The DER of every certificate in `pem`.
fn certificates(pem: &[u8]) -> Result<Vec<Vec<u8>>> {
    use rustls_pki_types::{CertificateDer, pem::PemObject as _};
    CertificateDer::pem_slice_iter(pem)
        .map(|der| Ok(der.context("the authority is not PEM")?.to_vec()))
        .collect()
}

/// Bytes as Kubernetes writes them in JSON.
pub(crate) fn base64(bytes: impl AsRef<[u8]>) -> String {
    STANDARD.encode(bytes)
}
