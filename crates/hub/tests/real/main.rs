//! The hub beside a real Kubernetes: kube-apiserver, its controllers and kubectl. There are no kubelets; a test says what a
//! node would.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that fails says where, and a JSON text reads best where it is passed"
)]

mod away;
mod carrying;
#[path = "../support/clock.rs"]
mod clock;
mod draining;
#[path = "../support/hub.rs"]
mod hub;
mod registration;
mod surfacing;
mod withdrawing;
mod world;
