//! Manifests as pods.

use super::*;

const ROVER: &str = "apiVersion: v1
kind: Pod
metadata: {name: Rover}
spec: {containers: [{name: a, image: a, command: [sleep]}]}
";

fn folder() -> (tempfile::TempDir, Folder) {
    let place = tempfile::tempdir().unwrap();
    let folder = Folder::new(place.path().to_owned(), "bot");
    (place, folder)
}

fn only(asked: Asked) -> StaticPod {
    assert!(asked.is_complete && asked.pods.len() == 1, "{asked:?}");
    asked.pods.into_values().next().unwrap()
}

#[test]
fn a_manifest_is_a_pod_named_after_it_and_the_node() {
    let (place, mut folder) = folder();
    fs::write(place.path().join("rover.yaml"), ROVER).unwrap();
    let pod = only(folder.read());
    assert_eq!(pod.key, Key::pod("default", "rover-bot"));
    assert_eq!(pod.manifest["spec"]["nodeName"], "bot");
    assert_eq!(pod.manifest["metadata"]["annotations"][CONFIG_HASH], pod.uid.as_str());
    assert!(is_static(&pod.manifest));
}

#[test]
fn other_contents_are_another_pod_and_the_same_contents_the_same() {
    let (place, mut folder) = folder();
    let file = place.path().join("rover.yaml");
    fs::write(&file, ROVER).unwrap();
    let first = only(folder.read());
    fs::write(&file, ROVER).unwrap();
    assert_eq!(only(folder.read()), first);
    fs::write(&file, ROVER.replace("sleep", "true")).unwrap();
    let second = only(folder.read());
    assert_eq!(second.key, first.key);
    assert_ne!(second.uid, first.uid);
}

#[test]
fn with_a_file_that_cannot_be_read_nobody_knows_what_else_is_asked_for() {
    let (place, mut folder) = folder();
    let file = place.path().join("rover.yaml");
    for broken in ["metadata: [", "kind: Service", "", "apiVersion: v1\nkind: Pod\nmetadata: {name: rover}"] {
        fs::write(&file, broken).unwrap();
        assert_eq!(folder.read(), Asked::default(), "{broken}");
    }
    fs::remove_file(&file).unwrap();
    assert_eq!(folder.read(), Asked { is_complete: true, ..Asked::default() });
}

#[test]
fn hidden_files_and_folders_are_none() {
    let (place, mut folder) = folder();
    fs::write(place.path().join(".rover.yaml.draft"), ROVER).unwrap();
    fs::create_dir(place.path().join("sub")).unwrap();
    assert_eq!(folder.read(), Asked { is_complete: true, ..Asked::default() });
}

#[test]
fn a_folder_that_is_gone_asks_for_nothing_and_ends_nothing() {
    let (place, mut folder) = folder();
    drop(place);
    assert_eq!(folder.read(), Asked::default());
}

#[test]
fn a_static_pod_uses_nothing_of_the_cluster() {
    let text = ROVER.replace("command: [sleep]", "envFrom: [{configMapRef: {name: nav}}]");
    let error = static_pod(&text, "bot", "rover.yaml", Moment::default()).unwrap_err();
    assert!(error.contains("nav"), "{error}");
}
