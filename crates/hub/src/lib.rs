//! The cluster side: what one machine cannot decide alone.
//!
//! ```text
//!   kubectl delete, drain, controllers ──► API server ──► webhook `hold`  ── put off? ──► wish on the pod ──► its node
//!   controllers making pods            ──► API server ──► webhook `carry` ── the workload's hold annotation, from birth
//!   Deployment, StatefulSet, DaemonSet ──► `carrying`  ──► the same on pods that run already
//!   NodeGate.status                    ──► `surfacing` ──► Events and conditions on workloads
//!   StaticPod                          ──► `static_pods` ──► manifests, task pods, status
//!   pods with a lifecycle              ──► `lifecycle`   ──► labels, gate, Events, deletions
//! ```
//!
//! [`Hub`] is all of it, as modules of a supervisor: `safepoint hub` runs it against any Kubernetes, `safepoint up` beside the
//! embedded API. Decisions are pure and stand in files of their own (`source/judge.rs`, `source/janitor/wanted.rs`,
//! `carrying/decide.rs`, `surfacing/held.rs`, `webhook/certificate.rs`, `leader/claim.rs`); the rest asks and writes.
//!
//! The hub is a courtesy and no part of the lock: a hold is kept by the node, also while no hub is there.

mod backoff;
mod carrying;
mod clock;
mod definitions;
mod event;
mod facts;
mod gates;
mod health;
mod hub;
mod leader;
mod lifecycle;
mod placement;
mod pod;
mod seen;
pub mod simulated;
mod slim;
mod source;
mod static_pods;
mod surfacing;
pub mod webhook;

pub use clock::Clock;
pub use definitions::Definitions;
pub use gates::Gates;
pub use hub::{Address, Hub, Options, Registered, StartError};
pub use lifecycle::{Features, UnknownFeature};
pub use placement::Placement;
pub use static_pods::Tasks;
