//! What passes: byte for byte as the API server says it, and while there is none, exactly what a kubelet needs to start pods.

use std::collections::BTreeMap;

use safepoint_testkit::{Part, WorldOptions};
use serde_json::json;

use super::node::{Node, PORT, bare_pod, held};

/// What a kubelet reads beside pods and configuration.
const READS: [&str; 16] = [
    "/api/v1/nodes?fieldSelector=metadata.name%3Dnode&limit=500&resourceVersion=0",
    "/api/v1/nodes/node",
    "/api/v1/nodes/node?resourceVersion=0",
    "/api/v1/services?fieldSelector=spec.clusterIP%21%3DNone&limit=500&resourceVersion=0",
    "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node",
    "/apis/storage.k8s.io/v1/csinodes/node",
    "/apis/storage.k8s.io/v1/csidrivers?limit=500&resourceVersion=0",
    "/apis/node.k8s.io/v1/runtimeclasses?limit=500&resourceVersion=0",
    "/apis/certificates.k8s.io/v1/certificatesigningrequests/none",
    "/api/v1/persistentvolumes/none",
    "/api/v1/namespaces/default/persistentvolumeclaims/none",
    "/api/v1/namespaces/default/serviceaccounts/default",
    "/apis/storage.k8s.io/v1/volumeattachments/none",
    "/apis/resource.k8s.io/v1/resourceslices?limit=500",
    "/api",
    "/version",
];

/// An answer: its code, its lasting headers, its body as it came.
type Answer = (String, BTreeMap<String, String>, Vec<u8>);

fn ask(node: &Node, through_the_door: bool, arguments: &[&str], path: &str) -> Answer {
    let certificate = node.world.node_certificate();
    let (server, authority) = match through_the_door {
        true => (format!("https://127.0.0.1:{PORT}"), node.world.folder().join("agent/door-ca.crt")),
        false => (node.world.control_plane().url().to_owned(), certificate.ca.clone()),
    };
    let mut curl = node.world.inside("curl");
    curl.args(["-sS", "-i", "--http1.1"]).arg("--cacert").arg(authority);
    curl.arg("--cert").arg(&certificate.current).args(arguments).arg(format!("{server}{path}"));
    let output = curl.output().unwrap();
    assert!(output.status.success(), "{path}: {}", String::from_utf8_lossy(&output.stderr));
    let end = output.stdout.windows(4).position(|window| window == b"\r\n\r\n").unwrap();
    let head = String::from_utf8_lossy(&output.stdout[..end]).into_owned();
    let mut lines = head.lines();
    let code = lines.next().unwrap().split(' ').nth(1).unwrap().to_owned();
    let headers = lines
        .filter_map(|line| line.split_once(": "))
        .map(|(name, value)| (name.to_lowercase(), value.to_owned()));
    // Those of one moment, and those of one hop.
    let passing = ["date", "audit-id", "content-length", "transfer-encoding"];
    let lasting = headers.filter(|(name, _)| !passing.contains(&name.as_str()));
    (code, lasting.collect(), output.stdout[end + 4..].to_vec())
}

#[test]
fn what_a_kubelet_reads_of_the_rest_is_the_same_to_the_byte_in_every_encoding() {
    let node = Node::new();
    node.wait("there is a lease", || {
        node.world.json(&["get", "lease", "node", "-n", "kube-node-lease"]).is_ok().then_some(())
    });
    let protobuf = "Accept: application/vnd.kubernetes.protobuf,application/json";
    for path in READS {
        for encoding in [
            vec!["-H", protobuf],
            vec!["-H", "Accept: application/json"],
            vec!["-H", protobuf, "-H", "Accept-Encoding: gzip"],
        ] {
            // What changes in between says nothing.
            node.wait(&format!("{path} is the same both ways"), || {
                let direct = ask(&node, false, &encoding, path);
                let passed = ask(&node, true, &encoding, path);
                (direct == ask(&node, false, &encoding, path))
                    .then(|| assert_eq!(passed, direct, "{path} {encoding:?}"))
            });
        }
    }
    let review = r#"{"apiVersion":"authorization.k8s.io/v1","kind":"SubjectAccessReview","spec":{"user":"admin","nonResourceAttributes":{"path":"/","verb":"get"}}}"#;
    let post = ["-X", "POST", "-H", "Content-Type: application/json", "-d", review];
    let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
    assert_eq!(ask(&node, true, &post, path).0, "201");
    // The answer tells the second in which it was asked.
    node.wait("a review is the same both ways", || {
        let direct = ask(&node, false, &post, path).2;
        let passed = ask(&node, true, &post, path).2;
        (direct == ask(&node, false, &post, path).2).then(|| assert_eq!(passed, direct))
    });
}

