//! The body of a request.

use std::time::Duration;

use axum::body::{Body, HttpBody, to_bytes};
use bytes::Bytes;
use http::HeaderMap;
use http::header::CONTENT_TYPE;
use http_body_util::LengthLimitError;
use safepoint_machinery::status::Status;
use serde_json::Value;
use tokio::sync::Semaphore;
use tokio::time::timeout;

use super::protobuf;
use crate::fault;

/// As in Kubernetes: what etcd would take, with room for the encoding.
pub(crate) const LARGEST_BODY: usize = 3 * 1024 * 1024;

/// How long a client may take to send a body.
const PATIENCE: Duration = Duration::from_secs(30);
/// A body up to this size is read whatever else is being read.
const SMALL_BODY: usize = 64 * 1024;
/// Room for bodies is counted in pages.
const PAGE: usize = 4096;
/// How much of bodies may be in memory while they are read.
pub(crate) const ROOM: usize = 64 * 1024 * 1024 / PAGE;

/// A body and how it is written.
pub(crate) struct Content {
    pub(crate) kind: String,
    pub(crate) bytes: Bytes,
}

impl Content {
    /// Reads a body. `room` is what all bodies that are being read share; a large one that finds none is refused.
    pub(crate) async fn read(headers: &HeaderMap, body: Body, room: &Semaphore) -> Result<Content, Status> {
        let length =
            body.size_hint().upper().and_then(|length| usize::try_from(length).ok()).unwrap_or(LARGEST_BODY);
        let pages = u32::try_from(length.min(LARGEST_BODY).div_ceil(PAGE)).unwrap_or(u32::MAX);
        // Nobody waits in line: a small body needs no room, and a large one that finds none comes again.
        let pages = if length > SMALL_BODY { pages } else { 0 };
        let Ok(_room) = room.try_acquire_many(pages) else {
            return Err(Status::too_many_requests("too many large requests at once: try again", 1));
        };
        let Ok(read) = timeout(PATIENCE, to_bytes(body, LARGEST_BODY)).await else {
            return Err(fault::bad_request("the body of the request did not come in time"));
        };
        let bytes = read.map_err(|error| {
            let too_large = std::error::Error::source(&error)
                .is_some_and(<dyn std::error::Error>::is::<LengthLimitError>);
            if too_large {
                fault::too_large(LARGEST_BODY)
            } else {
                fault::bad_request(format!("the body of the request ended early: {error}"))
            }
        })?;
        let kind = headers
            .get(CONTENT_TYPE)
            .and_then(|value| value.to_str().ok())
            .and_then(|value| value.split(';').next())
            .map(|value| value.trim().to_ascii_lowercase())
            .unwrap_or_default();
        Ok(Content { kind, bytes })
    }

    /// The object in the body.
    pub(crate) fn object(&self) -> Result<Value, Status> {
        match self.kind.as_str() {
            "" | "application/json" | "*/*" => self.json(),
            "application/yaml" => self.yaml(),
            "application/vnd.kubernetes.protobuf" => protobuf::decode(&self.bytes).map_err(|error| {
                fault::bad_request(format!("the body of the request cannot be read: {error}"))
            }),
            _ => Err(fault::unsupported_media_type(
                "the body of the request was in an unknown format - accepted media types include: \
                 application/json, application/yaml, application/vnd.kubernetes.protobuf",
            )),
        }
    }

    pub(crate) fn is_json(&self) -> bool {
        matches!(self.kind.as_str(), "" | "application/json" | "*/*")
    }

    pub(crate) fn json(&self) -> Result<Value, Status> {
        serde_json::from_slice(&self.bytes).map_err(|error| {
            fault::bad_request(format!("the body of the request is not valid JSON: {error}"))
        })
    }

    fn yaml(&self) -> Result<Value, Status> {
        let text = std::str::from_utf8(&self.bytes).map_err(|error| {
            fault::bad_request(format!("the body of the request is not valid YAML: {error}"))
        })?;
        serde_saphyr::from_str(text).map_err(|error| {
            fault::bad_request(format!("the body of the request is not valid YAML: {error}"))
        })
    }
}
