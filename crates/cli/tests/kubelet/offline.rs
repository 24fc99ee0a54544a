//! Without the cluster: the node runs what it ran, also after a power cut, and still holds what it held when the cluster is
//! back.

use safepoint_testkit::Part;
use serde_json::json;

use super::node::Node;

#[test]
fn a_frozen_node_that_reboots_without_its_cluster_runs_the_same_and_is_still_frozen_when_the_cluster_is_back()
{
    let mut node = Node::new();
    node.apply(
        &json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "maps", "namespace": "default"},
        "data": {"area": "1"}}),
    );
    node.apply(&json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "arm", "namespace": "default"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "arm"}},
            "template": {"metadata": {"labels": {"app": "arm"}}, "spec": {"terminationGracePeriodSeconds": 1,
                "containers": [{"name": "main", "image": "app:v1", "imagePullPolicy": "Never",
                    "volumeMounts": [{"name": "maps", "mountPath": "/etc/maps"}]}],
                "volumes": [{"name": "maps", "configMap": {"name": "maps"}}]}}},
    }));
    node.wait_ready("arm", 2);
    node.safepoint(&["node", "freeze", "--reason", "in flight", "--when-settled"]);
    node.kubectl(&["set", "image", "deployment/arm", "main=app:v2"]);
    node.kubectl(&["patch", "configmap", "maps", "-p", r#"{"data":{"area":"2"}}"#]);
    node.wait_held("arm");
    node.wait_held("maps");
    let before = node.running("arm");

    node.world.control_plane_mut().stop(Part::ApiServer).unwrap();
    node.world.reboot().unwrap();
    assert!(node.running("arm").is_empty());
    node.boot_agent();
    node.start_kubelet();
    node.wait_images("arm", 2, "v1");
    let after = node.running("arm");
    assert!(before.keys().eq(after.keys()), "the same pods: {before:?} {after:?}");
    for (id, _) in after.values() {
        assert_eq!(node.world.exec_read(id, "/etc/maps/area").unwrap(), b"1");
    }
    assert_eq!(node.status()["state"], "Frozen");

    node.world.control_plane_mut().start_again(Part::ApiServer).unwrap();
    node.wait("the cluster is back", || (node.status()["uplink"]["connected"] == true).then_some(()));
    node.world.wait_node_ready().unwrap();
    assert_eq!(node.status()["state"], "Frozen");
    assert_eq!(node.running("arm"), after, "nothing was restarted because the cluster is back");
    node.safepoint(&["node", "unfreeze"]);
    node.wait_images("arm", 2, "v2");
}