#[test]
fn a_large_answer_stays_compressed() {
    let node = Node::new();
    for number in 0..3 {
        let annotations: serde_json::Map<_, _> =
            (0..200).map(|at| (format!("a{at}"), json!("x".repeat(300)))).collect();
        node.apply(&json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": format!("s{number}"), "annotations": annotations},
            "spec": {"ports": [{"port": 80}]}}));
    }
    let path = "/api/v1/services";
    let gzip = ["-H", "Accept-Encoding: gzip", "-H", "Accept: application/json"];
    // A list says of which moment it is.
    node.wait("the list is the same both ways", || {
        let direct = ask(&node, false, &gzip, path);
        let (code, headers, body) = ask(&node, true, &gzip, path);
        let coding = headers.get("content-encoding").map(String::as_str);
        assert_eq!((code.as_str(), coding), ("200", Some("gzip")));
        (direct == ask(&node, false, &gzip, path)).then(|| assert!(body == direct.2, "it was packed anew"))
    });
}

#[test]
fn a_kubelet_that_lists_and_speaks_json_is_held_and_released_the_same() {
    let node = Node::with(&WorldOptions { watch_list: false, json: true, ..WorldOptions::default() });
    node.apply(&bare_pod("rover", "v1", held()));
    node.wait_ready("rover", 1);
    let before = node.running("rover");
    node.kubectl(&["set", "image", "pod/rover", "main=app:v2"]);
    node.wait_held("rover");
    node.apply(&bare_pod("arm", "v1", json!({})));
    node.wait_ready("arm", 1);
    assert_eq!(node.running("rover"), before);
    node.safepoint(&["release", "rover", "-n", "default"]);
    node.wait_images("rover", 1, "v2");
    node.kubectl(&["delete", "pod", "arm"]);
    node.wait("it has ended", || node.running("arm").is_empty().then_some(()));
}

#[test]
fn without_the_cluster_everything_is_answered_at_once_with_what_is_known_or_an_honest_refusal() {
    let mut node = Node::new();
    node.apply(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "maps"}, "data": {"a": "1"}}),
    );
    let mut reader = bare_pod("reader", "v1", json!({}));
    reader["spec"]["volumes"] = json!([{"name": "maps", "configMap": {"name": "maps"}}]);
    node.apply(&reader);
    node.wait_ready("reader", 1);
    let table = [
        ("GET", "/api/v1/pods?fieldSelector=spec.nodeName%3Dnode", "200"),
        ("GET", "/api/v1/namespaces/default/pods/reader", "200"),
        ("GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dnode", "200"),
        ("GET", "/api/v1/nodes/node", "200"),
        ("GET", "/api/v1/services?fieldSelector=spec.clusterIP%21%3DNone", "200"),
        ("GET", "/api/v1/namespaces/default/configmaps?fieldSelector=metadata.name%3Dmaps", "200"),
        ("GET", "/api/v1/namespaces/default/configmaps/maps", "200"),
        ("GET", "/api/v1/namespaces/default/configmaps/kube-root-ca.crt", "200"),
        ("GET", "/api/v1/namespaces/default/secrets/none", "503"),
        ("GET", "/api/v1/nodes?fieldSelector=metadata.name%3Dnode&watch=true", "503"),
        ("PATCH", "/api/v1/namespaces/default/pods/reader/status", "503"),
        ("DELETE", "/api/v1/namespaces/default/pods/stranger", "503"),
        ("PATCH", "/api/v1/nodes/node/status", "503"),
        ("POST", "/api/v1/nodes", "503"),
        ("POST", "/api/v1/namespaces/default/pods", "503"),
        ("POST", "/api/v1/namespaces/default/events", "503"),
        ("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node", "503"),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-node-lease/leases/node", "503"),
        ("GET", "/apis/node.k8s.io/v1/runtimeclasses", "503"),
        ("GET", "/apis/storage.k8s.io/v1/csidrivers", "503"),
        ("GET", "/apis/storage.k8s.io/v1/csinodes/node", "503"),
        ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", "503"),
        ("POST", "/api/v1/namespaces/default/serviceaccounts/default/token", "503"),
    ];
    let check = |node: &Node, when: &str| {
        for (method, path, code) in table {
            let body = ["-X", method, "-H", "Content-Type: application/json", "-d", "{}"];
            let arguments: &[&str] = if method == "GET" { &[] } else { &body };
            assert_eq!(ask(node, true, arguments, path).0, code, "{when}: {method} {path}");
        }
    };
    node.world.control_plane_mut().stop(Part::ApiServer).unwrap();
    node.wait("the agent knows", || (node.status()["uplink"]["connected"] == false).then_some(()));
    check(&node, "gone");
    node.world.control_plane_mut().start_again(Part::ApiServer).unwrap();
    node.wait("the cluster is back", || (node.status()["uplink"]["connected"] == true).then_some(()));
    node.world.control_plane_mut().pause(Part::ApiServer).unwrap();
    node.wait("the agent knows", || (node.status()["uplink"]["connected"] == false).then_some(()));
    check(&node, "hanging");
    node.world.control_plane_mut().resume(Part::ApiServer).unwrap();
    node.world.wait_node_ready().unwrap();
}
