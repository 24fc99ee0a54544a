//! The containers of a pod: what is filled in, and what must hold.

mod env;
mod handlers;
mod image;
mod mounts;
mod resources;
mod restarts;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use safepoint_machinery::names;
use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::check::{each, flag, has, int, needed_label, one_of, part, port_number, within, word};
use super::{items, items_mut, set_default};
use crate::fault::Problems;
use restarts::{check_resizes, check_restarts};

pub(super) use env::{check_field, check_resource_field, default_field, default_resource_field};
pub(super) use image::pull_policy;
pub(super) use mounts::{check_local_path, check_no_backsteps};
pub(super) use resources::{check_pod as check_pod_resources, default_pod as default_pod_resources, quality};

const PROTOCOLS: [&str; 3] = ["SCTP", "TCP", "UDP"];

/// What a container is checked against: the rest of its pod.
pub(super) struct Around<'a> {
    /// The volumes that have no problem of their own, by name.
    pub(super) volumes: BTreeMap<&'a str, &'a Value>,
    /// How long the pod may take to end.
    grace: Option<i64>,
    /// The names of the claims of the pod.
    claims: BTreeSet<&'a str>,
    /// What happens to containers of this pod that end.
    restart: &'a str,
    shares_users: bool,
}

// === impl Around ===

impl<'a> Around<'a> {
    pub(super) fn new(spec: &'a Value, volumes: BTreeMap<&'a str, &'a Value>) -> Around<'a> {
        let claims = items(spec, "resourceClaims").map(|claim| word(claim, "name"));
        Around {
            volumes,
            grace: int(spec, "terminationGracePeriodSeconds"),
            claims: claims.filter(|name| !name.is_empty()).collect(),
            restart: word(spec, "restartPolicy"),
            shares_users: part(spec, "hostUsers").as_bool().unwrap_or(true),
        }
    }
}

// === defaults ===

/// Fills in what was left out of a container.
pub(super) fn default(container: &mut Value) {
    let policy = pull_policy(word(container, "image"));
    for (field, value) in [
        ("imagePullPolicy", policy),
        ("terminationMessagePath", "/dev/termination-log"),
        ("terminationMessagePolicy", "File"),
    ] {
        super::check::drop_empty(container, field);
        set_default(container, field, value);
    }
    set_default(container, "resources", json!({}));
    for port in items_mut(container, "ports") {
        super::check::drop_empty(port, "protocol");
        set_default(port, "protocol", "TCP");
    }
    env::default(container);
    handlers::default(container);
    resources::default(container);
}

/// On the network of the node, a port is the port of the node.
pub(super) fn default_host_ports(container: &mut Value) {
    for port in items_mut(container, "ports") {
        if int(port, "hostPort").unwrap_or_default() == 0 {
            let number = part(port, "containerPort").clone();
            super::check::set(port, "hostPort", number);
        }
    }
}

// === rules ===

/// Whether an init container goes on beside the others.
pub(super) fn is_sidecar(container: &Value) -> bool {
    word(container, "restartPolicy") == "Always"
}

/// Checks the containers that do the work.
pub(super) fn check_main(spec: &Value, at: &FieldPath, around: &Around<'_>, problems: &mut Problems) {
    if items(spec, "containers").next().is_none() {
        problems.push(FieldError::required(at, ""));
        return;
    }
    let mut seen: Vec<&str> = Vec::new();
    for (index, container) in items(spec, "containers").enumerate() {
        let at = at.index(index);
        check_one(container, &at, around, problems);
        check_unique(&mut seen, word(container, "name"), &at, problems);
        handlers::check(container, &at, around, problems);
        check_restarts(container, &at, problems);
    }
    check_host_ports(items(spec, "containers"), at, problems);
}

/// Checks the containers that come first.
pub(super) fn check_init(spec: &Value, at: &FieldPath, around: &Around<'_>, problems: &mut Problems) {
    const ONLY_SIDECARS: &str = "may not be set for init containers without restartPolicy=Always";
    let mut seen: Vec<&str> = items(spec, "containers").map(|container| word(container, "name")).collect();
    for (index, container) in items(spec, "initContainers").enumerate() {
        let at_one = at.index(index);
        check_one(container, &at_one, around, problems);
        check_restarts(container, &at_one, problems);
        match word(container, "name") {
            "" if !seen.contains(&"") => {}
            name => check_unique(&mut seen, name, &at_one, problems),
        }
        // They run one after the other, so only their own ports can collide.
        check_host_ports(std::iter::once(container), at, problems);
        if is_sidecar(container) {
            handlers::check(container, &at_one, around, problems);
            continue;
        }
        for field in ["lifecycle", "livenessProbe", "readinessProbe", "startupProbe"] {
            if has(container, field) {
                problems.push(FieldError::forbidden(at_one.child(field), ONLY_SIDECARS));
            }
        }
        for (index, policy) in items(container, "resizePolicy").enumerate() {
            if word(policy, "restartPolicy") == "RestartContainer" {
                let at = at_one.child("resizePolicy").index(index).child("restartPolicy");
                let why = "must not be set to 'RestartContainer' for non-sidecar initContainers";
                problems.push(FieldError::invalid(&at, "RestartContainer", why));
            }
        }
    }
}

/// Only a pod cares about the ends of the name of an image: templates have tokens there.
pub(super) fn check_image_ends(container: &Value, at: &FieldPath, problems: &mut Problems) {
    let image = word(container, "image");
    if image.len() != image.trim().len() {
        let why = "must not have leading or trailing whitespace";
        problems.push(FieldError::invalid(at.child("image"), image, why));
    }
}

fn check_one(container: &Value, at: &FieldPath, around: &Around<'_>, problems: &mut Problems) {
    needed_label(problems, &at.child("name"), word(container, "name"));
    if word(container, "image").is_empty() {
        problems.push(FieldError::required(at.child("image"), ""));
    }
    let policy = word(container, "terminationMessagePolicy");
    one_of(problems, &at.child("terminationMessagePolicy"), policy, &["File", "FallbackToLogsOnError"]);
    check_ports(container, &at.child("ports"), problems);
    env::check(container, at, problems);
    mounts::check(container, at, around, problems);
    let policy = word(container, "imagePullPolicy");
    one_of(problems, &at.child("imagePullPolicy"), policy, &["Always", "IfNotPresent", "Never"]);
    resources::check(part(container, "resources"), &at.child("resources"), &around.claims, problems);
    check_resizes(container, &at.child("resizePolicy"), around.restart, problems);
    check_security(part(container, "securityContext"), &at.child("securityContext"), around, problems);
}

fn check_unique<'a>(seen: &mut Vec<&'a str>, name: &'a str, at: &FieldPath, problems: &mut Problems) {
    if seen.contains(&name) {
        problems.push(FieldError::duplicate(at.child("name"), name));
    } else {
        seen.push(name);
    }
}

