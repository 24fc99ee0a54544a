//! When a container is started again: because it ended, or because what it may use has changed.

use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::Value;

use super::super::check::{one_of, part, word};
use super::super::items;
use crate::fault::Problems;

const RESTARTS: [&str; 3] = ["Always", "Never", "OnFailure"];

pub(super) fn check_restarts(container: &Value, at: &FieldPath, problems: &mut Problems) {
    let policy_at = at.child("restartPolicy");
    let rules: Vec<&Value> = items(container, "restartPolicyRules").collect();
    match container.get("restartPolicy").and_then(Value::as_str) {
        None if rules.is_empty() => return,
        None => problems
            .push(FieldError::required(&policy_at, "must specify restartPolicy when restart rules are used")),
        Some(policy) if !RESTARTS.contains(&policy) => {
            problems.push(FieldError::not_supported(&policy_at, policy, &RESTARTS));
        }
        Some(_) => {}
    }
    let at = at.child("restartPolicyRules");
    if rules.len() > 20 {
        problems.push(FieldError::too_many(&at, rules.len(), 20));
    }
    for (index, rule) in rules.into_iter().enumerate() {
        let at = at.index(index);
        let action = word(rule, "action");
        if !matches!(action, "Restart" | "RestartAllContainers") {
            problems.push(FieldError::not_supported(
                at.child("action"),
                action,
                &["Restart", "RestartAllContainers"],
            ));
        }
        let (codes, at) = (part(rule, "exitCodes"), at.child("exitCodes"));
        if codes.is_null() {
            problems.push(FieldError::required(&at, "must be specified"));
            continue;
        }
        let operator = word(codes, "operator");
        if !matches!(operator, "In" | "NotIn") {
            problems.push(FieldError::not_supported(at.child("operator"), operator, &["In", "NotIn"]));
        }
        let count = items(codes, "values").count();
        if count > 255 {
            problems.push(FieldError::too_many(at.child("values"), count, 255));
        }
    }
}

/// The place of every problem is the list: that is how Kubernetes says it.
pub(super) fn check_resizes(container: &Value, at: &FieldPath, restart: &str, problems: &mut Problems) {
    let mut seen: Vec<&str> = Vec::new();
    for (index, policy) in items(container, "resizePolicy").enumerate() {
        let (resource, action) = (word(policy, "resourceName"), word(policy, "restartPolicy"));
        if seen.contains(&resource) {
            problems.push(FieldError::duplicate(at.index(index), resource));
        }
        seen.push(resource);
        one_of(problems, at, resource, &["cpu", "memory"]);
        one_of(problems, at, action, &["NotRequired", "RestartContainer"]);
        if restart == "Never" && action != "NotRequired" {
            let why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'";
            problems.push(FieldError::invalid(at, action, why));
        }
    }
}
