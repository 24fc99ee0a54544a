//! The client of both: connections that stay open, no parsing, and the time of every answer.

use std::sync::Arc;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use bytes::{Bytes, BytesMut};
use http::header::{AUTHORIZATION, CONTENT_TYPE, HOST, HeaderValue};
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, IpAddr, ServerName};
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

/// The one place that reads a clock.
#[expect(clippy::disallowed_methods, reason = "time is what is measured")]
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// How to reach a server as its administrator.
#[derive(Clone)]
pub(crate) struct Access {
    connector: TlsConnector,
    address: String,
    host: HeaderValue,
    authorization: HeaderValue,
}

/// One connection, one request at a time.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// Moves the bytes; ends with the connection.
    driver: JoinSet<()>,
    access: Access,
}

/// The events of a watch, as lines.
pub(crate) struct Events {
    body: Incoming,
    unread: BytesMut,
    _driver: JoinSet<()>,
}

// === impl Access ===

impl Access {
    pub(crate) fn new(address: &str, ca_pem: &[u8], token: &str) -> Result<Access> {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(ca_pem).context("the authority's certificate")?)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        Ok(Access {
            connector: TlsConnector::from(Arc::new(config)),
            address: address.to_owned(),
            host: HeaderValue::from_str(address)?,
            authorization: HeaderValue::from_str(&format!("Bearer {token}"))?,
        })
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::IpAddress(IpAddr::try_from("127.0.0.1")?);
        let stream = self.connector.connect(name, stream).await?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async {
            // That it broke is seen by whoever waits for an answer.
            let _ = connection.await;
        });
        Ok(Connection { sender, driver, access: self.clone() })
    }
}

// === impl Connection ===

impl Connection {
    /// Connects again if the server has let an idle connection go: before a block, so that it is not measured.
    pub(crate) async fn wake(&mut self) -> Result<()> {
        if self.ask(Method::GET, "/readyz", Bytes::new()).await.is_err() {
            *self = self.access.connect().await?;
        }
        Ok(())
    }

    async fn send(&mut self, method: Method, path: &str, body: Bytes) -> Result<http::Response<Incoming>> {
        self.sender.ready().await.context("the connection is closed")?;
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(HOST, &self.access.host)
            .header(AUTHORIZATION, &self.access.authorization)
            .header(CONTENT_TYPE, HeaderValue::from_static("application/json"))
            .body(Full::new(body))?;
        self.sender.send_request(request).await.with_context(|| format!("no answer to {path}"))
    }

    /// Asks, whatever the answer is.
    pub(crate) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        body: Bytes,
    ) -> Result<(StatusCode, Bytes)> {
        let response = self.send(method, path, body).await?;
        let status = response.status();
        let body =
            response.into_body().collect().await.with_context(|| format!("half an answer to {path}"))?;
        Ok((status, body.to_bytes()))
    }

    /// Asks for something that must not be refused.
    pub(crate) async fn call(&mut self, method: Method, path: &str, body: Bytes) -> Result<Bytes> {
        let (status, answer) = self.ask(method, path, body).await?;
        ensure!(
            status.is_success(),
            "{path} was answered with {status}: {}",
            String::from_utf8_lossy(&answer)
        );
        Ok(answer)
    }

    pub(crate) async fn get(&mut self, path: &str) -> Result<Bytes> {
        self.call(Method::GET, path, Bytes::new()).await
    }

    /// Begins a watch. It has begun when this returns.
    pub(crate) async fn watch(mut self, path: &str) -> Result<Events> {
        let response = self.send(Method::GET, path, Bytes::new()).await?;
        ensure!(response.status().is_success(), "{path} was answered with {}", response.status());
        Ok(Events { body: response.into_body(), unread: BytesMut::new(), _driver: self.driver })
    }
}

// === impl Events ===

impl Events {
    /// Waits for the next event.
    pub(crate) async fn next(&mut self) -> Result<Bytes> {
        let mut searched = 0;
        loop {
            if let Some(end) = self.unread[searched..].iter().position(|byte| *byte == b'\n') {
                return Ok(self.unread.split_to(searched + end + 1).freeze());
            }
            searched = self.unread.len();
            let frame = self.body.frame().await.context("the watch ended")??;
            self.unread.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        }
    }
}
