//! Exhaustive and random checks of the decisions in `safepoint-core`.
//!
//! A [`World`] is a gate with everything around it made small: a cluster with a few workloads, a machine that does what
//! it is told, a journal, people who ask for things, a clock that may jump, and crashes between any two writes. The six
//! [`invariants`] are checked after every action, against a history that the world keeps for itself and not against what
//! the gate believes. The same world is explored exhaustively ([`explore`]) and walked at random (`tests/random.rs`), and
//! a failing run is a list of actions that can be replayed ([`replay`]).
//!
//! The planner of roll-outs and the pod operations lifecycle have worlds of their own: [`rollout`], [`lifecycle`].

pub mod explore;
pub mod history;
pub mod invariants;
pub mod lifecycle;
pub mod replay;
pub mod rollout;
pub mod setting;
pub mod world;

pub use invariants::{Broken, Invariant};
pub use setting::{Budget, Plan, Setting, Style};
pub use world::{Action, Crash, Input, World};
