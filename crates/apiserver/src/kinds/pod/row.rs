//! The row of a pod, as kubectl prints it: above all, the one word that says how it is.

use jiff::Timestamp;
use safepoint_machinery::{age, meta};
use serde_json::{Value, json};

use super::super::check::{flag, has, int, part, word};
use super::super::{containers, items};
use crate::table::{self, Column};

/// What is known of the containers of a pod.
struct Sum {
    reason: String,
    ready: usize,
    restarts: i64,
    /// When one of them ended last.
    ended: Option<Timestamp>,
}

pub(super) fn columns() -> Vec<Column> {
    let text = |name: &str, description: &str| Column::new(name, "string", description);
    vec![
        text("Ready", "How many of its containers are ready."),
        text("Status", "How it is."),
        text("Restarts", "How often its containers were started again, and when the last time was."),
        Column::age(),
        text("IP", "Its address.").wide(),
        text("Node", "The node that it is on.").wide(),
        text("Nominated Node", "The node that is being cleared for it.").wide(),
        text("Readiness Gates", "How many of the conditions that others set for it are met.").wide(),
    ]
}

pub(super) fn cells(pod: &Value, now: Timestamp) -> Vec<Value> {
    let (spec, status) = (part(pod, "spec"), part(pod, "status"));
    let sidecars =
        items(spec, "initContainers").filter(|container| containers::is_sidecar(container)).count();
    let total = items(spec, "containers").count() + sidecars;
    let sum = look(pod);
    let restarts = match sum.ended.filter(|_| sum.restarts != 0) {
        Some(ended) => {
            format!("{} ({} ago)", sum.restarts, age::human(now.as_second() - ended.as_second()))
        }
        None => sum.restarts.to_string(),
    };
    let or_none = |text: &str| if text.is_empty() { "<none>".to_owned() } else { text.to_owned() };
    let address = items(status, "podIPs").next().map_or("", |first| word(first, "ip"));
    vec![
        format!("{}/{total}", sum.ready).into(),
        sum.reason.into(),
        restarts.into(),
        table::age(pod, now),
        or_none(address).into(),
        or_none(word(spec, "nodeName")).into(),
        or_none(word(status, "nominatedNodeName")).into(),
        gates(spec, status).into(),
    ]
}

/// Watchers may skip the rows of pods that have ended.
pub(super) fn conditions(pod: &Value) -> Vec<Value> {
    let (reason, message) = match word(part(pod, "status"), "phase") {
        phase @ "Succeeded" => (phase, "The pod has completed successfully."),
        phase @ "Failed" => (phase, "The pod failed."),
        _ => return Vec::new(),
    };
    vec![json!({"type": "Completed", "status": "True", "reason": reason, "message": message})]
}

fn look(pod: &Value) -> Sum {
    let status = part(pod, "status");
    let phase = word(status, "phase");
    let is_gated = items(status, "conditions")
        .any(|one| word(one, "type") == "PodScheduled" && word(one, "reason") == "SchedulingGated");
    let reason = match word(status, "reason") {
        _ if is_gated => "SchedulingGated",
        "" => phase,
        reason => reason,
    };
    let mut sum = Sum { reason: reason.to_owned(), ready: 0, restarts: 0, ended: None };
    let sidecars = look_at_init(pod, &mut sum);
    if let Some((restarts, ended)) = sidecars {
        sum.restarts = restarts;
        sum.ended = ended;
        look_at_main(status, &mut sum);
    }
    if meta::deletion_timestamp(pod).is_some() {
        if word(status, "reason") == "NodeLost" {
            "Unknown".clone_into(&mut sum.reason);
        } else if !matches!(phase, "Succeeded" | "Failed") {
            "Terminating".clone_into(&mut sum.reason);
        }
    }
    sum
}

