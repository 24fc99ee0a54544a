//! Static pods that a hub rolls out, by tasks on a real kubelet: through the gate of an agent, and without one.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use safepoint_testkit::{Guest, World, WorldOptions};
use serde_json::{Value, json};

use super::hub;
use super::node::{Node, socket};

/// The image that tasks run.
const TASK: &str = "safepoint:test";

/// A hub in the network of the world, with everything that it needs there.
pub(super) fn with_hub(world: &World) -> Guest {
    world.image_of_program(TASK, Path::new(env!("CARGO_BIN_EXE_safepoint"))).unwrap();
    for manifest in [
        include_str!("../../../../deploy/crds/staticpods.safepoint.dev.yaml"),
        include_str!("../../../../deploy/crds/nodegates.safepoint.dev.yaml"),
        include_str!("../../../../deploy/hub/namespace.yaml"),
        include_str!("../../../../deploy/hub/rbac.yaml"),
    ] {
        world.apply(manifest).unwrap();
    }
    for kind in ["staticpods", "nodegates"] {
        world.run(&["wait", "--for=condition=Established", &format!("crd/{kind}.safepoint.dev")]).unwrap();
    }
    hub::start(world, &["--task-image", TASK])
}

/// Puts the agent's socket where an installed one has it: the node's `/run` is its own.
fn show_socket(world: &mut World) {
    let kubelet = Path::new("/proc").join(world.kubelet_pid().unwrap().to_string());
    let run = kubelet.join("root").join("run/safepoint");
    fs::create_dir_all(&run).unwrap();
    symlink(socket(world), run.join("agent.sock")).unwrap();
}

/// A StaticPod `eye`. What is said of the container and of the strategy is added.
fn write(world: &World, tag: &str, container: Value, strategy: Value) {
    let mut main = json!({"name": "main", "image": format!("app:{tag}"), "imagePullPolicy": "Never"});
    main.as_object_mut().unwrap().extend(container.as_object().unwrap().clone());
    let object = json!({
        "apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod", "metadata": {"name": "eye", "namespace": "default"},
        "spec": {"staticPodName": "eye", "staticPodManifest": "eye", "upgradeStrategy": strategy,
            "template": {"spec": {"terminationGracePeriodSeconds": 1, "containers": [main]}}},
    });
    world.apply(&object.to_string()).unwrap();
}

/// The status of the StaticPod, once it is about what was written last and as it should be.
fn wait_status(world: &World, what: &str, is: impl Fn(&Value) -> bool) -> Value {
    let mut last = Value::Null;
    let found = world.wait(what, || {
        let object = world.json(&["get", "staticpod", "eye"]).ok()?;
        last = object["status"].clone();
        let is_current = object["status"]["observedGeneration"] == object["metadata"]["generation"];
        (is_current && is(&object["status"])).then(|| object["status"].clone())
    });
    found.unwrap_or_else(|error| {
        let pods = world.run(&["get", "pods", "-o", "yaml"]).unwrap_or_default();
        panic!("{error:#}\n{last:#}\n{pods}")
    })
}

pub(super) fn condition(status: &Value, kind: &str) -> bool {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.filter(|it| it["type"] == kind).any(|it| it["status"] == "True")
}

/// Every node has the revision that is wanted.
fn is_done(status: &Value) -> bool {
    condition(status, "Success") && status["upgradedNumber"] == 1 && status["readyNumber"] == 1
}

fn live(world: &World) -> String {
    fs::read_to_string(world.static_pods().join("eye.yaml")).unwrap()
}

