//! The way to a cluster over TLS. One HTTP/2 connection carries every call and every watch: a node that follows a hundred
//! ConfigMaps must not cost a hundred connections.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use http::uri::PathAndQuery;
use http::{HeaderValue, Request, StatusCode, Uri, header};
use http_body_util::{BodyExt, Full};
use hyper_rustls::{FixedServerNameResolver, HttpsConnector};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::client::ResolvesClientCert;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::sign::CertifiedKey;
use rustls::{ClientConfig, RootCertStore, SignatureScheme};

use super::kubeconfig::{Identity, Kubeconfig, KubeconfigError, Source};
use super::{Answering, BoxError, Transport};

/// A server that does not even answer a ping is gone; nobody else would notice under a silent watch.
const PING: Duration = Duration::from_secs(20);
/// How long it may take to reach the server.
const CONNECT: Duration = Duration::from_secs(10);

/// A server and who we are to it.
pub(super) struct Network {
    https: HttpsConnector<HttpConnector>,
    client: Arc<Mutex<Http>>,
    server: Uri,
    token: Option<Source>,
}

type Http = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// The node's certificate, read anew for every connection: it rotates.
#[derive(Debug)]
struct Rotating {
    chain: Source,
    key: Source,
}

// === impl Network ===

impl Network {
    pub(super) fn new(config: &Kubeconfig) -> Result<Self, KubeconfigError> {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let bad =
            |source: &Source, problem: String| KubeconfigError::Content { path: source.name(), problem };
        let mut roots = RootCertStore::empty();
        let nothing = Source::Bytes(Vec::new());
        let authority = config.authority.as_ref().unwrap_or(&nothing);
        for certificate in CertificateDer::pem_slice_iter(&authority.read()?) {
            let certificate =
                certificate.map_err(|error| bad(authority, format!("no certificate: {error}")))?;
            roots
                .add(certificate)
                .map_err(|error| bad(authority, format!("unusable certificate: {error}")))?;
        }
        if roots.is_empty() {
            return Err(bad(
                authority,
                "there is no certificate authority: nobody could tell the server from another".into(),
            ));
        }
        let tls = tls.map_err(|error| bad(authority, error.to_string()))?.with_root_certificates(roots);
        let (tls, token) = match &config.identity {
            Identity::Nobody => (tls.with_no_client_auth(), None),
            Identity::Token(token) => {
                token.read()?;
                (tls.with_no_client_auth(), Some(token.clone()))
            }
            Identity::Certificate { chain, key } => {
                let rotating = Rotating { chain: chain.clone(), key: key.clone() };
                rotating.load().map_err(|error| bad(chain, error.to_string()))?;
                (tls.with_client_cert_resolver(Arc::new(rotating)), None)
            }
        };
        let mut connector = HttpConnector::new();
        connector.enforce_http(false);
        connector.set_nodelay(true);
        connector.set_connect_timeout(Some(CONNECT));
        connector.set_keepalive(Some(PING));
        let https = hyper_rustls::HttpsConnectorBuilder::new().with_tls_config(tls).https_only();
        let https = match &config.server_name {
            None => https.enable_all_versions().wrap_connector(connector),
            Some(name) => {
                let name = ServerName::try_from(name.clone())
                    .map_err(|error| bad(authority, format!("tls-server-name {name:?}: {error}")))?;
                https
                    .with_server_name_resolver(FixedServerNameResolver::new(name))
                    .enable_all_versions()
                    .wrap_connector(connector)
            }
        };
        let client = Arc::new(Mutex::new(client(https.clone())));
        Ok(Self { https, client, server: config.server.clone(), token })
    }

    fn addressed(&self, mut request: Request<Full<Bytes>>) -> Result<Request<Full<Bytes>>, BoxError> {
        let asked = request.uri().path_and_query().map_or("/", PathAndQuery::as_str);
        let base = self.server.path().trim_end_matches('/');
        let mut parts = self.server.clone().into_parts();
        parts.path_and_query = Some(format!("{base}{asked}").parse()?);
        *request.uri_mut() = Uri::from_parts(parts)?;
        let headers = request.headers_mut();
        headers.insert(
            header::USER_AGENT,
            HeaderValue::from_static(concat!("safepoint-agent/", env!("CARGO_PKG_VERSION"))),
        );
        if let Some(token) = &self.token {
            let token = String::from_utf8(token.read()?)?;
            let mut value = HeaderValue::from_str(&format!("Bearer {}", token.trim()))?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        Ok(request)
    }
}

fn client(https: HttpsConnector<HttpConnector>) -> Http {
    Client::builder(TokioExecutor::new())
        .timer(TokioTimer::new())
        .pool_timer(TokioTimer::new())
        .http2_keep_alive_interval(PING)
        .http2_keep_alive_timeout(PING)
        .http2_keep_alive_while_idle(true)
        .build(https)
}

impl Transport for Network {
    fn send(&self, request: Request<Full<Bytes>>) -> Answering {
        let request = self.addressed(request);
        let (https, current) = (self.https.clone(), Arc::clone(&self.client));
        let http = current.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::pin(async move {
            let answer = http.request(request?).await?;
            // The certificate that this connection began with may be over. The next one begins with that of now.
            if answer.status() == StatusCode::UNAUTHORIZED {
                *current.lock().unwrap_or_else(PoisonError::into_inner) = client(https);
            }
            Ok(answer.map(|body| body.map_err(BoxError::from).boxed_unsync()))
        })
    }
}

// === impl Rotating ===

impl Rotating {
    fn load(&self) -> Result<CertifiedKey, BoxError> {
        let chain: Vec<_> = CertificateDer::pem_slice_iter(&self.chain.read()?).collect::<Result<_, _>>()?;
        let key = PrivateKeyDer::from_pem_slice(&self.key.read()?)?;
        let signing = rustls::crypto::aws_lc_rs::sign::any_supported_type(&key)?;
        let certified = CertifiedKey::new(chain, signing);
        certified.keys_match()?;
        Ok(certified)
    }
}

impl ResolvesClientCert for Rotating {
    fn resolve(&self, _hints: &[&[u8]], _schemes: &[SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        match self.load() {
            Ok(certified) => Some(Arc::new(certified)),
            Err(error) => {
                tracing::warn!(%error, "the node's certificate cannot be read");
                None
            }
        }
    }

    fn has_certs(&self) -> bool {
        true
    }
}
