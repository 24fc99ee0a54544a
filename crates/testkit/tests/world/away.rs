//! What happens while a part is away, and when it comes back.

use std::io::ErrorKind;
use std::net::TcpStream;

use anyhow::{Result, ensure};
use safepoint_testkit::Part;

use crate::support::{deploy, only, running, world};

#[test]
fn containers_go_on_while_the_kubelet_is_away() -> Result<()> {
    let mut world = world()?;
    let namespace = deploy(&world)?;
    let before = only(&world, &namespace)?;
    let kubeconfig = world.direct_kubeconfig().to_owned();
    world.stop_kubelet()?;
    ensure!(world.kubelet_pid().is_none());
    ensure!(only(&world, &namespace)? == before);
    world.start_kubelet(&kubeconfig)?;
    world.wait_node_ready()?;
    let first = world.kubelet_pid();
    world.kill_kubelet()?;
    world.start_kubelet(&kubeconfig)?;
    world.wait_node_ready()?;
    ensure!(world.kubelet_pid() != first);
    // Only a kubelet that has seen the pod again can be asked for its logs.
    world.wait("the kubelet knows the pod", || {
        world.run(&["logs", "deployment/app", "-n", &namespace]).ok()
    })?;
    ensure!(only(&world, &namespace)? == before);
    Ok(())
}

#[test]
fn containers_go_on_while_the_api_server_is_away() -> Result<()> {
    let mut world = world()?;
    let namespace = deploy(&world)?;
    let before = only(&world, &namespace)?;
    world.control_plane_mut().stop(Part::ApiServer)?;
    let refused = world.in_namespace(|| TcpStream::connect("127.0.0.1:6443")).unwrap_err();
    ensure!(refused.kind() == ErrorKind::ConnectionRefused, "{refused}");
    ensure!(only(&world, &namespace)? == before);
    world.control_plane_mut().start_again(Part::ApiServer)?;
    ensure!(only(&world, &namespace)? == before);
    // Controllers, scheduler and kubelet find it again.
    world.run(&["scale", "deployment/app", "--replicas=2", "-n", &namespace])?;
    world.run(&["rollout", "status", "deployment/app", "--timeout=100s", "-n", &namespace])?;
    ensure!(running(&world, &namespace)?.contains(&before));
    Ok(())
}

#[test]
fn a_paused_api_server_takes_connections_and_answers_nobody() -> Result<()> {
    let mut world = world()?;
    world.control_plane_mut().pause(Part::ApiServer)?;
    let connected = world.in_namespace(|| TcpStream::connect("127.0.0.1:6443"));
    let answer = world.run(&["get", "--raw", "/version", "--request-timeout=1s"]);
    world.control_plane_mut().resume(Part::ApiServer)?;
    ensure!(connected.is_ok(), "{connected:?}");
    let said = answer.unwrap_err().to_string();
    ensure!(said.contains("timeout") || said.contains("deadline"), "{said}");
    world.run(&["get", "--raw", "/version"])?;
    Ok(())
}

#[test]
fn a_power_cut_ends_all_containers_and_the_kubelet_starts_new_ones() -> Result<()> {
    let mut world = world()?;
    let namespace = deploy(&world)?;
    let before = only(&world, &namespace)?;
    let kubelet = world.kubelet_pid();
    world.reboot()?;
    let all = world.containers()?;
    ensure!(all.iter().all(|container| container.pid().is_none()), "{all:?}");
    ensure!(world.sandboxes().is_empty());
    ensure!(world.kubelet_pid().is_none() && !kubelet.is_some_and(crate::killed::runs));

    let kubeconfig = world.direct_kubeconfig().to_owned();
    world.start_kubelet(&kubeconfig)?;
    world.wait_node_ready()?;
    let after = only(&world, &namespace)?;
    ensure!(after.pod_uid == before.pod_uid, "the pod is the same");
    ensure!(after.id != before.id && after.pid() != before.pid(), "and its container is not");
    Ok(())
}
