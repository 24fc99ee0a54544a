//! A real API server, once directly and once through the relay: the bytes are the same.

use bytes::Bytes;
use futures::future::join_all;
use http::{Method, Request, Response, header};
use hyper::body::Incoming;
use safepoint_relay::{empty, full};
use safepoint_testkit::{ControlPlane, fresh_name};
use serde_json::{Value, json};

use crate::support::{Authority, Client, Pair, Version, World, piece, rest, soon};

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";
const PROTOBUF_WATCH: &str = "application/vnd.kubernetes.protobuf;stream=watch";
const JSON: &str = "application/json";

pub(crate) struct Cluster {
    plane: &'static ControlPlane,
    pub(crate) world: World,
}

impl Cluster {
    pub(crate) async fn new() -> Self {
        let plane = tokio::task::spawn_blocking(ControlPlane::shared).await.unwrap().unwrap();
        let world = World::to_cluster(&Authority::new(), plane).await;
        Self { plane, world }
    }

    pub(crate) async fn direct(&self, version: Version) -> Client {
        let admin = Pair {
            certificate: self.plane.admin_cert_pem().to_owned(),
            key: self.plane.admin_key_pem().to_owned(),
        };
        let address = self.plane.url().strip_prefix("https://").unwrap().parse().unwrap();
        soon(Client::connect(address, self.plane.ca_pem(), Some(&admin), version)).await.unwrap()
    }

    /// Asks directly and through the relay, in either version of HTTP, and returns what all of them say.
    async fn ask(&self, path: &str, accept: &str, encoding: Option<&str>) -> Response<Bytes> {
        let mut answers = Vec::new();
        for version in [Version::One, Version::Two] {
            for mut client in [self.direct(version).await, self.world.client(version).await] {
                let mut request = Request::get(path).header(header::ACCEPT, accept);
                if let Some(encoding) = encoding {
                    request = request.header(header::ACCEPT_ENCODING, encoding);
                }
                let response = soon(client.send(request.body(empty()).unwrap())).await.unwrap();
                let (mut head, body) = response.into_parts();
                // These differ from one request to the next.
                for name in ["date", "audit-id"] {
                    assert!(head.headers.remove(name).is_some(), "{name} passes");
                }
                if version == Version::One {
                    head.headers.remove(header::TRANSFER_ENCODING);
                }
                let body = rest(body).await;
                answers.push((
                    head.status,
                    head.headers.clone(),
                    body.clone(),
                    Response::from_parts(head, body),
                ));
            }
        }
        let (status, headers, body, _) = &answers[0];
        for (number, other) in answers.iter().enumerate() {
            assert_eq!(status, &other.0, "{number}: {path}");
            assert_eq!(headers, &other.1, "{number}: {path}");
            assert!(body == &other.2, "{number}: {path}: {} and {} bytes", body.len(), other.2.len());
        }
        answers.swap_remove(0).3
    }

    /// Changes something, through the relay.
    async fn change(&self, method: Method, path: &str, body: &Value) -> Value {
        let mut client = self.world.client(Version::Two).await;
        let request = Request::builder().method(method).uri(path).header(header::CONTENT_TYPE, JSON);
        let request = request.body(full(body.to_string())).unwrap();
        let response = soon(client.send(request)).await.unwrap();
        let status = response.status();
        let said: Value = serde_json::from_slice(&rest(response.into_body()).await).unwrap();
        assert!(status.is_success(), "{path}: {said}");
        said
    }

    async fn namespace(&self) -> String {
        let plane = self.plane;
        tokio::task::spawn_blocking(|| plane.namespace()).await.unwrap().unwrap()
    }
}

