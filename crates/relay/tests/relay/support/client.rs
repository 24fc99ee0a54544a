//! A client as a kubelet is one: one connection, a certificate, either version of HTTP.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use http::{Request, Response};
use hyper::body::Incoming;
use hyper::client::conn::{http1, http2};
use hyper::rt::Executor;
use hyper_util::rt::{TokioIo, TokioTimer};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use safepoint_relay::{Body, BoxError, empty};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

use super::Pair;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Version {
    One,
    Two,
}

impl Version {
    pub(crate) fn alpn(self) -> Vec<u8> {
        match self {
            Self::One => b"http/1.1".to_vec(),
            Self::Two => b"h2".to_vec(),
        }
    }
}

/// One connection. It breaks off when dropped.
pub(crate) struct Client {
    sender: Sender,
    address: SocketAddr,
    tasks: Tasks,
}

/// The tasks of a connection, which end with it.
#[derive(Clone, Default)]
struct Tasks(Arc<Mutex<JoinSet<()>>>);

impl<F: Future<Output: Send> + Send + 'static> hyper::rt::Executor<F> for Tasks {
    fn execute(&self, task: F) {
        self.0.lock().unwrap().spawn(async {
            task.await;
        });
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        self.tasks.0.lock().unwrap().abort_all();
    }
}

enum Sender {
    One(http1::SendRequest<Body>),
    Two(http2::SendRequest<Body>),
}

impl Client {
    /// Connects, with or without a certificate. TLS 1.3 lets a client believe that it is in before the server has looked,
    /// so that a refusal may show with the first request only.
    pub(crate) async fn connect(
        address: SocketAddr,
        authority: &str,
        own: Option<&Pair>,
        version: Version,
    ) -> Result<Self, BoxError> {
        // Often enough for a ping that is not answered to show in a test.
        Self::connect_with(address, authority, own, version, Duration::from_millis(50)).await
    }

    /// The same, with this much time between pings.
    pub(crate) async fn connect_with(
        address: SocketAddr,
        authority: &str,
        own: Option<&Pair>,
        version: Version,
        ping: Duration,
    ) -> Result<Self, BoxError> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(authority.as_bytes())?)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots);
        let mut config = match own {
            None => config.with_no_client_auth(),
            Some(own) => config.with_client_auth_cert(vec![own.certificate_der()], own.key_der())?,
        };
        config.alpn_protocols = vec![version.alpn()];
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::from(address.ip());
        let stream = TokioIo::new(TlsConnector::from(Arc::new(config)).connect(name, stream).await?);
        let tasks = Tasks::default();
        let sender = match version {
            Version::One => {
                let (sender, connection) = http1::handshake(stream).await?;
                tasks.execute(connection);
                Sender::One(sender)
            }
            Version::Two => {
                let (sender, connection) = http2::Builder::new(tasks.clone())
                    .timer(TokioTimer::new())
                    .keep_alive_interval(ping)
                    .keep_alive_timeout(Duration::from_secs(10))
                    .handshake(stream)
                    .await?;
                tasks.execute(connection);
                Sender::Two(sender)
            }
        };
        Ok(Self { sender, address, tasks })
    }

    /// Sends a request; its URI is a path.
    pub(crate) async fn send(
        &mut self,
        mut request: Request<Body>,
    ) -> Result<Response<Incoming>, hyper::Error> {
        match &mut self.sender {
            Sender::One(sender) => {
                let host = self.address.to_string().parse().unwrap();
                request.headers_mut().insert(http::header::HOST, host);
                sender.ready().await?;
                sender.send_request(request).await
            }
            Sender::Two(sender) => {
                *request.uri_mut() = format!("https://{}{}", self.address, request.uri()).parse().unwrap();
                sender.send_request(request).await
            }
        }
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Response<Incoming>, hyper::Error> {
        self.send(Request::builder().uri(path).body(empty()).unwrap()).await
    }

    /// For many at once.
    pub(crate) fn sender(&self) -> http2::SendRequest<Body> {
        match &self.sender {
            Sender::One(_) => panic!("one at a time"),
            Sender::Two(sender) => sender.clone(),
        }
    }

    pub(crate) const fn address(&self) -> SocketAddr {
        self.address
    }
}
