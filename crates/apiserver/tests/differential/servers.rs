//! The two servers: Kubernetes' own, which is right, and the embedded one.

use std::sync::OnceLock;
use std::time::Duration;

use anyhow::{Context as _, Result, anyhow};
use http::{Request, header};
use http_body_util::BodyExt as _;
use kube::client::Body;
use kube::{Client, Config};
use safepoint_apiserver::{Api, Options, Server, ServerOptions};
use safepoint_testkit::{ControlPlane, Options as RealOptions};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::ask::{Answer, Ask, HUNG_UP};
use super::kinds::{NAME, OWNERS};

/// How long an answer may take. It only turns a hang into a failure.
const LIMIT: Duration = Duration::from_secs(60);

/// Both servers, with one namespace of the same name.
pub(crate) struct Servers {
    pub(crate) real: Side,
    pub(crate) embedded: Side,
    pub(crate) namespace: String,
    _kept: (TempDir, DropGuard),
}

/// One of the two.
pub(crate) struct Side {
    name: &'static str,
    client: Client,
    token: String,
    /// What stands for something in requests, and what it is here.
    names: Vec<(&'static str, String)>,
}

/// A stream of events, one document in each line.
pub(crate) struct Events {
    body: Body,
    unread: Vec<u8>,
}

/// The real one, started by the first test that asks and ended with the process.
fn real() -> Result<&'static ControlPlane> {
    static REAL: OnceLock<Result<ControlPlane, String>> = OnceLock::new();
    let start = || {
        let options = RealOptions {
            // The embedded server has no controller that would take the taint of a new node away, and gives it none.
            apiserver_flags: vec!["--disable-admission-plugins=TaintNodesByCondition".to_owned()],
            ..RealOptions::default()
        };
        ControlPlane::start_with(&options).map_err(|error| format!("{error:#}"))
    };
    REAL.get_or_init(start).as_ref().map_err(|error| anyhow!("{error}"))
}

// === impl Servers ===

impl Servers {
    /// Starts what does not run yet, and makes the namespace and a few objects that can own others.
    pub(crate) async fn start(namespace: &str) -> Result<Servers> {
        let kubernetes = real()?;
        let real =
            Side::connect("real", kubernetes.url(), kubernetes.ca_pem().as_bytes(), kubernetes.token())?;
        let data = tempfile::tempdir()?;
        let api = Api::open(Options::new(data.path())).await?;
        let server = Server::bind(api.clone(), &ServerOptions::default()).await?;
        let kubeconfig = std::fs::read_to_string(api.admin_kubeconfig(&server.url())?)?;
        let token =
            kubeconfig.lines().find_map(|line| line.trim().strip_prefix("token:")).context("a token")?;
        let ca = std::fs::read(data.path().join("pki/ca.crt"))?;
        let embedded = Side::connect("embedded", &server.url(), &ca, token.trim().trim_matches('"'))?;
        let stop = CancellationToken::new();
        #[expect(
            clippy::disallowed_methods,
            reason = "the server under test runs beside the test, and ends with it"
        )]
        tokio::spawn(server.run(stop.clone()));
        let mut servers =
            Servers { real, embedded, namespace: namespace.to_owned(), _kept: (data, stop.drop_guard()) };
        for side in [&mut servers.real, &mut servers.embedded] {
            side.prepare(namespace).await?;
        }
        Ok(servers)
    }

    /// Sends a request to both, about the object `name`.
    pub(crate) async fn ask(&self, ask: &Ask, name: &str) -> Result<(Answer, Answer)> {
        tokio::try_join!(self.real.ask(ask, name), self.embedded.ask(ask, name))
    }
}

// === impl Side ===

impl Side {
    fn connect(name: &'static str, url: &str, ca: &[u8], token: &str) -> Result<Side> {
        use rustls_pki_types::{CertificateDer, pem::PemObject as _};
        let mut config = Config::new(url.parse()?);
        let authorities: Result<Vec<CertificateDer<'_>>, _> = CertificateDer::pem_slice_iter(ca).collect();
        config.root_cert = Some(authorities?.iter().map(|der| der.to_vec()).collect());
        config.default_retry = false;
        Ok(Side { name, client: Client::try_from(config)?, token: token.to_owned(), names: Vec::new() })
    }

