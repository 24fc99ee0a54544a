//! Operation and cooperation controllers beside the embedded API: everything in one process, each test with a cluster of its own.
//!
//! The two examples run here as they are, one of them with a real nginx and real traffic.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::needless_pass_by_value,
    reason = "a test that fails says where, and is supervised by nobody"
)]

mod cluster;
mod cooperating;
mod follower;
mod hub;
mod kubelet;
mod middle;
mod nginx;
mod operating;
#[path = "../../examples/restart_pods/restart.rs"]
mod restart;
mod restarting;
mod rolling;
mod services;
mod traffic;
#[path = "../../examples/nginx_upstream/upstream.rs"]
mod upstream;
