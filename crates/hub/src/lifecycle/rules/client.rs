//! The way to a webhook of a rule and back.
//!
//! Whoever writes a rule decides where the hub sends a question to, so little is done for them: only the web, no redirect, a
//! bounded answer in bounded time, and nothing of an answer that is none is told. A `caBundle` is trusted and nobody else
//! then; without one, whom the machine trusts.

use std::collections::HashMap;
use std::error::Error;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use axum::body::Bytes;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::header::{ACCEPT, CONTENT_TYPE, USER_AGENT};
use http::{Method, Request, Uri};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client as Http;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject as _;
use safepoint_core::Text;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// How long a question may take, as in KusionStack.
const PATIENCE: Duration = Duration::from_secs(30);
/// As much as an answer about some thousand pods may hold.
const LARGEST: usize = 1 << 20;
/// So many questions are under way at once.
const AT_ONCE: usize = 64;
/// So many different `caBundle`s are kept ready.
const KEPT: usize = 64;
/// What KusionStack takes for no `caBundle`: a line break in base64.
const EMPTY: &str = "Cg==";

type Kept = Http<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// Asks webhooks.
pub(crate) struct Client {
    patience: Duration,
    slots: Semaphore,
    /// By what they trust.
    kept: Mutex<HashMap<String, Kept>>,
}

// === impl Client ===

impl Client {
    pub(crate) fn new() -> Self {
        Self { patience: PATIENCE, slots: Semaphore::new(AT_ONCE), kept: Mutex::default() }
    }

    /// Sends a question and returns the body of the answer; without a question, only asks. The error is for people.
    pub(crate) async fn ask(
        &self,
        url: &Uri,
        ca: Option<&str>,
        question: Option<Vec<u8>>,
    ) -> Result<Bytes, Text> {
        let Ok(_slot) = self.slots.acquire().await else { return Err("the hub is ending".into()) };
        let exchange = timeout(self.patience, self.exchange(url, ca, question)).await;
        let late = || Err(format!("it has not answered within {} s", self.patience.as_secs()));
        exchange.unwrap_or_else(|_| late()).map_err(Text::from)
    }

    async fn exchange(
        &self,
        url: &Uri,
        ca: Option<&str>,
        question: Option<Vec<u8>>,
    ) -> Result<Bytes, String> {
        let method = if question.is_some() { Method::POST } else { Method::GET };
        let request = Request::builder()
            .method(method)
            .uri(url)
            .header(CONTENT_TYPE, "application/json")
            .header(ACCEPT, "application/json")
            .header(USER_AGENT, concat!("safepoint-hub/", env!("CARGO_PKG_VERSION")))
            .body(Full::new(question.unwrap_or_default().into()))
            .map_err(|error| error.to_string())?;
        let answered = self.trusting(ca)?.request(request).await.map_err(|error| chain(&error))?;
        let status = answered.status();
        if !status.is_success() {
            return Err(format!("it answered with status {}", status.as_u16()));
        }
        let body = Limited::new(answered.into_body(), LARGEST).collect().await.map_err(|error| {
            if error.is::<LengthLimitError>() {
                format!("its answer is larger than {LARGEST} bytes")
            } else {
                "its answer ended early".to_owned()
            }
        })?;
        Ok(body.to_bytes())
    }

    fn trusting(&self, ca: Option<&str>) -> Result<Kept, String> {
        let ca = ca.map(str::trim).filter(|ca| *ca != EMPTY).unwrap_or_default();
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(client) = kept.get(ca) {
            return Ok(client.clone());
        }
        let client = client(roots(ca)?)?;
        if kept.len() >= KEPT {
            kept.clear();
        }
        kept.insert(ca.to_owned(), client.clone());
        Ok(client)
    }
}

/// Whom to trust. KusionStack takes base64 of PEM; people also write the PEM itself.
fn roots(ca: &str) -> Result<RootCertStore, String> {
    let mut roots = RootCertStore::empty();
    if ca.is_empty() {
        // Whom the machine trusts and we cannot read is left out: there is no right or wrong number of them.
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(roots);
    }
    let pem = if ca.starts_with("-----") {
        ca.as_bytes().to_vec()
    } else {
        let text: String = ca.split_whitespace().collect();
        STANDARD.decode(text).map_err(|error| format!("caBundle is not base64: {error}"))?
    };
    let (added, _) =
        roots.add_parsable_certificates(CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok));
    if added == 0 {
        return Err("caBundle holds no certificate in PEM".to_owned());
    }
    Ok(roots)
}

fn client(roots: RootCertStore) -> Result<Kept, String> {
    // Named, and not the default of the process: a library must not depend on what `main` installed.
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(|error| format!("cannot set up TLS: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connector = HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1().build();
    Ok(Http::builder(TokioExecutor::new()).pool_timer(TokioTimer::new()).build(connector))
}

/// An error with its causes, which is where hyper keeps the reason.
fn chain(error: &(dyn Error + 'static)) -> String {
    let causes = std::iter::successors(error.source(), |error: &&(dyn Error + 'static)| (*error).source());
    causes.fold(error.to_string(), |text, cause| format!("{text}: {cause}"))
}

#[cfg(test)]
mod tests {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::TcpListener;
    use tokio::task::JoinSet;

    use super::*;

    /// A server that says this to everybody, or nothing.
    async fn server(says: Option<String>) -> (Uri, JoinSet<()>) {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let uri = format!("http://{}/ask", listener.local_addr().unwrap()).parse().unwrap();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut open = Vec::new();
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = vec![0; 4096];
                let _ = stream.read(&mut request).await;
                if let Some(says) = &says {
                    let _ = stream.write_all(says.as_bytes()).await;
                }
                open.push(stream);
            }
        });
        (uri, tasks)
    }

    fn quick() -> Client {
        Client { patience: Duration::from_millis(300), ..Client::new() }
    }

    #[tokio::test]
    async fn what_takes_too_long_is_large_or_elsewhere_is_no_answer() {
        let long =
            format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{}", LARGEST + 1, "a".repeat(LARGEST + 1));
        for (says, part) in [
            (None, "has not answered within"),
            (
                Some(
                    "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:1/\r\ncontent-length: 0\r\n\r\n".into(),
                ),
                "status 302",
            ),
            (Some("HTTP/1.1 500 No\r\ncontent-length: 6\r\n\r\nsecret".into()), "status 500"),
            (Some(long), "larger than"),
            (Some("nonsense\r\n\r\n".into()), "error"),
        ] {
            let client = if says.is_none() { quick() } else { Client::new() };
            let (uri, _tasks) = server(says).await;
            let error = client.ask(&uri, None, Some(b"{}".to_vec())).await.unwrap_err();
            assert!(error.contains(part) && !error.contains("secret"), "{part}: {error}");
        }
        let (uri, _tasks) = server(Some("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}".into())).await;
        assert_eq!(&*Client::new().ask(&uri, Some("Cg=="), None).await.unwrap(), b"{}");
    }

    #[tokio::test]
    async fn nobody_there_is_told_as_such() {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let uri: Uri = format!("https://{}/", listener.local_addr().unwrap()).parse().unwrap();
        drop(listener);
        let error = Client::new().ask(&uri, None, None).await.unwrap_err();
        assert!(error.contains("onnect"), "{error}");
    }

    #[test]
    fn a_bundle_that_is_none_says_so() {
        assert!(roots("not base64!").unwrap_err().contains("base64"));
        assert!(roots("aGVsbG8=").unwrap_err().contains("no certificate"));
    }
}
