//! The annotation that says which finalizers a pod has to have before it is in service. Pure.
//!
//! It is shared with others, so what is not ours is kept as it is, fields that nobody has heard of included. One that cannot be
//! read is left alone: nobody could say what would be lost.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use safepoint_api::names::kusionstack::AVAILABLE_CONDITIONS;
use serde_json::{Value, json};

use super::Employer;

pub(super) const ANNOTATION: &str = AVAILABLE_CONDITIONS;
const EXPECTED: &str = "expectedFinalizers";

/// What is to become of the annotation.
#[derive(PartialEq, Eq, Debug)]
pub(super) enum Becomes {
    /// It is as it should be.
    Same,
    /// It gets this value, or goes.
    New(Option<String>),
    /// It is not what it should be, and is left alone.
    Unreadable,
}

/// What the annotation of a pod becomes so that the employer's finalizer is declared, or is not.
pub(super) fn declare(pod: &Pod, employer: &Employer, declared: bool) -> Becomes {
    let text = pod.annotations().get(ANNOTATION).map(String::as_str);
    let mut value: Value = match text.map(serde_json::from_str) {
        None => json!({}),
        Some(Ok(value)) => value,
        Some(Err(_)) => return Becomes::Unreadable,
    };
    let Some(fields) = value.as_object_mut() else { return Becomes::Unreadable };
    let expected = fields.entry(EXPECTED).or_insert_with(|| json!({}));
    if expected.is_null() {
        *expected = json!({});
    }
    let Some(expected) = expected.as_object_mut() else { return Becomes::Unreadable };
    let key = employer.to_string();
    if declared {
        if expected.get(&key).and_then(Value::as_str) == Some(employer.finalizer()) {
            return Becomes::Same;
        }
        expected.insert(key, json!(employer.finalizer()));
    } else if expected.remove(&key).is_none() {
        return Becomes::Same;
    }
    let is_empty = expected.is_empty() && fields.len() == 1;
    Becomes::New((!is_empty).then(|| value.to_string()))
}
