//! `kubectl create`, `run` and `expose`: objects made from a command line, and from files.

use crate::support::{POD, Space, assert_has, assert_lacks};

#[test]
fn objects_are_made_from_files() {
    let space = Space::new();
    space.file("pod.yaml", POD);
    assert_eq!(space.run("create -f pod.yaml --dry-run=server"), "pod/web created (server dry run)\n");
    assert_eq!(space.run("create -f pod.yaml"), "pod/web created\n");
    assert_eq!(
        space.refused("create -f pod.yaml"),
        "Error from server (AlreadyExists): error when creating \"pod.yaml\": pods \"web\" already exists\n"
    );
}

#[test]
fn names_are_made_up_where_only_their_beginning_is_given() {
    let space = Space::new();
    space.file("run.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {generateName: run-}}");
    let created = [space.run("create -f run.yaml"), space.run("create -f run.yaml")];
    for name in &created {
        assert!(name.starts_with("configmap/run-") && name.ends_with(" created\n"), "{name}");
    }
    assert_ne!(created[0], created[1]);
}

#[test]
fn config_maps_and_secrets_are_made_from_texts_and_files() {
    let space = Space::new();
    space.file("notes.txt", "two\nlines\n");
    space.run("create configmap settings --from-literal=mode=fast --from-file=notes.txt");
    assert_eq!(
        space.run("get cm settings -o jsonpath='{.data.mode} {.data.notes\\.txt}'"),
        "fast two\nlines\n"
    );
    std::fs::write(space.folder().join("raw.bin"), [0, 159, 146, 150]).unwrap();
    space.run("create configmap binary --from-file=raw.bin");
    assert_eq!(space.run("get cm binary -o jsonpath='{.binaryData}'"), r#"{"raw.bin":"AJ+Slg=="}"#);

    assert_eq!(space.run("create secret generic key --from-literal=word=friend"), "secret/key created\n");
    assert_eq!(space.run("get secret key -o jsonpath='{.type} {.data.word}'"), "Opaque ZnJpZW5k");
    space.run("create secret docker-registry pull --docker-server=example.com --docker-username=a --docker-password=b");
    assert_eq!(space.run("get secret pull -o jsonpath={.type}"), "kubernetes.io/dockerconfigjson");
}

#[test]
fn a_dry_run_shows_what_would_be_made() {
    let space = Space::new();
    let shown = space.run("create configmap settings --from-literal=a=1 --dry-run=server -o yaml");
    assert_has(&shown, "  a: \"1\"");
    assert_has(&shown, "  uid: ");
    assert_lacks(&shown, "resourceVersion");
    assert_has(&space.refused("get cm settings"), "not found");
}

#[test]
fn namespaces_are_made_once() {
    let space = Space::new();
    let name = format!("{}-more", space.namespace());
    assert_eq!(space.run(&format!("create namespace {name}")), format!("namespace/{name} created\n"));
    assert_eq!(
        space.refused(&format!("create namespace {name}")),
        format!("Error from server (AlreadyExists): namespaces \"{name}\" already exists\n")
    );
    assert_has(&space.refused("create configmap a -n nowhere"), "namespaces \"nowhere\" not found");
}

#[test]
fn a_service_account_gets_a_token_that_works() {
    let space = Space::new();
    assert_eq!(space.run("create serviceaccount robot"), "serviceaccount/robot created\n");
    let token = space.run("create token robot");
    assert_has(
        &space.run(&format!("auth whoami --token={token}")),
        &format!("system:serviceaccount:{}:robot", space.namespace()),
    );
    let review: serde_json::Value =
        serde_json::from_str(&space.run("create token robot --duration=20m -o json")).unwrap();
    assert_eq!(review["spec"]["expirationSeconds"], 1200);
    assert_has(
        &space.refused("create token robot --duration=1m"),
        "may not specify a duration less than 10 minutes",
    );
    assert_has(&space.refused("create token nobody"), "serviceaccounts \"nobody\" not found");

    // A token is good as long as its account. Kubernetes remembers for some seconds that it was.
    if space.is_safepoint() {
        space.run("delete serviceaccount robot");
        assert_has(&space.refused(&format!("get pods --token={token}")), "Unauthorized");
    }
}

#[test]
fn a_pod_is_run_and_exposed() {
    let space = Space::new();
    assert_eq!(space.run("run web --image=server:1 --port=80"), "pod/web created\n");
    assert_eq!(
        space.run("get pods -l run=web -o jsonpath='{.items[*].spec.containers[0].image}'"),
        "server:1"
    );
    assert_eq!(space.run("expose pod web --port=80 --cluster-ip=None"), "service/web exposed\n");
    assert_eq!(
        space.run("get svc web -o jsonpath='{.spec.selector}{.spec.ports[0].port}'"),
        r#"{"run":"web"}80"#
    );
}

#[test]
fn objects_are_made_replaced_and_deleted_at_raw_paths() {
    let space = Space::new();
    let path = format!("/api/v1/namespaces/{}/configmaps", space.namespace());
    space.file(
        "a.json",
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"n": "1"}}"#,
    );
    assert_has(&space.run(&format!("create --raw {path} -f a.json")), r#""kind":"ConfigMap""#);
    space.file(
        "a.json",
        r#"{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"n": "2"}}"#,
    );
    assert_has(&space.run(&format!("replace --raw {path}/a -f a.json")), r#""data":{"n":"2"}"#);
    assert_has(&space.run(&format!("delete --raw {path}/a")), r#""status":"Success""#);
}
