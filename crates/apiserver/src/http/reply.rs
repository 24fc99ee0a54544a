//! The answer to a request.

use axum::body::Body;
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderValue, RETRY_AFTER, WARNING};
use http::{HeaderName, StatusCode};
use safepoint_machinery::status::Status;
use serde_json::Value;

use super::Accept;

/// An answer that is complete; a watch is not one.
#[derive(Debug)]
pub(crate) struct Reply {
    pub(crate) code: StatusCode,
    pub(crate) body: Payload,
}

/// A body: text that is ready, or a value that is still to be written.
#[derive(Debug)]
pub(crate) enum Payload {
    Json(Bytes),
    Value(Value),
}

impl Reply {
    pub(crate) fn ok(value: Value) -> Reply {
        Reply { code: StatusCode::OK, body: Payload::Value(value) }
    }

    pub(crate) fn json(bytes: Bytes) -> Reply {
        Reply { code: StatusCode::OK, body: Payload::Json(bytes) }
    }

    pub(crate) fn with_code(mut self, code: StatusCode) -> Reply {
        self.code = code;
        self
    }

    pub(crate) fn into_response(self, accept: Accept) -> Response {
        let (kind, bytes) = match (self.body, accept.yaml || accept.pretty) {
            (Payload::Json(bytes), false) => ("application/json", bytes),
            (Payload::Value(value), false) => ("application/json", render(&value)),
            (Payload::Value(value), true) => written(&value, accept),
            (Payload::Json(bytes), true) => match serde_json::from_slice(&bytes) {
                Ok(value) => written(&value, accept),
                Err(_) => ("application/json", bytes),
            },
        };
        let mut response = Response::new(Body::from(bytes));
        *response.status_mut() = self.code;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        // A client must not guess a type, and nothing on the way may keep an answer.
        let headers = [("cache-control", "no-cache, private"), ("x-content-type-options", "nosniff")];
        for (name, value) in headers {
            response.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
        }
        response
    }
}

/// Tells the client what it should know beside the answer, whatever the answer is.
pub(crate) fn warn(response: &mut Response, warnings: Vec<String>) {
    for warning in warnings {
        let text = warning.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', " ");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{text}\"")) {
            response.headers_mut().append(WARNING, value);
        }
    }
}

/// The answer that says what went wrong.
pub(crate) fn refuse(status: &Status, accept: Accept) -> Response {
    let code = StatusCode::from_u16(status.code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut response = Reply::ok(status.to_value()).with_code(code).into_response(accept);
    if let Some(seconds) =
        status.details.as_ref().map(|details| details.retry_after_seconds).filter(|seconds| *seconds > 0)
    {
        response.headers_mut().insert(RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Plain text, for health checks.
pub(crate) fn text(code: StatusCode, text: &'static str) -> Response {
    let mut response = (code, text).into_response();
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}

fn render(value: &Value) -> Bytes {
    let mut text = serde_json::to_vec(value).expect("a Value always has a JSON text");
    text.push(b'\n');
    Bytes::from(text)
}

/// For people, or as YAML.
fn written(value: &Value, accept: Accept) -> (&'static str, Bytes) {
    if accept.yaml
        && let Ok(text) = serde_saphyr::to_string(value)
    {
        return ("application/yaml", Bytes::from(text));
    }
    ("application/json", serde_json::to_vec_pretty(value).map_or_else(|_| render(value), Bytes::from))
}
