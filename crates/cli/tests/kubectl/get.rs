//! `kubectl get`: which objects are listed.

use crate::support::{POD, Space, assert_has, assert_table};

/// Two pods: `web` on a node, and `db` on none.
fn two_pods() -> Space<'static> {
    let space = Space::new();
    space.apply(POD);
    space.run("run db --image=db:2 --labels=app=db");
    space
}

#[test]
fn labels_select() {
    let space = two_pods();
    let names = |selector: &str| space.run(&format!("get pods -o name -l '{selector}'"));
    assert_eq!(names("app=web"), "pod/web\n");
    assert_eq!(names("app in (web, db), tier notin (front)"), "pod/db\n");
    assert_eq!(names("!tier"), "pod/db\n");
    assert_eq!(names("app"), "pod/db\npod/web\n");
    assert_eq!(names("app=other"), "");
    assert_has(&space.refused("get pods -l app==="), "unable to parse requirement");
}

#[test]
fn fields_select() {
    let space = two_pods();
    let names = |selector: &str| space.run(&format!("get pods -o name --field-selector {selector}"));
    assert_eq!(names("spec.nodeName=rover"), "pod/web\n");
    assert_eq!(names("spec.nodeName=,status.phase=Pending"), "pod/db\n");
    assert_eq!(names("metadata.name!=web"), "pod/db\n");
    let refusal = space.refused("get pods --field-selector status.colour=red");
    assert_has(&refusal, "Error from server (BadRequest)");
    assert_has(&refusal, "field label not supported: status.colour");
}

#[test]
fn all_namespaces_are_listed_at_once() {
    let (one, other) = (two_pods(), two_pods());
    let table = one.run("get pods -A");
    assert_eq!(
        table.lines().next().unwrap().split_whitespace().collect::<Vec<_>>(),
        ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    );
    for space in [&one, &other] {
        let rows =
            table.lines().filter(|line| line.starts_with(space.namespace())).collect::<Vec<_>>().join("\n");
        assert_table(&rows, &["* db 0/1 Pending 0 *", "* web 0/1 Pending 0 *"]);
    }
    assert_eq!(
        one.run(&format!("get pods -A -o name --field-selector metadata.namespace={}", other.namespace())),
        "pod/db\npod/web\n"
    );
}

#[test]
fn a_list_is_sorted_by_any_field() {
    let space = two_pods();
    let by = |field: &str| {
        space.run(&format!("get pods --no-headers -o custom-columns=:.metadata.name --sort-by={field}"))
    };
    assert_eq!(by(".spec.containers[0].image").split_whitespace().collect::<Vec<_>>(), ["db", "web"]);
    assert_eq!(by("{.metadata.creationTimestamp}").split_whitespace().count(), 2);
    assert_table(
        &space.run("get pods --sort-by=.metadata.labels.tier"),
        &["NAME READY STATUS RESTARTS AGE", "db 0/1 Pending 0 *", "web 0/1 Pending 0 *"],
    );
}

#[test]
fn a_list_that_comes_in_pages_is_whole() {
    let space = two_pods();
    for n in 0..3 {
        space.run(&format!("create configmap page-{n}"));
    }
    assert_eq!(
        space.run("get configmaps --chunk-size=1 -o name --field-selector metadata.name!=kube-root-ca.crt"),
        "configmap/page-0\nconfigmap/page-1\nconfigmap/page-2\n"
    );
    assert_table(
        &space.run("get pods --chunk-size=1 --no-headers"),
        &["db 0/1 Pending 0 *", "web 0/1 Pending 0 *"],
    );
}

#[test]
fn several_kinds_are_listed_at_once() {
    let space = two_pods();
    space.run("create secret generic key --from-literal=a=1");
    assert_table(
        &space.run("get pods,secrets"),
        &[
            "NAME READY STATUS RESTARTS AGE",
            "pod/db 0/1 Pending 0 *",
            "pod/web 0/1 Pending 0 *",
            "NAME TYPE DATA AGE",
            "secret/key Opaque 1 *",
        ],
    );
    assert_eq!(space.run("get pod/web secret/key -o name"), "pod/web\nsecret/key\n");
    // The pods and the services, and what else is of this category in a cluster.
    assert_eq!(space.run("get all -o name"), "pod/db\npod/web\n");
}

#[test]
fn objects_of_a_file_are_found() {
    let space = two_pods();
    space.file("pod.yaml", POD);
    assert_eq!(space.run("get -f pod.yaml -o name"), "pod/web\n");
}

#[test]
fn what_is_not_there_is_named() {
    let space = Space::new();
    assert_eq!(space.refused("get pod nobody"), "Error from server (NotFound): pods \"nobody\" not found\n");
    assert_eq!(
        space.refused("get lease nobody"),
        "Error from server (NotFound): leases.coordination.k8s.io \"nobody\" not found\n"
    );
    assert_eq!(space.run("get pod nobody --ignore-not-found"), "");
    let empty = space.kubectl("get pods");
    assert_eq!(empty.code, Some(0));
    assert_eq!(empty.err, format!("No resources found in {} namespace.\n", space.namespace()));
}

#[test]
fn any_path_can_be_read_raw() {
    let space = two_pods();
    assert_eq!(space.run("get --raw /healthz"), "ok");
    assert_eq!(space.run("get --raw /readyz"), "ok");
    let version: serde_json::Value = serde_json::from_str(&space.run("get --raw /version")).unwrap();
    assert_eq!((&version["major"], &version["minor"]), (&"1".into(), &"36".into()));
    let path = format!("/api/v1/namespaces/{}/pods", space.namespace());
    let pods: serde_json::Value = serde_json::from_str(&space.run(&format!("get --raw {path}"))).unwrap();
    assert_eq!(pods["kind"], "PodList");
    assert_eq!(pods["items"][1]["metadata"]["name"], "web");
    assert_eq!(
        space.refused(&format!("get --raw {path}/nobody")),
        "Error from server (NotFound): pods \"nobody\" not found\n"
    );
    assert_eq!(
        space.refused("get --raw /nowhere"),
        "Error from server (NotFound): the server could not find the requested resource\n"
    );
}
