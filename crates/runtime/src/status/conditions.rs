//! The conditions that a node writes about a pod. Those of others are not ours to repeat.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{Phase, Scene, is_ready};
use crate::{
    clock,
    pod::{
        Memory,
        memory::Condition,
        unit::{Role, Unit},
    },
};

/// Brings the conditions up to date; when one last changed stays as long as it says the same. `true` if ready.
pub(super) fn update(scene: &Scene<'_>, phase: Phase, memory: &mut Memory, now: Timestamp) -> bool {
    let mut is_pod_ready = false;
    for condition in current(scene, phase, memory) {
        is_pod_ready |= condition.kind == "Ready" && condition.is_true;
        let status = if condition.is_true { "True" } else { "False" };
        let known = memory.conditions.get(condition.kind);
        if known.is_none_or(|known| known.status != status) {
            let condition_now = Condition { status: status.to_owned(), since: now };
            memory.conditions.insert(condition.kind.to_owned(), condition_now);
        }
    }
    is_pod_ready
}

/// The conditions as they are written.
pub(super) fn show(scene: &Scene<'_>, phase: Phase, memory: &Memory) -> Value {
    let all = current(scene, phase, memory).into_iter().map(|condition| {
        let mut written = json!({
            "type": condition.kind,
            "status": if condition.is_true { "True" } else { "False" },
            "lastProbeTime": null,
        });
        if let Some(generation) = scene.pod.metadata.generation {
            written["observedGeneration"] = json!(generation);
        }
        if let Some(known) = memory.conditions.get(condition.kind) {
            written["lastTransitionTime"] = json!(clock::show(known.since));
        }
        if let Some(reason) = condition.reason {
            written["reason"] = json!(reason);
        }
        if let Some(message) = condition.message {
            written["message"] = json!(message);
        }
        written
    });
    all.collect()
}

struct Current {
    kind: &'static str,
    is_true: bool,
    reason: Option<&'static str>,
    message: Option<String>,
}

fn current(scene: &Scene<'_>, phase: Phase, memory: &Memory) -> Vec<Current> {
    let is_final = matches!(phase, Phase::Succeeded | Phase::Failed);
    let mut all = Vec::with_capacity(6);
    let mut put = |kind, is_true, reason, message| all.push(Current { kind, is_true, reason, message });

    // There is nothing like a sandbox; what has to be there before a container is its volumes.
    let volumes = scene.volumes.err().map(str::to_owned);
    let has_started = scene.units.iter().any(|unit| unit.attempt.is_some());
    let is_set_up = volumes.is_none() && has_started && !(is_final && scene.is_gone);
    put("PodReadyToStartContainers", is_set_up, None, volumes);

    let init = |unit: &&Unit| unit.role == Role::Init;
    let not_through = names(scene.units.iter().filter(|unit| unit.role != Role::Main && !is_ready(unit)));
    if memory.initialized || (phase == Phase::Succeeded && scene.units.iter().filter(init).all(is_ready)) {
        let reason = (phase == Phase::Succeeded).then_some("PodCompleted");
        put("Initialized", true, reason, None);
    } else {
        let message = format!("containers with incomplete status: [{not_through}]");
        put("Initialized", false, Some("ContainersNotInitialized"), Some(message));
    }

    let counted = |unit: &&Unit| unit.role != Role::Init;
    let not_ready = names(scene.units.iter().filter(counted).filter(|unit| !is_ready(unit)));
    let (ready, reason, message) = match phase {
        Phase::Succeeded => (false, Some("PodCompleted"), None),
        Phase::Failed => (false, Some("PodFailed"), None),
        _ if !not_ready.is_empty() || scene.units.is_empty() => {
            let message = format!("containers with unready status: [{not_ready}]");
            (false, Some("ContainersNotReady"), Some(message))
        }
        _ => (true, None, None),
    };
    put("ContainersReady", ready, reason, message.clone());

    let closed: Vec<&str> = scene
        .pod
        .spec
        .readiness_gates
        .iter()
        .map(|gate| gate.condition_type.as_str())
        .filter(|kind| {
            let given = scene.pod.status.conditions.iter().find(|condition| condition.kind == *kind);
            given.is_none_or(|condition| condition.status != "True")
        })
        .collect();
    if ready && !closed.is_empty() {
        let message =
            format!("corresponding condition of pod readiness gate {:?} is not \"True\".", closed[0]);
        put("Ready", false, Some("ReadinessGatesNotReady"), Some(message));
    } else {
        put("Ready", ready, reason, message);
    }
    put("PodScheduled", true, None, None);
    if let Some(failure) = memory.failure.as_ref().filter(|failure| failure.reason == "CannotHonour") {
        put("SafepointCannotHonour", true, Some("CannotHonour"), Some(failure.message.clone()));
    }
    all
}

fn names<'a>(units: impl Iterator<Item = &'a Unit>) -> String {
    units.map(|unit| unit.name.as_str()).collect::<Vec<_>>().join(" ")
}
