//! `kubectl cordon`, `uncordon`, `taint` and `drain`: what is done to nodes.

use crate::support::{NODE_STATUS, POD, Space, assert_has, node};

/// A node that is ready, and its name.
fn a_node() -> (Space<'static>, String) {
    let space = Space::new();
    let name = format!("node-{}", space.namespace());
    space.apply(&node(&name));
    space.run(&format!("patch node {name} --subresource=status -p '{NODE_STATUS}'"));
    (space, name)
}

#[test]
fn a_node_is_cordoned_and_uncordoned() {
    let (space, name) = a_node();
    assert_eq!(space.run(&format!("cordon {name}")), format!("node/{name} cordoned\n"));
    assert_eq!(space.run(&format!("cordon {name}")), format!("node/{name} already cordoned\n"));
    assert_has(&space.run(&format!("get node {name}")), "Ready,SchedulingDisabled");
    assert_eq!(space.run(&format!("uncordon {name}")), format!("node/{name} uncordoned\n"));
    assert_eq!(space.run(&format!("get node {name} -o jsonpath={{.spec.unschedulable}}")), "");
    assert_has(&space.refused("cordon nobody"), "nodes \"nobody\" not found");
}

#[test]
fn a_node_is_tainted_and_untainted() {
    let (space, name) = a_node();
    let taint = |what: &str| space.kubectl(&format!("taint node {name} {what}"));
    let taints = || {
        space.run(&format!("get node {name} -o jsonpath='{{range .spec.taints[?(@.key==\"dedicated\")]}}{{.value}}:{{.effect}} {{end}}'"))
    };
    assert_eq!(taint("dedicated=arm:NoExecute").ok(), format!("node/{name} tainted\n"));
    assert_has(
        &taint("dedicated=leg:NoExecute").refused(),
        "already has dedicated taint(s) with same effect(s) and --overwrite is false",
    );
    assert_eq!(taint("dedicated=leg:NoExecute --overwrite").ok(), format!("node/{name} modified\n"));
    assert_eq!(taints(), "leg:NoExecute ");
    assert_eq!(taint("dedicated=leg:NoSchedule").ok(), format!("node/{name} tainted\n"));
    assert_eq!(taints(), "leg:NoSchedule leg:NoExecute ");
    assert_eq!(taint("dedicated:NoExecute-").ok(), format!("node/{name} untainted\n"));
    assert_eq!(taint("dedicated-").ok(), format!("node/{name} untainted\n"));
    assert_eq!(taints(), "");
}

#[test]
fn a_node_is_drained() {
    let (space, name) = a_node();
    space.apply(&POD.replace("rover", &name));
    space.run("run elsewhere --image=other:1");
    let evicted = format!("evicting pod {}/web", space.namespace());
    let dry = space.run(&format!("drain {name} --force --dry-run=server"));
    assert_has(&dry, &format!("{evicted} (server dry run)"));
    assert_has(
        &space.refused(&format!("drain {name} --timeout=60s")),
        "cannot delete Pods that declare no controller",
    );
    let drained = space.run(&format!("drain {name} --force --grace-period=0 --timeout=60s"));
    for line in [evicted, "pod/web evicted".to_owned(), format!("node/{name} drained")] {
        assert_has(&drained, &format!("{line}\n"));
    }
    assert_eq!(space.run("get pods -o name"), "pod/elsewhere\n");
    assert_has(&space.run(&format!("get node {name}")), "SchedulingDisabled");
}

#[test]
fn a_node_is_deleted() {
    let (space, name) = a_node();
    assert_eq!(space.run(&format!("delete node {name}")), format!("node \"{name}\" deleted\n"));
    assert_has(&space.refused(&format!("get node {name}")), "not found");
}
