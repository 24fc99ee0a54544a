//! A real Kubernetes for tests, on loopback and in a temporary folder.
//!
//! What Safepoint claims about Kubernetes is tested against Kubernetes itself: upstream's own etcd and kube-apiserver,
//! which `cargo xtask kubernetes build` builds once into the user's cache.
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
//! Nothing outlives the process that started it, however that process ends: every program and the folder hang on a pipe
//! whose other end is held here, and the system closes it.

mod access;
mod assets;
mod certificates;
mod control_plane;
mod folder;
mod options;
mod program;
mod shared;

pub use assets::{Assets, PROGRAMS, assets, build_folder, cache, version};
pub use control_plane::ControlPlane;
pub use options::Options;
pub use shared::fresh_name;
