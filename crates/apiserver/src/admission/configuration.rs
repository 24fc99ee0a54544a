//! Webhook configurations as objects of the API: what is filled in, and what is refused.
//!
//! The texts are those of Kubernetes. Stricter than there are only versions of reviews (of v1 and v1beta1, v1 is what we
//! speak, so a hook that does not take it is refused here and not by every write) and expressions that name `authorizer`.

mod client;
mod field;
mod rules;
#[cfg(test)]
mod tests;

use safepoint_machinery::names;
use safepoint_machinery::selector::LabelSelector;
use safepoint_machinery::status::{FieldError, FieldErrors};
use serde_json::{Map, Value, json};

use super::expression::Expression;
use super::hook::Flavour;
use field::Field;

/// The reviews that we write.
const VERSIONS: &str = "v1";
const MOST_CONDITIONS: usize = 64;

/// Fills in what a `MutatingWebhookConfiguration` or `ValidatingWebhookConfiguration` leaves out.
pub(crate) fn default_configuration(configuration: &mut Value) {
    let is_mutating = configuration.get("kind").is_some_and(|kind| kind == "MutatingWebhookConfiguration");
    for hook in objects(configuration.get_mut("webhooks")) {
        let mut set = |field: &str, value: Value| set_default(hook, field, value);
        set("failurePolicy", "Fail".into());
        set("matchPolicy", "Equivalent".into());
        set("namespaceSelector", json!({}));
        set("objectSelector", json!({}));
        set("timeoutSeconds", 10.into());
        if is_mutating {
            set("reinvocationPolicy", "Never".into());
        }
        for rule in objects(hook.get_mut("rules")) {
            set_default(rule, "scope", "*".into());
        }
        let service = hook.get_mut("clientConfig").and_then(|config| config.get_mut("service"));
        if let Some(service) = service.and_then(Value::as_object_mut) {
            set_default(service, "port", 443.into());
        }
    }
}

fn objects(list: Option<&mut Value>) -> impl Iterator<Item = &mut Map<String, Value>> {
    list.and_then(Value::as_array_mut).into_iter().flatten().filter_map(Value::as_object_mut)
}

fn set_default(object: &mut Map<String, Value>, field: &str, value: Value) {
    let present = object.entry(field).or_insert(Value::Null);
    if present.is_null() {
        *present = value;
    }
}

/// Says what is wrong with a configuration of this kind, after defaulting. Its metadata is not looked at.
pub(crate) fn validate_configuration(configuration: &Value, kind: &str) -> FieldErrors {
    let flavour = match kind {
        "MutatingWebhookConfiguration" => Flavour::Mutating,
        _ => Flavour::Validating,
    };
    let mut errors = FieldErrors::new();
    let mut names = Vec::new();
    for hook in Field::root(configuration, "webhooks").items(&mut errors) {
        check_hook(&hook, flavour, &mut errors);
        let name = hook.child("name");
        match name.value.and_then(Value::as_str).filter(|name| !name.is_empty()) {
            Some(text) if names.contains(&text) => errors.push(FieldError::duplicate(&name.path, text)),
            Some(text) => names.push(text),
            None => {}
        }
    }
    errors
}

fn check_hook(hook: &Field<'_>, flavour: Flavour, errors: &mut FieldErrors) {
    check_name(&hook.child("name"), errors);
    for rule in hook.child("rules").items(errors) {
        rules::check(&rule, errors);
    }
    one_of(&hook.child("failurePolicy"), &["Fail", "Ignore"], errors);
    one_of(&hook.child("matchPolicy"), &["Equivalent", "Exact"], errors);
    check_side_effects(&hook.child("sideEffects"), errors);
    check_timeout(&hook.child("timeoutSeconds"), errors);
    check_selector(&hook.child("namespaceSelector"), errors);
    check_selector(&hook.child("objectSelector"), errors);
    if flavour == Flavour::Mutating {
        one_of(&hook.child("reinvocationPolicy"), &["IfNeeded", "Never"], errors);
    }
    client::check(&hook.child("clientConfig"), errors);
    check_conditions(&hook.child("matchConditions"), errors);
    check_versions(&hook.child("admissionReviewVersions"), errors);
}

