//! What must hold for the specification of a pod.
//!
//! Affinities, spread constraints and what is special about Windows are kept as they are: no scheduler and no Windows
//! node is here to mind.

use safepoint_machinery::status::{FieldError, FieldPath};
use safepoint_machinery::{meta, names};
use serde_json::Value;

use super::super::check::{each, flag, has, int, labels, one_of, one_of_if_any, part, within, word};
use super::super::containers::{self, Around};
use super::super::node::EFFECTS;
use super::super::{amounts, items, volumes};
use super::network;
use crate::fault::Problems;

pub(super) fn check(pod: &Value, problems: &mut Problems) {
    check_annotations(pod, problems);
    let (spec, at) = (part(pod, "spec"), FieldPath::new("spec"));
    let volumes = volumes::check(pod, &at.child("volumes"), problems);
    let around = Around::new(spec, volumes);
    check_claims(pod, &at.child("resourceClaims"), problems);
    containers::check_main(spec, &at.child("containers"), &around, problems);
    containers::check_init(spec, &at.child("initContainers"), &around, problems);
    containers::check_pod_resources(spec, &at.child("resources"), problems);
    network::check_host_network(spec, &at, problems);
    one_of(
        problems,
        &at.child("restartPolicy"),
        word(spec, "restartPolicy"),
        &["Always", "OnFailure", "Never"],
    );
    let dns = word(spec, "dnsPolicy");
    one_of(
        problems,
        &at.child("dnsPolicy"),
        dns,
        &["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"],
    );
    labels(problems, &at.child("nodeSelector"), spec, "nodeSelector");
    check_security(spec, &at.child("securityContext"), problems);
    network::check_dns(spec, &at.child("dnsConfig"), problems);
    for (index, gate) in items(spec, "readinessGates").enumerate() {
        let kind = word(gate, "conditionType");
        let at = at.child("readinessGates").index(index).child("conditionType");
        each(problems, &at, kind, names::qualified_name(kind));
    }
    check_gates(spec, &at.child("schedulingGates"), problems);
    network::check_host_users(spec, &at, problems);
    check_names(spec, &at, problems);
    check_tolerations(spec, &at.child("tolerations"), problems);
    network::check_aliases(spec, &at.child("hostAliases"), problems);
    check_name(spec, "priorityClassName", names::dns1123_subdomain, &at, problems);
    check_name(spec, "runtimeClassName", names::dns1123_subdomain, &at, problems);
    let preemption = word(spec, "preemptionPolicy");
    one_of_if_any(problems, &at.child("preemptionPolicy"), preemption, &["PreemptLowerPriority", "Never"]);
    if has(spec, "os") {
        let at = at.child("os");
        match word(part(spec, "os"), "name") {
            "" => problems.push(FieldError::required(at.child("name"), "cannot be empty")),
            system => one_of(problems, &at, system, &["linux", "windows"]),
        }
    }
    check_variable_files(spec, &at, problems);
    check_tokens(spec, &at.child("volumes"), problems);
    for list in ["containers", "initContainers"] {
        for (index, container) in items(spec, list).enumerate() {
            containers::check_image_ends(container, &at.child(list).index(index), problems);
        }
    }
}

/// What a typed reader could not read: amounts that are none.
pub(super) fn unreadable(pod: &Value) -> Option<String> {
    let spec = part(pod, "spec");
    let containers = ["containers", "initContainers"].into_iter().flat_map(|list| items(spec, list));
    let resources =
        containers.map(|one| part(one, "resources")).chain(std::iter::once(part(spec, "resources")));
    let lists = resources.flat_map(|one| [part(one, "limits"), part(one, "requests")]);
    let sizes = items(spec, "volumes").map(|volume| part(part(volume, "emptyDir"), "sizeLimit"));
    amounts::unreadable(lists.chain(std::iter::once(part(spec, "overhead"))))
        .or_else(|| amounts::unreadable_each(sizes.filter(|size| !size.is_null())))
}

fn check_annotations(pod: &Value, problems: &mut Problems) {
    const MIRROR: &str = "kubernetes.io/config.mirror";
    const COST: &str = "controller.kubernetes.io/pod-deletion-cost";
    let at = FieldPath::new("metadata").child("annotations");
    if let Some(mirror) = meta::annotation(pod, MIRROR)
        && word(part(pod, "spec"), "nodeName").is_empty()
    {
        let why = "must set spec.nodeName if mirror pod annotation is set";
        problems.push(FieldError::invalid(at.key(MIRROR), mirror, why));
    }
    if let Some(cost) = meta::annotation(pod, COST) {
        let starts_well = cost == "0" || cost.starts_with(|c: char| c == '-' || ('1'..='9').contains(&c));
        if !starts_well || cost.parse::<i32>().is_err() {
            problems.push(FieldError::invalid(at.key(COST), cost, "must be a 32bit integer"));
        }
    }
}

fn check_claims(pod: &Value, at: &FieldPath, problems: &mut Problems) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, claim) in items(part(pod, "spec"), "resourceClaims").enumerate() {
        let at = at.index(index);
        match word(claim, "name") {
            "" => problems.push(FieldError::required(at.child("name"), "")),
            name if seen.contains(&name) => problems.push(FieldError::duplicate(at.child("name"), name)),
            name => {
                each(problems, &at.child("name"), name, names::dns1123_label(name));
                seen.push(name);
            }
        }
        let sources: Vec<&str> = ["resourceClaimName", "resourceClaimTemplateName"]
            .into_iter()
            .filter(|field| has(claim, field))
            .collect();
        let why = match sources.len() {
            0 => Some("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"),
            1 => None,
            _ => Some("at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"),
        };
        problems.extend(why.map(|why| FieldError::invalid(&at, claim.clone(), why)));
        for field in sources {
            let name = word(claim, field);
            each(problems, &at.child(field), name, names::dns1123_subdomain(name));
        }
    }
}

