//! Everything that is not held: it goes on as ever, and nobody else gets in.

use serde_json::{Value, json};

use super::node::{Node, PORT, bare_pod, held};

#[test]
fn logs_exec_and_forwarded_ports_work_and_the_lease_is_renewed_while_everything_is_held() {
    let node = Node::new();
    let mut pod = bare_pod("rover", "v1", held());
    pod["spec"]["containers"][0]["command"] = json!(["sh", "-c", "echo started; httpd -f -p 8080 -h /"]);
    node.apply(&pod);
    node.wait_ready("rover", 1);
    node.safepoint(&["node", "freeze", "--reason", "in flight", "--when-settled"]);
    node.kubectl(&["set", "image", "pod/rover", "main=app:v2"]);
    node.wait_held("rover");
    let renewed = || {
        let lease = node.world.json(&["get", "lease", "node", "-n", "kube-node-lease"]).ok()?;
        lease["spec"]["renewTime"].as_str().map(str::to_owned)
    };
    let first = node.wait("there is a lease", renewed);
    node.wait("the lease is renewed", || renewed().filter(|now| *now != first));

    assert_eq!(node.kubectl(&["logs", "rover"]).trim(), "started");
    assert_eq!(node.kubectl(&["exec", "rover", "--", "cat", "/image"]).trim(), "v1");
    let mut forward = node.world.kubectl().args(["port-forward", "pod/rover", "18080:8080"]).spawn().unwrap();
    node.wait("the forwarded port answers", || {
        let fetched =
            node.world.inside("busybox").args(["wget", "-qO-", "http://127.0.0.1:18080/image"]).output();
        let fetched = fetched.ok()?;
        (String::from_utf8_lossy(&fetched.stdout).trim() == "v1").then_some(())
    });
    forward.kill().unwrap();
    forward.wait().unwrap();

    let pod: Value = node.world.json(&["get", "pod", "rover"]).unwrap();
    let generation = |path: &str| pod.pointer(path).and_then(Value::as_i64).unwrap();
    assert!(generation("/status/observedGeneration") < generation("/metadata/generation"), "the hold shows");
}

#[test]
fn nobody_but_the_kubelet_gets_in() {
    let node = Node::new();
    let url = format!("https://127.0.0.1:{PORT}/api/v1/pods?fieldSelector=spec.nodeName%3Dnode");
    let ask = |certificate: Option<&safepoint_testkit::ClientCertificate>| {
        let mut curl = node.world.inside("curl");
        curl.args(["-sS", "-k", "-o", "/dev/null", "-w", "%{http_code}", &url]);
        if let Some(it) = certificate {
            curl.arg("--cert").arg(&it.certificate).arg("--key").arg(&it.key);
        }
        let output = curl.output().unwrap();
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let issue = |user: &str, group: &str| node.world.issue(user, Some(group)).unwrap();
    assert_eq!(ask(Some(&issue("system:node:node", "system:nodes"))), (true, "200".into()));
    assert!(!ask(None).0, "another user's process without a certificate");
    assert!(!ask(Some(&issue("system:node:other", "system:nodes"))).0, "another node");
    assert!(!ask(Some(&issue("admin", "system:masters"))).0, "an administrator, who has the API server");

    let mut pod = bare_pod("spy", "v1", json!({}));
    pod["spec"]["hostNetwork"] = json!(true);
    pod["spec"]["restartPolicy"] = json!("Never");
    let script = format!(
        "wget -T 5 -qO- --no-check-certificate 'https://127.0.0.1:{PORT}/api/v1/nodes/node' || echo refused"
    );
    pod["spec"]["containers"][0]["command"] = json!(["sh", "-c", script]);
    node.apply(&pod);
    node.wait("it has tried", || {
        let said = node.world.run(&["logs", "spy"]).ok()?;
        said.contains("refused").then_some(())
    });
}
