//! The way to a hook and back: HTTPS to a URL, or a call within this process.
//!
//! A [`Target`] is made once per hook and keeps its connections. It trusts what the hook's `caBundle` holds and nothing
//! else: a hook decides what may be stored, so "any certificate that some public authority signed" is not a proof, and
//! the roots of the machine are not asked.

use std::error::Error;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use futures::FutureExt;
use http::header::{ACCEPT, CONTENT_TYPE, HOST, RETRY_AFTER, USER_AGENT};
use http::{Method, Request, Response, StatusCode, Uri};
use http_body_util::{BodyExt, Full, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use serde_json::Value;
use tokio::time;
use tower::ServiceExt;

use super::services::Services;
use super::url::Parts;

/// As much as a request to this API may hold. A patch is smaller than the object it changes.
const LARGEST_ANSWER: usize = 3 * 1024 * 1024;

/// How often a hook that answers "come back in n seconds" is asked again, as in Kubernetes. The timeout ends it sooner.
const RETRIES: usize = 10;

/// So much of an answer that is no review is repeated in the error.
const EXCERPT: usize = 256;

/// Where a hook is, and what is needed to ask it.
pub(crate) enum Target {
    /// Somewhere on the network.
    Url { uri: Uri, client: Box<Client<HttpsConnector<HttpConnector>, Full<Bytes>>> },
    /// In this process.
    Service { namespace: String, name: String, uri: Uri },
}

// === impl Target ===

impl Target {
    /// Reads a `clientConfig`. The error says why this hook will never be reached.
    pub(crate) fn compile(config: &Value, timeout: Duration) -> Result<Target, String> {
        let query = format!("?timeout={}s", timeout.as_secs());
        let parse =
            |text: String| text.parse::<Uri>().map_err(|error| format!("cannot use {text:?}: {error}"));
        match (config.get("url").and_then(Value::as_str), config.get("service").filter(|it| !it.is_null())) {
            (Some(url), None) => {
                let parts = Parts::of(url)?;
                if parts.scheme != "https" || parts.host.is_empty() {
                    return Err(format!("cannot use {url:?}: a webhook is at https://host[/path]"));
                }
                let path = if parts.path.is_empty() { "/" } else { parts.path };
                let uri = parse(format!("https://{}{path}{query}", parts.host))?;
                let tls = trusting(config.get("caBundle").and_then(Value::as_str).unwrap_or_default())?;
                Ok(Target::Url { uri, client: Box::new(client(tls)) })
            }
            (None, Some(service)) => {
                let text = |field| service.get(field).and_then(Value::as_str).unwrap_or_default();
                let (namespace, name) = (text("namespace"), text("name"));
                let port = service.get("port").and_then(Value::as_u64).unwrap_or(443);
                let path = text("path").trim_start_matches('/');
                let uri = parse(format!("https://{name}.{namespace}.svc:{port}/{path}{query}"))?;
                Ok(Target::Service { namespace: namespace.into(), name: name.into(), uri })
            }
            _ => Err("webhook configuration must have either service or URL".into()),
        }
    }

    /// Sends a body and returns the body of the answer. The error is one for a `failurePolicy` to judge.
    pub(crate) async fn post(
        &self,
        services: &Services,
        body: Bytes,
        limit: Duration,
    ) -> Result<Bytes, String> {
        let exchange = time::timeout(limit, self.exchange(services, body));
        exchange.await.unwrap_or_else(|_| Err(self.fault("context deadline exceeded")))
    }

    fn uri(&self) -> &Uri {
        match self {
            Target::Url { uri, .. } | Target::Service { uri, .. } => uri,
        }
    }

    fn fault(&self, why: impl std::fmt::Display) -> String {
        format!("Post \"{}\": {why}", self.uri())
    }

    async fn exchange(&self, services: &Services, body: Bytes) -> Result<Bytes, String> {
        let mut retries = RETRIES;
        let response = loop {
            let response = self.send(services, body.clone()).await.map_err(|why| self.fault(why))?;
            match asks_to_wait(&response).filter(|_| retries > 0) {
                Some(wait) => time::sleep(wait).await,
                None => break response,
            }
            retries -= 1;
        };
        let status = response.status();
        let answer = Limited::new(response.into_body(), LARGEST_ANSWER).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                format!("the answer is larger than {LARGEST_ANSWER} bytes")
            } else {
                format!("the answer ended early: {}", chain(error.as_ref()))
            }
        })?;
        let answer = answer.to_bytes();
        match status.as_u16() {
            200..=206 if answer.is_empty() => {
                Err(format!("0-length response with status code: {}", status.as_u16()))
            }
            200..=206 => Ok(answer),
            _ => Err(format!("the server answered {status}: {:?}", excerpt(&answer))),
        }
    }

    async fn send(&self, services: &Services, body: Bytes) -> Result<Response<Body>, String> {
        let request = Request::builder()
            .method(Method::POST)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json, */*")
            .header(USER_AGENT, concat!("safepoint-apiserver-admission/", env!("CARGO_PKG_VERSION")));
        match self {
            Target::Url { uri, client } => {
                let request = request.uri(uri).body(Full::new(body)).map_err(|error| error.to_string())?;
                let response = client.request(request).await.map_err(|error| hint(chain(&error)))?;
                Ok(response.map(Body::new))
            }
            Target::Service { namespace, name, uri } => {
                let router = services.get(namespace, name).ok_or_else(|| {
                    format!(
                        "service {name:?} not found: nothing in this process answers for it in namespace {namespace:?}, \
                         and there is no cluster network to look further; use clientConfig.url"
                    )
                })?;
                let path = uri.path_and_query().map_or("/", |path| path.as_str());
                let host = uri.authority().map_or("", |host| host.as_str());
                let request = request.uri(path).header(HOST, host).body(Body::from(body));
                let request = request.map_err(|error| error.to_string())?;
                // A bug in a handler is the handler's: the write it was asked about fails, the API goes on.
                let call = AssertUnwindSafe(router.oneshot(request)).catch_unwind();
                match call.await {
                    Ok(Ok(response)) => Ok(response),
                    Ok(Err(never)) => match never {},
                    Err(_) => Err("the handler panicked".into()),
                }
            }
        }
    }
}

/// A configuration that trusts these authorities only: base64 of PEM.
fn trusting(ca_bundle: &str) -> Result<ClientConfig, String> {
    if ca_bundle.is_empty() {
        return Err(
            "clientConfig.url needs a caBundle: the roots of this machine are not trusted with admission"
                .into(),
        );
    }
    let pem = STANDARD.decode(ca_bundle).map_err(|error| format!("caBundle is not base64: {error}"))?;
    let mut roots = RootCertStore::empty();
    let (added, _) =
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok));
    if added == 0 {
        return Err("unable to load root certificates: caBundle holds no certificate in PEM".into());
    }
    // Named, and not the default of the process: a library must not depend on what `main` installed.
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("cannot set up TLS: {error}"))?;
    Ok(builder.with_root_certificates(roots).with_no_client_auth())
}

fn client(tls: ClientConfig) -> Client<HttpsConnector<HttpConnector>, Full<Bytes>> {
    // HTTP/1.1 only, as in Kubernetes: one stuck stream must not hold up the others of a shared connection.
    let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_only().enable_http1().build();
    Client::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector)
}

/// How long an overloaded hook wants us to wait, if it says so.
fn asks_to_wait<B>(response: &Response<B>) -> Option<Duration> {
    let status = response.status();
    if status != StatusCode::TOO_MANY_REQUESTS && !status.is_server_error() {
        return None;
    }
    let seconds = response.headers().get(RETRY_AFTER)?.to_str().ok()?.parse().ok()?;
    Some(Duration::from_secs(seconds))
}

/// An error with its causes, which is where hyper keeps the reason.
fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |error: &&(dyn Error + 'static)| (*error).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

/// What to do about a certificate that Go would take and rustls does not.
fn hint(why: String) -> String {
    if why.contains("CaUsedAsEndEntity") {
        format!(
            "{why}: the server shows an authority (CA:TRUE) as its own certificate; let it show one that this signed"
        )
    } else {
        why
    }
}

fn excerpt(body: &[u8]) -> String {
    String::from_utf8_lossy(body).trim().chars().take(EXCERPT).collect()
}
