//! A pod's status as Kubernetes has it, worked out from what is known of its containers.
//!
//! Pure but for the memory of when a condition last changed, which it keeps up to date.

mod conditions;
mod phase;

use std::net::IpAddr;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::{
    Health,
    clock::show,
    pod::{
        Memory,
        unit::{Ended, Life, Role, Unit},
    },
    record::How,
    spec::Pod,
};
pub(crate) use phase::Phase;

/// What is.
pub(crate) struct Scene<'a> {
    pub(crate) uid: &'a str,
    pub(crate) pod: &'a Pod,
    pub(crate) units: &'a [Unit],
    pub(crate) address: IpAddr,
    /// Nothing of it runs.
    pub(crate) is_gone: bool,
    /// Its end was wanted, and is reached.
    pub(crate) ended: bool,
    /// Whether the volumes are there, or why not.
    pub(crate) volumes: Result<(), &'a str>,
}

/// The status, and in one word what it comes to.
pub(crate) fn compose(scene: &Scene<'_>, memory: &mut Memory, now: Timestamp) -> (Value, Health) {
    let phase = phase::phase(scene, memory);
    let is_ready = conditions::update(scene, phase, memory, now);
    let mut status = Map::new();
    status.insert("phase".into(), json!(phase.name()));
    if let Some(generation) = scene.pod.metadata.generation {
        status.insert("observedGeneration".into(), json!(generation));
    }
    if let Some(failure) = &memory.failure {
        status.insert("reason".into(), json!(failure.reason));
        status.insert("message".into(), json!(failure.message));
    }
    status.insert("conditions".into(), conditions::show(scene, phase, memory));
    let address = scene.address.to_string();
    status.insert("hostIP".into(), json!(address));
    status.insert("hostIPs".into(), json!([{"ip": address}]));
    status.insert("podIP".into(), json!(address));
    status.insert("podIPs".into(), json!([{"ip": address}]));
    if let Some(start) = memory.start {
        status.insert("startTime".into(), json!(show(start)));
    }
    let list = |main: bool| -> Vec<Value> {
        scene
            .units
            .iter()
            .filter(|unit| (unit.role == Role::Main) == main)
            .map(|unit| container(scene, memory, unit, phase))
            .collect()
    };
    let (init, main) = (list(false), list(true));
    if !init.is_empty() {
        status.insert("initContainerStatuses".into(), init.into());
    }
    status.insert("containerStatuses".into(), main.into());
    if !scene.pod.spec.ephemeral_containers.is_empty() {
        let all = scene.pod.spec.ephemeral_containers.iter().map(|ephemeral| {
            let why = "a process has no namespaces that a second container could join";
            json!({
                "name": ephemeral.name, "image": ephemeral.image, "imageID": "", "ready": false, "restartCount": 0,
                "state": {"waiting": {"reason": "CannotHonour", "message": why}},
            })
        });
        status.insert("ephemeralContainerStatuses".into(), all.collect());
    }
    // Whoever reads the health takes it for that of the wanted version: what still runs is not it.
    let is_outdated = scene.units.iter().any(|unit| unit.role != Role::Init && unit.is_outdated());
    let health = match phase {
        // Nothing of it runs or will: also while its sidecars still end it is not finished.
        Phase::Succeeded | Phase::Failed if scene.is_gone => Health::Finished,
        Phase::Pending => Health::Starting,
        Phase::Running if is_ready && !is_outdated => Health::Ready,
        Phase::Running | Phase::Succeeded | Phase::Failed => Health::Unready,
    };
    (status.into(), health)
}

/// The status of a pod that is not even begun with.
pub(crate) fn refusal(message: &str, now: Timestamp) -> Value {
    json!({
        "phase": "Failed", "reason": "CannotHonour", "message": message,
        "conditions": [{
            "type": "SafepointCannotHonour", "status": "True", "reason": "CannotHonour", "message": message,
            "lastTransitionTime": show(now), "lastProbeTime": null,
        }],
    })
}

