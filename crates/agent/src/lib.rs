//! The node side: what the cluster wants goes in, and only what the gate admits comes out.
//!
//! ```text
//! uplink ──► gate ──► journal (fsync) ──► process door ──► processes
//!              ▲                                │
//!  node API ───┘ ◄──────── reports ─────────────┘ ──► pod status, NodeGate, Node, Events
//! ```
//!
//! Every box is a module under a supervisor and restarts alone. One task owns the gate and its journal (`keeper`);
//! everybody else brings events to it, asks it, or looks at it, and what they see is on disk. All of them are level
//! triggered: whoever begins anew looks at everything once, so no message has to survive anybody's restart.

mod agent;
mod clock;
mod cluster;
mod digest;
mod door;
mod facts;
mod faults;
mod journal;
mod keeper;
mod kubelet;
mod link;
mod local;
mod manifests;
mod needs;
mod orders;
mod overseer;
mod reporter;
mod seen;
mod socket;
mod static_pods;
mod systemd;
mod uplink;
mod version;

pub use agent::{Agent, Door, Options, Registered};
pub use clock::{Clock, MachineClock};
pub use cluster::{Answered, Answering, BoxError, Cluster, Transport};
pub use kubelet::KubeletOptions;
pub use manifests::ManifestOptions;
pub use safepoint_nodeapi::compat::Compat;
pub use systemd::tell_systemd;