fn check_name(name: &Field<'_>, errors: &mut FieldErrors) {
    let Some(text) = name.required_text(errors) else { return };
    let messages = names::dns1123_subdomain(text);
    if !messages.is_empty() {
        errors.push(FieldError::invalid(&name.path, text, messages.join(",")));
    } else if text.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(&name.path, text, detail));
    }
}

/// A value of a closed set, if there is one.
fn one_of(field: &Field<'_>, supported: &[&str], errors: &mut FieldErrors) {
    if let Some(text) = field.text(errors).filter(|text| !supported.contains(text)) {
        errors.push(FieldError::not_supported(&field.path, text, supported));
    }
}

fn check_side_effects(field: &Field<'_>, errors: &mut FieldErrors) {
    const HARMLESS: [&str; 2] = ["None", "NoneOnDryRun"];
    match field.value {
        Some(_) => one_of(field, &HARMLESS, errors),
        None => {
            let detail = format!("must specify one of {}", HARMLESS.join(", "));
            errors.push(FieldError::required(&field.path, detail));
        }
    }
}

fn check_timeout(field: &Field<'_>, errors: &mut FieldErrors) {
    if let Some(seconds) = field.integer(errors).filter(|seconds| !(1..=30).contains(seconds)) {
        let detail = "the timeout value must be between 1 and 30 seconds";
        errors.push(FieldError::invalid(&field.path, seconds, detail));
    }
}

fn check_selector(field: &Field<'_>, errors: &mut FieldErrors) {
    let Some(selector) = field.value else { return };
    let found = LabelSelector::validate_object(selector, &field.path);
    // The check knows fields only. What it does not see, such as a list that is a text, must not pass either.
    if found.is_empty()
        && let Err(error) = LabelSelector::from_object(Some(selector))
    {
        errors.push(FieldError::invalid(&field.path, selector.clone(), error.to_string()));
    }
    errors.extend(found);
}

fn check_conditions(field: &Field<'_>, errors: &mut FieldErrors) {
    let conditions = field.items(errors);
    if conditions.len() > MOST_CONDITIONS {
        errors.push(FieldError::too_many(&field.path, conditions.len(), MOST_CONDITIONS));
        // Compiling is not for free; what is beyond the limit is wrong anyway.
        return;
    }
    let mut names = Vec::new();
    for condition in &conditions {
        let expression = condition.child("expression");
        match expression.text(errors).unwrap_or_default().trim() {
            "" => errors.push(FieldError::required(&expression.path, "")),
            source => {
                if let Err(detail) = Expression::compile(source) {
                    errors.push(FieldError::invalid(&expression.path, source, detail));
                }
            }
        }
        let name = condition.child("name");
        let Some(text) = name.required_text(errors) else { continue };
        errors.invalid_each(&name.path, text, names::qualified_name(text));
        if names.contains(&text) {
            errors.push(FieldError::duplicate(&name.path, text));
        }
        names.push(text);
    }
}

fn check_versions(field: &Field<'_>, errors: &mut FieldErrors) {
    let versions = field.items(errors);
    if versions.is_empty() {
        errors.push(FieldError::required(&field.path, format!("must specify one of {VERSIONS}")));
        return;
    }
    let mut seen = Vec::new();
    for version in &versions {
        let Some(text) = version.text(errors) else { continue };
        if seen.contains(&text) {
            errors.push(FieldError::invalid(&version.path, text, "duplicate version"));
            continue;
        }
        seen.push(text);
        errors.invalid_each(&version.path, text, names::dns1035_label(text));
    }
    if !seen.contains(&VERSIONS) {
        let detail = format!("must include at least one of {VERSIONS}");
        errors.push(FieldError::invalid(&field.path, json!(seen), detail));
    }
}
