//! Bodies, and the one answer that this crate gives by itself: a Kubernetes `Status`.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Empty, Full};
use safepoint_machinery::status::{Reason, Status};

/// A body on its way, of a request or of an answer.
pub type Body = UnsyncBoxBody<Bytes, BoxError>;

/// Whatever went wrong below.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// No body.
#[must_use]
pub fn empty() -> Body {
    Empty::new().map_err(|never| match never {}).boxed_unsync()
}

/// A body that is known already.
#[must_use]
pub fn full(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync()
}

/// An answer that is no object, in JSON, which every client of Kubernetes understands. It never says when to come back: a
/// kubelet that is told to wait, waits with everything (kubernetes/kubernetes#126711). A code that is none becomes 500.
#[must_use]
pub fn status(code: u16, reason: Reason, message: impl Into<String>) -> Response<Body> {
    let value = Status::new(code, reason, message).into_value();
    let mut response = Response::new(full(value.to_string()));
    *response.status_mut() = StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_status_is_what_kubernetes_would_say() {
        let response = status(503, Reason::ServiceUnavailable, "nobody is there");
        assert_eq!(response.status(), 503);
        assert_eq!(response.headers()[header::CONTENT_TYPE], "application/json");
        assert!(!response.headers().contains_key(header::RETRY_AFTER));
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let said: serde_json::Value = serde_json::from_slice(&body).unwrap();
        assert_eq!(said["kind"], "Status");
        assert_eq!(said["status"], "Failure");
        assert_eq!(said["reason"], "ServiceUnavailable");
        assert_eq!(said["message"], "nobody is there");
        assert_eq!(said["code"], 503);
    }
}
