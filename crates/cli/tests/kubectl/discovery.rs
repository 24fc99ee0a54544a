//! `kubectl api-resources`, `api-versions`, `version` and `cluster-info`: what is there, and who answers.

use crate::support::{Space, assert_has, assert_lacks, assert_table};

#[test]
fn what_is_served_is_listed() {
    let space = Space::new();
    let table = space.run("api-resources -o wide --api-group=''");
    let row = |name: &str| table.lines().find(|line| line.split_whitespace().next() == Some(name)).unwrap();
    let all = "create,delete,deletecollection,get,list,patch,update,watch";
    assert_table(row("pods"), &[&format!("pods po v1 true Pod {all} all")]);
    assert_table(row("nodes"), &[&format!("nodes no v1 false Node {all}")]);
    assert_table(row("secrets"), &[&format!("secrets v1 true Secret {all}")]);
    assert_table(
        row("namespaces"),
        &["namespaces ns v1 false Namespace create,delete,get,list,patch,update,watch"],
    );
    assert_table(row("bindings"), &["bindings v1 true Binding create"]);
}

#[test]
fn kinds_are_listed_by_group_by_verb_and_by_scope() {
    let space = Space::new();
    assert_has(&space.run("api-resources --api-group=events.k8s.io --no-headers"), "events.k8s.io/v1");
    assert_eq!(
        space.run("api-resources --api-group=coordination.k8s.io -o name"),
        "leases.coordination.k8s.io\n"
    );
    let listed = space.run("api-resources --namespaced=false --verbs=list,get -o name");
    for name in ["namespaces", "nodes", "customresourcedefinitions.apiextensions.k8s.io"] {
        assert!(listed.lines().any(|line| line == name), "{name}: {listed}");
    }
    assert_lacks(&listed, "tokenreviews");
    assert_has(&space.run("api-resources --categories=all -o name"), "pods\n");
}

#[test]
fn versions_are_listed() {
    let space = Space::new();
    let versions = space.run("api-versions");
    for version in [
        "apiextensions.k8s.io/v1",
        "authorization.k8s.io/v1",
        "coordination.k8s.io/v1",
        "events.k8s.io/v1",
        "v1",
    ] {
        assert!(versions.lines().any(|line| line == version), "{version}: {versions}");
    }
}

#[test]
fn the_server_says_which_kubernetes_it_is() {
    let space = Space::new();
    let text = space.run("version");
    assert_has(&text, "\nServer Version: v1.36.");
    assert_lacks(&text, "exceeds the supported minor version skew");
    let json: serde_json::Value = serde_json::from_str(&space.run("version -o json")).unwrap();
    assert_eq!(json["serverVersion"]["minor"], "36");
    if space.is_safepoint() {
        assert_has(&text, concat!("+safepoint-", env!("CARGO_PKG_VERSION")));
    }
}

#[test]
fn the_address_is_that_of_the_kubeconfig() {
    let space = Space::new();
    let url = space.run("config view --minify -o jsonpath={.clusters[0].cluster.server}");
    assert_has(&space.run("cluster-info"), &format!("is running at {url}"));
    if space.is_safepoint() {
        assert_eq!(space.run("config current-context"), "safepoint\n");
    }
}
