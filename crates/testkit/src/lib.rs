//! A real Kubernetes for tests, in a temporary folder and on loopback, or with a node in a network of its own.
//!
//! What Safepoint claims about Kubernetes is tested against Kubernetes itself: upstream's own programs, which
//! `cargo xtask kubernetes build` builds once into the user's cache. [`ControlPlane`] is the part that answers requests;
//! [`World`] adds a node that runs containers, and needs root.
//!
//! ```no_run
//! use safepoint_testkit::ControlPlane;
//!
//! # fn main() -> anyhow::Result<()> {
//! let kubernetes = ControlPlane::shared()?;
//! let namespace = kubernetes.namespace()?;
//! kubernetes.run(&["create", "configmap", "settings", "--from-literal=mode=fast", "-n", &namespace])?;
//! # Ok(())
//! # }
//! ```
//!
//! ```no_run
//! use safepoint_testkit::{World, WorldOptions};
//!
//! # fn main() -> anyhow::Result<()> {
//! let mut world = World::start(&WorldOptions::default())?;
//! let kubeconfig = world.direct_kubeconfig().to_owned();
//! world.start_kubelet(&kubeconfig)?;
//! world.wait_node_ready()?;
//! let namespace = world.namespace()?;
//! world.run(&["run", "app", "--image=app:v1", "--image-pull-policy=Never", "-n", &namespace])?;
//! let container = world.wait("the container runs", || {
//!     world.containers().ok()?.into_iter().find(|seen| seen.pod_name == "app" && seen.pid().is_some())
//! })?;
//! assert_eq!(world.exec_read(&container.id, "/image")?, b"v1\n");
//! # Ok(())
//! # }
//! ```
//!
//! Nothing outlives the process that started it, however that process ends: every program and the folder hang on a pipe
//! whose other end is held here, and the system closes it.

mod access;
mod assets;
mod certificates;
mod control_plane;
mod folder;
mod options;
mod place;
mod program;
mod shared;
mod world;

pub use assets::{AXE, Assets, HELM, PROGRAMS, assets, axe, build_folder, cache, helm, version};
pub use control_plane::ControlPlane;
pub use options::{Options, Part};
pub use shared::fresh_name;
pub use world::{
    ClientCertificate, ContainerSeen, ContainerState, Guest, NodeCertificate, SandboxSeen, UNPULLABLE_IMAGE,
    World, WorldOptions, is_root, missing_packages, sweep,
};
