//! The kubelet as a source: `GET /pods` on its own port, which also answers when no API server can be reached.
//!
//! Whoever asks needs the right to `nodes/proxy` (or `nodes/pods` in newer kubelets), or the cluster's own client certificate.
//! A kubelet's serving certificate is often its own and signed by nobody: it can be pinned to the file that the kubelet shows.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Empty, Limited};
use hyper_util::rt::TokioIo;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::{ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme};
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use super::{Blind, Looking, PodSeen, Source, Wanted};

/// A list of all pods of a node is far below that.
const LONGEST: usize = 64 << 20;

/// Whom to believe to be the kubelet.
#[derive(Clone, Debug)]
pub enum Trust {
    /// Whoever shows one of these certificates.
    Pinned(Vec<CertificateDer<'static>>),
    /// Whoever shows a certificate that one of these has signed, for the address.
    Authorities(Vec<CertificateDer<'static>>),
    /// Whoever answers. Only on loopback, where a stranger would have to be root already, and only with a reason, which is
    /// logged. Never with a token that is good elsewhere.
    Anyone {
        /// Why that is good enough.
        reason: String,
    },
}

/// Who asks.
#[derive(Clone)]
pub enum Credentials {
    /// A bearer token.
    Token(String),
    /// A client certificate, PEM with its key.
    Certificate {
        /// The certificate and what has signed it.
        chain: Vec<u8>,
        /// The key.
        key: Vec<u8>,
    },
    /// Nobody: for a kubelet that lets anybody look.
    Nobody,
}

/// What cannot be used to ask a kubelet.
#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    /// Not a certificate or a key.
    #[error("{what} cannot be read: {why}")]
    Pem {
        /// Which.
        what: String,
        /// What is wrong.
        why: String,
    },
    /// Rustls says no.
    #[error("cannot speak TLS to the kubelet")]
    Tls(#[from] rustls::Error),
    /// It would be shown to anybody.
    #[error("a kubelet that is not on loopback ({0}) has to be verified")]
    FarAway(SocketAddr),
}

/// A kubelet that is asked.
pub struct KubeletSource {
    address: SocketAddr,
    tls: TlsConnector,
    token: Option<String>,
}

// === impl Trust ===

impl Trust {
    /// The certificates in a PEM file.
    ///
    /// # Errors
    /// When there are none.
    pub fn read(path: &Path) -> Result<Vec<CertificateDer<'static>>, TrustError> {
        let what = path.display().to_string();
        let bad = |why: String| TrustError::Pem { what: what.clone(), why };
        let bytes = std::fs::read(path).map_err(|error| bad(error.to_string()))?;
        certificates(&what, &bytes)
    }
}

fn certificates(what: &str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TrustError> {
    let bad = |why: String| TrustError::Pem { what: what.to_owned(), why };
    let found: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| bad(error.to_string()))?;
    if found.is_empty() {
        return Err(bad("there is no certificate in it".into()));
    }
    Ok(found)
}

// === impl KubeletSource ===

impl KubeletSource {
    /// A kubelet at an address, usually `127.0.0.1:10250`.
    ///
    /// # Errors
    /// When the credentials are of no use, or would be shown to anybody who is not on this machine.
    pub fn new(address: SocketAddr, trust: Trust, credentials: Credentials) -> Result<Self, TrustError> {
        let provider = Arc::new(aws_lc_rs::default_provider());
        let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()?;
        let verifier: Arc<dyn ServerCertVerifier> = match trust {
            Trust::Authorities(authorities) => {
                let mut roots = RootCertStore::empty();
                for authority in authorities {
                    roots.add(authority)?;
                }
                rustls::client::WebPkiServerVerifier::builder_with_provider(
                    Arc::new(roots),
                    Arc::clone(&provider),
                )
                .build()
                .map_err(|error| rustls::Error::General(error.to_string()))?
            }
            Trust::Pinned(certificates) => Arc::new(Shown { only: Some(certificates), provider }),
            Trust::Anyone { reason } => {
                if !address.ip().is_loopback() {
                    return Err(TrustError::FarAway(address));
                }
                tracing::debug!(%address, %reason, "not verifying the kubelet");
                Arc::new(Shown { only: None, provider })
            }
        };
        let builder = builder.dangerous().with_custom_certificate_verifier(verifier);
        let (config, token) = match credentials {
            Credentials::Certificate { chain, key } => {
                let chain = certificates("the client certificate", &chain)?;
                let key = PrivateKeyDer::from_pem_slice(&key).map_err(|error| TrustError::Pem {
                    what: "the key of the client certificate".into(),
                    why: error.to_string(),
                })?;
                (builder.with_client_auth_cert(chain, key)?, None)
            }
            Credentials::Token(token) => (builder.with_no_client_auth(), Some(token.trim().to_owned())),
            Credentials::Nobody => (builder.with_no_client_auth(), None),
        };
        Ok(Self { address, tls: TlsConnector::from(Arc::new(config)), token })
    }

