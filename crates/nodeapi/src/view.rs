//! The gate in the words of the wire. Pure: what is shown depends on the gate and on nothing else.
//!
//! The same functions make the answers of the node API and the status of a NodeGate, so that they cannot disagree. The
//! node API shows everything; a NodeGate is shown as [`limited`] says, because the API server refuses a longer list as
//! a whole. Sentences are the gate's own ([`Why`](safepoint_core::Why)); none is made up here.
//!
//! Times: what has happened carries the wall clock of then, as it was. What is due is kept on the gate's own age and is
//! shown as `wall now + (age then - age now)`, both as of the gate's last event.

mod change;
mod report;
mod words;

#[cfg(test)]
mod tests;

use safepoint_api::local::{FreezeState, HoldList, NodeStatus, Uplink};
use safepoint_api::node_gate::{ModuleStatus, NodeGateStatus};
use safepoint_core::{Gate, HoldId, Mode};

pub use change::{change_list, find_pod, held_changes, why};
pub use report::{change_freeze, limited, news};
pub use words::{blocker, grant, hold, scope, state, time, wall_of, workload};

/// The holds on record, oldest first; also those that an override has put out of force for a while.
#[must_use]
pub fn holds(gate: &Gate) -> HoldList {
    HoldList { items: sorted(gate, |_| true) }
}

/// Whether the node is frozen, and by whom; `id` is the freeze that was asked for, if the answer is to one.
#[must_use]
pub fn freeze_state(gate: &Gate, id: Option<&HoldId>) -> FreezeState {
    FreezeState {
        state: state(gate.mode()),
        since: gate.phase().map(|phase| time(phase.since().at)),
        id: id.map(ToString::to_string),
        holds: sorted(gate, |hold| hold.is_freeze() && hold.in_force()),
        blockers: standing(gate),
    }
}

/// What the gate says about itself, with nothing cut off. What is not the gate's to know (generation, answers to orders,
/// modules, version) is left for the agent to fill in.
#[must_use]
pub fn gate_status(gate: &Gate) -> NodeGateStatus {
    let held = held_changes(gate);
    let in_force = || gate.holds().values().filter(|hold| hold.in_force());
    let node_wide = in_force().filter(|hold| hold.scope == safepoint_core::Scope::Node);
    let oldest = node_wide.min_by_key(|hold| (hold.since.age, hold.order));
    NodeGateStatus {
        state: Some(state(gate.mode())),
        since: gate.phase().map(|phase| time(phase.since().at)),
        holder: oldest.map(|hold| hold.holder.name.to_string()),
        reason: oldest.map(|hold| hold.reason.to_string()),
        orphaned: in_force().any(|hold| hold.orphaned.is_some()),
        holds: holds(gate).items,
        blockers: standing(gate),
        held_count: i32::try_from(held.len()).unwrap_or(i32::MAX),
        held,
        grants: gate.grants().iter().map(|(workload, open)| grant(gate, workload, open)).collect(),
        conditions: vec![change_freeze(gate)],
        ..NodeGateStatus::default()
    }
}

/// The agent and its gate, as one page.
#[must_use]
pub fn node_status(gate: &Gate, node: &str, uplink: Uplink, modules: Vec<ModuleStatus>) -> NodeStatus {
    let pods = gate.slots().iter().filter(|(key, slot)| key.kind.runs() && slot.applied.is_some());
    NodeStatus {
        node: node.to_owned(),
        uplink,
        pods: i32::try_from(pods.count()).unwrap_or(i32::MAX),
        gate: NodeGateStatus {
            modules,
            agent_version: Some(env!("CARGO_PKG_VERSION").to_owned()),
            ..gate_status(gate)
        },
    }
}

fn sorted(gate: &Gate, which: impl Fn(&safepoint_core::Hold) -> bool) -> Vec<safepoint_api::node_gate::Hold> {
    let mut found: Vec<_> = gate.holds().iter().filter(|(_, hold)| which(hold)).collect();
    found.sort_by_key(|(id, known)| (known.since.age, (*id).clone()));
    found.into_iter().map(|(id, known)| hold(gate, id, known)).collect()
}

/// What stands between the barrier and a complete freeze. While the node is open, a pod that starts is nobody's concern.
fn standing(gate: &Gate) -> Vec<safepoint_api::node_gate::Blocker> {
    match gate.mode() {
        Mode::Freezing => gate.blockers().iter().map(blocker).collect(),
        Mode::Open | Mode::Frozen | Mode::Thawing => Vec::new(),
    }
}
