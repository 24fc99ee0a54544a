//! The roll-out planner of `safepoint_core::rollout` in a fleet made small.
//!
//! A [`Fleet`] is a few machines with their upgrade tasks and static pods, a hub that plans on what it sees (late, at times)
//! and dies at times, and people who push templates, pause and restart. What the planner believes is never asked: the fleet
//! keeps for itself which machines are down by our doing and how often each has failed. The same fleet is explored
//! exhaustively ([`explore`]) and walked at random (`tests/rollout_random.rs`).

pub mod explore;
pub mod fleet;
pub mod invariants;
pub mod setting;

pub use fleet::{Action, Fleet, Machine};
pub use invariants::{Broken, Invariant};
pub use setting::{Chances, Setting};
