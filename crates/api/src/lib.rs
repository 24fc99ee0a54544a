//! The words of Safepoint on the wire.
//!
//! ```text
//!   admin, GitOps ──► NodeGate.spec ──────► agent ──► NodeGate.status ──► kubectl, hub, dashboard
//!   fleet owner  ───► StaticPod.spec ─────► hub   ──► StaticPod.status ─► kubectl, dashboard
//!   service owner ──► PodTransitionRule ──► hub   ──► its status ───────► kubectl, KusionStack's controllers
//!   other systems ──► names: labels, annotations, conditions, paths, texts
//! ```
//!
//! - [`NodeGate`]: one per node and named as the node. Its spec carries the admin's orders, its status says what the
//!   gate on that node does and why.
//! - [`StaticPod`]: one static pod on many nodes, and how its manifest is upgraded.
//! - [`PodTransitionRule`]: what has to be true before pods go out of service; KusionStack's kind.
//! - [`names`]: every word that another program may look for, each in one place.
//!
//! Nothing here decides anything and nothing here talks to anyone: no client, no runtime, no clock. These types are
//! read at the edge of a program and turned into the types of the gate there. What people write is checked by the API
//! server, by schema and CEL rules. Definitions and hub are upgraded before the agents, so an agent must bear a spec that
//! is newer than itself: it ignores fields it does not know, and answers an order it does not understand with a refusal.
//!
//! ```
//! use safepoint_api::node_gate::{Freeze, Lease, NodeGate, NodeGateSpec, OnExpiry};
//!
//! // The same as `safepoint node freeze rover-7 --reason "crane lift in hall 3" --for 30m`.
//! let freeze = Freeze {
//!     id: Some("lift-42".into()),
//!     lease: Some(Lease { duration: "30m".parse()?, on_expiry: OnExpiry::ThawIfSafe }),
//!     ..Freeze::new("crane lift in hall 3")
//! };
//! let gate = NodeGate::new("rover-7", NodeGateSpec { freeze: Some(freeze), ..Default::default() });
//! assert_eq!(serde_json::to_value(&gate)?["spec"]["freeze"]["lease"]["for"], "30m");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
#![forbid(unsafe_code)]
#![expect(
    unreachable_pub,
    reason = "`KubeSchema` copies each struct, `pub` and all, into the function that describes it"
)]

mod crd;
pub mod local;
pub mod names;
pub mod node_gate;
pub mod pod_transition_rule;
mod reference;
mod span;
pub mod static_pod;

pub use crd::crds;
pub use node_gate::NodeGate;
pub use pod_transition_rule::PodTransitionRule;
pub use reference::{ObjectRef, PodRef, WorkloadRef};
pub use span::{BadSpan, Span};
pub use static_pod::StaticPod;
