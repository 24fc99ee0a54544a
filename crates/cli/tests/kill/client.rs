//! One connection over TLS, one request at a time: what was answered, and what was not, is never in doubt.

use std::path::Path;
use std::sync::Arc;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::header::{AUTHORIZATION, CONTENT_TYPE};
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use hyper::body::Incoming;
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, IpAddr, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;

pub(crate) const JSON: &str = "application/json";

/// How to reach a running server as its administrator.
#[derive(Clone)]
pub(crate) struct Access {
    config: Arc<ClientConfig>,
    address: String,
    token: Arc<str>,
}

/// An open connection.
pub(crate) struct Connection {
    sender: SendRequest<Full<Bytes>>,
    /// Moves the bytes; ends with the connection.
    _driver: JoinSet<()>,
    address: String,
    token: Arc<str>,
}

/// What became of a request.
pub(crate) enum Outcome {
    /// A whole answer.
    Answered(StatusCode, Value),
    /// The answer began, so that the server had decided, and broke off.
    Begun(StatusCode),
    /// No answer: it may have been done or not.
    Unknown,
}

// === impl Access ===

impl Access {
    /// Reads the authority and the token from the data folder, as a user of this machine would.
    pub(crate) fn read(data: &Path, url: &str) -> Result<Access> {
        let ca =
            CertificateDer::from_pem_file(data.join("pki/ca.crt")).context("the authority's certificate")?;
        let mut roots = RootCertStore::empty();
        roots.add(ca)?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let kubeconfig = std::fs::read_to_string(data.join("kubeconfig"))?;
        let token = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("token:"));
        let token = token.context("the kubeconfig has no token")?.trim().trim_matches('"');
        let address = url.strip_prefix("https://").context("the server speaks TLS")?;
        Ok(Access { config: Arc::new(config), address: address.to_owned(), token: token.into() })
    }

    pub(crate) async fn connect(&self) -> Result<Connection> {
        let stream = TcpStream::connect(&self.address).await?;
        stream.set_nodelay(true)?;
        let name = ServerName::IpAddress(IpAddr::try_from("127.0.0.1")?);
        let stream = TlsConnector::from(Arc::clone(&self.config)).connect(name, stream).await?;
        let (sender, connection) = handshake(TokioIo::new(stream)).await?;
        let mut driver = JoinSet::new();
        driver.spawn(async {
            // That it broke is seen by whoever waits for an answer.
            let _ = connection.await;
        });
        Ok(Connection { sender, _driver: driver, address: self.address.clone(), token: self.token.clone() })
    }
}

// === impl Connection ===

impl Connection {
    /// Asks and waits for the whole answer. An error is a mistake of this test.
    pub(crate) async fn ask(
        &mut self,
        method: Method,
        path: &str,
        content_type: &str,
        body: Option<&Value>,
    ) -> Result<Outcome> {
        let body = body.map(Value::to_string).unwrap_or_default();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.address)
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .header(CONTENT_TYPE, content_type)
            .body(Full::from(body))?;
        if self.sender.ready().await.is_err() {
            return Ok(Outcome::Unknown);
        }
        let Ok(response) = self.sender.send_request(request).await else { return Ok(Outcome::Unknown) };
        let status = response.status();
        let Ok(body) = response.into_body().collect().await else { return Ok(Outcome::Begun(status)) };
        let body = body.to_bytes();
        let value = serde_json::from_slice(&body)
            .with_context(|| format!("{status} is not JSON: {}", String::from_utf8_lossy(&body)))?;
        Ok(Outcome::Answered(status, value))
    }

    /// Asks for something that is there, from a server that is.
    pub(crate) async fn get(&mut self, path: &str) -> Result<Value> {
        match self.ask(Method::GET, path, JSON, None).await? {
            Outcome::Answered(StatusCode::OK, value) => Ok(value),
            Outcome::Answered(status, value) => anyhow::bail!("GET {path}: {status}: {value}"),
            Outcome::Begun(_) | Outcome::Unknown => anyhow::bail!("GET {path}: no answer"),
        }
    }

    /// Begins to read an answer that does not end.
    pub(crate) async fn open(&mut self, path: &str) -> Result<Response<Incoming>> {
        let request = Request::get(path)
            .header("host", &self.address)
            .header(AUTHORIZATION, format!("Bearer {}", self.token))
            .body(Full::default())?;
        Ok(self.sender.send_request(request).await?)
    }
}
