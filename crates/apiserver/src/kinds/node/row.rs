//! The row of a node, as kubectl prints it.

use std::collections::BTreeSet;

use jiff::Timestamp;
use safepoint_machinery::meta;
use serde_json::Value;

use super::super::check::{flag, part, word};
use super::super::items;
use crate::table::{self, Column};

const ROLE_PREFIX: &str = "node-role.kubernetes.io/";
const ROLE_LABEL: &str = "kubernetes.io/role";

pub(super) fn columns() -> Vec<Column> {
    let text = |name: &str, description: &str| Column::new(name, "string", description);
    vec![
        text("Status", "Whether it is ready, and whether it takes new pods."),
        text("Roles", "What its labels say it is for."),
        Column::age(),
        text("Version", "The version of its kubelet."),
        text("Internal-IP", "Its address inside the cluster.").wide(),
        text("External-IP", "Its address outside of it.").wide(),
        text("OS-Image", "Its operating system.").wide(),
        text("Kernel-Version", "Its kernel.").wide(),
        text("Container-Runtime", "What runs its containers.").wide(),
    ]
}

pub(super) fn cells(node: &Value, now: Timestamp) -> Vec<Value> {
    let status = part(node, "status");
    let info = part(status, "nodeInfo");
    let known = |field: &str| match word(info, field) {
        "" => "<unknown>".to_owned(),
        text => text.to_owned(),
    };
    let mut kernel = known("kernelVersion");
    let architecture = word(info, "architecture");
    if !architecture.is_empty() {
        kernel = format!("{kernel} ({architecture})");
    }
    vec![
        state(node).into(),
        roles(node).into(),
        table::age(node, now),
        word(info, "kubeletVersion").into(),
        address(status, "InternalIP").into(),
        address(status, "ExternalIP").into(),
        known("osImage").into(),
        kernel.into(),
        known("containerRuntimeVersion").into(),
    ]
}

fn state(node: &Value) -> String {
    // The last condition of a type counts.
    let ready = items(part(node, "status"), "conditions").filter(|one| word(one, "type") == "Ready").last();
    let mut state = match ready.map(|condition| word(condition, "status")) {
        None => "Unknown",
        Some("True") => "Ready",
        Some(_) => "NotReady",
    }
    .to_owned();
    if flag(part(node, "spec"), "unschedulable") {
        state.push_str(",SchedulingDisabled");
    }
    state
}

fn roles(node: &Value) -> String {
    let labels = meta::labels(node);
    let roles: BTreeSet<&str> = labels
        .iter()
        .filter_map(|(key, value)| match key.strip_prefix(ROLE_PREFIX) {
            Some(role) => Some(role),
            None if key == ROLE_LABEL => Some(value.as_str()),
            None => None,
        })
        .filter(|role| !role.is_empty())
        .collect();
    if roles.is_empty() { "<none>".to_owned() } else { roles.into_iter().collect::<Vec<_>>().join(",") }
}

fn address<'a>(status: &'a Value, kind: &str) -> &'a str {
    let address = items(status, "addresses").find(|address| word(address, "type") == kind);
    address.map_or("<none>", |address| word(address, "address"))
}
