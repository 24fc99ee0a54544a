//! Connections: plain ones on the loopback, or with TLS by a certificate in files.

use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use safepoint_serving::Limits;
use tokio::net::TcpListener;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::dashboard::Certificate;

/// A page that changes has a connection to itself, or a stream of one.
const LIMITS: Limits = Limits::of(2_000);
/// How often the files of the certificate are looked at.
const RENEW: Duration = Duration::from_secs(60);

/// How connections are served.
#[derive(Clone, Debug)]
pub(crate) enum Served {
    Plain,
    Tls(Certificate),
}

/// The same, with what it takes.
pub(crate) struct Open(Option<(TlsAcceptor, Arc<Shown>)>);

/// The certificate that is shown now.
#[derive(Debug)]
pub(crate) struct Shown {
    files: Certificate,
    now: RwLock<Arc<CertifiedKey>>,
}

// === impl Served ===

impl Served {
    pub(crate) fn open(&self) -> io::Result<Open> {
        let Self::Tls(files) = self else { return Ok(Open(None)) };
        let now = RwLock::new(Arc::new(read(&files.chain, &files.key)?));
        let shown = Arc::new(Shown { files: files.clone(), now });
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(io::Error::other)?
            .with_no_client_auth()
            .with_cert_resolver(Arc::clone(&shown) as _);
        config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
        Ok(Open(Some((TlsAcceptor::from(Arc::new(config)), shown))))
    }
}

// === impl Shown ===

impl Shown {
    /// Reads the files again. What cannot be read does not replace what is shown.
    fn renew(&self) {
        match read(&self.files.chain, &self.files.key) {
            Ok(new) => {
                let mut now = self.now.write().unwrap_or_else(PoisonError::into_inner);
                if now.cert != new.cert {
                    *now = Arc::new(new);
                }
            }
            Err(error) => {
                tracing::warn!(%error, "cannot read the dashboard's certificate; the last one is shown");
            }
        }
    }
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner)))
    }
}

fn read(chain: &Path, key: &Path) -> io::Result<CertifiedKey> {
    let cannot = |path: &Path, error: &dyn std::fmt::Display| {
        io::Error::other(format!("cannot read {}: {error}", path.display()))
    };
    let certificates = CertificateDer::pem_file_iter(chain)
        .and_then(Iterator::collect::<Result<Vec<_>, _>>)
        .map_err(|error| cannot(chain, &error))?;
    let private = PrivateKeyDer::from_pem_file(key).map_err(|error| cannot(key, &error))?;
    let provider = rustls::crypto::aws_lc_rs::default_provider();
    CertifiedKey::from_der(certificates, private, &provider).map_err(|error| cannot(key, &error))
}

/// Answers until it is stopped.
pub(crate) async fn serve(listener: TcpListener, open: Open, router: Router, stop: CancellationToken) {
    let (acceptor, shown) = open.0.unzip();
    let renew = async {
        let Some(shown) = shown else { return std::future::pending().await };
        loop {
            tokio::time::sleep(RENEW).await;
            shown.renew();
        }
    };
    tokio::select! {
        () = safepoint_serving::serve(listener, acceptor, router, LIMITS, stop) => {}
        () = renew => {}
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn write(files: &Certificate) {
        let made = rcgen::generate_simple_self_signed(["hub.example".to_owned()]).unwrap();
        fs::write(&files.chain, made.cert.pem()).unwrap();
        fs::write(&files.key, made.signing_key.serialize_pem()).unwrap();
    }

    #[test]
    fn a_certificate_is_read_again_and_one_that_cannot_be_read_replaces_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let files = Certificate { chain: folder.path().join("tls.crt"), key: folder.path().join("tls.key") };
        let error = Served::Tls(files.clone()).open().err().unwrap().to_string();
        assert!(error.contains("cannot read") && error.contains("tls.crt"), "{error}");

        write(&files);
        let Open(Some((_, shown))) = Served::Tls(files.clone()).open().unwrap() else { panic!("no TLS") };
        let now = || shown.now.read().unwrap().cert.clone();
        let first = now();
        shown.renew();
        assert_eq!(now(), first);
        write(&files);
        shown.renew();
        let second = now();
        assert_ne!(second, first);
        fs::write(&files.key, "no key").unwrap();
        shown.renew();
        assert_eq!(now(), second);
    }
}
