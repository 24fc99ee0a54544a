//! A node with real containers, started by hand for somebody who wants to look at one.

use std::thread;
use std::time::Duration;

use anyhow::Result;
use safepoint_testkit::{Options, World, WorldOptions};

use crate::tools;

/// Ctrl-C ends this process, and the world with it, as anything else that ends this process would.
pub(super) fn up(control: Options) -> Result<()> {
    tools::node_packages()?;
    eprintln!("starting Kubernetes with a node");
    let mut world = World::start(&WorldOptions { control, ..WorldOptions::default() })?;
    let direct = world.direct_kubeconfig().to_owned();
    world.start_kubelet(&direct)?;
    world.wait_node_ready()?;
    let kubeconfig = world.outside_kubeconfig()?;
    println!("{}", kubeconfig.display());
    let folder = world.folder().display();
    eprintln!("the node is ready; it runs until Ctrl-C, and no packet leaves it");
    eprintln!("  export KUBECONFIG={}", kubeconfig.display());
    eprintln!(
        "  kubectl run app --image=app:v1 --image-pull-policy=Never    app:v1, app:v2 and app:v3 are there"
    );
    eprintln!(
        "  nsenter --net=/proc/{}/ns/net                        a shell in its network",
        network(&world)
    );
    eprintln!("  {folder}    logs, static-pods, certificates");
    loop {
        world.check()?;
        thread::sleep(Duration::from_millis(250));
    }
}

/// A process that is in the world's network.
fn network(world: &World) -> u32 {
    world.control_plane().pids().first().map_or(0, |(_, pid)| *pid)
}