#[test]
fn a_roll_out_passes_the_gate_goes_back_from_what_is_no_good_and_recovers_without_any_cleaning_up() {
    let mut node = Node::new();
    show_socket(&mut node.world);
    let _hub = with_hub(&node.world);
    let rolling = || json!({"type": "AdvancedRollingUpdate", "maxUnavailable": 1});
    // It was there before anybody spoke of revisions.
    let by_hand = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "eye", "namespace": "default"},
        "spec": {"terminationGracePeriodSeconds": 1, "containers": [
            {"name": "main", "image": "app:v1", "imagePullPolicy": "Never"}]}});
    fs::write(node.world.static_pods().join("eye.yaml"), by_hand.to_string()).unwrap();
    node.wait_images("eye", 1, "v1");
    write(&node.world, "v2", json!({}), rolling());
    wait_status(&node.world, "the roll-out is done", is_done);
    assert_eq!(node.images("eye-node"), ["v2"]);

    write(&node.world, "v3", json!({"command": ["sh", "-c", "exit 1"]}), rolling());
    let status = wait_status(&node.world, "the failure is told", |status| {
        condition(status, "Failed") && status["nodes"][0]["state"] == "Failed"
    });
    let failed = &status["nodes"][0];
    assert_eq!(failed["node"], "node", "{status:#}");
    let told = failed["message"].as_str().unwrap_or_default();
    assert!(told.contains("the old manifest is in place again"), "{status:#}");
    node.wait_images("eye-node", 1, "v2");
    assert!(live(&node.world).contains("app:v2"));

    // Frozen, it is put off; the fixed template is there by then, and nothing was cleaned up.
    node.safepoint(&["node", "freeze", "--reason", "in flight", "--when-settled"]);
    let before = node.running("eye-node");
    write(&node.world, "v3", json!({}), rolling());
    let status =
        wait_status(&node.world, "the node is put off", |status| status["nodes"][0]["state"] == "Deferred");
    assert_eq!(status["nodes"][0]["reason"], "NodeFrozen", "{status:#}");
    assert_eq!(node.running("eye-node"), before);
    node.safepoint(&["node", "unfreeze"]);
    wait_status(&node.world, "the node has caught up", is_done);
    assert_eq!(node.images("eye-node"), ["v3"]);
    let log = node.safepoint(&["log"]);
    assert!(log.contains("static pod default/eye"), "{log}");
}

#[test]
fn an_upgrade_over_the_air_lies_ready_until_the_owner_applies_it() {
    let mut node = Node::new();
    show_socket(&mut node.world);
    let _hub = with_hub(&node.world);
    let install = json!({"nodeSelector": {}});
    write(&node.world, "v1", json!({}), json!({"type": "AdvancedRollingUpdate", "install": install}));
    wait_status(&node.world, "it is installed", is_done);
    let before = node.running("eye-node");

    write(&node.world, "v2", json!({}), json!({"type": "OTA", "install": install}));
    let mirror = || node.world.json(&["get", "pod", "eye-node"]).unwrap();
    node.wait("the owner is told, and it lies ready", || {
        let pod = mirror();
        let staged = &pod["metadata"]["annotations"]["safepoint.dev/static-pod-staged"];
        (condition(&pod["status"], "PodNeedUpgrade") && staged.is_string()).then_some(())
    });
    assert_eq!(node.running("eye-node"), before, "something was touched before the owner said so");
    assert_eq!(node.held(), ["eye"], "{}", node.agent.log());

    // Offline, with OpenYurt's own call where the cluster is there, else with ours.
    node.safepoint(&["static-pod", "upgrade", "default/eye"]);
    wait_status(&node.world, "the hub sees it", is_done);
    assert_eq!(node.images("eye-node"), ["v2"]);
    assert!(!condition(&mirror()["status"], "PodNeedUpgrade"));
}

/// Without an agent the task does it by itself, and one that is killed is followed by another.
#[test]
fn a_node_without_an_agent_is_upgraded_and_a_task_that_is_killed_is_followed_by_another() {
    let mut world = World::start(&WorldOptions::default()).unwrap();
    let kubeconfig = world.direct_kubeconfig().to_owned();
    world.start_kubelet(&kubeconfig).unwrap();
    world.wait_node_ready().unwrap();
    let _hub = with_hub(&world);
    let strategy = || {
        json!({"type": "AdvancedRollingUpdate", "install": {"nodeSelector": {}},
        "retry": {"limit": 5, "backoffSeconds": 1}})
    };
    write(&world, "v1", json!({}), strategy());
    wait_status(&world, "it is installed", is_done);
    let old = live(&world);
    write(&world, "v2", json!({}), strategy());
    let task = world
        .wait("the task runs", || {
            let pods = world.json(&["get", "pods", "-l", "safepoint.dev/static-pod-work=upgrade"]).ok()?;
            let pod = pods["items"].as_array()?.iter().find(|pod| pod["status"]["phase"] == "Running")?;
            Some(pod["metadata"]["name"].as_str()?.to_owned())
        })
        .unwrap();
    world.run(&["delete", "pod", &task, "--force", "--grace-period=0"]).unwrap();
    let now = live(&world);
    assert!(now == old || now.contains("app:v2"), "{now}");
    wait_status(&world, "another one has ended it", is_done);
    assert!(live(&world).contains("app:v2"));
}
