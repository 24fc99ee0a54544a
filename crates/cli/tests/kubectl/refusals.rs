//! What kubectl tells a person when the server says no.

use crate::support::{POD, Space, assert_has};

#[test]
fn everything_that_is_wrong_with_an_object_is_told_at_once() {
    let space = Space::new();
    space.file(
        "pod.yaml",
        "
apiVersion: v1
kind: Pod
metadata: {name: Web_1, labels: {'a b': c}}
spec: {restartPolicy: Sometimes, containers: [{name: server}]}
",
    );
    let refusal = space.refused("create -f pod.yaml");
    assert!(refusal.starts_with("The Pod \"Web_1\" is invalid: \n"), "{refusal}");
    for line in [
        "* metadata.name: Invalid value: \"Web_1\": a lowercase RFC 1123 subdomain must consist of",
        "* metadata.labels: Invalid value: \"a b\": name part must consist of",
        "* spec.containers[0].image: Required value",
        "* spec.restartPolicy: Unsupported value: \"Sometimes\": supported values: \"Always\", \"OnFailure\", \"Never\"",
    ] {
        assert_has(&refusal, line);
    }
}

const TYPOS: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, color: red}
data: {mode: fast}
extra: 1
";

#[test]
fn a_field_that_does_not_exist_is_an_error_or_a_warning() {
    let space = Space::new();
    space.file("settings.yaml", TYPOS);
    assert_eq!(
        space.refused("apply -f settings.yaml"),
        "Error from server (BadRequest): error when creating \"settings.yaml\": ConfigMap in version \"v1\" cannot be \
         handled as a ConfigMap: strict decoding error: unknown field \"extra\", unknown field \"metadata.color\"\n"
    );
    let warned = space.kubectl("create -f settings.yaml --validate=warn");
    assert_eq!(warned.err, "Warning: unknown field \"extra\"\nWarning: unknown field \"metadata.color\"\n");
    assert_eq!(warned.ok(), "configmap/settings created\n");
    let ignored = space.kubectl("apply -f settings.yaml --validate=ignore --dry-run=server");
    assert_eq!(ignored.code, Some(0));
    assert!(!ignored.err.contains("unknown field"), "{}", ignored.err);
}

#[test]
fn a_refusal_comes_with_its_warnings() {
    let space = Space::new();
    space.file("settings.yaml", &TYPOS.replace("mode:", "'mode of work':"));
    let refusal = space.refused("create -f settings.yaml --validate=warn");
    assert_has(&refusal, "Warning: unknown field \"extra\"\nWarning: unknown field \"metadata.color\"\n");
    assert_has(&refusal, "The ConfigMap \"settings\" is invalid: data[mode of work]: Invalid value:");
}

#[test]
fn a_value_of_the_wrong_type_is_refused() {
    let space = Space::new();
    space.file("settings.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {level: 1}}");
    assert_has(
        &space.refused("apply -f settings.yaml"),
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: ",
    );
    space.run("create configmap a");
    assert_has(
        &space.refused(r#"patch cm a -p '{"data": {"level": 1}}'"#),
        "The request is invalid: patch: Invalid value:",
    );
    assert_has(&space.refused(r#"patch cm a -p '{"data":'"#), "Error from server (BadRequest)");
}

#[test]
fn what_is_fixed_for_good_stays() {
    let space = Space::new();
    space.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, immutable: true, data: {n: '1'}}");
    assert_eq!(
        space.refused(r#"patch cm a -p '{"data": {"n": "2"}}'"#),
        "The ConfigMap \"a\" is invalid: data: Forbidden: field is immutable when `immutable` is set\n"
    );
    assert_has(
        &space.refused(r#"patch cm a --type=merge -p '{"metadata": {"name": "b"}}'"#),
        "the name of the object",
    );
}

#[test]
fn a_kind_that_is_not_served_is_named() {
    let space = Space::new();
    assert_eq!(
        space.refused("get nonsense"),
        "error: the server doesn't have a resource type \"nonsense\"\n"
    );
    space.file("gizmo.yaml", "{apiVersion: v1, kind: Gizmo, metadata: {name: a}}");
    space.file("gadget.yaml", "{apiVersion: example.com/v7, kind: Gadget, metadata: {name: a}}");
    for (file, kind) in
        [("gizmo", "\"Gizmo\" in version \"v1\""), ("gadget", "\"Gadget\" in version \"example.com/v7\"")]
    {
        let refusal = space.refused(&format!("apply -f {file}.yaml"));
        assert_has(&refusal, &format!("no matches for kind {kind}"));
        assert_has(&refusal, "ensure CRDs are installed first");
    }
}

#[test]
fn what_only_a_cluster_has_is_told_apart_from_a_mistake() {
    let space = Space::new();
    if !space.is_safepoint() {
        return;
    }
    assert_eq!(
        space.refused("get deployments"),
        "error: the server doesn't have a resource type \"deployments\"\n"
    );
    space.file("web.yaml", "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web}}");
    assert_has(
        &space.refused("apply -f web.yaml"),
        "no matches for kind \"Deployment\" in version \"apps/v1\"",
    );
    assert_has(
        &space.refused("create deployment web --image=server:1"),
        "the embedded API does not serve deployments.apps in version v1; a Kubernetes cluster may",
    );
    space.apply(POD);
    for (line, part) in [("logs web", "log"), ("exec web -- ls", "exec"), ("attach web", "attach")] {
        assert_has(&space.refused(line), &format!("the embedded API does not serve pods/{part}"));
    }
    assert_has(&space.refused("top pods"), "Metrics API not available");
}
