//! What is wrong with a rule. Values that another value already covers are refused: who writes them believes that the
//! rule is narrower than it is.

use std::collections::BTreeSet;

use safepoint_machinery::status::{FieldError, FieldErrors};
use serde_json::json;

use super::field::Field;
use super::one_of;

const OPERATIONS: [&str; 5] = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
const SCOPES: [&str; 3] = ["*", "Cluster", "Namespaced"];

pub(super) fn check(rule: &Field<'_>, errors: &mut FieldErrors) {
    let operations = rule.child("operations");
    some_or_any(&operations, "operations", errors);
    for operation in operations.items(errors) {
        one_of(&operation, &OPERATIONS, errors);
    }
    some_or_any(&rule.child("apiGroups"), "API groups", errors);
    let versions = rule.child("apiVersions");
    some_or_any(&versions, "API versions", errors);
    for version in versions.items(errors) {
        if version.text(errors) == Some("") {
            errors.push(FieldError::required(&version.path, ""));
        }
    }
    check_resources(&rule.child("resources"), errors);
    one_of(&rule.child("scope"), &SCOPES, errors);
}

/// At least one, and nothing beside `*`.
fn some_or_any(field: &Field<'_>, what: &str, errors: &mut FieldErrors) {
    // The types of the items are told by who reads them for their own sake.
    let texts = field.texts(&mut FieldErrors::new());
    if texts.is_empty() {
        errors.push(FieldError::required(&field.path, ""));
    }
    if texts.len() > 1 && texts.contains(&"*") {
        let detail = format!("if '*' is present, must not specify other {what}");
        errors.push(FieldError::invalid(&field.path, json!(texts), detail));
    }
}

fn check_resources(field: &Field<'_>, errors: &mut FieldErrors) {
    let items = field.items(errors);
    let items: Vec<_> = items.iter().filter_map(|item| Some((item, item.text(errors)?))).collect();
    let texts: Vec<&str> = items.iter().map(|(_, text)| *text).collect();
    if texts.is_empty() {
        errors.push(FieldError::required(&field.path, ""));
    }
    // `x` of `x/*` and of `*/x` met so far.
    let (mut whole, mut everywhere) = (BTreeSet::new(), BTreeSet::new());
    let mut last_main = None;
    for (item, text) in &items {
        let Some((resource, sub)) = text.split_once('/') else {
            match *text {
                "" => errors.push(FieldError::required(&item.path, "")),
                text => last_main = Some(text),
            }
            continue;
        };
        let mut covered = |by: String| {
            let detail = format!("if '{by}' is present, must not specify {text}");
            errors.push(FieldError::invalid(&item.path, *text, detail));
        };
        if whole.contains(resource) {
            covered(format!("{resource}/*"));
        }
        if everywhere.contains(sub) {
            covered(format!("*/{sub}"));
        }
        if sub == "*" {
            whole.insert(resource);
        }
        if resource == "*" {
            everywhere.insert(sub);
        }
    }
    if texts.len() > 1 && texts.contains(&"*/*") {
        let detail = "if '*/*' is present, must not specify other resources";
        errors.push(FieldError::invalid(&field.path, json!(texts), detail));
    }
    // Kubernetes looks at the last resource without a subresource only, so that `["pods", "*"]` passes there and here.
    if texts.contains(&"*") && last_main.is_some_and(|main| main != "*") {
        let detail = "if '*' is present, must not specify other resources without subresources";
        errors.push(FieldError::invalid(&field.path, json!(texts), detail));
    }
}
