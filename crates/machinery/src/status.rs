//! The answer that an API server gives when it does not give the object: `metav1.Status`.
//!
//! Each constructor stands for one of Kubernetes' reasons, with its code and its text. Clients decide by the reason
//! and the code, people read the message, and both expect exactly those of Kubernetes.

mod field;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

pub use field::{FieldError, FieldErrorKind, FieldErrors, FieldPath};

use crate::go::quote;

/// Why a request was refused, as a program reads it: the field `reason`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Reason {
    /// 401: we do not know who asks.
    Unauthorized,
    /// 403: we know, and the answer is no.
    Forbidden,
    /// 404
    NotFound,
    /// 409: the name is taken.
    AlreadyExists,
    /// 409: the object has changed meanwhile.
    Conflict,
    /// 410: a watch or a list cannot go on from there; clients start anew.
    Gone,
    /// 422: the object breaks a rule.
    Invalid,
    /// 500: try again.
    ServerTimeout,
    /// 504: it took too long, and may still happen.
    Timeout,
    /// 429
    TooManyRequests,
    /// 400
    BadRequest,
    /// 405
    MethodNotAllowed,
    /// 406: none of the accepted media types can be had.
    NotAcceptable,
    /// 413
    RequestEntityTooLarge,
    /// 415: the body has a media type that is not understood.
    UnsupportedMediaType,
    /// 500
    InternalError,
    /// 410: the resource version is too old; clients list again.
    Expired,
    /// 503
    ServiceUnavailable,
    /// None, or one that we do not know: the code has to do.
    #[default]
    #[serde(rename = "", other)]
    Unknown,
}

/// What the answer is about: the field `details`. Empty texts and zeros are left out on the wire.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Details {
    /// The name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The API group of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The resource (`pods`), or the kind (`Pod`) where the object itself is invalid.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The uid of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// One entry for each thing that is wrong.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<Cause>,
    /// After how many seconds it is worth asking again.
    #[serde(skip_serializing_if = "is_zero")]
    pub retry_after_seconds: i32,
}

/// One thing that is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Cause {
    /// The kind of mistake, for example `FieldValueInvalid`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The mistake in words.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field that has it, for example `spec.containers[0].image`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// An answer that is no object. It is an error, too: its text is the message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Status {
    /// The HTTP code.
    pub code: u16,
    /// The reason, for programs.
    pub reason: Reason,
    /// The message, for people.
    pub message: String,
    /// What it is about; Kubernetes sends it even when it is empty, but not for every reason.
    pub details: Option<Box<Details>>,
    /// Where a list may go on whose own token has expired; empty otherwise.
    pub continue_token: String,
}

/// A resource or a kind with its group, as messages name it: `deployments.apps`, `Pod`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Grouped<'a> {
    /// The API group; empty for the core group.
    pub group: &'a str,
    /// The resource in plural, or the kind.
    pub name: &'a str,
}

fn is_zero(number: &i32) -> bool {
    *number == 0
}

// === impl Grouped ===

impl<'a> Grouped<'a> {
    /// Names `name` of `group`.
    #[must_use]
    pub fn new(group: &'a str, name: &'a str) -> Self {
        Self { group, name }
    }

    /// Names something of the core group.
    #[must_use]
    pub fn core(name: &'a str) -> Self {
        Self { group: "", name }
    }

    fn details(self, name: &str) -> Details {
        Details {
            name: name.to_owned(),
            group: self.group.to_owned(),
            kind: self.name.to_owned(),
            ..Details::default()
        }
    }
}

impl fmt::Display for Grouped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() { f.write_str(self.name) } else { write!(f, "{}.{}", self.name, self.group) }
    }
}

// === impl Status ===

impl std::error::Error for Status {}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl Status {
    /// Any answer, for what has no constructor of its own.
    #[must_use]
    pub fn new(code: u16, reason: Reason, message: impl Into<String>) -> Self {
        Self { code, reason, message: message.into(), details: None, continue_token: String::new() }
    }

    /// 404: there is no such object.
    #[must_use]
    pub fn not_found(resource: Grouped<'_>, name: &str) -> Self {
        let message = format!("{resource} {} not found", quote(name));
        Self::new(404, Reason::NotFound, message).about(resource.details(name))
    }

    /// 404: there is no such resource, or no such path.
    #[must_use]
    pub fn no_such_resource() -> Self {
        Self::new(404, Reason::NotFound, "the server could not find the requested resource")
            .about(Details::default())
    }

    /// 409: the name is taken.
    #[must_use]
    pub fn already_exists(resource: Grouped<'_>, name: &str) -> Self {
        let message = format!("{resource} {} already exists", quote(name));
        Self::new(409, Reason::AlreadyExists, message).about(resource.details(name))
    }

    /// 409: the update does not fit, and `why` says so.
    #[must_use]
    pub fn conflict(resource: Grouped<'_>, name: &str, why: &str) -> Self {
        let message = format!("Operation cannot be fulfilled on {resource} {}: {why}", quote(name));
        Self::new(409, Reason::Conflict, message).about(resource.details(name))
    }

    /// 409: the update was made for an older version of the object.
    #[must_use]
    pub fn modified(resource: Grouped<'_>, name: &str) -> Self {
        let why =
            "the object has been modified; please apply your changes to the latest version and try again";
        Self::conflict(resource, name, why)
    }

