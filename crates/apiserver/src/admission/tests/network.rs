//! Hooks behind a real TLS server on the loopback interface.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::Router;
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use hyper_util::rt::{TokioExecutor, TokioIo};
use hyper_util::server::conn::auto;
use hyper_util::service::TowerToHyperService;
use rcgen::{BasicConstraints, Certificate, CertificateParams, IsCa, Issuer, KeyPair};
use rustls::ServerConfig;
use rustls_pki_types::PrivateKeyDer;
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinSet;
use tokio_rustls::TlsAcceptor;

use super::fixture::*;
use crate::admission::hook::Flavour;
use crate::admission::{Hooks, Services, Warnings};

/// An authority that signs certificates for servers.
struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

/// A server that ends with the test.
struct Server {
    address: SocketAddr,
    accepted: Arc<AtomicUsize>,
    _tasks: JoinSet<()>,
}

impl Authority {
    fn new() -> Authority {
        let mut params = CertificateParams::new([]).unwrap();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Authority { issuer: Issuer::new(params, key), pem }
    }

    fn bundle(&self) -> String {
        STANDARD.encode(&self.pem)
    }

    /// Starts a server that has a certificate for `name`.
    async fn serve(&self, name: &str, router: Router) -> Server {
        let key = KeyPair::generate().unwrap();
        let params = CertificateParams::new([name.to_owned()]).unwrap();
        let certificate = params.signed_by(&key, &self.issuer).unwrap();
        Server::start(&certificate, &key, router).await
    }
}

impl Server {
    async fn start(certificate: &Certificate, key: &KeyPair, router: Router) -> Server {
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(
                vec![certificate.der().clone()],
                PrivateKeyDer::try_from(key.serialize_der()).unwrap(),
            )
            .unwrap();
        let acceptor = TlsAcceptor::from(Arc::new(config));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let accepted = Arc::new(AtomicUsize::new(0));
        let count = accepted.clone();
        let mut tasks = JoinSet::new();
        tasks.spawn(async move {
            let mut connections = JoinSet::new();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                count.fetch_add(1, Ordering::Relaxed);
                let (acceptor, service) = (acceptor.clone(), TowerToHyperService::new(router.clone()));
                connections.spawn(async move {
                    // A client that does not trust us hangs up here, which is what some tests want.
                    let Ok(stream) = acceptor.accept(stream).await else { return };
                    let builder = auto::Builder::new(TokioExecutor::new());
                    builder.serve_connection(TokioIo::new(stream), service).await.ok();
                });
            }
        });
        Server { address, accepted, _tasks: tasks }
    }
}

fn at(address: SocketAddr, bundle: &str) -> Value {
    let url = format!("https://{address}/a");
    webhook_with("a", &json!({"clientConfig": {"url": url, "caBundle": bundle}}))
}

async fn ask(hooks: &Hooks) -> Result<(), String> {
    let asked = hooks.validate(&creation(), &Services::new(), &mut Warnings::default()).await;
    asked.map_err(|status| status.message)
}

async fn ask_once(hook: Value) -> Result<(), String> {
    ask(&Hooks::compile(&[validating("v", &[hook])])).await
}

#[tokio::test]
async fn a_hook_is_asked_over_tls() {
    let authority = Authority::new();
    let hub =
        Hub::default().answer("a", |_| json!({"allowed": false, "status": {"message": "no", "code": 403}}));
    let server = authority.serve("127.0.0.1", hub.router()).await;
    let refused = ask_once(at(server.address, &authority.bundle())).await;
    assert_eq!(refused.unwrap_err(), "admission webhook \"a.hooks.example.com\" denied the request: no");
    assert_eq!(hub.uris(), ["/a?timeout=10s"]);
    assert_eq!(hub.requests()[0]["name"], "web");
}

#[tokio::test]
async fn a_bundle_may_hold_several_authorities() {
    let authority = Authority::new();
    let server = authority.serve("127.0.0.1", Hub::default().answer("a", allow).router()).await;
    let bundle = STANDARD.encode(format!("# ours\n{}\n{}", Authority::new().pem, authority.pem));
    ask_once(at(server.address, &bundle)).await.unwrap();
}

