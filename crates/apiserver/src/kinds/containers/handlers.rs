//! What a container is asked and told: probes and the hooks of its life.

use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::Value;

use super::super::check::{drop_empty, has, int, not_negative, part, port, port_number, word};
use super::super::{items, remove, set_default};
use super::Around;
use crate::fault::Problems;

const PROBES: [&str; 3] = ["livenessProbe", "readinessProbe", "startupProbe"];
const HOOKS: [&str; 2] = ["postStart", "preStop"];
const NUMBERS: [(&str, i64); 4] =
    [("timeoutSeconds", 1), ("periodSeconds", 10), ("successThreshold", 1), ("failureThreshold", 3)];

pub(super) fn default(container: &mut Value) {
    for name in PROBES {
        let Some(probe) = container.get_mut(name).filter(|probe| probe.is_object()) else { continue };
        for (field, value) in NUMBERS {
            if int(probe, field) == Some(0) {
                remove(probe, field);
            }
            set_default(probe, field, value);
        }
        default_handler(probe);
    }
    // Choosing the signal is a feature that is off unless it is asked for, and what is off is not kept.
    if has(part(container, "lifecycle"), "stopSignal") {
        container.get_mut("lifecycle").into_iter().for_each(|lifecycle| remove(lifecycle, "stopSignal"));
        drop_empty(container, "lifecycle");
    }
    let Some(lifecycle) = container.get_mut("lifecycle") else { return };
    for name in HOOKS {
        if let Some(hook) = lifecycle.get_mut(name) {
            default_handler(hook);
        }
    }
}

fn default_handler(handler: &mut Value) {
    if let Some(get) = handler.get_mut("httpGet") {
        for (field, value) in [("path", "/"), ("scheme", "HTTP")] {
            drop_empty(get, field);
            set_default(get, field, value);
        }
    }
    if let Some(grpc) = handler.get_mut("grpc") {
        set_default(grpc, "service", "");
    }
}

pub(super) fn check(container: &Value, at: &FieldPath, around: &Around<'_>, problems: &mut Problems) {
    let lifecycle_at = at.child("lifecycle");
    let lifecycle = part(container, "lifecycle");
    for name in HOOKS.into_iter().filter(|name| has(lifecycle, name)) {
        let hook = part(lifecycle, name);
        check_handler(
            hook,
            &["exec", "httpGet", "tcpSocket", "sleep"],
            around,
            &lifecycle_at.child(name),
            problems,
        );
    }
    for name in PROBES.into_iter().filter(|name| has(container, name)) {
        check_probe(part(container, name), name, around, &at.child(name), problems);
    }
}

fn check_probe(probe: &Value, name: &str, around: &Around<'_>, at: &FieldPath, problems: &mut Problems) {
    check_handler(probe, &["exec", "httpGet", "tcpSocket", "grpc"], around, at, problems);
    not_negative(
        problems,
        &at.child("initialDelaySeconds"),
        int(probe, "initialDelaySeconds").unwrap_or_default(),
    );
    for (field, _) in NUMBERS {
        not_negative(problems, &at.child(field), int(probe, field).unwrap_or_default());
    }
    let grace_at = at.child("terminationGracePeriodSeconds");
    if let Some(grace) = int(probe, "terminationGracePeriodSeconds") {
        if grace <= 0 {
            problems.push(FieldError::invalid(&grace_at, grace, "must be greater than 0"));
        }
        if name == "readinessProbe" {
            problems.push(FieldError::invalid(&grace_at, grace, "must not be set for readinessProbes"));
        }
    }
    let successes = int(probe, "successThreshold").unwrap_or_default();
    if name != "readinessProbe" && successes != 1 {
        problems.push(FieldError::invalid(at.child("successThreshold"), successes, "must be 1"));
    }
}

/// Exactly one of the ways to reach a container.
fn check_handler(
    handler: &Value,
    ways: &[&str],
    around: &Around<'_>,
    at: &FieldPath,
    problems: &mut Problems,
) {
    let mut found = ways.iter().filter(|way| has(handler, way));
    let Some(way) = found.next() else {
        problems.push(FieldError::required(at, "must specify a handler type"));
        return;
    };
    check_way(way, part(handler, way), around, &at.child(way), problems);
    for way in found {
        problems.push(FieldError::forbidden(at.child(way), "may not specify more than 1 handler type"));
    }
}

fn check_way(way: &str, action: &Value, around: &Around<'_>, at: &FieldPath, problems: &mut Problems) {
    match way {
        "exec" if items(action, "command").next().is_none() => {
            problems.push(FieldError::required(at.child("command"), ""));
        }
        "httpGet" => check_get(action, at, problems),
        "tcpSocket" => port(problems, &at.child("port"), part(action, "port")),
        "grpc" => port_number(problems, &at.child("port"), int(action, "port").unwrap_or_default()),
        "sleep" => {
            let seconds = int(action, "seconds").unwrap_or_default();
            if let Some(grace) = around.grace.filter(|grace| seconds < 0 || seconds > *grace) {
                let why =
                    format!("must be non-negative and less than terminationGracePeriodSeconds ({grace})");
                problems.push(FieldError::invalid(at, seconds, why));
            }
        }
        _ => {}
    }
}

fn check_get(get: &Value, at: &FieldPath, problems: &mut Problems) {
    const SCHEMES: [&str; 2] = ["HTTP", "HTTPS"];
    if word(get, "path").is_empty() {
        problems.push(FieldError::required(at.child("path"), ""));
    }
    port(problems, &at.child("port"), part(get, "port"));
    let scheme = word(get, "scheme");
    if !SCHEMES.contains(&scheme) {
        problems.push(FieldError::not_supported(at.child("scheme"), scheme, &SCHEMES));
    }
    for name in items(get, "httpHeaders").map(|header| word(header, "name")) {
        if name.is_empty() || !name.chars().all(|c| c.is_ascii_alphanumeric() || c == '-') {
            let why = "a valid HTTP header must consist of alphanumeric characters or '-' \
                       (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')";
            problems.push(FieldError::invalid(at.child("httpHeaders"), name, why));
        }
    }
}
