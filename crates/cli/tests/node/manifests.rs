//! Static pods on a machine without a kubelet: files that run, and that the cluster is shown.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use super::world::{NODE, World, pod_path};

fn write(world: &World, args: &str) {
    let manifest = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "nav"}, "spec": {"containers": [
        {"name": "main", "image": "nav", "command": ["sleep", args]}]}});
    let folder = world.data().join("manifests");
    // Whole at once, as whoever replaces a manifest should.
    fs::write(folder.join(".nav.draft"), manifest.to_string()).unwrap();
    fs::rename(folder.join(".nav.draft"), folder.join("nav.yaml")).unwrap();
}

fn name() -> String {
    format!("nav-{NODE}")
}

/// The mirror, once it shows that a pod of other contents than `before` is ready.
pub(super) async fn until_mirrored(world: &World, before: Option<&str>) -> (String, Value) {
    world
        .until("the cluster is shown the static pod", async |world| {
            let (code, pod) = world.get(&pod_path(&name())).await;
            let of = pod["metadata"]["annotations"]["kubernetes.io/config.mirror"].as_str()?.to_owned();
            let ready = world.condition(&name(), "Ready").await.as_deref() == Some("True");
            (code == 200 && ready && before != Some(&of)).then_some((of, pod))
        })
        .await
}

#[tokio::test(flavor = "multi_thread")]
async fn a_manifest_runs_is_mirrored_and_is_replaced_by_its_next_version() {
    let world = World::new().await;
    write(&world, "600");
    let (first, mirror) = until_mirrored(&world, None).await;
    assert_eq!(mirror["metadata"]["ownerReferences"][0]["kind"], "Node");
    let before = world.run_of(&first);

    write(&world, "700");
    let (second, _) = until_mirrored(&world, Some(&first)).await;
    assert!(!before.is_alive() && world.run_of(&second).is_alive());

    fs::remove_file(world.data().join("manifests/nav.yaml")).unwrap();
    world
        .until("nothing is left of it", async |world| {
            (world.get(&pod_path(&name())).await.0 == 404 && world.run(&second).is_none()).then_some(())
        })
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_static_pod_outlives_the_agent_a_broken_file_and_the_deletion_of_its_mirror() {
    let mut world = World::new().await;
    write(&world, "600");
    let (uid, mirror) = until_mirrored(&world, None).await;
    let before = world.run_of(&uid);

    fs::write(world.data().join("manifests/nav.yaml"), "metadata: [").unwrap();
    world.kill_agent();
    world.start_agent();
    world.delete(&pod_path(&name())).await;
    world
        .until("it has a new mirror", async |world| {
            let pod = world.get(&pod_path(&name())).await.1;
            let is_new =
                pod["metadata"]["uid"].is_string() && pod["metadata"]["uid"] != mirror["metadata"]["uid"];
            (is_new && world.condition(&name(), "Ready").await.as_deref() == Some("True")).then_some(())
        })
        .await;
    assert!(before.is_alive() && world.run_of(&uid) == before);
}

/// The static pod, as the command line names it.
pub(super) const POD: &str = "default/nav";

/// A manifest of a revision, in a file of its own.
pub(super) fn revision(world: &World, revision: &str, script: &str) -> String {
    let manifest = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "nav", "annotations":
        {"openyurt.io/static-pod-hash": revision}}, "spec": {"terminationGracePeriodSeconds": 1, "containers": [
        {"name": "main", "image": "nav", "command": ["sh", "-c", script]}]}});
    let path = world.data().join(format!("{revision}.yaml"));
    fs::write(&path, manifest.to_string()).unwrap();
    path.to_str().unwrap().to_owned()
}

/// `safepoint static-pod …`: whether it worked, and what it said.
pub(super) fn static_pod(world: &World, arguments: &[&str]) -> (bool, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_safepoint"));
    command.arg("static-pod").args(arguments).env("SAFEPOINT_SOCKET", world.socket());
    let output = command.output().unwrap();
    let said = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(said).unwrap())
}

#[tokio::test(flavor = "multi_thread")]
async fn static_pods_pass_the_gate_and_what_is_no_good_goes_back() {
    let mut world = World::without_agent().await;
    world.extra.extend(["--ready-for=1s".to_owned(), "--ready-within=20s".to_owned()]);
    world.start_agent();
    let good = revision(&world, "one", "exec sleep 600");
    let (done, said) = static_pod(&world, &["install", POD, "-f", &good]);
    assert!(done, "{said}\n{}", world.log());
    let (first, _) = until_mirrored(&world, None).await;

    let broken = revision(&world, "two", "exit 1");
    let (done, said) = static_pod(&world, &["upgrade", POD, "-f", &broken]);
    assert!(!done && said.contains("the old manifest is in place again"), "{said}\n{}", world.log());
    assert!(fs::read_to_string(world.data().join("manifests/nav.yaml")).unwrap().contains("sleep 600"));

    world.freeze("mission").await;
    let next = revision(&world, "three", "exec sleep 700");
    let (done, said) = static_pod(&world, &["upgrade", POD, "-f", &next]);
    assert!(!done && said.contains("frozen"), "{said}\n{}", world.log());
    world.thaw().await;
    let (done, said) = static_pod(&world, &["upgrade", POD, "-f", &next]);
    assert!(done, "{said}\n{}", world.log());
    until_mirrored(&world, Some(&first)).await;
    assert!(fs::read_to_string(world.data().join("manifests/nav.yaml")).unwrap().contains("sleep 700"));
}
