//! The manifests and the chart, as a real API server takes them.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use safepoint_testkit::ControlPlane;
use serde_json::Value;

const NAMESPACE: &str = "safepoint-system";

fn deploy() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../deploy")
}

fn helm(arguments: &[&str]) -> Output {
    let program = safepoint_testkit::helm().unwrap();
    assert!(program.exists(), "there is no helm: `cargo xtask test` builds it");
    Command::new(program).args(arguments).arg(deploy().join("chart/safepoint")).output().unwrap()
}

fn rendered(arguments: &[&str]) -> String {
    let output =
        helm(&[&["template", "safepoint", "--namespace", NAMESPACE, "--include-crds"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Gives objects to kubectl, and returns what it says of them.
fn kubectl(plane: &ControlPlane, arguments: &[&str], yaml: &str) -> String {
    let mut command = plane.kubectl();
    command
        .args(arguments)
        .args(["-f", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    child.stdin.take().unwrap().write_all(yaml.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The objects of a text, by kind and name, without what Helm adds to each.
fn objects(plane: &ControlPlane, yaml: &str) -> Vec<(String, Value)> {
    let text = kubectl(plane, &["create", "--dry-run=client", "--validate=false", "--output=json"], yaml);
    let items = serde_json::Deserializer::from_str(&text).into_iter::<Value>().map(Result::unwrap);
    let mut named: Vec<_> = items
        .filter(|item| item["kind"] != "CustomResourceDefinition")
        .map(|mut item| {
            for place in ["/metadata", "/spec/template/metadata"] {
                if let Some(metadata) = item.pointer_mut(place).and_then(Value::as_object_mut) {
                    metadata.remove("labels");
                }
            }
            (format!("{}/{}", item["kind"], item["metadata"]["name"]), item)
        })
        .collect();
    named.sort_by(|one, other| one.0.cmp(&other.0));
    named
}

fn manifests() -> String {
    let files = ["hub/rbac.yaml", "hub/hub.yaml", "agent/rbac.yaml", "agent/policy.yaml"];
    let read = |file: &&str| fs::read_to_string(deploy().join(file)).unwrap();
    files.iter().map(read).collect::<Vec<_>>().join("\n---\n")
}

#[test]
fn the_chart_carries_the_same_files_as_the_folders_beside_it() {
    for (folder, copy) in [("crds", "crds"), ("agent", "files/agent")] {
        let names = |path: PathBuf| {
            let mut names: Vec<_> =
                fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        let (ours, theirs) = (deploy().join(folder), deploy().join("chart/safepoint").join(copy));
        assert_eq!(names(ours.clone()), names(theirs.clone()));
        for name in names(ours.clone()) {
            let (one, other) = (fs::read(ours.join(&name)).unwrap(), fs::read(theirs.join(&name)).unwrap());
            assert!(one == other, "{} differs: copy it from deploy/{folder}", theirs.join(name).display());
        }
    }
}

#[test]
fn helm_finds_nothing_wrong_and_refuses_values_that_are_none() {
    let lint = helm(&["lint", "--strict"]);
    assert!(
        lint.status.success(),
        "{}{}",
        String::from_utf8_lossy(&lint.stdout),
        String::from_utf8_lossy(&lint.stderr)
    );
    for wrong in ["replicas=0", "replica=2", "image.pullPolicy=Sometimes", "agent.rights=perhaps"] {
        let refused = helm(&["template", "safepoint", "--set", wrong]);
        assert!(!refused.status.success(), "{wrong}");
    }
}

#[test]
fn an_api_server_takes_the_manifests_and_the_chart_which_say_the_same() {
    let plane = ControlPlane::shared().unwrap();
    let definitions = fs::read_dir(deploy().join("crds")).unwrap();
    for file in definitions {
        kubectl(plane, &["apply", "--server-side"], &fs::read_to_string(file.unwrap().path()).unwrap());
    }
    kubectl(plane, &["apply"], &fs::read_to_string(deploy().join("hub/namespace.yaml")).unwrap());
    let (plain, chart) = (manifests(), rendered(&[]));
    let strict = ["apply", "--server-side", "--dry-run=server", "--validate=strict"];
    kubectl(plane, &strict, &plain);
    // Its namespace comes first: what is only tried out is not there for the rest.
    let example = fs::read_to_string(deploy().join("examples/agent-daemonset.yaml")).unwrap();
    let (namespace, rest) = example.split_once("\n---\n").unwrap();
    kubectl(plane, &["apply"], namespace);
    kubectl(plane, &strict, rest);
    let taken = kubectl(plane, &strict, &chart);
    for name in ["deployment.apps/safepoint-hub", "clusterrole.rbac.authorization.k8s.io/safepoint-node"] {
        assert!(taken.contains(name), "{taken}");
    }
    let mut chart = objects(plane, &chart);
    for (_, object) in &mut chart {
        // The chart says what the manifest leaves to the default.
        if let Some(container) =
            object.pointer_mut("/spec/template/spec/containers/0").and_then(Value::as_object_mut)
        {
            assert_eq!(container.remove("imagePullPolicy"), Some("IfNotPresent".into()));
        }
    }
    let plain = objects(plane, &plain);
    assert_eq!(plain.len(), 13);
    assert_eq!(chart, plain);
    let without = rendered(&["--set", "agent.rights=false"]);
    assert!(!without.contains("safepoint-node"), "{without}");
}

#[test]
fn the_hub_may_do_what_it_does_and_no_more() {
    let plane = ControlPlane::shared().unwrap();
    kubectl(plane, &["apply"], &fs::read_to_string(deploy().join("hub/namespace.yaml")).unwrap());
    kubectl(plane, &["apply", "--server-side"], &fs::read_to_string(deploy().join("hub/rbac.yaml")).unwrap());
    let may = |words: &str| {
        let hub = format!("--as=system:serviceaccount:{NAMESPACE}:safepoint-hub");
        let words: Vec<&str> = words.split_whitespace().collect();
        plane.kubectl().args(["auth", "can-i", &hub]).args(words).output().unwrap().status.success()
    };
    let in_namespace = format!("-n {NAMESPACE}");
    for allowed in [
        "patch pods -A",
        "watch pods -A",
        // The tasks of static pods.
        "create pods -A",
        "delete pods -A",
        "bind clusterroles.rbac.authorization.k8s.io/safepoint-static-pod-task",
        "list replicasets.apps -A",
        "patch deployments.apps --subresource=status -A",
        "create nodegates.safepoint.dev",
        "update validatingwebhookconfigurations.admissionregistration.k8s.io/safepoint",
        "patch customresourcedefinitions.apiextensions.k8s.io/nodegates.safepoint.dev",
        &format!("update secrets/safepoint-webhook {in_namespace}"),
        &format!("update leases.coordination.k8s.io/safepoint-hub {in_namespace}"),
    ] {
        assert!(may(allowed), "{allowed}");
    }
    for refused in [
        "deletecollection pods -A",
        "update pods -A",
        "create pods --subresource=exec -A",
        "bind clusterroles.rbac.authorization.k8s.io/cluster-admin",
        "get secrets -A",
        "get pods --subresource=exec -A",
        "patch deployments.apps -A",
        "patch nodes",
        "patch nodegates.safepoint.dev",
        "update validatingwebhookconfigurations.admissionregistration.k8s.io/others",
        "patch customresourcedefinitions.apiextensions.k8s.io/others",
        &format!("get secrets/others {in_namespace}"),
    ] {
        assert!(!may(refused), "{refused}");
    }
}
