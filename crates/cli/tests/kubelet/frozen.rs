//! While frozen: what dies comes back unchanged, what is mounted stays as it is, and what the kubelet itself manages goes on.

use serde_json::{Value, json};

use super::node::Node;

fn reader() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "reader", "namespace": "default"},
        "spec": {
            "terminationGracePeriodSeconds": 1,
            "containers": [{"name": "main", "image": "app:v1", "imagePullPolicy": "Never",
                "env": [{"name": "AREA", "valueFrom": {"configMapKeyRef": {"name": "maps", "key": "area"}}}],
                "volumeMounts": [{"name": "maps", "mountPath": "/etc/maps"}, {"name": "key", "mountPath": "/etc/key"}]}],
            "volumes": [{"name": "maps", "configMap": {"name": "maps"}}, {"name": "key", "secret": {"secretName": "key"}}],
        },
    })
}

fn config(kind: &str, name: &str, value: &str) -> Value {
    let member = if kind == "Secret" { "stringData" } else { "data" };
    json!({"apiVersion": "v1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, member: {"area": value}})
}

/// What the container sees: the ConfigMap's file, the Secret's file, the variable.
fn seen(node: &Node) -> (String, String, String) {
    let (id, _) = node.wait("the reader runs", || node.running("reader").into_values().next());
    let file = |path: &str| String::from_utf8(node.world.exec_read(&id, path).unwrap()).unwrap();
    // Before its own program runs, the process is the runtime's and has no such variable.
    let variable = node.wait("its program runs", || node.world.environment(&id).ok()?.get("AREA").cloned());
    (file("/etc/maps/area"), file("/etc/key/area"), variable)
}

fn words(values: [&str; 3]) -> (String, String, String) {
    let [map, key, variable] = values.map(str::to_owned);
    (map, key, variable)
}

#[test]
fn configuration_changes_reach_a_frozen_pod_neither_through_files_nor_through_a_crash_and_all_of_it_after_the_thaw()
 {
    let node = Node::new();
    for object in [config("ConfigMap", "maps", "1"), config("Secret", "key", "1"), reader()] {
        node.apply(&object);
    }
    node.wait_ready("reader", 1);
    node.safepoint(&["node", "freeze", "--reason", "in flight", "--when-settled"]);
    for object in [config("ConfigMap", "maps", "2"), config("Secret", "key", "2")] {
        node.apply(&object);
    }
    for name in ["maps", "key"] {
        node.wait_held(name);
    }
    assert_eq!(seen(&node), words(["1", "1", "1"]));

    let before = node.running("reader");
    let (id, _) = before.values().next().unwrap().clone();
    node.world.kill_container(&id).unwrap();
    node.wait("it runs again", || {
        let now = node.running("reader");
        (!now.is_empty() && now != before).then_some(())
    });
    assert_eq!(seen(&node), words(["1", "1", "1"]), "a crash brought the new configuration in");
    assert_eq!(node.status()["state"], "Frozen");

    node.safepoint(&["node", "unfreeze"]);
    node.wait("the files are the newest", || {
        let (map, key, variable) = seen(&node);
        (map == "2" && key == "2" && variable == "1").then_some(())
    });
    node.wait("the node is open", || (node.status()["state"] == "Open").then_some(()));
}

#[test]
fn a_static_pod_changes_while_everything_else_is_held() {
    let node = Node::new();
    node.safepoint(&["node", "freeze", "--reason", "in flight", "--when-settled"]);
    let manifest = |tag: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "watchdog", "namespace": "default"},
            "spec": {"terminationGracePeriodSeconds": 1,
                "containers": [{"name": "main", "image": format!("app:{tag}"), "imagePullPolicy": "Never"}]}})
        .to_string()
    };
    let file = node.world.static_pods().join("watchdog.yaml");
    std::fs::write(&file, manifest("v1")).unwrap();
    node.wait_images("watchdog", 1, "v1");
    node.wait_ready("watchdog", 1);
    std::fs::write(&file, manifest("v2")).unwrap();
    node.wait_images("watchdog", 1, "v2");
    node.wait_ready("watchdog", 1);
    std::fs::remove_file(&file).unwrap();
    node.wait("it is gone, its mirror too", || {
        let pods = node.kubectl(&["get", "pods", "-o", "name"]);
        (node.running("watchdog").is_empty() && !pods.contains("watchdog")).then_some(())
    });
    assert_eq!(node.status()["state"], "Frozen");
}
