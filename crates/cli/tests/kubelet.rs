//! Safepoint in front of an unmodified kubelet, on a real Kubernetes with real containers.
//!
//! Each test has a world of its own. What is compared is what the container runtime says: ids, processes, images.

#![allow(
    clippy::unwrap_used,
    clippy::disallowed_methods,
    clippy::needless_pass_by_value,
    reason = "a test that fails says where, and is supervised by nobody"
)]

mod kubelet {
    mod fleet;
    mod frozen;
    mod hub;
    mod identity;
    mod killed_tasks;
    mod kubectl;
    mod lifecycle;
    mod node;
    mod offline;
    mod others;
    mod passing;
    mod restarts;
    mod rolling_restart;
    mod rollouts;
    mod source;
    mod static_pods;
}
