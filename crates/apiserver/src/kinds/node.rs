//! `Node`: a machine that runs pods.
//!
//! A kubelet registers its node with the status that it has: a status is kept at creation. Kubernetes taints a new node
//! `not-ready` and its node controller takes the taint away; there is no such controller here, so there is no such taint.

mod row;
#[cfg(test)]
mod tests;

use jiff::Timestamp;
use safepoint_machinery::names;
use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::{Value, json};

use super::check::{
    cidr, drop_empty, each, flag, has, is_one_of_each_family, object_at, one_of, part, set, word,
};
use super::{Rules, amounts, items, items_mut, remove, set_default, take_from};
use crate::fault::Problems;
use crate::table::Column;

pub(crate) struct Nodes;

impl Rules for Nodes {
    fn unreadable(&self, object: &Value) -> Option<String> {
        let lists = ["capacity", "allocatable"].map(|field| part(part(object, "status"), field));
        amounts::unreadable(lists.into_iter())
    }

    fn default(&self, object: &mut Value) {
        if let Some(spec) = object_at(object, "spec") {
            default_spec(spec);
        }
        if let Some(status) = object_at(object, "status") {
            default_status(status);
        }
    }

    fn begin(&self, object: &mut Value) {
        // Kubelets were once configured through the API; what is left of it is not kept.
        for (part, field) in [("spec", "configSource"), ("status", "config")] {
            if let Some(part) = object.get_mut(part) {
                remove(part, field);
            }
        }
    }

    fn carry(&self, new: &mut Value, old: &Value) {
        take_from(new, old, "status");
        if let Some(spec) = new.get_mut("spec")
            && !has(part(old, "spec"), "configSource")
        {
            remove(spec, "configSource");
        }
    }

    fn carry_status(&self, new: &mut Value, old: &Value) {
        if let Some(status) = new.get_mut("status")
            && !has(part(old, "status"), "config")
        {
            remove(status, "config");
        }
    }

    fn check(&self, object: &Value, problems: &mut Problems) {
        // The place is Kubernetes' own: it says metadata and means the spec.
        check_taints(part(object, "spec"), &FieldPath::new("metadata").child("taints"), problems);
        check_resources(object, problems);
        check_networks(part(object, "spec"), problems);
    }

    fn check_change(&self, new: &Value, old: &Value, problems: &mut Problems) {
        let at = FieldPath::new("spec");
        let (new_spec, old_spec) = (part(new, "spec"), part(old, "spec"));
        let set_before = |field: &str| has(old_spec, field) && part(new_spec, field) != part(old_spec, field);
        if set_before("podCIDRs") {
            let why = "node updates may not change podCIDR except from \"\" to valid";
            problems.push(FieldError::forbidden(at.child("podCIDRs"), why));
        }
        if !word(old_spec, "providerID").is_empty() && set_before("providerID") {
            let why = "node updates may not change providerID except from \"\" to valid";
            problems.push(FieldError::forbidden(at.child("providerID"), why));
        }
        if word(new_spec, "externalID") != word(old_spec, "externalID") {
            problems.push(FieldError::forbidden(at.child("externalID"), "may not be updated"));
        }
        check_addresses(part(new, "status"), problems);
    }

    fn check_status(&self, new: &Value, _old: &Value, problems: &mut Problems) {
        check_resources(new, problems);
        check_addresses(part(new, "status"), problems);
    }

    fn check_name(&self, name: &str, is_prefix: bool) -> Vec<String> {
        let masked = if is_prefix { names::as_prefix(name) } else { name.into() };
        names::dns1123_subdomain(&masked)
    }

    fn fields(&self) -> &'static [&'static str] {
        &["spec.unschedulable"]
    }

    fn field(&self, object: &Value, field: &str) -> Option<String> {
        (field == "spec.unschedulable").then(|| flag(part(object, "spec"), "unschedulable").to_string())
    }

    fn columns(&self) -> Vec<Column> {
        row::columns()
    }

    fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        row::cells(object, now)
    }
}

