//! The hub beside a real Kubernetes: kube-apiserver, its controllers and kubectl. There are no kubelets; a test says what a
//! node would.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that fails says where, and a JSON text reads best where it is passed"
)]

#[path = "../support/answering.rs"]
mod answering;
mod away;
mod carrying;
#[path = "../support/clock.rs"]
mod clock;
#[allow(dead_code, reason = "core's tests use what is not used here")]
#[path = "../../../core/tests/lifecycle/support.rs"]
mod core_lifecycle;
mod draining;
#[path = "../support/hub.rs"]
mod hub;
mod lifecycle;
#[path = "../support/lifecycle.rs"]
mod lifecycle_stories;
mod registration;
#[path = "../support/review.rs"]
mod review;
mod rules;
#[path = "../support/rules.rs"]
mod rules_stories;
#[path = "../support/stage.rs"]
mod stage;
mod static_pods;
mod surfacing;
mod withdrawing;
mod world;
