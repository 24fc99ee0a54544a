//! What nodes may do with NodeGates and StaticPods, asked of a real API server with certificates of nodes.

use safepoint_testkit::{World, WorldOptions};
use serde_json::json;

/// A cluster with the rights of nodes as they are deployed, and what a node is told there.
fn deployed() -> World {
    let world = World::start(&WorldOptions::default()).unwrap();
    for manifest in [
        include_str!("../../../../deploy/crds/nodegates.safepoint.dev.yaml"),
        include_str!("../../../../deploy/crds/staticpods.safepoint.dev.yaml"),
        include_str!("../../../../deploy/agent/rbac.yaml"),
        include_str!("../../../../deploy/agent/policy.yaml"),
    ] {
        world.apply(manifest).unwrap();
    }
    for crd in ["crd/nodegates.safepoint.dev", "crd/staticpods.safepoint.dev"] {
        world.run(&["wait", "--for=condition=Established", crd]).unwrap();
    }
    world
}

fn as_node(world: &World, arguments: &[&str]) -> Result<(), String> {
    let kubeconfig = format!("--kubeconfig={}", world.direct_kubeconfig().display());
    let output = world.kubectl().arg(&kubeconfig).args(arguments).output().unwrap();
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(text) }
}

#[test]
fn a_node_lists_static_pods_and_changes_none() {
    let world = deployed();
    let object = json!({"apiVersion": "safepoint.dev/v1alpha1", "kind": "StaticPod", "metadata": {"name": "proxy"},
        "spec": {"staticPodName": "proxy", "staticPodManifest": "proxy",
            "template": {"spec": {"containers": [{"name": "main", "image": "proxy:1"}]}}}});
    world.apply(&object.to_string()).unwrap();
    assert_eq!(as_node(&world, &["get", "staticpods"]), Ok(()), "all of a namespace");
    let patch = ["patch", "staticpod", "proxy", "--type=merge", "-p", r#"{"spec":{"paused":true}}"#];
    for refused in [as_node(&world, &patch), as_node(&world, &["delete", "staticpod", "proxy"])] {
        assert!(refused.clone().is_err_and(|text| text.contains("forbidden")), "{refused:?}");
    }
}

#[test]
fn a_node_answers_in_the_status_of_its_own_gate_and_nowhere_else() {
    let world = deployed();
    for name in [world.node(), "other"] {
        let gate = json!({"apiVersion": "safepoint.dev/v1alpha1", "kind": "NodeGate", "metadata": {"name": name}, "spec": {}});
        world.apply(&gate.to_string()).unwrap();
    }
    let as_node = |arguments: &[&str]| as_node(&world, arguments);
    let (status, spec) = (r#"{"status":{"state":"Open"}}"#, r#"{"spec":{"freeze":{"reason":"because"}}}"#);
    let patch = |name: &'static str, patch: &'static str, more: &[&str]| {
        as_node(&[&["patch", "nodegate", name, "--type=merge", "-p", patch], more].concat())
    };
    let sub = &["--subresource=status"];

    assert_eq!(patch("node", status, sub), Ok(()), "its own status");
    assert_eq!(as_node(&["get", "nodegates"]), Ok(()), "all may be read");
    // The role alone refuses these.
    for refused in [patch("node", spec, &[]), as_node(&["delete", "nodegate", "node"])] {
        assert!(refused.clone().is_err_and(|text| text.contains("forbidden")), "{refused:?}");
    }

    // Somebody is too generous. The policy still says no, each time with a reason.
    let role = "generous";
    world
        .run(&[
            "create",
            "clusterrole",
            role,
            "--verb=*",
            "--resource=nodegates.safepoint.dev,nodegates.safepoint.dev/status",
        ])
        .unwrap();
    world
        .run(&["create", "clusterrolebinding", role, "--clusterrole", role, "--group=system:nodes"])
        .unwrap();
    world
        .wait("the policy is in force", || {
            let refused = patch("other", status, sub).err()?;
            refused.contains("another node's").then_some(())
        })
        .unwrap();
    assert_eq!(patch("node", status, sub), Ok(()), "its own status, still");
    for (refused, word) in [
        (patch("node", spec, &[]), "orders come from the cluster"),
        (patch("other", spec, &[]), "another node's"),
        (as_node(&["delete", "nodegate", "node"]), "orders come from the cluster"),
        (as_node(&["delete", "nodegate", "other"]), "another node's"),
    ] {
        assert!(refused.clone().is_err_and(|text| text.contains(word)), "{refused:?}");
    }
    let made = json!({"apiVersion": "safepoint.dev/v1alpha1", "kind": "NodeGate", "metadata": {"name": "third"}, "spec": {}});
    let file = world.folder().join("third.json");
    std::fs::write(&file, made.to_string()).unwrap();
    let created = as_node(&["create", "-f", &file.to_string_lossy()]);
    assert!(created.clone().is_err_and(|text| text.contains("another node's")), "{created:?}");
    assert!(world.run(&["get", "nodegate", "node", "other"]).is_ok());
}
