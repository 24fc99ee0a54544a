//! PodOpsLifecycle in a cluster: the drivers of `safepoint_core::lifecycle`.
//!
//! ```text
//!   writes of pods      ──► API server ──► webhook `Admit`  ── the steps of the machine, as a patch
//!                                      ──► webhook `Check`  ── labels that contradict each other; deletions (GraceDelete)
//!   evictions           ──► API server ──► webhook `Evict`  ── the same for `kubectl drain` (GraceDelete)
//!   PodTransitionRule   ──► `rules` ── which pods may go out of service, and come back
//!   pods that take part ──► `Controller` ── what rules allow, the gate, what no webhook has seen, deletions, Events
//! ```
//!
//! Only pods with the label `kusionstack.io/control=true` are asked about and watched; all others cost nothing.
//!
//! **What a kubelet writes passes no webhook of ours.** A kubelet may not change labels with a status, and an API server that has
//! let a webhook change an object looks at it again with that eye: a label that were added to the kubelet's own write would
//! have that write refused. So the controller takes the steps that follow from it. It takes every other step as well that a
//! webhook has missed, which is why a hub that is away stands in nobody's way (`failurePolicy: Ignore`).

mod budgets;
mod controller;
mod deletion;
mod features;
mod gone;
mod hook;
mod known;
mod patch;
mod rules;
mod shared;
mod slim;
mod tell;
mod words;
mod world;

pub(crate) use controller::Controller;
pub(crate) use deletion::Deletions;
pub use features::{Features, UnknownFeature};
pub(crate) use hook::{Admit, Check, Evict, Own};
pub(crate) use rules::{RuleKeeper, Rules};
pub(crate) use words::WISH;
pub(crate) use world::Pods;
