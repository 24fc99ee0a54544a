//! The status of a pod: what it begins with, what a writer of it cannot take away, and what must hold.

use safepoint_machinery::status::{FieldError, FieldPath};
use safepoint_machinery::{meta, names};
use serde_json::{Value, json};

use super::super::check::{
    drop_empty, each, has, immutable, int, ip, is_ip, is_one_of_each_family, part, set, word,
};
use super::super::{containers, items, items_mut, set_default};
use crate::fault::Problems;

/// A new pod waits, and its quality of service is decided.
pub(super) fn begin(pod: &mut Value) {
    let spec = part(pod, "spec");
    let mut status = json!({"phase": "Pending", "qosClass": containers::quality(spec)});
    if items(spec, "schedulingGates").next().is_some() {
        status["conditions"] = json!([{
            "type": "PodScheduled", "status": "False", "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null, "lastTransitionTime": meta::creation_timestamp(pod),
        }]);
    }
    set(pod, "status", status);
}

/// Old kubelets leave out what they do not know.
pub(super) fn carry(new: &mut Value, old: &Value) {
    let before = part(old, "status");
    if !new.get("status").is_some_and(Value::is_object) {
        new["status"] = serde_json::json!({});
    }
    let status = &mut new["status"];
    drop_empty(status, "qosClass");
    if has(before, "qosClass") {
        set_default(status, "qosClass", part(before, "qosClass").clone());
    }
    keep_generation(status, before);
    // There may be several conditions of a type: each is the next of the old ones.
    let mut known: Vec<&Value> = items(before, "conditions").collect();
    for condition in items_mut(status, "conditions") {
        let found = known.iter().position(|old| word(old, "type") == word(condition, "type"));
        if let Some(index) = found {
            keep_generation(condition, known.remove(index));
        }
    }
}

fn keep_generation(new: &mut Value, old: &Value) {
    let before = int(old, "observedGeneration").unwrap_or_default();
    if before != 0 && int(new, "observedGeneration").unwrap_or_default() == 0 {
        set(new, "observedGeneration", before);
    }
}

pub(super) fn check(new: &Value, old: &Value, problems: &mut Problems) {
    let at = FieldPath::new("status");
    let (status, before) = (part(new, "status"), part(old, "status"));
    check_conditions(status, &at.child("conditions"), problems);
    check_nominee(new, old, &at.child("nominatedNodeName"), problems);
    check_generation(status, &at, problems);
    immutable(problems, &at.child("qosClass"), part(status, "qosClass"), part(before, "qosClass"));
    let spec = part(old, "spec");
    for (list, containers) in [
        ("containerStatuses", Some("containers")),
        ("initContainerStatuses", Some("initContainers")),
        ("ephemeralContainerStatuses", None),
    ] {
        check_ends(status, before, list, spec, containers, &at.child(list), problems);
    }
    check_addresses(status, "podIPs", &at, problems);
    if let Some(first) = items(status, "hostIPs").next().map(|first| word(first, "ip")) {
        if word(status, "hostIP") != first {
            let at = at.child("hostIPs").index(0).child("ip");
            problems.push(FieldError::invalid(&at, first, "must be equal to `hostIP`"));
        }
        check_addresses(status, "hostIPs", &at, problems);
    }
}

fn check_conditions(status: &Value, at: &FieldPath, problems: &mut Problems) {
    for (index, condition) in items(status, "conditions").enumerate() {
        let at = at.index(index);
        check_generation(condition, &at, problems);
        let kind = word(condition, "type");
        if !matches!(kind, "PodScheduled" | "Ready" | "Initialized") {
            each(problems, &at.child("Type"), kind, names::qualified_name(kind));
        }
    }
}

fn check_generation(object: &Value, at: &FieldPath, problems: &mut Problems) {
    if let Some(generation) = int(object, "observedGeneration").filter(|generation| *generation < 0) {
        let at = at.child("observedGeneration");
        problems.push(FieldError::invalid(&at, generation, "must be a non-negative integer"));
    }
}

fn check_nominee(new: &Value, old: &Value, at: &FieldPath, problems: &mut Problems) {
    let nominee = word(part(new, "status"), "nominatedNodeName");
    if nominee.is_empty() || nominee == word(part(old, "status"), "nominatedNodeName") {
        return;
    }
    each(problems, at, nominee, names::dns1123_subdomain(nominee));
    if !word(part(old, "spec"), "nodeName").is_empty() {
        problems.push(FieldError::forbidden(at, "may not be set on pods that are already bound to a node"));
    }
}

/// A container that has ended for good stays ended.
fn check_ends(
    status: &Value,
    before: &Value,
    list: &str,
    spec: &Value,
    containers: Option<&str>,
    at: &FieldPath,
    problems: &mut Problems,
) {
    let restarts_all = |container: &Value| {
        items(container, "restartPolicyRules").any(|rule| word(rule, "action") == "RestartAllContainers")
    };
    if containers.is_some()
        && items(spec, "containers").chain(items(spec, "initContainers")).any(restarts_all)
    {
        return;
    }
    for (index, old) in items(before, list).enumerate() {
        let Some(ended) = part(old, "state").get("terminated").filter(|ended| !ended.is_null()) else {
            continue;
        };
        let name = word(old, "name");
        let is_back = items(status, list)
            .any(|new| word(new, "name") == name && !has(part(new, "state"), "terminated"));
        if !is_back {
            continue;
        }
        let code = int(ended, "exitCode").unwrap_or_default();
        let container = containers.and_then(|list| items(spec, list).find(|one| word(one, "name") == name));
        if !container.is_some_and(|container| may_restart(container, spec, code)) {
            let why = "may not be transitioned to non-terminated state";
            problems.push(FieldError::forbidden(at.index(index).child("state"), why));
        }
    }
}

fn may_restart(container: &Value, spec: &Value, code: i64) -> bool {
    let own = word(container, "restartPolicy");
    let matches = |rule: &Value| {
        let codes = part(rule, "exitCodes");
        let is_listed = items(codes, "values").any(|value| value.as_i64() == Some(code));
        match word(codes, "operator") {
            "In" => is_listed,
            "NotIn" => !is_listed,
            _ => false,
        }
    };
    if !own.is_empty() && items(container, "restartPolicyRules").any(matches) {
        return true;
    }
    match if own.is_empty() { word(spec, "restartPolicy") } else { own } {
        "OnFailure" => code != 0,
        "Never" => false,
        _ => true,
    }
}

fn check_addresses(status: &Value, list: &str, at: &FieldPath, problems: &mut Problems) {
    let at = at.child(list);
    let addresses: Vec<&str> = items(status, list).map(|address| word(address, "ip")).collect();
    for (index, address) in addresses.iter().enumerate() {
        ip(problems, &at.index(index), address);
    }
    // Kubernetes cannot tell the family of what is no address, and says so as well.
    let unreadable =
        (addresses.len() > 1).then(|| addresses.iter().position(|address| !is_ip(address))).flatten();
    if let Some(index) = unreadable {
        let why =
            format!("failed to check for dual stack with error:invalid IP[{index}]: {}", addresses[index]);
        problems.push(FieldError::internal(&at, why));
    }
    if unreadable.is_some() || !is_one_of_each_family(&addresses) {
        let why = "may specify no more than one IP for each IP family";
        problems.push(FieldError::invalid(&at, part(status, list).clone(), why));
    }
}
