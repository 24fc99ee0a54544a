//! What waits, and why.

use std::collections::BTreeSet;

use safepoint_api::local::{ChangeList, Verdict, Why};
use safepoint_api::names::kubeedge::HOLD_UPGRADE;
use safepoint_api::node_gate::{Change, HeldChange};
use safepoint_core as core;
use safepoint_core::{Cause, ChangeKind, Explanation, Gate, Key, Kind, Workload};

use super::words::{hold, object_kind, time, workload};

/// Everything that waits, oldest first.
#[must_use]
pub fn change_list(gate: &Gate) -> ChangeList {
    ChangeList { items: held_changes(gate) }
}

/// Everything that waits, oldest first; also what waits for nothing but the end of what it replaces.
#[must_use]
pub fn held_changes(gate: &Gate) -> Vec<HeldChange> {
    let explained = gate.pending().filter_map(|key| match gate.explain(key) {
        core::Why::Held(explanation) => Some(explanation),
        core::Why::Unknown | core::Why::Settled | core::Why::Unsettled(_) => None,
    });
    let mut held: Vec<_> = explained.collect();
    held.sort_by_key(|explanation| (explanation.since.age, explanation.key.clone()));
    held.iter().map(|explanation| change(gate, explanation)).collect()
}

/// Finds a pod by the name that a person gives it: a pod's, a static pod's, or that of its mirror pod.
#[must_use]
pub fn find_pod(gate: &Gate, node: &str, namespace: &str, name: &str) -> Option<Key> {
    let manifest = |name| Key { kind: Kind::StaticPod, ..Key::pod(namespace, name) };
    let mirrored = name.strip_suffix(node).and_then(|rest| rest.strip_suffix('-'));
    let names = [Key::pod(namespace, name), manifest(name)].into_iter().chain(mirrored.map(manifest));
    names.into_iter().find(|key| gate.slots().contains_key(key))
}

/// Why a pod waits, or that it does not. None if nothing of that name is known here.
#[must_use]
pub fn why(gate: &Gate, node: &str, namespace: &str, name: &str) -> Option<Why> {
    let why = gate.explain(&find_pod(gate, node, namespace, name)?);
    let (verdict, explanation) = match &why {
        core::Why::Unknown => return None,
        core::Why::Settled => (Verdict::Settled, None),
        core::Why::Unsettled(_) => (Verdict::Unsettled, None),
        core::Why::Held(explanation) => (Verdict::Held, Some(explanation)),
    };
    let holders = explanation.iter().flat_map(|explanation| &explanation.holders);
    let endings = explanation.iter().flat_map(|explanation| &explanation.endings);
    Some(Why {
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        verdict,
        sentence: why.to_string(),
        change: explanation.map(|explanation| change(gate, explanation)),
        holds: holders.map(|holder| hold(gate, &holder.id, &holder.hold)).collect(),
        until: endings.map(ToString::to_string).collect(),
    })
}

fn change(gate: &Gate, explanation: &Explanation) -> HeldChange {
    let key = &explanation.key;
    // What is only taken away is not wanted at any revision.
    let wanted = explanation.change != ChangeKind::Stop || explanation.replaced;
    HeldChange {
        kind: object_kind(key.kind).to_owned(),
        namespace: key.namespace.to_string(),
        name: key.name.to_string(),
        workload: workload_of(gate, key).map(workload),
        change: match (key.kind.runs(), explanation.change) {
            (false, _) => Change::Config,
            (true, ChangeKind::Start) => Change::Start,
            (true, ChangeKind::Update) => Change::Update,
            (true, ChangeKind::Stop) => Change::Stop,
        },
        from_revision: explanation.from.as_ref().map(ToString::to_string),
        to_revision: explanation.to.as_ref().filter(|_| wanted).map(ToString::to_string),
        since: time(explanation.since.at),
        why: explanation.to_string(),
        held_by: held_by(explanation),
    }
}

/// The ids of the holds that cover it, and the key of the annotation if that does.
fn held_by(explanation: &Explanation) -> Vec<String> {
    let holders = explanation.holders.iter().map(|holder| holder.id.to_string());
    let annotated = explanation.causes.iter().any(|cause| matches!(cause, Cause::Annotated(_)));
    holders.chain(annotated.then(|| HOLD_UPGRADE.to_owned())).collect()
}

/// The workload of a pod; of configuration, the one workload that uses it, if it is only one.
fn workload_of<'a>(gate: &'a Gate, key: &Key) -> Option<&'a Workload> {
    if key.kind.runs() {
        return gate.slots().get(key)?.workload();
    }
    let running = gate.slots().values().filter_map(|slot| slot.applied.as_ref());
    let users = running.filter(|applied| applied.version.uses.contains(key));
    let users: BTreeSet<&Workload> = users.filter_map(|applied| applied.version.workload.as_ref()).collect();
    (users.len() == 1).then(|| users.first().copied()).flatten()
}
