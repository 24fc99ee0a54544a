//! Who this node is to the API servers, and by whom it knows them.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use http::HeaderValue;
use rustls::ClientConfig;
use rustls::client::{ResolvesClientCert, Resumption};
use rustls::sign::CertifiedKey;
use tokio::time::Instant;

use crate::kubeconfig::{self, Kubeconfig};
use crate::source::{FileError, Source};
use crate::tls;
use crate::watched::{Edition, Watched};

/// An identity that no server takes is not worth a handshake for every request.
const PATIENCE: Duration = Duration::from_secs(10);

/// The identity of now.
pub(super) struct Identity {
    credentials: Watched<Credentials>,
    doubted: Mutex<Option<Instant>>,
}

/// What a connection and its requests show.
pub(super) struct Credentials {
    pub(super) tls: Arc<ClientConfig>,
    /// Beside or instead of a certificate.
    pub(super) authorization: Option<HeaderValue>,
}

/// One certificate, for whoever asks. A server may name authorities that it prefers; this is the only one there is.
#[derive(Debug)]
struct Only(Arc<CertifiedKey>);

// === impl Identity ===

impl Identity {
    pub(super) fn new(config: &Kubeconfig) -> Result<Self, FileError> {
        let authority = config.authority.clone().unwrap_or(Source::Bytes(Vec::new()));
        let identity = config.identity.clone();
        let mut sources = vec![authority.clone()];
        match &identity {
            kubeconfig::Identity::Nobody => {}
            kubeconfig::Identity::Token(token) => sources.push(token.clone()),
            kubeconfig::Identity::Certificate { chain, key } => {
                sources.extend([chain.clone(), key.clone()]);
            }
        }
        let load = move || Credentials::load(&authority, &identity);
        let credentials = Watched::new("the node's identity", sources, load)?;
        Ok(Self { credentials, doubted: Mutex::new(None) })
    }

    pub(super) fn current(&self) -> Arc<Edition<Credentials>> {
        self.credentials.current()
    }

    /// Whether there is a new one.
    pub(super) fn look(&self) -> bool {
        self.credentials.look()
    }

    /// A server did not accept it. Perhaps the server has changed its mind about a connection that began long ago, perhaps
    /// we have: either way a new connection is worth a try.
    pub(super) fn doubt(&self) {
        let mut doubted = self.doubted.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if doubted.is_none_or(|before| now - before >= PATIENCE) {
            *doubted = Some(now);
            self.credentials.renew();
        }
    }
}

// === impl Credentials ===

impl Credentials {
    fn load(authority: &Source, identity: &kubeconfig::Identity) -> Result<Self, FileError> {
        let roots = tls::authorities(authority)?;
        let builder = ClientConfig::builder_with_provider(tls::provider())
            .with_safe_default_protocol_versions()
            .map_err(|error| authority.bad(error.to_string()))?
            .with_root_certificates(roots);
        let mut authorization = None;
        let mut tls = match identity {
            kubeconfig::Identity::Nobody => builder.with_no_client_auth(),
            kubeconfig::Identity::Token(token) => {
                authorization = Some(bearer(token)?);
                builder.with_no_client_auth()
            }
            kubeconfig::Identity::Certificate { chain, key } => {
                let certified = tls::certified(chain, key)?;
                builder.with_client_cert_resolver(Arc::new(Only(Arc::new(certified))))
            }
        };
        tls.alpn_protocols = tls::protocols();
        // A resumed session would show the certificate of the session before.
        tls.resumption = Resumption::disabled();
        Ok(Self { tls: Arc::new(tls), authorization })
    }
}

fn bearer(token: &Source) -> Result<HeaderValue, FileError> {
    let text = String::from_utf8(token.read()?).map_err(|_| token.bad("it is no token"))?;
    let text = text.trim();
    if text.is_empty() {
        return Err(token.bad("there is no token in it"));
    }
    let mut value =
        HeaderValue::from_str(&format!("Bearer {text}")).map_err(|_| token.bad("it is no token"))?;
    value.set_sensitive(true);
    Ok(value)
}

// === impl Only ===

impl ResolvesClientCert for Only {
    fn resolve(&self, _: &[&[u8]], _: &[rustls::SignatureScheme]) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.0))
    }

    fn has_certs(&self) -> bool {
        true
    }
}