/// Looks at the containers that come first. What their sidecars add to the others is returned once it is their turn.
fn look_at_init(pod: &Value, sum: &mut Sum) -> Option<(i64, Option<Timestamp>)> {
    let (spec, status) = (part(pod, "spec"), part(pod, "status"));
    let is_sidecar = |name: &str| {
        items(spec, "initContainers").any(|one| word(one, "name") == name && containers::is_sidecar(one))
    };
    let (mut restarts, mut ended) = (0, None);
    let mut is_initializing = false;
    for (index, container) in items(status, "initContainerStatuses").enumerate() {
        let is_sidecar = is_sidecar(word(container, "name"));
        let count = int(container, "restartCount").unwrap_or_default();
        sum.restarts += count;
        sum.ended = sum.ended.max(last_end(container));
        if is_sidecar {
            restarts += count;
            ended = ended.max(last_end(container));
        }
        let state = part(container, "state");
        let exited = has(state, "terminated").then(|| part(state, "terminated"));
        if exited.is_some_and(|exited| int(exited, "exitCode").unwrap_or_default() == 0) {
            continue;
        }
        if is_sidecar && flag(container, "started") {
            sum.ready += usize::from(flag(container, "ready"));
            continue;
        }
        let waiting = word(part(state, "waiting"), "reason");
        sum.reason = match exited {
            Some(exited) => format!("Init:{}", why_ended(exited)),
            None if !matches!(waiting, "" | "PodInitializing") => format!("Init:{waiting}"),
            None => format!("Init:{index}/{}", items(spec, "initContainers").count()),
        };
        is_initializing = true;
        break;
    }
    let initialized = items(status, "conditions").find(|one| word(one, "type") == "Initialized");
    let is_initialized = initialized.is_some_and(|one| word(one, "status") == "True");
    (!is_initializing || is_initialized).then_some((restarts, ended))
}

fn look_at_main(status: &Value, sum: &mut Sum) {
    let statuses: Vec<&Value> = items(status, "containerStatuses").collect();
    let (mut is_running, mut failure) = (false, None);
    // The first container has the last word.
    for container in statuses.into_iter().rev() {
        sum.restarts += int(container, "restartCount").unwrap_or_default();
        sum.ended = sum.ended.max(last_end(container));
        let state = part(container, "state");
        let waiting = word(part(state, "waiting"), "reason");
        if !waiting.is_empty() {
            waiting.clone_into(&mut sum.reason);
        } else if has(state, "terminated") {
            let exited = part(state, "terminated");
            sum.reason = why_ended(exited);
            if int(exited, "exitCode").unwrap_or_default() != 0 {
                failure = Some(sum.reason.clone());
            }
        } else if flag(container, "ready") && has(state, "running") {
            is_running = true;
            sum.ready += 1;
        }
    }
    if sum.reason == "Completed" {
        let is_ready = items(status, "conditions")
            .any(|one| word(one, "type") == "Ready" && word(one, "status") == "True");
        if is_running && is_ready {
            "Running".clone_into(&mut sum.reason);
        } else if let Some(failure) = failure {
            sum.reason = failure;
        } else if is_running {
            "NotReady".clone_into(&mut sum.reason);
        }
    }
}

fn why_ended(exited: &Value) -> String {
    let number = |field: &str| int(exited, field).unwrap_or_default();
    match (word(exited, "reason"), number("signal")) {
        ("", 0) => format!("ExitCode:{}", number("exitCode")),
        ("", signal) => format!("Signal:{signal}"),
        (reason, _) => reason.to_owned(),
    }
}

fn last_end(container: &Value) -> Option<Timestamp> {
    word(part(part(container, "lastState"), "terminated"), "finishedAt").parse().ok()
}

fn gates(spec: &Value, status: &Value) -> String {
    let gates: Vec<&str> = items(spec, "readinessGates").map(|gate| word(gate, "conditionType")).collect();
    if gates.is_empty() {
        return "<none>".to_owned();
    }
    let is_met = |kind: &&&str| {
        let condition = items(status, "conditions").find(|one| word(one, "type") == **kind);
        condition.is_some_and(|one| word(one, "status") == "True")
    };
    format!("{}/{}", gates.iter().filter(is_met).count(), gates.len())
}
