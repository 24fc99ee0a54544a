//! What nodes may do with NodeGates, asked of a real API server with certificates of nodes.

use safepoint_testkit::{World, WorldOptions};
use serde_json::json;

#[test]
fn a_node_answers_in_the_status_of_its_own_gate_and_nowhere_else() {
    let world = World::start(&WorldOptions::default()).unwrap();
    for manifest in [
        include_str!("../../../../deploy/crds/nodegates.safepoint.dev.yaml"),
        include_str!("../../../../deploy/agent/rbac.yaml"),
        include_str!("../../../../deploy/agent/policy.yaml"),
    ] {
        world.apply(manifest).unwrap();
    }
    world.run(&["wait", "--for=condition=Established", "crd/nodegates.safepoint.dev"]).unwrap();
    for name in [world.node(), "other"] {
        let gate = json!({"apiVersion": "safepoint.dev/v1alpha1", "kind": "NodeGate", "metadata": {"name": name}, "spec": {}});
        world.apply(&gate.to_string()).unwrap();
    }
    let kubeconfig = format!("--kubeconfig={}", world.direct_kubeconfig().display());
    let as_node = |arguments: &[&str]| {
        let output = world.kubectl().arg(&kubeconfig).args(arguments).output().unwrap();
        let text = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.success() { Ok(()) } else { Err(text) }
    };
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
