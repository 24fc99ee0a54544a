//! The hub as a program of its own, beside an API server that is another one.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that fails says where, and a JSON text reads best where it is passed"
)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, DeleteParams, Patch, PatchParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config, ResourceExt};
use safepoint_api::NodeGate;
use serde_json::json;

/// A program that ends with the test.
struct Program(Child);

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn safepoint(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_safepoint"));
    command.args(arguments).env_remove("SAFEPOINT_KUBECONFIG").env_remove("KUBERNETES_SERVICE_HOST");
    command
}

/// Starts a program and waits until it says that it is ready.
fn start(arguments: &[&str]) -> Program {
    let mut child = safepoint(arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().starts_with("ready in ")), "it is never ready");
    Program(child)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

async fn client(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    Client::try_from(config).unwrap()
}

async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    for _ in 0..2_400 {
        if let Some(found) = look().await {
            return found;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("it never came: {what}")
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hub_beside_a_cluster_puts_off_what_a_node_holds_and_a_killed_one_does_not() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let data = folder.path().to_str().unwrap();
    let _cluster = start(&["up", "--api-only", "--listen", "127.0.0.1:0", "--data", data]);
    let kubeconfig = folder.path().join("kubeconfig");
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (listen, url) = (format!("127.0.0.1:{port}"), format!("https://127.0.0.1:{port}"));
    let hub = [
        "hub",
        "--kubeconfig",
        kubeconfig.to_str().unwrap(),
        "--webhook-address",
        &listen,
        "--webhook-url",
        &url,
        "--health-address",
        "127.0.0.1:0",
    ];
    let mut hub = start(&hub);

    let client = client(&kubeconfig).await;
    let node: Node = serde_json::from_value(json!({"metadata": {"name": "rover-7"}})).unwrap();
    Api::all(client.clone()).create(&PostParams::default(), &node).await.unwrap();
    let gates: Api<NodeGate> = Api::all(client.clone());
    until("the gate of the node", async || gates.get_opt("rover-7").await.unwrap()).await;
    let frozen = Patch::Merge(json!({"status": {"state": "Frozen"}}));
    gates.patch_status("rover-7", &PatchParams::default(), &frozen).await.unwrap();
    let pods: Api<Pod> = Api::default_namespaced(client);
    let pod = json!({"metadata": {"name": "arm"}, "spec": {"nodeName": "rover-7",
        "containers": [{"name": "main", "image": "rover:v1"}]}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
    let running = Patch::Merge(json!({"status": {"phase": "Running", "startTime": "2026-11-15T12:00:00Z"}}));
    pods.patch_status("arm", &PatchParams::default(), &running).await.unwrap();
    let dry = DeleteParams { dry_run: true, ..DeleteParams::default() };
    until("the end is put off", async || pods.delete("arm", &dry).await.err()).await;
    assert!(pods.delete("arm", &DeleteParams::default()).await.is_err());
    until("the wish is noted", async || {
        pods.get("arm").await.unwrap().annotations().get("safepoint.dev/end-wished").cloned()
    })
    .await;

    hub.0.kill().unwrap();
    hub.0.wait().unwrap();
    pods.delete("arm", &DeleteParams::default()).await.unwrap();
}

#[test]
fn a_hub_that_cannot_be_reached_by_the_api_server_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "users": [{"name": "a", "user": {"token": "x"}}]});
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    let kubeconfig = kubeconfig.to_str().unwrap();
    let refused = safepoint(&["hub", "--kubeconfig", kubeconfig]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("--webhook-url or --webhook-service"), "{}", said(&refused));
    let refused =
        safepoint(&["hub", "--kubeconfig", kubeconfig, "--webhook-url", "http://hub"]).output().unwrap();
    assert!(said(&refused).contains("begins with https://"), "{}", said(&refused));
    let refused =
        safepoint(&["hub", "--webhook-url", "https://a", "--webhook-service", "b"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
}

#[test]
fn a_dashboard_that_would_take_tokens_without_tls_is_refused_in_words() {
    let folder = tempfile::tempdir().unwrap();
    let kubeconfig = folder.path().join("kubeconfig");
    let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "a",
        "clusters": [{"name": "a", "cluster": {"server": "https://127.0.0.1:1"}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "users": [{"name": "a", "user": {"token": "x"}}]});
    std::fs::write(&kubeconfig, config.to_string()).unwrap();
    let kubeconfig = kubeconfig.to_str().unwrap();
    let hub = ["hub", "--kubeconfig", kubeconfig, "--webhook-url", "https://127.0.0.1:1"];
    let addresses = ["--webhook-address", "127.0.0.1:0", "--health-address", "127.0.0.1:0"];
    let dashboard = ["--dashboard-address", "0.0.0.0:0"];
    let refused = safepoint(&[&hub[..], &addresses[..], &dashboard[..]].concat()).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("without TLS: give it a certificate"), "{}", said(&refused));
}

#[test]
fn everything_on_one_machine_has_a_dashboard_that_asks_for_a_token() {
    let folder = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    let data = folder.path().to_str().unwrap();
    let up = ["up", "--listen", "127.0.0.1:0", "--node-name", "rover-7", "--data", data];
    let mut child = safepoint(&up).stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let _up = Program(child);
    let line = lines.by_ref().map(Result::unwrap).find(|line| line.starts_with("dashboard ")).unwrap();
    let address = line.split("http://").nth(1).and_then(|rest| rest.split('/').next()).unwrap();
    for (path, answer) in [("/", "HTTP/1.1 303 See Other"), ("/sign-in", "HTTP/1.1 200 OK")] {
        let mut connection = TcpStream::connect(address).unwrap();
        write!(connection, "GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n").unwrap();
        let mut said = String::new();
        connection.read_to_string(&mut said).unwrap();
        assert!(said.starts_with(answer), "{path}: {said}");
    }
}

#[test]
fn a_hub_without_a_cluster_says_how_to_name_one() {
    let refused = safepoint(&["hub"]).output().unwrap();
    assert_eq!(refused.status.code(), Some(1));
    assert!(said(&refused).contains("--kubeconfig"), "{}", said(&refused));
    let refused = safepoint(&["hub", "--kubeconfig", "/nowhere"]).output().unwrap();
    assert!(said(&refused).contains("cannot read /nowhere"), "{}", said(&refused));
}

#[test]
fn help_has_examples() {
    let help = safepoint(&["hub", "--help"]).output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    assert!(help.contains("\nExamples:\n") && help.contains("--webhook-url"), "{help}");
}
