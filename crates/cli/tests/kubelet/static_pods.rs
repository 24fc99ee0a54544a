//! Static pods on a real kubelet: laid ready, applied with and without the cluster, held, rolled back, killed half way.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use safepoint_testkit::{ContainerState, Part, UNPULLABLE_IMAGE, World, WorldOptions};
use serde_json::Value;

use super::node::{Node, socket};

/// A manifest, with a line of its own for the container.
fn manifest(name: &str, revision: &str, container: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata:
  name: {name}
  namespace: default
  annotations: {{ openyurt.io/static-pod-hash: \"{revision}\" }}
spec:
  terminationGracePeriodSeconds: 1
  containers:
  - {{ name: main, {container} }}
"
    )
}

/// A container that stays.
fn app(tag: &str) -> String {
    format!("image: \"app:{tag}\", imagePullPolicy: Never")
}

/// Each manifest in a file of its own.
fn written(world: &World, name: &str, text: &str) -> PathBuf {
    let revision = text.split('"').nth(1).unwrap();
    let path = world.folder().join(format!("{name}.{revision}.yaml"));
    fs::write(&path, text).unwrap();
    path
}

fn live(world: &World, name: &str) -> Option<String> {
    fs::read_to_string(world.static_pods().join(format!("{name}.yaml"))).ok()
}

/// The images of the pod's running containers.
fn images(world: &World, name: &str) -> Vec<String> {
    let name = format!("{name}-{}", world.node());
    let running = world.containers().unwrap().into_iter();
    let running =
        running.filter(|it| it.pod_name == name && matches!(it.state, ContainerState::Running { .. }));
    running.map(|it| it.image).collect()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

impl Node {
    fn static_pod(&self, arguments: &[&str]) -> Output {
        let arguments: Vec<&str> = std::iter::once("static-pod").chain(arguments.iter().copied()).collect();
        self.try_safepoint(&arguments)
    }

    /// It has to work.
    fn static_pod_done(&self, arguments: &[&str]) -> String {
        let output = self.static_pod(arguments);
        let said = format!("{}{}", text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "{arguments:?}: {said}\n{}", self.agent.log());
        said
    }

    fn state_of(&self, name: &str) -> Value {
        serde_json::from_str(&self.safepoint(&[
            "static-pod",
            "status",
            &format!("default/{name}"),
            "-o",
            "json",
        ]))
        .unwrap()
    }

    fn install(&self, name: &str, revision: &str, container: &str) {
        let file = written(&self.world, name, &manifest(name, revision, container));
        let said =
            self.static_pod_done(&["install", &format!("default/{name}"), "-f", file.to_str().unwrap()]);
        assert!(said.contains("is installed"), "{said}");
    }

    /// Calls YurtHub's API: the code and the text.
    fn yurthub(&self, method: &str, path: &str) -> (u16, String) {
        let mut curl = self.world.inside("curl");
        curl.args(["-sS", "-X", method, "-w", "\n%{http_code}"]).arg(format!("http://127.0.0.1:10267{path}"));
        let output = curl.output().unwrap();
        let said = text(&output.stdout);
        let (body, code) = said.rsplit_once('\n').unwrap();
        (code.parse().unwrap(), body.to_owned())
    }

    /// Runs the upgrade task as the hub would, and reads its last words.
    fn task(&mut self, name: &str, mode: &str, manifest: &str) -> (i32, Value) {
        let mut task = task(&mut self.world, name, mode, manifest);
        let output = task.arg("--agent-socket").arg(socket(&self.world)).output().unwrap();
        let said = text(&output.stdout);
        let last: Value = serde_json::from_str(said.trim())
            .unwrap_or_else(|error| panic!("{error}: {said}{}\n{}", text(&output.stderr), self.agent.log()));
        (output.status.code().unwrap(), last)
    }
}

/// The upgrade task, with the node's file system where a pod has it.
fn task(world: &mut World, name: &str, mode: &str, manifest: &str) -> Command {
    let kubelet = world.kubelet_pid().unwrap();
    let file = written(world, name, manifest);
    let mut command = world.inside(env!("CARGO_BIN_EXE_safepoint"));
    command
        .args([
            "static-pod-upgrade",
            "--namespace=default",
            "--name",
            name,
            "--manifest",
            name,
            "--mode",
            mode,
        ])
        .arg("--file")
        .arg(file)
        .arg("--host")
        .arg(format!("/proc/{kubelet}/root"))
        .arg("--data")
        .arg(world.folder().join("task-data"))
        .arg("--manifests")
        .arg(world.static_pods())
        .args(["--node", world.node(), "--ready-for=3s", "--ready-within=60s", "--patience=3s"])
        .arg("--termination-log")
        .arg(world.folder().join("last-words"))
        .env("SAFEPOINT_LOG", "info");
    command
}

#[test]
fn what_is_staged_waits_for_the_owner_and_for_the_thaw_and_openyurts_calls_apply_it() {
    let mut node = Node::new();
    node.install("web", "one", &app("v1"));
    node.wait_images("web", 1, "v1");
    let file = written(&node.world, "web", &manifest("web", "two", &app("v2")));
    node.static_pod_done(&["upgrade", "default/web", "-f", file.to_str().unwrap(), "--stage"]);

    let state = node.state_of("web");
    assert_eq!((&state["phase"], &state["next"]["staged"]), (&"Held".into(), &true.into()), "{state}");
    assert_eq!(node.held(), ["web"]);
    let why = node.safepoint(&["why", "default/web"]);
    assert!(why.contains("static pod default/web"), "{why}");
    assert_eq!(images(&node.world, "web"), ["app:v1"]);
    // The mirror pod may take a moment to be seen.
    let needs = node.wait("OpenYurt's list says that an upgrade waits", || {
        let (code, list) = node.yurthub("GET", "/pods");
        assert_eq!(code, 200);
        let list: Value = serde_json::from_str(&list).unwrap();
        let pods = list["items"].as_array().unwrap().clone();
        let pod = pods.into_iter().find(|pod| pod["metadata"]["name"] == "web-node")?;
        let conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
        conditions.into_iter().find(|it| it["type"] == "PodNeedUpgrade")
    });
    assert_eq!(needs["status"], "True");

    // Frozen: the better call says 409, OpenYurt's its own words, and nothing moves.
    node.safepoint(&["node", "freeze", "--reason", "in flight", "--when-settled"]);
    let refused = node.static_pod(&["upgrade", "default/web"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("frozen"), "{}", text(&refused.stderr));
    let upgrade = "/openyurt.io/v1/namespaces/default/pods/web-node/upgrade";
    let (code, said) = node.yurthub("POST", upgrade);
    assert_eq!(code, 403);
    assert!(said.starts_with("Pre check update pod failed, default/web-node: the node is frozen"), "{said}");
    let mut curl = node.world.inside("curl");
    curl.args(["-sS", "-X", "POST", "-o", "/dev/null", "-w", "%{http_code}", "--unix-socket"]);
    curl.arg(socket(&node.world)).arg("http://agent/v1/static-pods/default/web/upgrade");
    assert_eq!(text(&curl.output().unwrap().stdout), "409");
    // A task of a roll-out gives way, and leaves nothing behind.
    let (code, last) = node.task("web", "upgrade", &manifest("web", "three", &app("v3")));
    assert_eq!((code, &last["code"]), (3, &"Frozen".into()), "{last}");
    assert!(live(&node.world, "web").unwrap().contains("one"));

    node.safepoint(&["node", "unfreeze"]);
    // The task's manifest had taken the place of what was staged.
    node.static_pod_done(&["upgrade", "default/web", "-f", file.to_str().unwrap(), "--stage"]);
    let (code, said) = node.yurthub("POST", upgrade);
    assert_eq!((code, said.as_str()), (200, "Start updating pod default/web-node"));
    node.wait_images("web", 1, "v2");
    node.wait("the upgrade is settled", || (node.state_of("web")["phase"] == "Settled").then_some(()));
    assert_eq!(node.state_of("web")["last"]["code"], "Upgraded");
    let (code, said) = node.yurthub("POST", upgrade);
    assert_eq!(code, 403);
    let nothing = "Pre check update pod failed, default/web-node: nothing waits for default/web on this node, and no StaticPod";
    assert!(said.starts_with(nothing), "{said}");
    let (code, said) = node.yurthub("POST", "/openyurt.io/v1/namespaces/default/pods/none/upgrade");
    assert_eq!((code, said.as_str()), (500, "Get pod failed, pods \"none\" not found"));

    // And the task, once the node lets it.
    let (code, last) = node.task("web", "upgrade", &manifest("web", "three", &app("v3")));
    assert_eq!((code, &last["code"], &last["revision"]), (0, &"Upgraded".into(), &"three".into()), "{last}");
    assert_eq!(images(&node.world, "web"), ["app:v3"]);
    let (code, last) = node.task("web", "upgrade", &manifest("web", "three", &app("v3")));
    assert_eq!((code, &last["code"]), (0, &"Unchanged".into()), "{last}");
}

#[test]
fn what_is_no_good_goes_back_by_itself_says_why_and_a_fixed_one_follows_without_any_cleaning_up() {
    let mut node = Node::new();
    node.install("app", "one", &app("v1"));
    let crashing = manifest("app", "two", &format!("{}, command: [sh, -c, exit 1]", app("v2")));
    let (code, last) = node.task("app", "upgrade", &crashing);
    assert_eq!((code, &last["code"]), (4, &"RolledBack".into()), "{last}");
    let cause = last["cause"].as_str().unwrap();
    assert!(["CrashLoop", "Restarted"].contains(&cause), "{last}");
    node.wait_images("app", 1, "v1");
    let state = node.state_of("app");
    assert_eq!(
        (&state["phase"], &state["current"]["revision"]),
        (&"Settled".into(), &"one".into()),
        "{state}"
    );
    assert_eq!(state["last"]["cause"], cause);
    let log = node.safepoint(&["log"]);
    assert!(log.contains("static pod default/app is found at revision one"), "{log}");

    // An image that nobody has is found out before anything is stopped.
    let before = node.running("app");
    let missing = format!("image: \"{UNPULLABLE_IMAGE}\", imagePullPolicy: IfNotPresent");
    let (code, last) = node.task("app", "upgrade", &manifest("app", "three", &missing));
    assert_eq!((code, &last["code"]), (3, &"ImageUnavailable".into()), "{last}");
    assert_eq!(node.running("app"), before);

    let (code, last) = node.task("app", "upgrade", &manifest("app", "four", &app("v3")));
    assert_eq!((code, &last["code"]), (0, &"Upgraded".into()), "{last}");
    assert_eq!(images(&node.world, "app"), ["app:v3"]);

    // The owner goes back, and takes it away.
    let history = node.static_pod_done(&["history", "default/app"]);
    assert!(history.contains("one") && history.contains("four") && !history.contains("two"), "{history}");
    node.static_pod_done(&["rollback", "default/app", "--local", "--to", "one"]);
    assert_eq!(images(&node.world, "app"), ["app:v1"]);
    node.static_pod_done(&["uninstall", "default/app"]);
    assert_eq!((live(&node.world, "app"), images(&node.world, "app").len()), (None, 0));
    assert_eq!(node.static_pod(&["status", "default/app"]).status.code(), Some(4));

    // One that cannot be installed is taken away again, and is not forgotten.
    let (code, last) = node.task("app", "install", &crashing);
    assert_eq!((code, &last["code"]), (4, &"RolledBack".into()), "{last}");
    assert_eq!((live(&node.world, "app"), &node.state_of("app")["last"]["cause"]), (None, &last["cause"]));

    // What somebody puts there by hand is found, and can be upgraded from.
    fs::write(node.world.static_pods().join("app.yaml"), manifest("app", "hand", &app("v2"))).unwrap();
    node.wait("it is found", || {
        let state = node.static_pod(&["status", "default/app", "-o", "json"]);
        let state: Value = serde_json::from_slice(&state.stdout).ok()?;
        (state["phase"] == "Settled" && state["current"]["revision"] == "hand").then_some(())
    });
    node.wait_images("app", 1, "v2");
    node.safepoint(&["hold", "--node", "--id", "mission", "--reason", "flying"]);
    let (code, last) = node.task("app", "upgrade", &manifest("app", "five", &app("v3")));
    assert_eq!((code, &last["code"]), (3, &"Held".into()), "{last}");
    assert!(last["message"].as_str().unwrap().contains("flying"), "{last}");
    node.safepoint(&["unhold", "mission"]);
    let (code, last) = node.task("app", "upgrade", &manifest("app", "five", &app("v3")));
    assert_eq!((code, &last["code"]), (0, &"Upgraded".into()), "{last}");
}

#[test]
fn what_is_staged_is_applied_without_the_cluster_and_by_an_agent_that_was_killed_meanwhile() {
    let mut node = Node::new();
    node.install("lamp", "one", &app("v1"));
    let file = written(&node.world, "lamp", &manifest("lamp", "two", &app("v2")));
    node.static_pod_done(&["upgrade", "default/lamp", "-f", file.to_str().unwrap(), "--stage"]);
    node.world.control_plane_mut().stop(Part::ApiServer).unwrap();
    node.wait("the cluster is away", || (node.status()["uplink"]["connected"] == false).then_some(()));
    let (code, said) = node.yurthub("POST", "/openyurt.io/v1/namespaces/default/pods/other-node/upgrade");
    assert_eq!(code, 500, "{said}");
    node.static_pod_done(&["upgrade", "default/lamp"]);
    assert_eq!(images(&node.world, "lamp"), ["app:v2"]);
    let (code, said) = node.yurthub("POST", "/openyurt.io/v1/namespaces/default/pods/lamp-node/upgrade");
    let expected = "OTA upgrade is not allowed when node is disconnected to cloud";
    assert_eq!((code, said.as_str()), (503, expected));

    // Killed while it looks at the new pod, it goes on.
    let file = written(&node.world, "lamp", &manifest("lamp", "three", &app("v3")));
    node.static_pod_done(&["upgrade", "default/lamp", "-f", file.to_str().unwrap(), "--no-wait"]);
    node.wait("the manifest is in place", || live(&node.world, "lamp")?.contains("three").then_some(()));
    // A freeze is not promised while the new pod has not been seen to be well.
    let refused = node.try_safepoint(&["node", "freeze", "--reason", "in flight"]);
    assert_eq!(refused.status.code(), Some(3), "{}", text(&refused.stderr));
    assert!(text(&refused.stderr).contains("static pod default/lamp"), "{}", text(&refused.stderr));
    node.restart_agent();
    node.wait("the upgrade is settled", || (node.state_of("lamp")["phase"] == "Settled").then_some(()));
    let state = node.state_of("lamp");
    assert_eq!(
        (&state["last"]["code"], &state["current"]["revision"]),
        (&"Upgraded".into(), &"three".into())
    );
    assert_eq!(images(&node.world, "lamp"), ["app:v3"]);
}

/// On a node without an agent: killed at one moment after another, the task leaves a manifest that is whole, and the next
/// one ends what it began.
#[test]
fn a_task_that_is_killed_leaves_the_old_manifest_or_the_new_one_and_the_next_one_goes_on() {
    let mut world = World::start(&WorldOptions::default()).unwrap();
    let kubeconfig = world.direct_kubeconfig().to_owned();
    world.start_kubelet(&kubeconfig).unwrap();
    world.wait_node_ready().unwrap();
    let run = |world: &mut World, mode: &str, manifest: &str| {
        let output = task(world, "eye", mode, manifest).output().unwrap();
        let said = text(&output.stdout);
        let last: Value = serde_json::from_str(said.trim())
            .unwrap_or_else(|error| panic!("{error}: {said}{}", text(&output.stderr)));
        (output.status.code().unwrap(), last)
    };
    let (code, last) = run(&mut world, "install", &manifest("eye", "r0", &app("v1")));
    assert_eq!((code, &last["code"]), (0, &"Installed".into()), "{last}");

    for (number, moment) in [5, 40, 120, 400, 1500].into_iter().enumerate() {
        let (old, tag) = (live(&world, "eye").unwrap(), if number % 2 == 0 { "v2" } else { "v3" });
        let new = manifest("eye", &format!("r{}", number + 1), &app(tag));
        let mut begun = task(&mut world, "eye", "upgrade", &new).spawn().unwrap();
        // It is killed at some moment; which one it is does not matter to what has to be true then.
        std::thread::sleep(Duration::from_millis(moment));
        begun.kill().unwrap();
        begun.wait().unwrap();
        let now = live(&world, "eye").unwrap();
        assert!(now == old || now == new, "after {moment} ms: {now}");
        let (code, last) = run(&mut world, "upgrade", &new);
        assert_eq!(code, 0, "after {moment} ms: {last}");
        assert_eq!((live(&world, "eye"), images(&world, "eye")), (Some(new), vec![format!("app:{tag}")]));
    }
    // Asked to stop after the swap, it first sees the new pod ready.
    let new = manifest("eye", "polite", &app("v3"));
    let begun = task(&mut world, "eye", "upgrade", &new).stdout(Stdio::piped()).spawn().unwrap();
    world.wait("the manifest is in place", || (live(&world, "eye")? == new).then_some(())).unwrap();
    kill_process(Pid::from_raw(begun.id().try_into().unwrap()).unwrap(), Signal::TERM).unwrap();
    let ended = begun.wait_with_output().unwrap();
    let last: Value = serde_json::from_slice(&ended.stdout).unwrap();
    assert_eq!((ended.status.code(), &last["code"]), (Some(0), &"Upgraded".into()), "{last}");

    let (code, last) = run(
        &mut world,
        "upgrade",
        &manifest("eye", "bad", &format!("{}, command: [sh, -c, exit 1]", app("v1"))),
    );
    assert_eq!((code, &last["code"]), (4, &"RolledBack".into()), "{last}");
    let (code, last) = run(&mut world, "remove", &manifest("eye", "r5", &app("v2")));
    assert_eq!((code, &last["code"]), (0, &"Uninstalled".into()), "{last}");
    assert_eq!(live(&world, "eye"), None);
}