fn version_of(object: &Value) -> &str {
    object["metadata"]["resourceVersion"].as_str().unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_is_the_same_in_protobuf_and_in_json() {
    let cluster = Cluster::new().await;
    let name = fresh_name("edge");
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {"a": "b"}}});
    let node = cluster.change(Method::POST, "/api/v1/nodes", &node).await;
    let query = format!(
        "fieldSelector=metadata.name%3D{name}&resourceVersion={}&resourceVersionMatch=Exact",
        version_of(&node)
    );
    let path = format!("/api/v1/nodes?limit=500&{query}");
    let protobuf = cluster.ask(&path, &format!("{PROTOBUF},{JSON}"), Some("gzip")).await;
    assert_eq!(protobuf.headers()[header::CONTENT_TYPE], PROTOBUF);
    assert!(protobuf.body().starts_with(b"k8s\0"));
    let list = cluster.ask(&path, JSON, None).await;
    let list: Value = serde_json::from_slice(list.body()).unwrap();
    assert_eq!(list["items"][0]["metadata"]["uid"], node["metadata"]["uid"]);
    let missing = cluster.ask("/api/v1/nodes/nobody", JSON, None).await;
    assert_eq!(missing.status(), 404);
    cluster.change(Method::DELETE, &format!("/api/v1/nodes/{name}"), &json!({})).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_large_list_arrives_as_the_server_compressed_it() {
    let cluster = Cluster::new().await;
    let path = format!("/api/v1/namespaces/{}/configmaps", cluster.namespace().await);
    let mut last = Value::Null;
    for number in 0..5 {
        let text: String = (0..6000).map(|line| format!("{:x}\n", line * 7919 * (number + 1))).collect();
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
                         "metadata": {"name": format!("map-{number}")}, "data": {"text": text}});
        last = cluster.change(Method::POST, &path, &map).await;
    }
    let path = format!("{path}?resourceVersion={}&resourceVersionMatch=Exact", version_of(&last));
    for accept in [PROTOBUF, JSON] {
        let plain = cluster.ask(&path, accept, Some("identity")).await;
        let packed = cluster.ask(&path, accept, Some("gzip")).await;
        assert!(plain.body().len() > 128 << 10);
        assert_eq!(packed.headers()[header::CONTENT_ENCODING], "gzip");
        assert!(packed.body().starts_with(b"\x1f\x8b") && packed.body().len() < plain.body().len());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_watch_is_the_same_to_its_end() {
    let cluster = Cluster::new().await;
    let path = format!("/api/v1/namespaces/{}/configmaps", cluster.namespace().await);
    let map = |value: usize| {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "map"},
               "data": {"value": value.to_string()}})
    };
    let begin = cluster.change(Method::POST, &path, &map(0)).await;
    for value in 1..20 {
        cluster.change(Method::PUT, &format!("{path}/map"), &map(value)).await;
    }
    cluster.change(Method::DELETE, &format!("{path}/map"), &json!({})).await;
    let path = format!("{path}?watch=true&timeoutSeconds=1&resourceVersion={}", version_of(&begin));
    let events = cluster.ask(&path, JSON, None).await;
    let lines: Vec<Value> = events
        .body()
        .split_inclusive(|byte| *byte == b'\n')
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 20);
    assert_eq!((&lines[0]["type"], &lines[19]["type"]), (&json!("MODIFIED"), &json!("DELETED")));
    let events = cluster.ask(&path, &format!("{PROTOBUF_WATCH},{PROTOBUF},{JSON}"), Some("gzip")).await;
    assert!(events.headers()[header::CONTENT_TYPE].to_str().unwrap().starts_with(PROTOBUF));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_watches_are_open_at_once_and_hear_of_a_change() {
    let cluster = Cluster::new().await;
    let path = format!("/api/v1/namespaces/{}/configmaps", cluster.namespace().await);
    let client = cluster.world.client(Version::Two).await;
    let begin = |number: usize| {
        let mut sender = client.sender();
        let uri = format!(
            "https://{}{path}?watch=true&fieldSelector=metadata.name%3Dmap-{number}",
            client.address()
        );
        async move { sender.send_request(Request::get(uri).body(empty()).unwrap()).await.unwrap() }
    };
    let mut watches: Vec<Response<Incoming>> = soon(join_all((0..300).map(begin))).await;
    assert!(watches.iter().all(|watch| watch.status() == 200));
    for number in [0, 150, 299] {
        let map = json!({"apiVersion": "v1", "kind": "ConfigMap",
                         "metadata": {"name": format!("map-{number}")}});
        cluster.change(Method::POST, &path, &map).await;
        let event: Value = serde_json::from_slice(&piece(watches[number].body_mut()).await).unwrap();
        assert_eq!(event["type"], "ADDED");
        assert_eq!(event["object"]["metadata"]["name"], map["metadata"]["name"]);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_written_in_go_comes_in_with_its_certificate_and_not_without() {
    let cluster = Cluster::new().await;
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let door = [
        format!("--server=https://{}", cluster.world.door),
        format!("--certificate-authority={}", file("ca.crt", &cluster.world.door_authority)),
    ];
    let own = [
        format!("--client-certificate={}", file("node.crt", &cluster.world.node.certificate)),
        format!("--client-key={}", file("node.key", &cluster.world.node.key)),
    ];
    let (mut with, mut without) = (cluster.plane.kubectl(), cluster.plane.kubectl());
    for command in [&mut with, &mut without] {
        command
            .env("KUBECONFIG", "/dev/null")
            .args(["get", "namespace", "default", "-o", "name"])
            .args(&door);
    }
    with.args(own);
    // With nothing at all it would ask the person at the keyboard.
    without.arg("--token=somebody");
    let run =
        |mut command: std::process::Command| tokio::task::spawn_blocking(move || command.output().unwrap());
    let (with, without) = (run(with).await.unwrap(), run(without).await.unwrap());
    assert_eq!(String::from_utf8_lossy(&with.stdout), "namespace/default\n", "{with:?}");
    assert!(!without.status.success());
    let said = String::from_utf8_lossy(&without.stderr);
    // What it says depends on what it meets first: the alert, or the end of the connection while it reads or writes.
    let refusals = [
        "certificate required",
        "client conn could not be established",
        "connection reset by peer",
        "broken pipe",
    ];
    assert!(refusals.iter().any(|refusal| said.contains(refusal)), "{said}");
}