    async fn pods(&self) -> Result<Value, Blind> {
        let blind =
            |what: &str, why: &dyn std::fmt::Display| Blind(format!("{what} {}: {why}", self.address));
        let stream =
            TcpStream::connect(self.address).await.map_err(|error| blind("cannot connect to", &error))?;
        let name = ServerName::from(self.address.ip());
        let stream = self.tls.connect(name, stream).await.map_err(|error| blind("cannot trust", &error))?;
        let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream))
            .await
            .map_err(|error| blind("cannot speak to", &error))?;
        let mut request = Request::get("/pods").header(header::HOST, self.address.to_string());
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, format!("Bearer {token}"));
        }
        let request = request.body(Empty::<Bytes>::new()).map_err(|error| blind("cannot ask", &error))?;
        let ask = async {
            let answer = sender.send_request(request).await.map_err(|error| blind("cannot ask", &error))?;
            let status = answer.status();
            let body = Limited::new(answer.into_body(), LONGEST).collect().await;
            let body = body.map_err(|error| blind("cannot read the answer of", &error))?.to_bytes();
            Ok::<_, Blind>((status, body))
        };
        // The connection has to be polled for the answer to come; it ends with this function, whatever the answer.
        let (status, body) = tokio::select! {
            answer = ask => answer?,
            _ = connection => return Err(blind("lost the connection to", &"it was closed")),
        };
        match status {
            StatusCode::OK => {
                serde_json::from_slice(&body).map_err(|error| blind("cannot understand", &error))
            }
            StatusCode::UNAUTHORIZED => {
                Err(blind("not known to", &"the token or certificate is not accepted"))
            }
            StatusCode::FORBIDDEN => Err(blind("not allowed at", &"the right to get nodes/proxy is needed")),
            other => Err(blind("no pods from", &other)),
        }
    }
}

impl std::fmt::Debug for KubeletSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("KubeletSource").field("address", &self.address).finish_non_exhaustive()
    }
}

impl std::fmt::Debug for Credentials {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Token(_) => "Token",
            Self::Certificate { .. } => "Certificate",
            Self::Nobody => "Nobody",
        })
    }
}

impl Source for KubeletSource {
    fn name(&self) -> String {
        format!("the kubelet at {}", self.address)
    }

    fn look<'a>(&'a mut self, wanted: &'a Wanted) -> Looking<'a> {
        Box::pin(async move {
            let pods = self.pods().await?;
            let Some(items) = pods["items"].as_array() else {
                // An empty list is written as null, but a list it is.
                let is_list = pods["kind"] == "PodList";
                return if is_list {
                    Ok(Vec::new())
                } else {
                    Err(Blind("the answer is not a list of pods".into()))
                };
            };
            let is_wanted = |pod: &&Value| {
                let metadata = &pod["metadata"];
                wanted.is_named(
                    metadata["namespace"].as_str().unwrap_or_default(),
                    metadata["name"].as_str().unwrap_or_default(),
                    pod["spec"]["nodeName"].as_str(),
                )
            };
            Ok(items.iter().filter(is_wanted).map(PodSeen::of_pod).collect())
        })
    }
}

/// Looks only at which certificate is shown.
#[derive(Debug)]
struct Shown {
    only: Option<Vec<CertificateDer<'static>>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Shown {
    fn verify_server_cert(
        &self,
        shown: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        match &self.only {
            Some(only) if !only.iter().any(|it| it == shown) => {
                Err(rustls::Error::General("the certificate is not the one that was pinned".into()))
            }
            _ => Ok(ServerCertVerified::assertion()),
        }
    }

    // Whoever shows a certificate must have its key, or pinning would mean nothing.
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