#[tokio::test]
async fn a_server_that_the_bundle_does_not_vouch_for_is_not_asked() {
    let hub = Hub::default().answer("a", allow);
    let server = Authority::new().serve("127.0.0.1", hub.router()).await;
    let why = ask_once(at(server.address, &Authority::new().bundle())).await.unwrap_err();
    assert!(why.contains("invalid peer certificate"), "{why}");
    assert!(hub.asked().is_empty());
}

#[tokio::test]
async fn a_server_of_another_name_is_not_asked() {
    let authority = Authority::new();
    let hub = Hub::default().answer("a", allow);
    let server = authority.serve("hooks.example.com", hub.router()).await;
    let why = ask_once(at(server.address, &authority.bundle())).await.unwrap_err();
    assert!(why.contains("certificate not valid for name \"127.0.0.1\""), "{why}");
    assert!(hub.asked().is_empty());
}

#[tokio::test]
async fn a_port_where_nobody_listens_is_told_with_its_address() {
    // Bound, so that nobody else gets the port, and not listening.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let why = ask_once(at(address, &Authority::new().bundle())).await.unwrap_err();
    assert!(why.contains(&format!("Post \"https://{address}/a?timeout=10s\": ")), "{why}");
    assert!(why.to_lowercase().contains("refused"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_does_not_answer_in_time_has_failed() {
    let authority = Authority::new();
    let server = authority.serve("127.0.0.1", Hub::default().silent("a").router()).await;
    let mut hook = at(server.address, &authority.bundle());
    hook["timeoutSeconds"] = 5.into();
    let why = ask_once(hook.clone()).await.unwrap_err();
    assert!(why.ends_with("/a?timeout=5s\": context deadline exceeded"), "{why}");
    hook["failurePolicy"] = "Ignore".into();
    ask_once(hook).await.unwrap();
}

#[tokio::test]
async fn an_endless_answer_is_cut_off() {
    let authority = Authority::new();
    let hub = Hub::default().text("a", " ".repeat(16 * 1024 * 1024));
    let server = authority.serve("127.0.0.1", hub.router()).await;
    let why = ask_once(at(server.address, &authority.bundle())).await.unwrap_err();
    assert!(why.ends_with("failed to call webhook: the answer is larger than 3145728 bytes"), "{why}");
}

#[tokio::test]
async fn a_connection_is_kept_while_the_configuration_stays_as_it_is() {
    let authority = Authority::new();
    let server = authority.serve("127.0.0.1", Hub::default().answer("a", allow).router()).await;
    let configuration = validating("v", &[at(server.address, &authority.bundle())]);
    let hooks = Hooks::compile(std::slice::from_ref(&configuration));
    ask(&hooks).await.unwrap();
    ask(&hooks).await.unwrap();
    // Another configuration comes, and this one is written again without a change to its hooks.
    let mut written = configuration;
    written["metadata"]["resourceVersion"] = "2".into();
    let hooks = hooks.recompile(&[written, mutating("m", &[])]);
    ask(&hooks).await.unwrap();
    assert_eq!(server.accepted.load(Ordering::Relaxed), 1);
}

#[test]
fn hooks_can_be_compiled_before_anything_runs() {
    let config = json!({"url": "https://127.0.0.1:1/a", "caBundle": Authority::new().bundle()});
    let hooks = Hooks::compile(&[validating("v", &[webhook_with("a", &json!({"clientConfig": config}))])]);
    assert!(hooks.of(Flavour::Validating).all(|hook| hook.target.is_ok()));
}

/// The server and its bundle are the same certificate, as a single `openssl req -x509` makes it.
async fn ask_by_itself(is_ca: IsCa) -> Result<(), String> {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    params.is_ca = is_ca;
    let certificate = params.self_signed(&key).unwrap();
    let server = Server::start(&certificate, &key, Hub::default().answer("a", allow).router()).await;
    ask_once(at(server.address, &STANDARD.encode(certificate.pem()))).await
}

#[tokio::test]
async fn a_server_may_vouch_for_itself_unless_it_poses_as_an_authority() {
    ask_by_itself(IsCa::NoCa).await.unwrap();
    ask_by_itself(IsCa::ExplicitNoCa).await.unwrap();
    let why = ask_by_itself(IsCa::Ca(BasicConstraints::Unconstrained)).await.unwrap_err();
    assert!(why.ends_with("let it show one that this signed"), "{why}");
}
