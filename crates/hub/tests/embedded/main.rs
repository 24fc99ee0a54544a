//! The hub beside the embedded API: everything in one process, each test with a cluster of its own.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that fails says where, and a JSON text reads best where it is passed"
)]

#[path = "../support/answering.rs"]
mod answering;
mod certificates;
#[path = "../support/clock.rs"]
mod clock;
#[allow(dead_code, reason = "core's tests use what is not used here")]
#[path = "../../../core/tests/lifecycle/support.rs"]
mod core_lifecycle;
#[path = "../support/fleet.rs"]
mod fleet;
#[path = "../support/hub.rs"]
mod hub;
mod leading;
mod lifecycle;
#[path = "../support/lifecycle.rs"]
mod lifecycle_stories;
mod registration;
#[path = "../support/review.rs"]
mod review;
mod rules;
#[path = "../support/rules.rs"]
mod rules_stories;
mod several;
mod source;
#[path = "../support/stage.rs"]
mod stage;
mod static_pods;
mod thousand;
mod withdrawing;
mod world;
