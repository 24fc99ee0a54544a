//! The world that tests take turns with, and what they look for in it.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use anyhow::{Result, anyhow};
use safepoint_testkit::{ContainerSeen, World, WorldOptions};

/// The world, with every part running and the node ready.
pub(crate) fn world() -> Result<MutexGuard<'static, World>> {
    static SHARED: OnceLock<Result<Mutex<World>, String>> = OnceLock::new();
    let start = || World::start(&WorldOptions::default());
    let shared = SHARED.get_or_init(|| start().map(Mutex::new).map_err(|error| format!("{error:#}")));
    let shared = shared.as_ref().map_err(|error| anyhow!("{error}"))?;
    // A test that failed has left its namespace, and that is all.
    let mut world = shared.lock().unwrap_or_else(PoisonError::into_inner);
    if world.kubelet_pid().is_none() {
        let kubeconfig = world.direct_kubeconfig().to_owned();
        world.start_kubelet(&kubeconfig)?;
    }
    world.wait_node_ready()?;
    Ok(world)
}

/// A deployment of one pod, `app`, and its namespace.
pub(crate) fn deploy(world: &World) -> Result<String> {
    let namespace = world.namespace()?;
    world.apply(&format!(
        r#"
apiVersion: apps/v1
kind: Deployment
metadata: {{ name: app, namespace: {namespace} }}
spec:
  selector: {{ matchLabels: {{ app: app }} }}
  template:
    metadata: {{ labels: {{ app: app }} }}
    spec:
      terminationGracePeriodSeconds: 1
      containers:
      - name: main
        image: app:v1
        imagePullPolicy: Never
        env: [{{ name: MODE, value: fast }}]
"#
    ))?;
    world.run(&["rollout", "status", "deployment/app", "--timeout=100s", "-n", &namespace])?;
    Ok(namespace)
}

/// The running containers of a namespace.
pub(crate) fn running(world: &World, namespace: &str) -> Result<Vec<ContainerSeen>> {
    let mut containers = world.containers()?;
    containers.retain(|container| container.pod_namespace == namespace && container.pid().is_some());
    Ok(containers)
}

/// The one running container of a namespace.
pub(crate) fn only(world: &World, namespace: &str) -> Result<ContainerSeen> {
    world.wait("one container runs", || match running(world, namespace).ok()?.as_slice() {
        [only] => Some(only.clone()),
        _ => None,
    })
}
