//! `NodeGate`: what the cluster wants of the gate on one node, and what that gate answers.
//!
//! Two ways of asking, because they are two kinds of wish:
//! - [`NodeGateSpec::freeze`] is a *state*: present means "this node shall be frozen", absent means "not because of me".
//!   It can live in Git, be applied again and again, and be taken back by deleting it.
//! - [`NodeGateSpec::orders`] are *acts*: let this one upgrade through, end that local freeze. Each has an id, is obeyed
//!   at most once and is answered under its id in the status.
//!
//! A local holder outranks the acts: it vetoes, unless an order carries an [`Override`]. Nobody vetoes a freeze.

use kube::{CustomResource, KubeSchema};
use serde::{Deserialize, Serialize};

pub use self::freeze::{Freeze, Lease, OnExpiry};
pub use self::hold::{Blocker, Hold, Origin, Scope, ScopeKind};
pub use self::module::{ModuleFailure, ModuleState, ModuleStatus};
pub use self::order::{Order, OrderAnswer, OrderPhase, Override, Release, Thaw};
pub use self::pending::{Change, Grant, HeldChange};
pub use self::status::{GateState, NodeGateStatus};

mod freeze;
mod hold;
mod module;
mod order;
mod pending;
mod status;

/// What an id looks like. It stands in paths of the node API and in shell commands, so it needs no quoting in either.
const ID: &str = "^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$";

/// How long the lists of a `NodeGate` may be.
///
/// The API server refuses longer ones, a whole status at a time: an agent cuts its lists before it writes them.
pub mod limits {
    /// Orders in the spec, and answers in the status.
    pub const ORDERS: usize = 32;
    /// Holds shown in the status.
    pub const HOLDS: usize = 64;
    /// Held changes shown in the status. A node of the usual size runs 110 pods.
    pub const HELD: usize = 128;
    /// Blockers shown in the status.
    pub const BLOCKERS: usize = 64;
    /// Open grants shown in the status.
    pub const GRANTS: usize = 64;
    /// Modules shown in the status.
    pub const MODULES: usize = 64;
    /// Conditions in the status.
    pub const CONDITIONS: usize = 16;
}

/// The admin's orders to one node.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize, CustomResource, KubeSchema)]
#[serde(rename_all = "camelCase")]
#[expect(clippy::duplicated_attributes, reason = "two printer columns may well have the same type")]
#[kube(
    group = "safepoint.dev",
    version = "v1alpha1",
    kind = "NodeGate",
    doc = "The gate of one node, named as the node: the admin's orders to it, and its answers.",
    status = "NodeGateStatus",
    derive = "PartialEq",
    shortname = "ngate",
    category = "safepoint",
    printcolumn(name = "State", type_ = "string", json_path = ".status.state"),
    printcolumn(name = "Held", type_ = "integer", json_path = ".status.heldCount"),
    printcolumn(name = "Orphaned", type_ = "boolean", json_path = ".status.orphaned"),
    printcolumn(name = "Since", type_ = "date", json_path = ".status.since"),
    printcolumn(name = "Agent", type_ = "string", json_path = ".status.agentVersion", priority = "1"),
    printcolumn(name = "Age", type_ = "date", json_path = ".metadata.creationTimestamp", priority = "1"),
    printcolumn(name = "Holder", type_ = "string", json_path = ".status.holder"),
    // Last: it is as long as somebody likes.
    printcolumn(name = "Reason", type_ = "string", json_path = ".status.reason")
)]
pub struct NodeGateSpec {
    /// Present: the node shall be frozen. Absent: the cluster has no wish to freeze it; local holds stand all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub freeze: Option<Freeze>,
    /// What the node shall do once. The answer to each is in the status, under the order's id; an order without an answer
    /// has not arrived yet. Answered orders may be taken out at any time; an order taken out before is withdrawn.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = limits::ORDERS))]
    // The rule stands at the list and finds the old order itself: at the order it would need a server that matches the
    // items of old and new list by id, which not every evaluator does.
    #[x_kube(
        merge_strategy = ListMerge::Map(vec!["id".into()]),
        validation = Rule::new("self.all(order, oldSelf.all(old, old.id != order.id || old == order))")
            .message("an order never changes: take it out, or write a new one under a new id")
            .reason(Reason::FieldValueForbidden)
    )]
    pub orders: Vec<Order>,
}
