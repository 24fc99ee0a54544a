//! What goes into a NodeGate: within the limits of its definition, and only when there is news.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use safepoint_api::names::safepoint::{CONDITION_CHANGE_FREEZE, change_freeze as reason};
use safepoint_api::node_gate::{NodeGateStatus, limits};
use safepoint_core::{Gate, Mode};

use super::words::time;

/// How far a computed time may move without being news: the two clocks it is made of are read one after the other.
const JITTER_SECONDS: i64 = 2;
/// How long the message of a condition may be. It is for one line of `kubectl describe`; the holds are listed in full.
const LONGEST_MESSAGE: usize = 1024;

/// The same status, cut to what a NodeGate may hold. The oldest stay; `heldCount` still says how many there are.
#[must_use]
pub fn limited(mut status: NodeGateStatus) -> NodeGateStatus {
    status.holds.truncate(limits::HOLDS);
    status.blockers.truncate(limits::BLOCKERS);
    status.held_truncated = status.held.len() > limits::HELD;
    status.held.truncate(limits::HELD);
    for change in &mut status.held {
        change.held_by.truncate(limits::HOLDS);
    }
    status.grants.truncate(limits::GRANTS);
    // The newest answers are the ones that somebody waits for.
    let surplus = status.orders.len().saturating_sub(limits::ORDERS);
    status.orders.drain(..surplus);
    status.modules.truncate(limits::MODULES);
    status.conditions.truncate(limits::CONDITIONS);
    status
}

/// The condition `ChangeFreeze`, for the Node and for the NodeGate.
#[must_use]
pub fn change_freeze(gate: &Gate) -> Condition {
    let freezes = gate.holds().iter().filter(|(_, hold)| hold.is_freeze() && hold.in_force());
    let orphaned = freezes.clone().any(|(_, hold)| hold.orphaned.is_some());
    let by: Vec<String> = freezes.map(|(id, hold)| format!("{}: {}", hold.label(id), hold.reason)).collect();
    let by = by.join("; ");
    let (status, reason, message) = match gate.mode() {
        Mode::Open => ("False", reason::OPEN, "no freeze is in force".to_owned()),
        Mode::Freezing => ("True", reason::FREEZING, format!("the node is being frozen by {by}")),
        Mode::Frozen if orphaned => {
            ("True", reason::ORPHANED, format!("the node is frozen, and nobody has renewed it, by {by}"))
        }
        Mode::Frozen => ("True", reason::FROZEN, format!("the node is frozen by {by}")),
        Mode::Thawing => {
            ("False", reason::THAWING, "the freeze is over and what was missed is being applied".to_owned())
        }
    };
    let since = gate.phase().map_or_else(|| gate.wall(), |phase| phase.since().at);
    Condition {
        type_: CONDITION_CHANGE_FREEZE.to_owned(),
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: cut(message),
        last_transition_time: time(since),
        observed_generation: None,
    }
}

fn cut(message: String) -> String {
    match message.char_indices().nth(LONGEST_MESSAGE) {
        Some((end, _)) => format!("{}…", &message[..end]),
        None => message,
    }
}

/// The status to write, if it says anything that the last one did not. Conditions whose status stays the same keep their
/// time. How long something has been held for, which is in every sentence, is no news.
#[must_use]
pub fn news(last: Option<&NodeGateStatus>, mut next: NodeGateStatus) -> Option<NodeGateStatus> {
    let Some(last) = last else { return Some(next) };
    for condition in &mut next.conditions {
        let same = |old: &&Condition| old.type_ == condition.type_ && old.status == condition.status;
        if let Some(old) = last.conditions.iter().find(same) {
            condition.last_transition_time = old.last_transition_time.clone();
        }
    }
    (timeless(last, last) != timeless(&next, last)).then_some(next)
}

/// A status without what changes while nothing happens.
fn timeless(status: &NodeGateStatus, last: &NodeGateStatus) -> NodeGateStatus {
    let mut status = status.clone();
    for change in &mut status.held {
        change.why.clear();
    }
    for hold in &mut status.holds {
        let old = last.holds.iter().find(|old| old.id == hold.id).and_then(|old| old.expires.as_ref());
        steady(hold.expires.as_mut(), old);
    }
    for grant in &mut status.grants {
        let old = last.grants.iter().find(|old| old.workload == grant.workload);
        steady(grant.expires.as_mut(), old.and_then(|old| old.expires.as_ref()));
    }
    status
}

fn steady(new: Option<&mut Time>, old: Option<&Time>) {
    if let (Some(new), Some(old)) = (new, old)
        && (new.0.as_second() - old.0.as_second()).abs() <= JITTER_SECONDS
    {
        new.0 = old.0;
    }
}