    /// 422: the object of this kind and name breaks the rules that `errors` lists.
    #[must_use]
    pub fn invalid(kind: Grouped<'_>, name: &str, errors: &FieldErrors) -> Self {
        let mut message = format!("{kind} {} is invalid", quote(name));
        if !errors.is_empty() {
            message.push_str(": ");
            message.push_str(&errors.to_string());
        }
        let details = Details { causes: errors.causes(), ..kind.details(name) };
        Self::new(422, Reason::Invalid, message).about(details)
    }

    /// 422: the body is well formed and cannot be carried out. Kubernetes does not say why.
    #[must_use]
    pub fn unprocessable() -> Self {
        let message = "the server rejected our request due to an error in our request";
        Self::new(422, Reason::Invalid, message).about(Details::default())
    }

    /// 400: the request is malformed.
    #[must_use]
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, Reason::BadRequest, message)
    }

    /// 401: we do not know who asks. An API server answers with the message `Unauthorized`.
    #[must_use]
    pub fn unauthorized(message: &str) -> Self {
        Self::new(401, Reason::Unauthorized, if message.is_empty() { "not authorized" } else { message })
    }

    /// 403: it is known who asks, and refused. Without a resource (an empty name) the message names none.
    #[must_use]
    pub fn forbidden(resource: Grouped<'_>, name: &str, why: &str) -> Self {
        let message = match (resource.group.is_empty() && resource.name.is_empty(), name.is_empty()) {
            (true, _) => format!("forbidden: {why}"),
            (false, true) => format!("{resource} is forbidden: {why}"),
            (false, false) => format!("{resource} {} is forbidden: {why}", quote(name)),
        };
        Self::new(403, Reason::Forbidden, message).about(resource.details(name))
    }

    /// 415: the body has a media type that the resource does not take.
    #[must_use]
    pub fn unsupported_media_type(understood: &[&str]) -> Self {
        let message = format!(
            "the body of the request was in an unknown format - accepted media types include: {}",
            understood.join(", ")
        );
        Self::new(415, Reason::UnsupportedMediaType, message)
    }

    /// 413: the body is larger than allowed.
    #[must_use]
    pub fn too_large(message: &str) -> Self {
        Self::new(413, Reason::RequestEntityTooLarge, format!("Request entity too large: {message}"))
    }

    /// 410: the resource version is too old; a client lists again.
    #[must_use]
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(410, Reason::Expired, message)
    }

    /// 410, with the older reason.
    #[must_use]
    pub fn gone(message: impl Into<String>) -> Self {
        Self::new(410, Reason::Gone, message)
    }

    /// 429: ask again after so many seconds.
    #[must_use]
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: i32) -> Self {
        Self::new(429, Reason::TooManyRequests, message)
            .about(Details { retry_after_seconds, ..Details::default() })
    }

    /// 504: it took too long, and may still happen.
    #[must_use]
    pub fn timeout(message: &str, retry_after_seconds: i32) -> Self {
        let details = Details { retry_after_seconds, ..Details::default() };
        Self::new(504, Reason::Timeout, format!("Timeout: {message}")).about(details)
    }

    /// 500: we are at fault.
    #[must_use]
    pub fn internal(why: &str) -> Self {
        let cause = Cause { message: why.to_owned(), ..Cause::default() };
        let details = Details { causes: vec![cause], ..Details::default() };
        Self::new(500, Reason::InternalError, format!("Internal error occurred: {why}")).about(details)
    }

    /// 503: not now.
    #[must_use]
    pub fn unavailable(message: impl Into<String>) -> Self {
        Self::new(503, Reason::ServiceUnavailable, message)
    }

    /// Sets what the answer is about.
    #[must_use]
    pub fn about(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }

    /// Says where an expired list may go on, at the price of not being consistent.
    #[must_use]
    pub fn with_continue(mut self, token: impl Into<String>) -> Self {
        self.continue_token = token.into();
        self
    }

    /// The body to send.
    #[must_use]
    pub fn to_value(&self) -> Value {
        let mut value = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "code": self.code,
        });
        if !self.continue_token.is_empty() {
            value["metadata"]["continue"] = self.continue_token.clone().into();
        }
        if !self.message.is_empty() {
            value["message"] = self.message.clone().into();
        }
        if self.reason != Reason::Unknown {
            value["reason"] = json!(self.reason);
        }
        if let Some(details) = &self.details {
            value["details"] = json!(details);
        }
        value
    }

    /// The body to send, when the status is not needed any more.
    #[must_use]
    pub fn into_value(self) -> Value {
        self.to_value()
    }

    /// Reads a body that another server sent; `None` if it is no failure in the form of a `Status`.
    #[must_use]
    pub fn from_value(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str);
        if text("kind") != Some("Status") || text("status") == Some("Success") {
            return None;
        }
        let code = value.get("code").and_then(Value::as_u64).and_then(|code| u16::try_from(code).ok());
        let reason = value.get("reason").and_then(|reason| serde_json::from_value(reason.clone()).ok());
        Some(Self {
            code: code.unwrap_or(500),
            reason: reason.unwrap_or_default(),
            message: text("message").unwrap_or_default().to_owned(),
            details: value.get("details").and_then(|details| serde_json::from_value(details.clone()).ok()),
            continue_token: value
                .pointer("/metadata/continue")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned(),
        })
    }
}

impl Serialize for Status {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.to_value().serialize(serializer)
    }
}
