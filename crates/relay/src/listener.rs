//! A door for one client: TLS, a certificate on both sides, both versions of HTTP.
//!
//! Nobody gets a word in before the handshake has shown who they are. What the door's certificate and the client's
//! authority are is looked up for every handshake, so that replaced files count from the next one on.

mod client;
mod refusals;
mod serve;

use std::future::Future;
use std::net::SocketAddr;
use std::sync::Arc;

use http::{Request, Response};
use hyper::body::Incoming;
use rustls::ServerConfig;
use rustls::server::NoServerSessionStorage;
use rustls::sign::SingleCertAndKey;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::source::{FileError, Source};
use crate::status::Body;
use crate::tls;
use crate::watched::Watched;
use client::Verifier;
use refusals::Refusals;

pub use client::Client;

/// A port that is open and not answered yet.
pub struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    tls: Watched<Arc<ServerConfig>>,
    name: Arc<str>,
    refusals: Arc<Refusals>,
}

/// Who asks: the one client that may.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Peer {
    name: Arc<str>,
    address: SocketAddr,
}

/// Why nobody can listen there.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// A certificate or a key cannot be used.
    #[error(transparent)]
    File(#[from] FileError),
    /// The port is taken, or not ours to take.
    #[error("cannot listen on {address}: {source}")]
    Port {
        /// Where.
        address: SocketAddr,
        /// What the system says.
        source: std::io::Error,
    },
}

// === impl Listener ===

impl Listener {
    /// Opens a port with this certificate and key, for this client. Port 0 lets the system pick one.
    ///
    /// # Errors
    /// If the port is taken, or if one of the files cannot be used.
    pub async fn bind(
        address: SocketAddr,
        certificate: Source,
        key: Source,
        client: Client,
    ) -> Result<Self, ListenError> {
        let refusals = Arc::new(Refusals::default());
        let name = client.name.as_str().into();
        let sources = vec![certificate.clone(), key.clone(), client.authority.clone()];
        let told = Arc::clone(&refusals);
        let load = move || config(&certificate, &key, &client, &told);
        let tls = Watched::new("the certificate of the door", sources, load)?;
        let taken = |source| ListenError::Port { address, source };
        let listener = TcpListener::bind(address).await.map_err(taken)?;
        let address = listener.local_addr().map_err(taken)?;
        Ok(Self { listener, address, tls, name, refusals })
    }

    /// Where it listens.
    #[must_use]
    pub const fn local_addr(&self) -> SocketAddr {
        self.address
    }

    /// Answers requests until it is stopped. Then the client is asked to go, and after two seconds sent away.
    pub async fn serve<S, F>(self, service: S, stop: CancellationToken)
    where
        S: Fn(Request<Incoming>, Peer) -> F + Send + Sync + 'static,
        F: Future<Output = Response<Body>> + Send + 'static,
    {
        serve::serve(self, Arc::new(service), stop).await;
    }
}

fn config(
    certificate: &Source,
    key: &Source,
    client: &Client,
    refusals: &Arc<Refusals>,
) -> Result<Arc<ServerConfig>, FileError> {
    let certified = tls::certified(certificate, key)?;
    let verifier = Verifier::new(client, Arc::clone(refusals))?;
    let mut config = ServerConfig::builder_with_provider(tls::provider())
        .with_safe_default_protocol_versions()
        .map_err(|error| certificate.bad(error.to_string()))?
        .with_client_cert_verifier(Arc::new(verifier))
        .with_cert_resolver(Arc::new(SingleCertAndKey::from(certified)));
    config.alpn_protocols = tls::protocols();
    // Whoever resumes a session is not asked for the certificate again, which may have ended since.
    config.session_storage = Arc::new(NoServerSessionStorage {});
    config.send_tls13_tickets = 0;
    Ok(Arc::new(config))
}

// === impl Peer ===

impl Peer {
    /// The name in its certificate.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Where it calls from.
    #[must_use]
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}
