//! What may change in a pod that is there: very little, since it runs.
//!
//! Images, the deadline and the tolerations of a running pod may change, within bounds. A pod that is gated does not run
//! yet: its gates may go, and where it may be placed may become narrower.

#[cfg(test)]
mod tests;

use safepoint_machinery::meta;
use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::Value;

use super::check::{has, int, object_at, part, set, within, word};
use super::{items, items_mut, remove, take_from};
use crate::fault::Problems;

const REFUSAL: &str = "pod updates may not change fields other than `spec.containers[*].image`,\
    `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
    `spec.tolerations` (only additions to existing tolerations),\
    `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)";

const MIRROR: &str = "kubernetes.io/config.mirror";
const ARMOR: &str = "container.apparmor.security.beta.kubernetes.io/";

/// Checks a change of a pod, which has been checked by itself already.
pub(super) fn check(new: &Value, old: &Value, problems: &mut Problems) {
    check_annotations(new, old, problems);
    let at = FieldPath::new("spec");
    let (new_spec, old_spec) = (part(new, "spec"), part(old, "spec"));
    for list in ["containers", "initContainers"] {
        if items(new_spec, list).count() != items(old_spec, list).count() {
            let why = "pod updates may not add or remove containers";
            problems.push(FieldError::forbidden(at.child(list), why));
            return;
        }
    }
    if !check_deadline(new_spec, old_spec, &at.child("activeDeadlineSeconds"), problems) {
        return;
    }
    check_tolerations(new_spec, old_spec, &at.child("tolerations"), problems);
    check_gates(new_spec, old_spec, &at.child("schedulingGates"), problems);
    if new_spec == old_spec {
        return;
    }
    let mut munged = new_spec.clone();
    forgive(&mut munged, old_spec);
    if items(old_spec, "schedulingGates").next().is_some() {
        forgive_gated(&mut munged, old_spec, &at, problems);
    }
    if munged != *old_spec {
        let changed = differences(&munged, old_spec, "spec");
        problems.push(FieldError::forbidden(&at, format!("{REFUSAL}\n{}", changed.join("\n"))));
    }
}

pub(super) fn check_annotations(new: &Value, old: &Value, problems: &mut Problems) {
    let at = FieldPath::new("metadata").child("annotations");
    let (after, before) = (meta::annotations(new), meta::annotations(old));
    let mut refuse = |key: &str, why: &str| problems.push(FieldError::forbidden(at.key(key), why));
    for key in before.keys().filter(|key| after.get(*key) != before.get(*key)) {
        if key.starts_with(ARMOR) {
            refuse(key, "may not remove or update AppArmor annotations");
        }
        if key == MIRROR {
            refuse(key, "may not remove or update mirror pod annotation");
        }
    }
    for key in after.keys().filter(|key| !before.contains_key(*key)) {
        if key.starts_with(ARMOR) {
            refuse(key, "may not add AppArmor annotations");
        }
        if key == MIRROR {
            refuse(key, "may not add mirror pod annotation");
        }
    }
}

/// A deadline can be set, and come closer.
fn check_deadline(new: &Value, old: &Value, at: &FieldPath, problems: &mut Problems) -> bool {
    let before = problems.len();
    match (int(new, "activeDeadlineSeconds"), int(old, "activeDeadlineSeconds")) {
        (Some(after), _) if !(0..=i64::from(i32::MAX)).contains(&after) => {
            within(problems, at, after, 0, i64::from(i32::MAX));
        }
        (Some(after), Some(before)) if after > before => {
            problems.push(FieldError::invalid(at, after, "must be less than or equal to previous value"));
        }
        (None, Some(_)) => {
            let why = "must not update from a positive integer to nil value";
            problems.push(FieldError::invalid(at, Value::Null, why));
            // Kubernetes goes on from here, and from nowhere else.
            return true;
        }
        _ => {}
    }
    problems.len() == before
}

/// Tolerations can be added, and last another time.
fn check_tolerations(new: &Value, old: &Value, at: &FieldPath, problems: &mut Problems) {
    let timeless = |toleration: &Value| {
        let mut toleration = toleration.clone();
        remove(&mut toleration, "tolerationSeconds");
        toleration
    };
    let after: Vec<Value> = items(new, "tolerations").map(timeless).collect();
    if !items(old, "tolerations").map(timeless).all(|toleration| after.contains(&toleration)) {
        let why = "existing toleration can not be modified except its tolerationSeconds";
        problems.push(FieldError::forbidden(at, why));
    }
}

/// Gates can only go.
fn check_gates(new: &Value, old: &Value, at: &FieldPath, problems: &mut Problems) {
    for (index, name) in items(new, "schedulingGates").map(|gate| word(gate, "name")).enumerate() {
        if !items(old, "schedulingGates").any(|gate| word(gate, "name") == name) {
            let why = format!("only deletion is allowed, but found new scheduling gate '{name}'");
            problems.push(FieldError::forbidden(at.index(index).child("name"), why));
        }
    }
}

/// Takes back what may change, so that what is left is what may not.
fn forgive(spec: &mut Value, old: &Value) {
    for list in ["containers", "initContainers"] {
        for (container, before) in items_mut(spec, list).zip(items(old, list)) {
            take_from(container, before, "image");
        }
    }
    for field in ["activeDeadlineSeconds", "schedulingGates", "tolerations"] {
        take_from(spec, old, field);
    }
    let was_negative = int(old, "terminationGracePeriodSeconds").is_some_and(|seconds| seconds < 0);
    if was_negative && int(spec, "terminationGracePeriodSeconds") == Some(1) {
        take_from(spec, old, "terminationGracePeriodSeconds");
    }
}

/// Takes back what may change in a pod that waits for its gates: it may be placed more narrowly.
fn forgive_gated(spec: &mut Value, old: &Value, at: &FieldPath, problems: &mut Problems) {
    let (after, before) = (part(spec, "nodeSelector"), part(old, "nodeSelector"));
    let is_narrower =
        before.as_object().into_iter().flatten().all(|(key, value)| after.get(key) == Some(value));
    if !is_narrower {
        let why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)";
        problems.push(FieldError::invalid(at.child("nodeSelector"), after.clone(), why));
    }
    take_from(spec, old, "nodeSelector");
    let (after, before) =
        (part(part(spec, "affinity"), "nodeAffinity"), part(part(old, "affinity"), "nodeAffinity"));
    if after == before {
        return;
    }
    check_affinity(after, before, &at.child("affinity").child("nodeAffinity"), problems);
    let others = |affinity: &Value| has(affinity, "podAffinity") || has(affinity, "podAntiAffinity");
    if !has(old, "affinity") && !others(part(spec, "affinity")) {
        remove(spec, "affinity");
    } else if let Some(affinity) = object_at(spec, "affinity") {
        let before = before.clone();
        if before.is_null() {
            remove(affinity, "nodeAffinity");
        } else {
            set(affinity, "nodeAffinity", before);
        }
    }
}

fn check_affinity(new: &Value, old: &Value, at: &FieldPath, problems: &mut Problems) {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    let terms = |affinity| items(part(affinity, REQUIRED), "nodeSelectorTerms").collect::<Vec<&Value>>();
    let (after, before): (Vec<&Value>, Vec<&Value>) = (terms(new), terms(old));
    if before.is_empty() {
        return;
    }
    let at = at.child(REQUIRED).child("nodeSelectorTerms");
    if after.len() != before.len() {
        let why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed";
        problems.push(FieldError::invalid(&at, part(part(new, REQUIRED), "nodeSelectorTerms").clone(), why));
        return;
    }
    for (index, (after, before)) in after.into_iter().zip(before).enumerate() {
        let starts_with = |field: &str| {
            let mut after = items(after, field);
            items(before, field).all(|one| after.next() == Some(one))
        };
        let count = |term, field| items(term, field).count();
        let was_empty = count(before, "matchExpressions") + count(before, "matchFields") == 0;
        let is_empty = count(after, "matchExpressions") + count(after, "matchFields") == 0;
        if !starts_with("matchExpressions") || !starts_with("matchFields") || (was_empty && !is_empty) {
            let why = "only additions are allowed (no mutations or deletions)";
            problems.push(FieldError::invalid(at.index(index), after.clone(), why));
        }
    }
}

/// The places where two values differ, each with what was there and what is: `- spec.hostname: "a"`, `+ spec.hostname: "b"`.
fn differences(new: &Value, old: &Value, at: &str) -> Vec<String> {
    match (new, old) {
        (Value::Object(after), Value::Object(before)) => {
            let mut keys: Vec<&String> = after.keys().chain(before.keys()).collect();
            keys.sort();
            keys.dedup();
            let both = |key: &String| (part(new, key).clone(), part(old, key).clone());
            let changed = keys.into_iter().map(|key| (key, both(key))).filter(|(_, (new, old))| new != old);
            changed.flat_map(|(key, (new, old))| differences(&new, &old, &format!("{at}.{key}"))).collect()
        }
        (Value::Array(after), Value::Array(before)) if after.len() == before.len() => {
            let pairs = after.iter().zip(before).enumerate().filter(|(_, (new, old))| new != old);
            pairs.flat_map(|(index, (new, old))| differences(new, old, &format!("{at}[{index}]"))).collect()
        }
        _ => vec![format!("- {at}: {old}"), format!("+ {at}: {new}")],
    }
}