fn default_spec(spec: &mut Value) {
    for field in ["taints", "podCIDR", "podCIDRs", "providerID", "externalID"] {
        drop_empty(spec, field);
    }
    if !flag(spec, "unschedulable") {
        remove(spec, "unschedulable");
    }
    // The old field is the first of the new ones. Where they differ, an old client is at work and means the old one.
    let first = items(spec, "podCIDRs").next().cloned();
    match (spec.get("podCIDR").cloned(), first) {
        (Some(one), first) if first.as_ref() != Some(&one) => set(spec, "podCIDRs", json!([one])),
        (None, Some(first)) => set(spec, "podCIDR", first),
        _ => {}
    }
}

fn default_status(status: &mut Value) {
    for field in ["capacity", "allocatable", "conditions", "addresses", "images"] {
        drop_empty(status, field);
    }
    for field in ["capacity", "allocatable"] {
        amounts::write_all(status, field);
    }
    if !has(status, "allocatable")
        && let Some(capacity) = status.get("capacity").filter(|capacity| capacity.is_object()).cloned()
    {
        set(status, "allocatable", capacity);
    }
    for condition in items_mut(status, "conditions") {
        for field in ["lastHeartbeatTime", "lastTransitionTime"] {
            set_default(condition, field, Value::Null);
        }
    }
    if let Some(endpoints) = object_at(status, "daemonEndpoints") {
        set_default(endpoints, "kubeletEndpoint", json!({"Port": 0}));
    }
    if let Some(info) = object_at(status, "nodeInfo") {
        for field in [
            "machineID",
            "systemUUID",
            "bootID",
            "kernelVersion",
            "osImage",
            "containerRuntimeVersion",
            "kubeletVersion",
            "kubeProxyVersion",
            "operatingSystem",
            "architecture",
        ] {
            set_default(info, field, "");
        }
    }
}

fn check_taints(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    let mut seen: Vec<(&str, &str)> = Vec::new();
    for (index, taint) in items(spec, "taints").enumerate() {
        let at = at.index(index);
        let (key, value, effect) = (word(taint, "key"), word(taint, "value"), word(taint, "effect"));
        each(problems, &at.child("key"), key, names::qualified_name(key));
        let messages = names::label_value(value);
        if !messages.is_empty() {
            problems.push(FieldError::invalid(at.child("value"), value, messages.join(";")));
        }
        one_of(problems, &at.child("effect"), effect, &EFFECTS);
        if seen.contains(&(key, effect)) {
            let mut problem = FieldError::duplicate(
                &at,
                json!({"Key": key, "Value": value, "Effect": effect, "TimeAdded": part(taint, "timeAdded")}),
            );
            problem.detail = "taints must be unique by key and effect pair".to_owned();
            problems.push(problem);
        }
        seen.push((key, effect));
    }
}

/// What a taint can do to pods.
pub(super) const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

fn check_resources(object: &Value, problems: &mut Problems) {
    let status = part(object, "status");
    for field in ["capacity", "allocatable"] {
        let at = FieldPath::new("status").child(field);
        for (name, value) in part(status, field).as_object().into_iter().flatten() {
            amounts::check(problems, &at.child(name), name, value);
        }
    }
}

/// No address is there twice. A new node is not asked, as in Kubernetes.
fn check_addresses(status: &Value, problems: &mut Problems) {
    let at = FieldPath::new("status").child("addresses");
    let addresses: Vec<&Value> = items(status, "addresses").collect();
    for (index, address) in addresses.iter().enumerate() {
        if addresses[..index].contains(address) {
            let shown = json!({"Type": word(address, "type"), "Address": word(address, "address")});
            problems.push(FieldError::duplicate(at.index(index), shown));
        }
    }
}

fn check_networks(spec: &Value, problems: &mut Problems) {
    let at = FieldPath::new("spec").child("podCIDRs");
    let networks: Vec<&str> =
        items(spec, "podCIDRs").map(|network| network.as_str().unwrap_or_default()).collect();
    for (index, network) in networks.iter().enumerate() {
        cidr(problems, &at.index(index), network);
    }
    if !is_one_of_each_family(&networks) {
        let why = "may specify no more than one CIDR for each IP family";
        problems.push(FieldError::invalid(&at, networks, why));
    }
}
