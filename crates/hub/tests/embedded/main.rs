//! The hub beside the embedded API: everything in one process, each test with a cluster of its own.

#![allow(
    clippy::unwrap_used,
    clippy::needless_pass_by_value,
    reason = "a test that fails says where, and a JSON text reads best where it is passed"
)]

mod certificates;
#[path = "../support/clock.rs"]
mod clock;
#[path = "../support/hub.rs"]
mod hub;
mod leading;
mod registration;
mod several;
mod source;
mod withdrawing;
mod world;
