//! Startup, liveness and readiness.

use std::sync::{
    Arc,
    atomic::{AtomicU16, Ordering},
};

use safepoint_runtime::Health;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
    task::JoinSet,
};

use crate::machine::{Machine, container, pod};

/// A server on this machine that answers everything with one status, and the last request it got.
struct Server {
    port: u16,
    status: Arc<AtomicU16>,
    _tasks: JoinSet<()>,
}

impl Server {
    async fn start(status: u16) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let status = Arc::new(AtomicU16::new(status));
        let mut tasks = JoinSet::new();
        let shared = status.clone();
        tasks.spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut head = vec![0; 1024];
                let n = stream.read(&mut head).await.unwrap_or(0);
                let is_right = String::from_utf8_lossy(&head[..n]).starts_with("GET /healthz HTTP/1.1\r\n");
                let status = if is_right { shared.load(Ordering::Relaxed) } else { 400 };
                let _ = stream
                    .write_all(format!("HTTP/1.1 {status} X\r\nContent-Length: 0\r\n\r\n").as_bytes())
                    .await;
            }
        });
        Self { port, status, _tasks: tasks }
    }

    fn probe(&self) -> Value {
        json!({"httpGet": {"path": "/healthz", "port": self.port}, "periodSeconds": 1, "failureThreshold": 1})
    }
}

#[tokio::test]
async fn readiness_follows_its_probe_and_restarts_nobody() {
    let mut machine = Machine::new();
    let server = Server::start(503).await;
    machine.want(&pod("nav", "exec sleep 1000").main("readinessProbe", server.probe()));
    let report = machine.until("nav", |report| container(report, "main")["started"] == true).await;
    assert_eq!((report.health, &container(&report, "main")["ready"]), (Health::Unready, &json!(false)));
    server.status.store(204, Ordering::Relaxed);
    machine.until_ready("nav").await;
    server.status.store(500, Ordering::Relaxed);
    let report = machine.until("nav", |report| report.health == Health::Unready).await;
    assert_eq!(container(&report, "main")["restartCount"], 0);
}

#[tokio::test]
async fn a_liveness_probe_that_fails_has_the_container_restarted() {
    let mut machine = Machine::new();
    let server = Server::start(200).await;
    machine.want(&pod("nav", "exec sleep 1000").main("livenessProbe", server.probe()));
    machine.until_ready("nav").await;
    server.status.store(500, Ordering::Relaxed);
    let report = machine.until("nav", |report| container(report, "main")["restartCount"] == 1).await;
    assert_eq!(container(&report, "main")["lastState"]["terminated"]["exitCode"], 143);
}

#[tokio::test]
async fn nothing_else_is_asked_before_the_startup_probe_succeeds() {
    let mut machine = Machine::new();
    let go = machine.path().join("go");
    let startup =
        json!({"exec": {"command": ["test", "-e", go]}, "periodSeconds": 1, "failureThreshold": 1000});
    let nav = pod("nav", "exec sleep 1000").main("startupProbe", startup).main(
        "livenessProbe",
        json!({"exec": {"command": ["test", "-e", go]}, "periodSeconds": 1, "failureThreshold": 1}),
    );
    machine.want(&nav);
    let report =
        machine.until("nav", |report| container(report, "main")["state"]["running"].is_object()).await;
    assert_eq!(container(&report, "main")["started"], false);
    std::fs::write(&go, "").unwrap();
    let report = machine.until_ready("nav").await;
    assert_eq!(
        (&container(&report, "main")["started"], &container(&report, "main")["restartCount"]),
        (&json!(true), &json!(0))
    );
}

#[tokio::test]
async fn a_startup_probe_that_never_succeeds_ends_the_run() {
    let mut machine = Machine::new();
    let startup = json!({"tcpSocket": {"port": 1}, "periodSeconds": 1, "failureThreshold": 1, "terminationGracePeriodSeconds": 1});
    let nav = pod("nav", "trap '' TERM; while :; do sleep 0.01; done").main("startupProbe", startup);
    machine.want(&nav.with("restartPolicy", json!("Never")));
    let report = machine.until_finished("nav").await;
    assert_eq!(container(&report, "main")["state"]["terminated"]["exitCode"], 137);
}

#[tokio::test]
async fn a_probe_that_hangs_has_failed() {
    let mut machine = Machine::new();
    let hangs = json!({"exec": {"command": ["sleep", "1000"]}, "periodSeconds": 1, "timeoutSeconds": 1, "failureThreshold": 1});
    machine.want(&pod("nav", "exec sleep 1000").main("livenessProbe", hangs));
    machine.until("nav", |report| container(report, "main")["restartCount"] == 1).await;
}

#[tokio::test]
async fn https_is_spoken_and_nobody_asks_for_a_certificate_that_is_known() {
    use tokio_rustls::rustls::{self, pki_types::PrivateKeyDer};

    let mut machine = Machine::new();
    let issued = rcgen::generate_simple_self_signed(["someone else".to_owned()]).unwrap();
    let key = PrivateKeyDer::try_from(issued.signing_key.serialize_der()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(vec![issued.cert.der().clone()], key)
        .unwrap();
    let acceptor = tokio_rustls::TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let mut tasks = JoinSet::new();
    tasks.spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            if let Ok(mut stream) = acceptor.accept(stream).await {
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            }
        }
    });
    let probe = json!({"httpGet": {"port": port, "scheme": "HTTPS"}, "periodSeconds": 1});
    machine.want(&pod("nav", "exec sleep 1000").main("readinessProbe", probe));
    machine.until_ready("nav").await;
}
