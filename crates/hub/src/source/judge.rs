//! Whether a pod may end now, as far as the cluster can tell. Pure.
//!
//! The answer is what the pod's node would say, read from what the node last said about itself in its NodeGate. What the
//! cluster cannot know passes, because the node holds by itself what passes here: this is where people learn about a hold
//! early, not where it is enforced.

use jiff::Timestamp;
use safepoint_api::names::kubernetes::NODE_USER_PREFIX;
use safepoint_api::node_gate::{GateState, Hold, NodeGateStatus, Scope, ScopeKind};
use safepoint_machinery::LabelSelector;

use crate::pod::{Pod, includes};

/// Somebody wants a pod to end.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Request<'a> {
    /// Who.
    pub(crate) user: &'a str,
    /// How long it may take; nothing where the pod decides.
    pub(crate) grace: Option<i64>,
    /// When.
    pub(crate) now: Timestamp,
    /// Whether the pod's workload is annotated to hold its upgrades, where the pod itself is not yet.
    pub(crate) workload_holds: bool,
}

/// What is decided.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Verdict<'a> {
    /// It may end.
    Allow(Allowed),
    /// It would be held; every cause, the decisive one first.
    Defer(Vec<Cause<'a>>),
}

/// Why a pod may end.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Allowed {
    /// It only shows a static pod.
    Mirror,
    /// It is on no node.
    NotPlaced,
    /// Its node has not begun to run it.
    NotStarted,
    /// Its end has been decided before.
    Ending,
    /// It has run to its end.
    Finished,
    /// Whoever asks does not want to wait for anybody.
    Forced,
    /// Its own node asks.
    ByItsNode,
    /// Its node has no gate, or one that has not said anything yet.
    Ungated,
    /// Nothing holds it.
    Free,
}

/// Why a pod may not end.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Cause<'a> {
    /// Its node is frozen, or is being frozen.
    Frozen {
        /// Whether everything has settled.
        settled: bool,
        /// The freezes in force; there may be more than the node shows.
        by: Vec<&'a Hold>,
    },
    /// A holder's hold covers it.
    Held(&'a Hold),
    /// It is annotated to hold its upgrades, and nobody has released its workload.
    Annotated,
}

/// Decides whether a pod may end now. `gate` is what its node last said about itself.
pub(crate) fn judge<'a>(pod: &Pod, gate: Option<&'a NodeGateStatus>, request: &Request<'_>) -> Verdict<'a> {
    match allowed(pod, request) {
        Some(why) => Verdict::Allow(why),
        None => match gate {
            None => Verdict::Allow(Allowed::Ungated),
            Some(gate) => {
                let causes = causes(pod, gate, request);
                if causes.is_empty() { Verdict::Allow(Allowed::Free) } else { Verdict::Defer(causes) }
            }
        },
    }
}

/// Whether a pod may end whatever its node says.
pub(crate) fn allowed(pod: &Pod, request: &Request<'_>) -> Option<Allowed> {
    let Some(node) = &pod.node else { return Some(Allowed::NotPlaced) };
    let ways = [
        (pod.mirror, Allowed::Mirror),
        (pod.ending, Allowed::Ending),
        (pod.finished, Allowed::Finished),
        (!pod.started, Allowed::NotStarted),
        (request.grace == Some(0) && is_meant(pod, request), Allowed::Forced),
        (request.user.strip_prefix(NODE_USER_PREFIX) == Some(node), Allowed::ByItsNode),
    ];
    ways.into_iter().find_map(|(is_so, why)| is_so.then_some(why))
}

/// Whether no time to end was asked for, and is not just what the pod says of itself: an API server fills that in before it asks
/// anybody.
fn is_meant(pod: &Pod, request: &Request<'_>) -> bool {
    !pod.hasty || request.user == "system:serviceaccount:kube-system:pod-garbage-collector"
}

fn causes<'a>(pod: &Pod, gate: &'a NodeGateStatus, request: &Request<'_>) -> Vec<Cause<'a>> {
    let in_force = |hold: &&'a Hold| match &hold.suspended_until {
        None => true,
        // It holds again by itself; a node that is away cannot tell us so.
        Some(until) => until.0 <= request.now,
    };
    let holds: Vec<&Hold> = gate.holds.iter().filter(in_force).collect();
    let (freezes, holds): (Vec<&Hold>, Vec<&Hold>) =
        holds.into_iter().partition(|hold| hold.scope.kind == ScopeKind::Node);
    let mut causes = Vec::new();
    match gate.state {
        Some(GateState::Frozen) => causes.push(Cause::Frozen { settled: true, by: freezes }),
        Some(GateState::Freezing) => causes.push(Cause::Frozen { settled: false, by: freezes }),
        // A hold on the whole node that is no freeze.
        Some(GateState::Open | GateState::Thawing) | None => {
            causes.extend(freezes.into_iter().map(Cause::Held));
        }
    }
    causes.extend(holds.into_iter().filter(|hold| covers(&hold.scope, pod)).map(Cause::Held));
    let released = gate.grants.iter().any(|grant| includes(&grant.workload, &pod.workload));
    if (pod.marks.holds() || request.workload_holds) && !released {
        causes.push(Cause::Annotated);
    }
    causes
}

pub(crate) fn covers(scope: &Scope, pod: &Pod) -> bool {
    match scope.kind {
        ScopeKind::Node => true,
        ScopeKind::Namespace => scope.namespace.as_ref() == Some(&pod.namespace),
        ScopeKind::Pod => scope
            .pod
            .as_ref()
            .is_some_and(|held| (&held.namespace, &held.name) == (&pod.namespace, &pod.name)),
        ScopeKind::Workload => scope.workload.as_ref().is_some_and(|held| includes(held, &pod.workload)),
        ScopeKind::Selector => {
            scope.namespace.as_ref().is_none_or(|namespace| *namespace == pod.namespace)
                && scope.selector.as_deref().is_some_and(|selector| selects(selector, pod))
        }
    }
}

/// A selector that cannot be read selects nothing: the node, whose selector it is, can read it.
fn selects(selector: &str, pod: &Pod) -> bool {
    let label = |key: &str| pod.labels.get(key).map(|value| &**value);
    LabelSelector::parse(selector).is_ok_and(|selector| selector.matches_by(label))
}

#[cfg(test)]
mod tests;
