//! Connections: plain ones on the loopback, or with TLS by a certificate in files.

use std::io;
use std::path::Path;
use std::sync::{Arc, PoisonError, RwLock};
use std::time::Duration;

use axum::Router;
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rustls::ServerConfig;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls_pki_types::pem::PemObject;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::dashboard::Certificate;

/// A client that has not finished its handshake, or the head of a request, by then is let go.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long answers may take to finish when the server ends.
const FAREWELL: Duration = Duration::from_secs(2);
/// How many connections there may be at once.
const MOST_CONNECTIONS: usize = 2_000;
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
pub(crate) async fn serve(
    listener: TcpListener,
    open: Open,
    router: Router,
    stop: CancellationToken,
) -> io::Result<()> {
    let mut connections = JoinSet::new();
    let mut renew = tokio::time::interval(RENEW);
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            Some(_) = connections.join_next(), if !connections.is_empty() => {}
            _ = renew.tick(), if open.0.is_some() => {
                if let Some((_, shown)) = &open.0 {
                    shown.renew();
                }
            }
            accepted = listener.accept(), if connections.len() < MOST_CONNECTIONS => match accepted {
                Ok((stream, _)) => {
                    let acceptor = open.0.as_ref().map(|(acceptor, _)| acceptor.clone());
                    drop(connections.spawn(connection(acceptor, router.clone(), stream, stop.clone())));
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

async fn connection(
    acceptor: Option<TlsAcceptor>,
    router: Router,
    stream: TcpStream,
    stop: CancellationToken,
) {
    let _ = stream.set_nodelay(true);
    match acceptor {
        None => answer(stream, router, stop).await,
        Some(acceptor) => {
            if let Ok(Ok(stream)) = timeout(PATIENCE, acceptor.accept(stream)).await {
                answer(stream, router, stop).await;
            }
        }
    }
}

async fn answer(
    stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static,
    router: Router,
    stop: CancellationToken,
) {
    let mut builder = auto::Builder::new(TokioExecutor::new());
    builder.http1().timer(TokioTimer::new()).header_read_timeout(PATIENCE);
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