fn check_security(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    let context = part(spec, "securityContext");
    containers::check_ids(context, at, &["fsGroup", "runAsUser", "runAsGroup"], problems);
    for (index, group) in items(context, "supplementalGroups").enumerate() {
        let at = at.child("supplementalGroups").index(index);
        within(problems, &at, group.as_i64().unwrap_or_default(), 0, i64::from(i32::MAX));
    }
    if flag(spec, "shareProcessNamespace") && flag(spec, "hostPID") {
        let why = "ShareProcessNamespace and HostPID cannot both be enabled";
        problems.push(FieldError::invalid(at.child("shareProcessNamespace"), true, why));
    }
    let change = word(context, "fsGroupChangePolicy");
    one_of_if_any(problems, &at.child("fsGroupChangePolicy"), change, &["Always", "OnRootMismatch"]);
    let groups = word(context, "supplementalGroupsPolicy");
    one_of_if_any(problems, &at.child("supplementalGroupsPolicy"), groups, &["Merge", "Strict"]);
}

fn check_gates(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, name) in items(spec, "schedulingGates").map(|gate| word(gate, "name")).enumerate() {
        each(problems, &at.index(index), name, names::qualified_name(name));
        if seen.contains(&name) {
            problems.push(FieldError::duplicate(at.index(index), name));
        }
        seen.push(name);
    }
}

fn check_names(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    check_name(spec, "serviceAccountName", names::dns1123_subdomain, at, problems);
    check_name(spec, "nodeName", names::dns1123_subdomain, at, problems);
    if let Some(seconds) = int(spec, "activeDeadlineSeconds") {
        within(problems, &at.child("activeDeadlineSeconds"), seconds, 1, i64::from(i32::MAX));
    }
    check_name(spec, "hostname", names::dns1123_label, at, problems);
    check_name(spec, "subdomain", names::dns1123_label, at, problems);
}

fn check_name(
    spec: &Value,
    field: &str,
    rule: fn(&str) -> Vec<String>,
    at: &FieldPath,
    problems: &mut Problems,
) {
    let name = word(spec, field);
    if !name.is_empty() {
        each(problems, &at.child(field), name, rule(name));
    }
}

/// Checks tolerations. Those of a changed pod are checked with the change.
pub(crate) fn check_tolerations(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    for (index, toleration) in items(spec, "tolerations").enumerate() {
        let at = at.index(index);
        let (key, value) = (word(toleration, "key"), word(toleration, "value"));
        let (operator, effect) = (word(toleration, "operator"), word(toleration, "effect"));
        let operator_at = at.child("operator");
        if key.is_empty() {
            if operator != "Exists" {
                let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
                problems.push(FieldError::invalid(&operator_at, operator, why));
            }
        } else {
            each(problems, &at.child("key"), key, names::qualified_name(key));
        }
        if has(toleration, "tolerationSeconds") && effect != "NoExecute" {
            let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
            problems.push(FieldError::invalid(at.child("effect"), effect, why));
        }
        match operator {
            "" | "Equal" => {
                let messages = names::label_value(value);
                if !messages.is_empty() {
                    problems.push(FieldError::invalid(&operator_at, value, messages.join(";")));
                }
            }
            "Exists" if value.is_empty() => {}
            "Exists" => {
                let why = "value must be empty when `operator` is 'Exists'";
                problems.push(FieldError::invalid(&operator_at, value, why));
            }
            // Comparisons are a feature that is off unless it is asked for.
            "Lt" | "Gt" => {
                let known = ["Equal", "Exists", "Lt", "Gt"];
                problems.push(FieldError::not_supported(&operator_at, operator, &known));
            }
            _ => problems.push(FieldError::not_supported(&operator_at, operator, &["Equal", "Exists"])),
        }
        one_of_if_any(problems, &at.child("effect"), effect, &EFFECTS);
    }
}

/// A variable can come from a file, if that is in a directory which the pod fills itself.
fn check_variable_files(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    for list in ["initContainers", "containers"] {
        for (index, container) in items(spec, list).enumerate() {
            let at = at.child(list).index(index).child("env");
            for (index, variable) in items(container, "env").enumerate() {
                let Some(file) = variable.pointer("/valueFrom/fileKeyRef").filter(|file| !file.is_null())
                else {
                    continue;
                };
                let at = at.index(index).child("valueFrom").child("fileKeyRef").child("volumeName");
                let name = word(file, "volumeName");
                match items(spec, "volumes").filter(|volume| word(volume, "name") == name).last() {
                    None => problems.push(FieldError::not_found(&at, name)),
                    Some(volume) if !has(volume, "emptyDir") => {
                        let why = "referenced volume must be of type emptyDir";
                        problems.push(FieldError::invalid(&at, name, why));
                    }
                    Some(_) => {}
                }
            }
        }
    }
}

/// A token is somebody's.
fn check_tokens(spec: &Value, at: &FieldPath, problems: &mut Problems) {
    if !word(spec, "serviceAccountName").is_empty() {
        return;
    }
    for (index, volume) in items(spec, "volumes").enumerate() {
        let at = at.index(index).child("projected").child("sources");
        for (index, source) in items(part(volume, "projected"), "sources").enumerate() {
            if has(source, "serviceAccountToken") {
                let why = "must not be specified when serviceAccountName is not set";
                problems.push(FieldError::forbidden(at.index(index).child("serviceAccountToken"), why));
            }
        }
    }
}
