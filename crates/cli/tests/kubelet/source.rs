//! With a hub beside the cluster: workloads that are armed on their own metadata, and ends that are put off where they are
//! asked for, so that what is held keeps its endpoints.

use safepoint_testkit::Guest;
use serde_json::{Value, json};

use super::hub;
use super::node::{Node, Running};
use super::rollouts::{WORKLOADS, install, named, release, upgrade};

const HOLD: &str = "edge.kubeedge.io/hold-upgrade";

/// A hub in the network of the world, and a node that it knows.
fn with_hub(node: &Node) -> Guest {
    let hub = hub::start(&node.world, &[]);
    // The API server asks it from now on, about both kinds of requests.
    let canary = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "canary", "namespace": "default", "annotations": {HOLD: "true", "safepoint.dev/first-install": "allow"}},
        "spec": {"terminationGracePeriodSeconds": 0,
            "containers": [{"name": "main", "image": "app:v1", "imagePullPolicy": "Never"}]}});
    node.apply(&canary);
    node.wait_ready("canary", 1);
    node.wait("the hub puts ends off", || {
        node.world.run(&["delete", "pod", "canary", "--dry-run=server"]).is_err().then_some(())
    });
    node.kubectl(&["annotate", "pod", "canary", &format!("{HOLD}-")]);
    node.wait("the canary goes", || {
        let _ = node.world.run(&["delete", "pod", "canary", "--ignore-not-found", "--wait=false"]);
        node.running("canary").is_empty().then_some(())
    });
    hub
}

fn pods(node: &Node, prefix: &str) -> Vec<Value> {
    let all = node.world.json(&["get", "pods"]).unwrap();
    let of = |pod: &&Value| pod["metadata"]["name"].as_str().is_some_and(|name| name.starts_with(prefix));
    all["items"].as_array().unwrap().iter().filter(of).cloned().collect()
}

fn is_armed(pod: &Value) -> bool {
    pod["metadata"]["annotations"][HOLD] == "true"
}

/// The addresses behind a Service that are ready.
fn ready_addresses(node: &Node, service: &str) -> usize {
    let slices =
        node.world.json(&["get", "endpointslices", "-l", &format!("kubernetes.io/service-name={service}")]);
    let slices = slices.unwrap();
    let endpoints = slices["items"]
        .as_array()
        .into_iter()
        .flatten()
        .flat_map(|it| it["endpoints"].as_array().into_iter().flatten());
    endpoints.filter(|it| it["conditions"]["ready"] == true).count()
}

#[test]
fn workloads_that_are_armed_on_their_own_metadata_are_held_like_others_and_arming_replaces_no_pod() {
    let node = Node::new();
    let _hub = with_hub(&node);
    install(&node, &json!({}));
    let running = || WORKLOADS.map(|(name, _)| node.running(name));
    let (before, count) = (running(), |name| WORKLOADS.iter().find(|it| it.0 == name).unwrap().1);
    for (name, _) in WORKLOADS {
        node.kubectl(&["annotate", &named(name), &format!("{HOLD}=true")]);
    }
    for (name, count) in WORKLOADS {
        node.wait(&format!("the pods of {name} are armed"), || {
            let pods = pods(&node, name);
            (pods.len() == count && pods.iter().all(is_armed)).then_some(())
        });
    }
    assert_eq!(running(), before, "arming touched something");

    for (name, _) in WORKLOADS {
        upgrade(&node, name, "v2");
    }
    for (name, _) in WORKLOADS {
        node.wait_held(name);
    }
    // What would be stopped first was not even marked: it goes on serving.
    for name in ["camera", "log", "arm"] {
        node.wait(&format!("the end of a pod of {name} is wished"), || {
            let wished = |pod: &Value| !pod["metadata"]["annotations"]["safepoint.dev/end-wished"].is_null();
            pods(&node, name).iter().any(wished).then_some(())
        });
        let ending = |pod: &Value| !pod["metadata"]["deletionTimestamp"].is_null();
        assert!(!pods(&node, name).iter().any(ending), "{name} is marked as ending");
    }
    node.wait("the deployment says why it makes no progress", || {
        let told = node.kubectl(&["describe", "deployment", "arm"]);
        (told.contains("HeldUpgrade") && told.contains("UpgradeHeld")).then_some(())
    });
    assert_eq!(running(), before, "something was touched before its release");

    for (index, (name, _)) in WORKLOADS.into_iter().enumerate() {
        release(&node, name);
        node.wait_images(name, count(name), "v2");
        node.wait_ready(name, count(name));
        for ((other, _), before) in WORKLOADS.iter().zip(&before).skip(index + 1) {
            assert_eq!(node.running(other), *before, "{other} was touched by the release of {name}");
        }
    }

    let before: [Running; 4] = running();
    for (name, _) in WORKLOADS {
        upgrade(&node, name, "v3");
        node.wait_held(name);
    }
    assert_eq!(running(), before, "a release covered a still newer revision");

    // Disarmed, they go on by themselves.
    for (name, count) in WORKLOADS {
        node.kubectl(&["annotate", &named(name), &format!("{HOLD}-")]);
        node.wait_images(name, count, "v3");
        node.wait_ready(name, count);
        assert!(!pods(&node, name).iter().any(is_armed), "{name} is still armed");
    }
}

#[test]
fn an_end_that_is_asked_for_while_frozen_is_put_off_in_words_and_happens_after_the_thaw() {
    let node = Node::new();
    let _hub = with_hub(&node);
    install(&node, &json!({}));
    node.kubectl(&["expose", "deployment", "arm", "--port=80"]);
    node.wait("the arm is reached", || (ready_addresses(&node, "arm") == 1).then_some(()));
    node.safepoint(&["node", "freeze", "--reason", "crane lift", "--when-settled"]);
    let (before, arm) =
        (node.running("arm"), pods(&node, "arm")[0]["metadata"]["name"].as_str().unwrap().to_owned());
    node.wait("the hub has heard of the freeze", || {
        node.world.run(&["delete", "pod", &arm, "--dry-run=server"]).is_err().then_some(())
    });

    let refused = node.world.run(&["delete", "pod", &arm]).unwrap_err().to_string();
    for word in ["does not end now because node node is frozen", "crane lift", "safepoint node unfreeze"] {
        assert!(refused.contains(word), "{word}: {refused}");
    }
    let drained =
        node.world.run(&["drain", "node", "--ignore-daemonsets", "--timeout=1s", "--pod-selector=app=web"]);
    assert!(drained.is_err(), "what is held was driven out");
    node.wait_held("arm");
    assert_eq!(node.running("arm"), before);
    assert_eq!(ready_addresses(&node, "arm"), 1, "it is still reached");
    assert!(pods(&node, "arm")[0]["metadata"]["deletionTimestamp"].is_null());

    node.kubectl(&["uncordon", "node"]);
    node.safepoint(&["node", "unfreeze"]);
    node.wait("the arm was replaced", || {
        let now = node.running("arm");
        (now.len() == 1 && now.keys().all(|(pod, _)| *pod != arm)).then_some(())
    });
    node.wait_ready("arm", 1);
}
