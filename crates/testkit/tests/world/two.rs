//! Two worlds at once.

use std::time::Duration;

use anyhow::{Result, ensure};
use safepoint_testkit::{Options, Part, World, WorldOptions};

use crate::support::{deploy, only, running, world};

/// The other one also has every option that the shared one leaves as it is.
#[test]
fn two_worlds_do_not_see_each_other() -> Result<()> {
    let options = WorldOptions {
        node: "other".to_owned(),
        watch_list: false,
        json: true,
        grace: Some(Duration::from_secs(8)),
        control: Options { durable: true, ..Options::default() },
        ..WorldOptions::default()
    };
    let mut other = World::start(&options)?;
    let kubeconfig = other.direct_kubeconfig().to_owned();
    other.start_kubelet(&kubeconfig)?;
    other.wait_node_ready()?;
    let theirs = deploy(&other)?;
    let namespace = {
        let world = world()?;
        let namespace = deploy(&world)?;
        ensure!(running(&world, &theirs)?.is_empty());
        ensure!(world.run(&["get", "nodes", "-o", "name"])? == "node/node\n");
        ensure!(world.run(&["get", "namespace", &theirs]).is_err());
        ensure!(world.folder() != other.folder());
        ensure!(only(&world, &namespace)?.pid() != only(&other, &theirs)?.pid());
        namespace
    };
    ensure!(running(&other, &namespace)?.is_empty());
    ensure!(other.run(&["get", "nodes", "-o", "name"])? == "node/other\n");

    // With the grace that was asked for; with the usual one this would be the slowest of all tests.
    other.kill_kubelet()?;
    other.wait("the silent node is tainted", || {
        let node = other.json(&["get", "node", "other"]).ok()?;
        let mut taints = node["spec"]["taints"].as_array()?.iter();
        taints.any(|taint| taint["key"] == "node.kubernetes.io/unreachable").then_some(())
    })?;
    other.control_plane_mut().kill(Part::Controllers)?;
    other.control_plane_mut().start_again(Part::Controllers)?;

    // One goes, the other stays.
    drop(other);
    let world = world()?;
    only(&world, &namespace)?;
    Ok(())
}
