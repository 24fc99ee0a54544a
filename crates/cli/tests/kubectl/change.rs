//! `kubectl edit`, `replace`, `patch`, `label`, `annotate` and `set`: objects that are there are changed.

use crate::support::{POD, Space, assert_has};

fn settings() -> Space<'static> {
    let space = Space::new();
    space.run("create configmap settings --from-literal=mode=fast --from-literal=level=1");
    space
}

const DATA: &str = "get cm settings -o jsonpath={.data}";

#[test]
fn what_an_editor_saves_is_what_is_there() {
    let space = settings();
    assert_eq!(space.edit("s/fast/slow/", "edit cm settings").ok(), "configmap/settings edited\n");
    assert_eq!(space.run(DATA), r#"{"level":"1","mode":"slow"}"#);
    let same = space.edit("", "edit cm settings");
    assert_eq!(same.err, "Edit cancelled, no changes made.\n");
    assert_has(
        &space.edit("s/slow/calm/", "edit cm settings --output-patch").ok(),
        r#"Patch: {"data":{"mode":"calm"}}"#,
    );
}

#[test]
fn an_edit_that_is_refused_is_kept_for_another_try() {
    let space = Space::new();
    space.apply(POD);
    // The editor is opened again with the reason at the top; as it changes nothing more, kubectl gives up.
    let refused = space.edit("s/restartPolicy: Always/restartPolicy: Sometimes/", "edit pod web").refused();
    assert_has(&refused, "error: pods \"web\" is invalid\n");
    let (_, rest) = refused.split_once("A copy of your changes has been stored to \"").unwrap();
    let copy = std::fs::read_to_string(rest.split('"').next().unwrap()).unwrap();
    assert_has(&copy, "# pods \"web\" was not valid:\n");
    assert_has(&copy, "# * spec.restartPolicy: Unsupported value: \"Sometimes\"");
    assert_has(&copy, "\n  restartPolicy: Sometimes\n");
}

#[test]
fn the_status_is_edited_apart() {
    let space = Space::new();
    space.apply(POD);
    space.edit("s/phase: Pending/phase: Running/", "edit pod web").ok();
    assert_eq!(space.run("get pod web -o jsonpath={.status.phase}"), "Pending");
    space.edit("s/phase: Pending/phase: Running/", "edit pod web --subresource=status").ok();
    assert_eq!(space.run("get pod web -o jsonpath={.status.phase}"), "Running");
}

#[test]
fn an_object_is_replaced_unless_it_has_changed_meanwhile() {
    let space = settings();
    space.file("settings.yaml", &space.run("get cm settings -o yaml").replace("fast", "slow"));
    assert_eq!(space.run("replace -f settings.yaml"), "configmap/settings replaced\n");
    assert_eq!(space.run(DATA), r#"{"level":"1","mode":"slow"}"#);
    // The file has the revision of before.
    assert_eq!(
        space.refused("replace -f settings.yaml"),
        "Error from server (Conflict): error when replacing \"settings.yaml\": Operation cannot be fulfilled on \
         configmaps \"settings\": the object has been modified; please apply your changes to the latest version and \
         try again\n"
    );
    space.file(
        "settings.yaml",
        "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {only: this}}",
    );
    space.run("replace -f settings.yaml");
    assert_eq!(space.run(DATA), r#"{"only":"this"}"#);
    space.file("nobody.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: nobody}}");
    assert_has(&space.refused("replace -f nobody.yaml"), "configmaps \"nobody\" not found");
}

#[test]
fn a_forced_replacement_is_a_new_object() {
    let space = Space::new();
    // It is on no node, so nobody has to end it first.
    let pod = POD.replace("  nodeName: rover\n", "");
    space.apply(&pod);
    let uid = space.run("get pod web -o jsonpath={.metadata.uid}");
    space.file("pod.yaml", &pod.replace("value: fast", "value: slow"));
    assert_has(&space.refused("replace -f pod.yaml"), "pod updates may not change fields other than");
    let said = space.run("replace --force -f pod.yaml");
    assert_has(&said, "pod \"web\" deleted");
    assert_has(&said, "pod/web replaced");
    assert_eq!(space.run("get pod web -o jsonpath={.spec.containers[0].env[0].value}"), "slow");
    assert_ne!(space.run("get pod web -o jsonpath={.metadata.uid}"), uid);
}

#[test]
fn a_strategic_patch_merges_lists_by_their_keys() {
    let space = Space::new();
    space.apply(POD);
    let line = r#"patch pod web -p '{"spec": {"containers": [{"name": "server", "image": "server:2"}]}}'"#;
    assert_eq!(space.run(line), "pod/web patched\n");
    assert_eq!(space.run(line), "pod/web patched (no change)\n");
    assert_eq!(
        space.run("get pod web -o jsonpath='{.spec.containers[*].image} {.spec.containers[0].env[0].name}'"),
        "server:2 MODE"
    );
}

#[test]
fn a_merge_patch_sets_and_removes() {
    let space = settings();
    space.run(r#"patch cm settings --type=merge -p '{"data": {"mode": null, "depth": "7"}}'"#);
    assert_eq!(space.run(DATA), r#"{"depth":"7","level":"1"}"#);
    let shown =
        space.run(r#"patch cm settings --type=merge -p '{"data": {"depth": "8"}}' --dry-run=server -o yaml"#);
    assert_has(&shown, "depth: \"8\"");
    assert_eq!(space.run(DATA), r#"{"depth":"7","level":"1"}"#);
}

#[test]
fn a_json_patch_is_done_whole_or_not_at_all() {
    let space = settings();
    space.run(
        r#"patch cm settings --type=json -p '[{"op": "test", "path": "/data/level", "value": "1"},
            {"op": "replace", "path": "/data/level", "value": "2"}]'"#,
    );
    assert_eq!(space.run(DATA), r#"{"level":"2","mode":"fast"}"#);
    let refusal = space.refused(
        r#"patch cm settings --type=json -p '[{"op": "remove", "path": "/data/mode"},
            {"op": "test", "path": "/data/level", "value": "1"}]'"#,
    );
    assert_eq!(
        refusal,
        "The request is invalid: the server rejected our request due to an error in our request\n"
    );
    assert_eq!(space.run(DATA), r#"{"level":"2","mode":"fast"}"#);
}

#[test]
fn the_status_is_patched_apart() {
    let space = Space::new();
    space.apply(POD);
    let phase = "get pod web -o jsonpath={.status.phase}";
    let patch = r#"-p '{"status": {"phase": "Running"}}'"#;
    assert_eq!(space.run(&format!("patch pod web {patch}")), "pod/web patched (no change)\n");
    assert_eq!(space.run(phase), "Pending");
    assert_eq!(space.run(&format!("patch pod web --subresource=status {patch}")), "pod/web patched\n");
    assert_eq!(space.run(phase), "Running");
}

#[test]
fn labels_are_set_replaced_and_removed() {
    let space = settings();
    assert_eq!(space.run("label cm settings colour=red size=small"), "configmap/settings labeled\n");
    assert_eq!(
        space.refused("label cm settings colour=green"),
        "error: 'colour' already has a value (red), and --overwrite is false\n"
    );
    assert_eq!(space.run("label cm settings colour=green --overwrite"), "configmap/settings labeled\n");
    assert_eq!(space.run("label cm settings size-"), "configmap/settings unlabeled\n");
    assert_eq!(space.run("label cm settings colour=green"), "configmap/settings not labeled\n");
    assert_eq!(space.run("label cm settings --list"), "colour=green\n");
    space.run("label cm --all seen=yes");
    space.run("label cm -l colour=green also=this");
    assert_eq!(
        space.run("get cm settings -o jsonpath={.metadata.labels}"),
        r#"{"also":"this","colour":"green","seen":"yes"}"#
    );
}

#[test]
fn annotations_are_set_replaced_and_removed() {
    let space = settings();
    let notes = "get cm settings -o jsonpath={.metadata.annotations}";
    assert_eq!(space.run("annotate cm settings note='a few words'"), "configmap/settings annotated\n");
    assert_has(&space.refused("annotate cm settings note=other"), "--overwrite is false");
    space.run("annotate cm settings note=other --overwrite");
    assert_eq!(space.run(notes), r#"{"note":"other"}"#);
    assert_eq!(space.run("annotate cm settings note-"), "configmap/settings annotated\n");
    assert_eq!(space.run(notes), "");
    // Only if nobody has changed it since.
    assert_has(
        &space.refused("annotate cm settings --resource-version=1 a=b"),
        "the object has been modified",
    );
}

#[test]
fn an_image_is_set() {
    let space = Space::new();
    space.apply(POD);
    assert_eq!(space.run("set image pod/web server=server:3"), "pod/web image updated\n");
    assert_eq!(space.run("get pod web -o jsonpath={.spec.containers[0].image}"), "server:3");
}