fn container(scene: &Scene<'_>, memory: &Memory, unit: &Unit, phase: Phase) -> Value {
    let (state, last) = state(scene, memory, unit, phase);
    let is_running = matches!(unit.life, Life::Running { .. });
    let mut status = json!({
        "name": unit.name,
        "image": unit.shown_image(),
        "imageID": "",
        "ready": is_ready(unit),
        "started": is_running && is_started(unit),
        "restartCount": unit.attempt.unwrap_or(0),
        "state": state,
        "lastState": last,
    });
    if let Some(attempt) = unit.attempt {
        status["containerID"] = json!(id(scene, unit, attempt));
    }
    status
}

/// Entered, through its postStart hook and its startup probe.
pub(crate) fn is_started(unit: &Unit) -> bool {
    matches!(unit.life, Life::Running { up: true, .. }) && unit.checks.started
}

/// As Kubernetes counts: a container that was initialization is ready when it has succeeded.
pub(crate) fn is_ready(unit: &Unit) -> bool {
    match (unit.role, &unit.life) {
        (Role::Init, Life::Ended(ended)) => ended.exit.code == 0,
        (Role::Init, _) => false,
        (Role::Main | Role::Sidecar, _) => {
            is_started(unit) && (unit.checks.ready || unit.spec.readiness_probe.is_none())
        }
    }
}

fn state(scene: &Scene<'_>, memory: &Memory, unit: &Unit, phase: Phase) -> (Value, Value) {
    let before = || unit.before.as_ref().map_or_else(|| json!({}), |ended| terminated(scene, unit, ended));
    match &unit.life {
        Life::Running { started, .. } => (json!({"running": {"startedAt": show(started.at)}}), before()),
        Life::Fresh | Life::Starting => {
            let waits_for_init = unit.role != Role::Init && !memory.initialized && is_behind(scene, unit);
            let reason = if waits_for_init { "PodInitializing" } else { "ContainerCreating" };
            (waiting(unit, reason), before())
        }
        Life::Ended(ended) => {
            // It is to be started again and cannot be yet; otherwise this was its last word so far.
            let is_over =
                matches!(phase, Phase::Succeeded | Phase::Failed) || memory.finishing || scene.ended;
            if unit.waiting.is_some() && !is_over {
                (waiting(unit, "ContainerCreating"), terminated(scene, unit, ended))
            } else {
                (terminated(scene, unit, ended), before())
            }
        }
    }
}

/// An init container stands before it.
fn is_behind(scene: &Scene<'_>, unit: &Unit) -> bool {
    scene.units.iter().take_while(|other| other.name != unit.name).any(|other| other.role != Role::Main)
}

fn waiting(unit: &Unit, reason: &str) -> Value {
    match &unit.waiting {
        Some((reason, message)) => json!({"waiting": {"reason": reason, "message": message}}),
        None => json!({"waiting": {"reason": reason}}),
    }
}

fn terminated(scene: &Scene<'_>, unit: &Unit, ended: &Ended) -> Value {
    let exit = &ended.exit;
    let reason = match exit.how {
        How::CannotRun => "ContainerCannotRun",
        How::Ended if exit.code == 0 => "Completed",
        How::Ended | How::HookFailed | How::Lost | How::Rebooted | How::NeverStarted => "Error",
    };
    let mut terminated = json!({
        "exitCode": exit.code,
        "reason": reason,
        "startedAt": show(ended.started.unwrap_or(exit.at)),
        "finishedAt": show(exit.at),
        "containerID": id(scene, unit, ended.attempt),
    });
    if let Some(signal) = exit.signal {
        terminated["signal"] = json!(signal);
    }
    if let Some(message) = &exit.message {
        terminated["message"] = json!(message);
    }
    json!({ "terminated": terminated })
}

fn id(scene: &Scene<'_>, unit: &Unit, attempt: u32) -> String {
    format!("process://{}/{}/{attempt}", scene.uid, unit.name)
}
