//! `kubectl delete`: what goes, when, and what goes with it.

use crate::support::{POD, Space, assert_has};

#[test]
fn what_is_deleted_is_gone() {
    let space = Space::new();
    space.run("create configmap a");
    let said = format!("configmap \"a\" deleted from {} namespace", space.namespace());
    assert_eq!(space.run("delete cm a --dry-run=server"), format!("{said} (server dry run)\n"));
    assert_eq!(space.run("delete cm a"), format!("{said}\n"));
    assert_eq!(space.refused("delete cm a"), "Error from server (NotFound): configmaps \"a\" not found\n");
    assert_eq!(space.run("delete cm a --ignore-not-found"), "");
}

#[test]
fn many_are_deleted_at_once() {
    let space = Space::new();
    for name in ["a", "b", "c", "d"] {
        space.run(&format!("create secret generic {name}"));
    }
    space.run("label secret b c colour=red");
    let deleted = |line: &str| {
        let said = space.run(line);
        said.lines().map(|line| line.split('"').nth(1).unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(deleted("delete secret -l colour=red"), ["b", "c"]);
    assert_eq!(deleted("delete secret --all"), ["a", "d"]);
    assert_eq!(space.run("get secrets -o name"), "");
}

#[test]
fn a_deletion_waits_for_the_last_finalizer() {
    let space = Space::new();
    space.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: held, finalizers: [example.com/hold]}}");
    assert_has(
        &space.refused("delete cm held --timeout=1s"),
        "timed out waiting for the condition on configmaps/held",
    );
    space.run("delete cm held --wait=false");
    assert_ne!(space.run("get cm held -o jsonpath={.metadata.deletionTimestamp}"), "");

    let mut deletion = space.start("delete cm held");
    deletion.until_words("configmap \"held\" deleted");
    assert_has(&space.run("get cm held -o name"), "configmap/held");
    assert!(deletion.goes_on(), "it is still there");
    space.run(r#"patch cm held --type=merge -p '{"metadata": {"finalizers": null}}'"#);
    deletion.finish();
    assert_has(&space.refused("get cm held"), "not found");
}

#[test]
fn a_pod_on_a_node_has_time_to_end_unless_it_is_forced() {
    let space = Space::new();
    space.apply(POD);
    space.run("delete pod web --wait=false");
    assert_eq!(space.run("get pod web -o jsonpath={.metadata.deletionGracePeriodSeconds}"), "30");
    assert_has(&space.run("get pod web"), "Terminating");
    space.run("delete pod web --now --wait=false");
    assert_eq!(space.run("get pod web -o jsonpath={.metadata.deletionGracePeriodSeconds}"), "1");
    let forced = space.kubectl("delete pod web --force");
    assert_has(&forced.err, "Warning: Immediate deletion does not wait for confirmation");
    assert_has(&forced.ok(), "pod \"web\" force deleted");
    assert_has(&space.refused("get pod web"), "not found");
}

/// A config map that belongs to another.
fn belonging_to(owner: &str, uid: &str, finalizers: &str) -> String {
    format!(
        "
apiVersion: v1
kind: ConfigMap
metadata:
  name: part
  finalizers: [{finalizers}]
  ownerReferences: [{{apiVersion: v1, kind: ConfigMap, name: {owner}, uid: {uid}, blockOwnerDeletion: true}}]
"
    )
}

fn owner_and_part(finalizers: &str) -> Space<'static> {
    let space = Space::new();
    space.run("create configmap whole");
    let uid = space.run("get cm whole -o jsonpath={.metadata.uid}");
    space.apply(&belonging_to("whole", &uid, finalizers));
    space
}

#[test]
fn what_belongs_to_an_object_goes_after_it() {
    let space = owner_and_part("");
    space.run("delete cm whole");
    space.run("wait cm/part --for=delete --timeout=60s");
    assert_has(&space.refused("get cm part"), "not found");
}

#[test]
fn orphans_stay_and_belong_to_nobody() {
    let space = owner_and_part("");
    space.run("delete cm whole --cascade=orphan");
    assert_has(&space.refused("get cm whole"), "not found");
    assert_eq!(space.run("get cm part -o jsonpath='{.metadata.name}{.metadata.ownerReferences}'"), "part");
}

#[test]
fn in_the_foreground_an_object_goes_after_what_belongs_to_it() {
    let space = owner_and_part("example.com/hold");
    let mut deletion = space.start("delete cm whole --cascade=foreground");
    deletion.until_words("configmap \"whole\" deleted");
    space.run("wait cm/part --for=jsonpath='{.metadata.deletionTimestamp}' --timeout=60s");
    assert_eq!(space.run("get cm whole -o jsonpath={.metadata.finalizers}"), r#"["foregroundDeletion"]"#);
    assert!(deletion.goes_on(), "the part is still there");
    space.run(r#"patch cm part --type=merge -p '{"metadata": {"finalizers": null}}'"#);
    deletion.finish();
    assert_has(&space.refused("get cm whole part"), "not found");
}

#[test]
fn a_namespace_goes_with_everything_in_it() {
    let space = Space::new();
    space.run("create configmap a");
    space.apply("{apiVersion: v1, kind: Secret, metadata: {name: held, finalizers: [example.com/hold]}}");
    let name = space.namespace();
    let deletion = space.start(&format!("delete namespace {name}"));
    space.run("wait cm/a --for=delete --timeout=60s");
    assert_has(&space.run(&format!("get namespace {name}")), "Terminating");
    assert_has(&space.refused("create configmap b"), "because it is being terminated");
    space.run(r#"patch secret held --type=merge -p '{"metadata": {"finalizers": null}}'"#);
    deletion.finish();
    assert_has(&space.refused(&format!("get namespace {name}")), "not found");
}

#[test]
fn some_namespaces_cannot_be_deleted() {
    let space = Space::new();
    for name in ["default", "kube-system", "kube-public"] {
        assert_eq!(
            space.kubectl(&format!("delete namespace {name}")).refused().lines().last().unwrap(),
            format!(
                "Error from server (Forbidden): namespaces \"{name}\" is forbidden: this namespace may not be deleted"
            )
        );
    }
}
