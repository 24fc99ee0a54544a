//! Pods that are deleted, forced away, made again under the same name: what is held runs on, ends come before starts, and
//! nobody starts who should not.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};

use safepoint_testkit::{ContainerState, WorldOptions};
use serde_json::{Value, json};

use super::node::{Node, bare_pod, held};

/// The running containers of one name, by the uid of their pod.
fn uids(node: &Node, name: &str) -> BTreeSet<String> {
    let containers = node.world.containers().unwrap();
    let running = containers
        .into_iter()
        .filter(|seen| seen.pod_name == name && matches!(seen.state, ContainerState::Running { .. }));
    running.map(|seen| seen.pod_uid).collect()
}

fn phase(node: &Node, name: &str) -> Value {
    node.world.json(&["get", "pod", name]).map(|pod| pod["status"]["phase"].clone()).unwrap_or_default()
}

#[test]
fn a_held_pod_outlives_its_object_and_its_namesake_starts_only_after_its_end() {
    let node = Node::new();
    node.apply(&bare_pod("rover", "v1", held()));
    node.wait_ready("rover", 1);
    let before = node.running("rover");
    node.kubectl(&["delete", "pod", "rover", "--wait=false"]);
    node.wait_held("rover");
    node.kubectl(&["delete", "pod", "rover", "--force", "--grace-period=0"]);
    node.wait("the object is gone", || node.world.json(&["get", "pod", "rover"]).is_err().then_some(()));
    node.apply(&bare_pod("rover", "v2", held()));
    node.wait("the namesake is held too", || {
        let why = node.safepoint(&["why", "rover", "-n", "default"]);
        why.contains("held").then_some(())
    });
    assert_eq!(node.running("rover"), before);

    let (id, _) = before.values().next().unwrap().clone();
    node.world.kill_container(&id).unwrap();
    node.wait("a crash is mended as ever", || {
        let now = node.running("rover");
        (!now.is_empty() && now != before).then_some(())
    });
    assert_eq!(node.images("rover"), ["v1"]);

    let (done, old) = (AtomicBool::new(false), uids(&node, "rover"));
    std::thread::scope(|scope| {
        let watcher = scope.spawn(|| {
            while !done.load(Ordering::SeqCst) {
                let running = uids(&node, "rover");
                assert!(running.len() < 2, "both ran at once: {running:?}");
            }
        });
        node.safepoint(&["unhold-upgrade", "pod", "rover", "-n", "default"]);
        node.wait_images("rover", 1, "v2");
        done.store(true, Ordering::SeqCst);
        watcher.join().unwrap();
    });
    assert!(uids(&node, "rover").is_disjoint(&old));
    node.wait_ready("rover", 1);
}

#[test]
fn nobody_is_rejected_for_room_that_a_kept_pod_still_has() {
    let node = Node::new();
    let needing = |name: &str, annotations: Value| {
        let mut pod = bare_pod(name, "v1", annotations);
        pod["spec"]["containers"][0]["resources"] = json!({"requests": {"cpu": "1500m"}});
        pod
    };
    node.apply(&needing("rover", held()));
    node.wait_ready("rover", 1);
    node.kubectl(&["delete", "pod", "rover", "--wait=false"]);
    node.wait_held("rover");
    node.kubectl(&["delete", "pod", "rover", "--force", "--grace-period=0"]);
    node.apply(&needing("arm", json!({})));
    node.wait("it waits for room", || {
        let why = node.try_safepoint(&["why", "arm", "-n", "default"]);
        String::from_utf8_lossy(&why.stdout).contains("kept in its place").then_some(())
    });
    assert_eq!(phase(&node, "arm"), "Pending");
    node.safepoint(&["release", "rover", "-n", "default"]);
    node.wait_ready("arm", 1);
    assert!(node.running("rover").is_empty());
}

#[test]
fn a_pod_that_is_deleted_while_its_start_is_held_leaves_without_a_trace() {
    let node = Node::new();
    node.apply(&bare_pod("rover", "v1", json!({"edge.kubeedge.io/hold-upgrade": "true"})));
    node.wait_held("rover");
    let told = node.kubectl(&["describe", "pod", "rover"]);
    assert!(told.contains("HeldUpgrade"), "{told}");
    assert_eq!(phase(&node, "rover"), "Pending");
    node.kubectl(&["delete", "pod", "rover"]);
    node.wait("it is gone", || node.world.json(&["get", "pod", "rover"]).is_err().then_some(()));
    assert!(node.world.sandboxes().iter().all(|sandbox| sandbox.pod_name != "rover"));
    assert!(node.held().is_empty());
}

#[test]
fn a_held_deletion_of_a_pod_that_ends_by_itself_is_carried_out_at_the_release() {
    let node = Node::new();
    let mut pod = bare_pod("job", "v1", held());
    pod["spec"]["restartPolicy"] = json!("Never");
    pod["spec"]["containers"][0]["command"] =
        json!(["sh", "-c", "while [ ! -e /tmp/end ]; do sleep 0.1; done"]);
    node.apply(&pod);
    node.wait_ready("job", 1);
    node.kubectl(&["delete", "pod", "job", "--wait=false"]);
    node.wait_held("job");
    node.kubectl(&["exec", "job", "--", "touch", "/tmp/end"]);
    node.wait("it has ended", || (phase(&node, "job") == "Succeeded").then_some(()));
    let logs = node.kubectl(&["logs", "job"]);
    assert_eq!(logs, "");
    assert!(node.world.json(&["get", "pod", "job"]).is_ok(), "its end was carried out although it is held");
    node.safepoint(&["release", "job", "-n", "default"]);
    node.wait("it is gone", || node.world.json(&["get", "pod", "job"]).is_err().then_some(()));
}

#[test]
fn a_kubelet_that_ran_without_safepoint_is_taken_over_as_it_is() {
    let mut earlier = std::collections::BTreeMap::new();
    let node = Node::after(&WorldOptions::default(), |world| {
        let direct = world.direct_kubeconfig().to_owned();
        world.start_kubelet(&direct).unwrap();
        world.wait_node_ready().unwrap();
        let mut job = bare_pod("job", "v1", json!({}));
        job["spec"]["restartPolicy"] = json!("OnFailure");
        job["spec"]["containers"][0]["command"] = json!(["true"]);
        for pod in [bare_pod("rover", "v1", held()), bare_pod("arm", "v1", json!({})), job] {
            world.apply(&pod.to_string()).unwrap();
        }
        for (name, phase) in [("rover", "Running"), ("arm", "Running"), ("job", "Succeeded")] {
            let what = format!("--for=jsonpath={{.status.phase}}={phase}");
            world.run(&["wait", &what, "--timeout=60s", &format!("pod/{name}")]).unwrap();
        }
        world.stop_kubelet().unwrap();
        for seen in world.containers().unwrap() {
            earlier.insert(seen.pod_name.clone(), (seen.id.clone(), seen.state));
        }
    });
    node.wait_ready("rover", 1);
    node.wait_ready("arm", 1);
    node.safepoint(&["node", "freeze", "--reason", "taken over", "--when-settled", "--deadline", "20s"]);
    let now: std::collections::BTreeMap<_, _> = node
        .world
        .containers()
        .unwrap()
        .into_iter()
        .map(|seen| (seen.pod_name.clone(), (seen.id.clone(), seen.state)))
        .collect();
    assert_eq!(now, earlier, "nothing was started, ended or started again");
    assert_eq!(phase(&node, "job"), "Succeeded");
}
