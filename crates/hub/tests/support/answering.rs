//! A webhook of a transition rule, over TLS with a certificate of its own authority.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::Response;
use axum::routing::{get, post};
use axum::{Json, Router};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::Uri;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, IsCa, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

/// What the webhook says.
#[derive(Clone)]
pub(crate) enum Says {
    /// This.
    This(Value),
    /// Something that is no answer.
    Garbage,
    /// Nothing, for ever.
    Nothing,
}

/// The webhook. It ends when it is dropped.
pub(crate) struct Webhook {
    address: SocketAddr,
    /// The `caBundle`.
    authority: String,
    heard: Arc<Mutex<Heard>>,
    _server: JoinSet<()>,
}

struct Heard {
    /// What is said to a question.
    says: Says,
    /// What is said about a task.
    result: Says,
    asked: Vec<Value>,
    polled: Vec<String>,
}

type Shared = Arc<Mutex<Heard>>;

impl Webhook {
    pub(crate) async fn start(says: Says) -> Self {
        let mut authority = CertificateParams::new(Vec::new()).unwrap();
        authority.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let authority = CertifiedIssuer::self_signed(authority, KeyPair::generate().unwrap()).unwrap();
        let key = KeyPair::generate().unwrap();
        let certificate = CertificateParams::new(vec!["127.0.0.1".to_owned()]).unwrap();
        let certificate = certificate.signed_by(&key, &authority).unwrap();
        let private = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let tls = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], private)
            .unwrap();
        let heard = Heard { says, result: Says::Nothing, asked: Vec::new(), polled: Vec::new() };
        let heard = Arc::new(Mutex::new(heard));
        let router = Router::new().route("/ask", post(ask)).route("/poll", get(poll));
        let router = router.with_state(Arc::clone(&heard));
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(tls));
        let mut server = JoinSet::new();
        server.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                let (acceptor, router) = (acceptor.clone(), router.clone());
                connections.spawn(async move {
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let service = TowerToHyperService::new(router);
                    let builder = auto::Builder::new(TokioExecutor::new());
                    let _ = builder.serve_connection(TokioIo::new(stream), service).await;
                });
            }
        });
        let authority = STANDARD.encode(authority.pem());
        Self { address, authority, heard, _server: server }
    }

    /// A rule with this webhook, and how long between two questions and for a task.
    pub(crate) fn rule(&self, stage: &str, timeout: u32) -> Value {
        let poll = json!({"url": format!("https://{}/poll", self.address), "caBundle": self.authority,
            "intervalSeconds": 1, "timeoutSeconds": timeout});
        json!({"name": "ask", "stage": stage, "webhook": {
            "clientConfig": {"url": format!("https://{}/ask", self.address), "caBundle": self.authority, "poll": poll},
            "failurePolicy": "Ignore",
            "parameters": [{"key": "site", "value": "north"},
                {"key": "app", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['app']"}}}]}})
    }

    pub(crate) fn says(&self, says: Says) {
        self.heard.lock().unwrap().says = says;
    }

    pub(crate) fn result(&self, result: Value) {
        self.heard.lock().unwrap().result = Says::This(result);
    }

    /// The questions.
    pub(crate) fn asked(&self) -> Vec<Value> {
        self.heard.lock().unwrap().asked.clone()
    }

    /// The queries about tasks.
    pub(crate) fn polled(&self) -> Vec<String> {
        self.heard.lock().unwrap().polled.clone()
    }
}

async fn ask(State(heard): State<Shared>, Json(question): Json<Value>) -> Response {
    let says = {
        let mut heard = heard.lock().unwrap();
        heard.asked.push(question);
        heard.says.clone()
    };
    say(says).await
}

async fn poll(State(heard): State<Shared>, uri: Uri) -> Response {
    let says = {
        let mut heard = heard.lock().unwrap();
        heard.polled.push(uri.query().unwrap_or_default().to_owned());
        heard.result.clone()
    };
    say(says).await
}

async fn say(says: Says) -> Response {
    let body = match says {
        Says::This(answer) => answer.to_string(),
        Says::Garbage => "<html>the password is 12345</html>".to_owned(),
        Says::Nothing => match std::future::pending::<Infallible>().await {},
    };
    Response::new(Body::from(Bytes::from(body)))
}
