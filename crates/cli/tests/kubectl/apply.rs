//! `kubectl apply` and `kubectl diff`: kubectl's own three-way merge against our objects.

use crate::support::{Space, assert_has, assert_lacks};

const FIRST: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {colour: red, size: small}}
data: {mode: fast, level: '1'}
";

/// One label and one key are left out, one key is changed, and one is new.
const SECOND: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {colour: red}}
data: {mode: slow, depth: '7'}
";

const TWO_CONTAINERS: &str = "
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
  - {name: server, image: server:1, env: [{name: MODE, value: fast}]}
  - {name: proxy, image: proxy:1}
";

#[test]
fn what_is_applied_is_created_then_unchanged_then_configured() {
    let space = Space::new();
    assert_eq!(space.apply(FIRST), "configmap/settings created\n");
    assert_eq!(space.apply(FIRST), "configmap/settings unchanged\n");
    let revision = space.run("get cm settings -o jsonpath={.metadata.resourceVersion}");
    assert_eq!(space.apply(FIRST), "configmap/settings unchanged\n");
    assert_eq!(space.run("get cm settings -o jsonpath={.metadata.resourceVersion}"), revision);
    assert_eq!(space.apply(SECOND), "configmap/settings configured\n");
    assert_has(&space.run("apply view-last-applied cm/settings"), "mode: slow");
}

#[test]
fn a_field_that_is_left_out_goes_and_one_of_others_stays() {
    let space = Space::new();
    space.apply(FIRST);
    space.run("label cm settings owner=somebody");
    space.run(r#"patch cm settings -p '{"data": {"theirs": "1"}}'"#);
    space.apply(SECOND);
    assert_eq!(
        space.run("get cm settings -o jsonpath='{.data}{.metadata.labels}'"),
        r#"{"depth":"7","mode":"slow","theirs":"1"}{"colour":"red","owner":"somebody"}"#
    );
}

#[test]
fn the_lists_of_a_pod_are_merged_by_name() {
    let space = Space::new();
    assert_eq!(space.apply(TWO_CONTAINERS), "pod/web created\n");
    assert_eq!(space.apply(TWO_CONTAINERS), "pod/web unchanged\n");
    assert_eq!(space.apply(&TWO_CONTAINERS.replace("proxy:1", "proxy:2")), "pod/web configured\n");
    assert_eq!(space.run("get pod web -o jsonpath='{.spec.containers[*].image}'"), "server:1 proxy:2");
}

#[test]
fn what_cannot_change_is_named() {
    let space = Space::new();
    space.apply(TWO_CONTAINERS);
    space.file("pod.yaml", &TWO_CONTAINERS.replace("fast", "slow"));
    let refusal = space.refused("apply -f pod.yaml");
    assert_has(
        &refusal,
        "The Pod \"web\" is invalid: spec: Forbidden: pod updates may not change fields other than",
    );
    assert_has(&refusal, "slow");
}

#[test]
fn a_dry_run_changes_nothing() {
    let space = Space::new();
    space.file("settings.yaml", FIRST);
    assert_eq!(
        space.run("apply -f settings.yaml --dry-run=server"),
        "configmap/settings created (server dry run)\n"
    );
    assert_has(&space.refused("get cm settings"), "not found");
    space.apply(FIRST);
    space.file("settings.yaml", SECOND);
    let shown = space.run("apply -f settings.yaml --dry-run=server -o yaml");
    assert_has(&shown, "mode: slow");
    assert_lacks(&shown, "level:");
    assert_eq!(space.run("get cm settings -o jsonpath={.data.mode}"), "fast");
}

#[test]
fn a_difference_is_shown_before_it_is_made() {
    let space = Space::new();
    space.file("settings.yaml", FIRST);
    let new = space.kubectl("diff -f settings.yaml");
    assert_eq!(new.code, Some(1), "{}", new.err);
    assert_has(&new.out, "\n+  mode: fast\n");
    space.apply(FIRST);
    assert_eq!(space.run("diff -f settings.yaml"), "");
    space.file("settings.yaml", SECOND);
    let changed = space.kubectl("diff -f settings.yaml");
    assert_eq!(changed.code, Some(1), "{}", changed.err);
    for line in ["-  level: \"1\"", "-  mode: fast", "+  depth: \"7\"", "+  mode: slow", "-    size: small"] {
        assert_has(&changed.out, &format!("\n{line}\n"));
    }
    space.apply(SECOND);
    assert_eq!(space.run("diff -f settings.yaml"), "");
}

#[test]
fn a_list_that_was_exported_is_applied_and_created_again() {
    let space = Space::new();
    space.run("create cm one --from-literal=n=1");
    space.run("create cm two --from-literal=n=2");
    space.file("list.yaml", &space.run("get cm one two -o yaml"));
    assert_eq!(space.run("apply -f list.yaml"), "configmap/one configured\nconfigmap/two configured\n");
    // Their revisions are in the file.
    assert_has(&space.refused("apply -f list.yaml"), "the object has been modified");
    space.run("delete -f list.yaml");
    assert_eq!(space.run("create -f list.yaml"), "configmap/one created\nconfigmap/two created\n");
}

#[test]
fn what_is_no_longer_applied_is_pruned() {
    let space = Space::new();
    for name in ["one", "two"] {
        space.apply(&FIRST.replace("settings", name));
    }
    space.file("one.yaml", &FIRST.replace("settings", "one"));
    assert_eq!(
        space.run("apply -f one.yaml --prune -l colour=red --prune-allowlist=core/v1/ConfigMap"),
        "configmap/one unchanged\nconfigmap/two pruned\n"
    );
    assert_has(&space.refused("get cm two"), "not found");
}

#[test]
fn a_kustomization_is_applied() {
    let space = Space::new();
    space.file("settings.yaml", FIRST);
    space.file("kustomization.yaml", "resources: [settings.yaml]\nnamePrefix: hall-3-\n");
    assert_eq!(space.run("apply -k ."), "configmap/hall-3-settings created\n");
    assert_eq!(space.run("apply -k ."), "configmap/hall-3-settings unchanged\n");
}

#[test]
fn server_side_apply_is_refused_in_plain_words() {
    let space = Space::new();
    if !space.is_safepoint() {
        return;
    }
    space.file("settings.yaml", FIRST);
    assert_has(&space.refused("apply --server-side -f settings.yaml"), "use a client-side `kubectl apply`");
    assert_has(&space.refused("get cm settings"), "not found");
}
