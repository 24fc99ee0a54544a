//! `admission.k8s.io/v1` `AdmissionReview`: the question to a hook, and what is made of its answer.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::attributes::{Attributes, GroupVersionKind, GroupVersionResource};
use super::convert::Versioned;
use super::hook::Flavour;
use super::matching::Invocation;

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// What a request is about, apart from the objects. Match conditions see this much, too.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct About<'a> {
    kind: &'a GroupVersionKind,
    resource: &'a GroupVersionResource,
    #[serde(skip_serializing_if = "str::is_empty")]
    sub_resource: &'a str,
    request_kind: &'a GroupVersionKind,
    request_resource: &'a GroupVersionResource,
    #[serde(skip_serializing_if = "str::is_empty")]
    request_sub_resource: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    name: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    namespace: &'a str,
    operation: &'static str,
    user_info: &'a Value,
    dry_run: bool,
    options: Option<&'a Value>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Question<'a> {
    kind: &'static str,
    api_version: &'static str,
    request: Request<'a>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Request<'a> {
    uid: &'a str,
    #[serde(flatten)]
    about: About<'a>,
    object: Option<&'a Value>,
    old_object: Option<&'a Value>,
}

/// What a hook said.
#[derive(Debug, PartialEq)]
pub(crate) struct Answer {
    pub(crate) verdict: Verdict,
    pub(crate) warnings: Vec<String>,
}

/// What a hook decided.
#[derive(Debug, PartialEq)]
pub(crate) enum Verdict {
    Allowed(Option<Patch>),
    Denied(Option<Explanation>),
}

/// A change that a hook asks for, not yet read.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Patch {
    pub(crate) kind: String,
    pub(crate) bytes: Vec<u8>,
}

/// A hook's own `Status`, as far as it has a say in ours.
#[derive(Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub(crate) struct Explanation {
    pub(crate) message: Option<String>,
    pub(crate) reason: Option<String>,
    pub(crate) code: Option<i64>,
    pub(crate) details: Option<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review {
    api_version: Option<String>,
    kind: Option<String>,
    response: Option<Response>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Response {
    uid: Option<String>,
    allowed: Option<bool>,
    status: Option<Explanation>,
    patch: Option<String>,
    patch_type: Option<String>,
    warnings: Option<Vec<String>>,
}

// === impl About ===

impl<'a> About<'a> {
    pub(crate) fn of(attributes: &'a Attributes, seen: &'a Invocation) -> About<'a> {
        About {
            kind: &seen.kind,
            resource: &seen.resource,
            sub_resource: attributes.subresource(),
            request_kind: &attributes.kind,
            request_resource: &attributes.resource,
            request_sub_resource: attributes.subresource(),
            name: &attributes.name,
            namespace: attributes.namespace(),
            operation: attributes.operation.name(),
            user_info: &attributes.user_info,
            dry_run: attributes.dry_run,
            options: attributes.options(),
        }
    }
}

/// The question, as it is sent.
pub(crate) fn question(
    uid: &str,
    attributes: &Attributes,
    seen: &Invocation,
    versioned: &Versioned<'_>,
) -> Bytes {
    let question = Question {
        kind: KIND,
        api_version: API_VERSION,
        request: Request {
            uid,
            about: About::of(attributes, seen),
            object: versioned.object.as_deref(),
            old_object: versioned.old_object.as_deref(),
        },
    };
    serde_json::to_vec(&question).expect("texts and Values always have a JSON text").into()
}

/// Reads an answer. The error is one for a `failurePolicy` to judge.
pub(crate) fn answer(body: &[u8], uid: &str, flavour: Flavour) -> Result<Answer, String> {
    let unreadable = |why: &dyn std::fmt::Display| {
        format!("failed to call webhook: the answer is no AdmissionReview: {why}")
    };
    let review: Review = serde_json::from_slice(body).map_err(|error| unreadable(&error))?;
    let patch = match review.response.as_ref().and_then(|response| response.patch.as_deref()) {
        Some(text) => {
            STANDARD.decode(text).map_err(|error| unreadable(&format_args!("response.patch: {error}")))?
        }
        None => Vec::new(),
    };
    check(review, patch, uid, flavour).map_err(|why| format!("received invalid webhook response: {why}"))
}

fn check(review: Review, patch: Vec<u8>, uid: &str, flavour: Flavour) -> Result<Answer, String> {
    let response = review.response.ok_or("webhook response was absent")?;
    let answered = response.uid.unwrap_or_default();
    if answered != uid {
        return Err(format!("expected response.uid={uid:?}, got {answered:?}"));
    }
    let (version, kind) = (review.api_version.unwrap_or_default(), review.kind.unwrap_or_default());
    if version != API_VERSION || kind != KIND {
        // A version without a group is one of the core group, whose name is empty.
        let slash = if version.contains('/') { "" } else { "/" };
        return Err(format!(
            "expected webhook response of {API_VERSION}, Kind={KIND}, got {slash}{version}, Kind={kind}"
        ));
    }
    let patch = match (flavour, patch.is_empty(), response.patch_type) {
        (_, true, None) => None,
        (Flavour::Validating, false, _) => {
            return Err("validating webhook may not return response.patch".into());
        }
        (Flavour::Validating, true, Some(_)) => {
            return Err("validating webhook may not return response.patchType".into());
        }
        (Flavour::Mutating, false, None) => {
            return Err("webhook returned response.patch but not response.patchType".into());
        }
        (Flavour::Mutating, true, Some(_)) => {
            return Err("webhook returned response.patchType but not response.patch".into());
        }
        (Flavour::Mutating, false, Some(kind)) if kind.is_empty() => {
            return Err(format!("webhook returned invalid response.patchType of {kind:?}"));
        }
        (Flavour::Mutating, false, Some(kind)) => Some(Patch { kind, bytes: patch }),
    };
    let verdict = match response.allowed.unwrap_or_default() {
        true => Verdict::Allowed(patch),
        false => Verdict::Denied(response.status),
    };
    Ok(Answer { verdict, warnings: response.warnings.unwrap_or_default() })
}

#[cfg(test)]
mod tests;