fn check_ports(container: &Value, at: &FieldPath, problems: &mut Problems) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, port) in items(container, "ports").enumerate() {
        let at = at.index(index);
        let name = word(port, "name");
        let messages = if name.is_empty() { Vec::new() } else { names::port_name(name) };
        if seen.contains(&name) {
            problems.push(FieldError::duplicate(at.child("name"), name));
        } else if messages.is_empty() && !name.is_empty() {
            seen.push(name);
        }
        each(problems, &at.child("name"), name, messages);
        match int(port, "containerPort").unwrap_or_default() {
            0 => problems.push(FieldError::required(at.child("containerPort"), "")),
            number => port_number(problems, &at.child("containerPort"), number),
        }
        if let Some(number) = int(port, "hostPort").filter(|number| *number != 0) {
            port_number(problems, &at.child("hostPort"), number);
        }
        one_of(problems, &at.child("protocol"), word(port, "protocol"), &PROTOCOLS);
    }
}

fn check_host_ports<'a>(
    containers: impl Iterator<Item = &'a Value>,
    at: &FieldPath,
    problems: &mut Problems,
) {
    let mut seen = BTreeSet::new();
    for (index, container) in containers.enumerate() {
        let at = at.index(index).child("ports");
        for (index, port) in items(container, "ports").enumerate() {
            let Some(number) = int(port, "hostPort").filter(|number| *number != 0) else { continue };
            let taken = format!("{}/{}/{number}", word(port, "protocol"), word(port, "hostIP"));
            if !seen.insert(taken.clone()) {
                problems.push(FieldError::duplicate(at.index(index).child("hostPort"), taken));
            }
        }
    }
}

fn check_security(context: &Value, at: &FieldPath, around: &Around<'_>, problems: &mut Problems) {
    check_ids(context, at, &["runAsUser", "runAsGroup"], problems);
    if let Some(kind) = context.get("procMount").and_then(Value::as_str) {
        one_of(problems, &at.child("procMount"), kind, &["Default", "Unmasked"]);
        if kind == "Unmasked" && around.shares_users {
            let why = "`hostUsers` must be false to use `Unmasked`";
            problems.push(FieldError::invalid(at.child("procMount"), kind, why));
        }
    }
    if part(context, "allowPrivilegeEscalation") == &json!(false) {
        if flag(context, "privileged") {
            let why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true";
            problems.push(FieldError::invalid(at, context.clone(), why));
        }
        if items(part(context, "capabilities"), "add").any(|name| name == "CAP_SYS_ADMIN") {
            let why = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN";
            problems.push(FieldError::invalid(at, context.clone(), why));
        }
    }
}

/// Users and groups are numbers that fit.
pub(super) fn check_ids(context: &Value, at: &FieldPath, fields: &[&str], problems: &mut Problems) {
    for field in fields {
        if let Some(id) = int(context, field) {
            within(problems, &at.child(field), id, 0, i64::from(i32::MAX));
        }
    }
}
