//! A hub beside the cluster, in the network of the world.

use safepoint_testkit::{Guest, World};
use serde_json::json;

/// A hub with these arguments beside the usual ones.
pub(super) fn start(world: &World, more: &[&str]) -> Guest {
    let hub = world.guest("hub", env!("CARGO_BIN_EXE_safepoint"), |command| {
        command
            .args(["hub", "--webhook-address=127.0.0.1:8443", "--webhook-url=https://127.0.0.1:8443"])
            .args(["--health-address=127.0.0.1:8081", "--kubeconfig"])
            .arg(world.control_plane().kubeconfig_path())
            .args(more)
            .env("SAFEPOINT_LOG", "info");
    });
    hub.unwrap()
}

/// A hub through which deletions of pods that take part go. Returns when the API server asks it.
pub(super) fn with_lifecycle(world: &World) -> Guest {
    let hub = start(world, &["--feature-gates=GraceDeleteWebhook=true"]);
    // Asked about a pod that is made, it adds the gate. A dry run would not tell: that is dry.
    let mut tried = 0;
    let asked = world.wait("the hub is asked about pods", || {
        tried += 1;
        let name = format!("canary-{tried}");
        let pod = json!({"apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": name, "namespace": "default", "labels": {"kusionstack.io/control": "true"}},
            "spec": {"nodeSelector": {"nowhere": "at-all"}, "containers": [{"name": "main", "image": "app:v1"}]}});
        world.apply(&pod.to_string()).ok()?;
        let made = world.json(&["get", "pod", &name]).ok()?;
        made["spec"]["readinessGates"].is_array().then_some(())
    });
    asked.unwrap();
    hub
}