    async fn prepare(&mut self, namespace: &str) -> Result<()> {
        let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
        let (code, made) = self.send(&Ask::post("/api/v1/namespaces".to_owned(), body), "").await?;
        anyhow::ensure!(code == 201, "cannot make the namespace {namespace}: {made}");
        for (place, placeholder) in OWNERS.into_iter().enumerate() {
            let name = format!("owner-{}", place + 1);
            let body = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
            let path = format!("/api/v1/namespaces/{namespace}/configmaps");
            let (code, made) = self.send(&Ask::post(path, body), "").await?;
            anyhow::ensure!(code == 201, "cannot make {name}: {made}");
            let uid = made["metadata"]["uid"].as_str().context("a new object has a uid")?;
            self.names.push((placeholder, uid.to_owned()));
        }
        Ok(())
    }

    /// Sends a request about the object `name`, and reads what must be the same everywhere.
    pub(crate) async fn ask(&self, ask: &Ask, name: &str) -> Result<Answer> {
        let (code, body) = self.send(ask, name).await?;
        Ok(Answer::new(code, body))
    }

    /// Sends a request about the object `name`, and reads the answer.
    pub(crate) async fn send(&self, ask: &Ask, name: &str) -> Result<(u16, Value)> {
        let trouble = || format!("the {} server does not answer {ask}", self.name);
        let response = timeout(LIMIT, self.client.send(self.request(ask, name)?)).await;
        let Ok(response) = response.with_context(trouble)? else { return Ok((HUNG_UP, Value::Null)) };
        let (head, body) = response.into_parts();
        let body = timeout(LIMIT, body.collect()).await;
        let bytes = body.with_context(trouble)?.with_context(trouble)?.to_bytes();
        let text = self.with_placeholders(String::from_utf8_lossy(&bytes).into_owned(), name);
        Ok((head.status.as_u16(), serde_json::from_str(&text).unwrap_or(Value::String(text))))
    }

    /// Watches. A refusal is an error.
    pub(crate) async fn watch(&self, path: &str) -> Result<Events> {
        let ask = Ask::get(path.to_owned());
        let response =
            timeout(LIMIT, self.client.send(self.request(&ask, "")?)).await.context("no answer")??;
        anyhow::ensure!(
            response.status().is_success(),
            "the watch is refused with {}: {ask}",
            response.status()
        );
        Ok(Events { body: response.into_body(), unread: Vec::new() })
    }

    fn request(&self, ask: &Ask, name: &str) -> Result<Request<Body>> {
        let mut request = Request::builder()
            .method(ask.method.clone())
            .uri(ask.path.replace(NAME, name))
            .header(header::ACCEPT, "application/json")
            .header(header::AUTHORIZATION, format!("Bearer {}", self.token));
        let mut text = ask.body.as_ref().map(Value::to_string).unwrap_or_default().replace(NAME, name);
        for (placeholder, uid) in &self.names {
            text = text.replace(placeholder, uid);
        }
        if ask.body.is_some() {
            request = request.header(header::CONTENT_TYPE, ask.content_type);
        }
        Ok(request.body(Body::from(text.into_bytes()))?)
    }

    fn with_placeholders(&self, mut text: String, name: &str) -> String {
        for (placeholder, uid) in &self.names {
            text = text.replace(uid, placeholder);
        }
        if name.is_empty() { text } else { text.replace(name, NAME) }
    }
}

// === impl Events ===

impl Events {
    /// The next event. The end of the stream is an error.
    pub(crate) async fn next(&mut self) -> Result<Value> {
        loop {
            if let Some(end) = self.unread.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.unread.drain(..=end).collect();
                return Ok(serde_json::from_slice(&line)?);
            }
            let frame = timeout(LIMIT, self.body.frame())
                .await
                .context("no event")?
                .context("the stream ended")??;
            self.unread.extend_from_slice(frame.data_ref().map_or(&[][..], |data| data));
        }
    }
}
