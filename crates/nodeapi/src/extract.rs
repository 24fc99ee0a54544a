//! What a handler needs of a request: who calls, the body, the names in the path. Every mistake is a
//! [`Failure`](safepoint_api::local::Failure).

use std::time::Duration;

use axum::body::Body;
use axum::extract::rejection::{PathRejection, QueryRejection};
use axum::extract::{FromRequest, FromRequestParts, Path, Query, Request};
use axum::http::request::Parts;
use bytes::Bytes;
use http_body_util::{BodyExt, LengthLimitError, Limited};
use safepoint_api::local::reason;
use serde::de::DeserializeOwned;
use tokio::time::timeout;

use crate::answer::{Refused, failure};
use crate::caller::{Credentials, Peer};
use crate::node::Node;
use crate::routes::Shared;

/// The longest body. The longest sensible one has a reason of a kilobyte.
pub(crate) const LONGEST_BODY: usize = 64 * 1024;
/// The longest manifest: as long as a ConfigMap may be, in which they come.
pub(crate) const LONGEST_MANIFEST: usize = 2 * 1024 * 1024;
/// How long a client may take to send it.
const PATIENCE: Duration = Duration::from_secs(10);

/// Why a body was not taken.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum BadBody {
    TooLarge(usize),
    TooSlow,
    Broken(String),
}

/// A caller who may change something. Asked for before the body: who may not is not listened to.
pub(crate) struct Allowed(pub(crate) Credentials);

/// A caller who may bring a manifest. Asked for before the body as well.
pub(crate) struct AllowedManifests(pub(crate) Credentials);

/// A body of so many bytes at most. Absent, it is `{}`.
pub(crate) struct Read<T, const MOST: usize = LONGEST_BODY>(pub(crate) T);

/// What the path names.
pub(crate) struct Named<T>(pub(crate) T);

/// What the query says.
pub(crate) struct Asked<T>(pub(crate) T);

/// Who is at the other end; unknown where nobody has said.
pub(crate) fn peer(parts: &Parts) -> Peer {
    parts.extensions.get::<Peer>().cloned().unwrap_or(Peer::Unknown)
}

/// Reads a whole body.
pub(crate) async fn body(body: Body) -> Result<Bytes, BadBody> {
    body_of_at_most(body, LONGEST_BODY).await
}

async fn body_of_at_most(body: Body, most: usize) -> Result<Bytes, BadBody> {
    let read = timeout(PATIENCE, Limited::new(body, most).collect()).await;
    match read {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(BadBody::TooLarge(most)),
        Ok(Err(error)) => Err(BadBody::Broken(error.to_string())),
        Err(_) => Err(BadBody::TooSlow),
    }
}

fn bad_request(message: impl Into<String>) -> Refused {
    Refused(failure(400, reason::BAD_REQUEST, message))
}

impl From<BadBody> for Refused {
    fn from(bad: BadBody) -> Self {
        match bad {
            BadBody::TooLarge(most) => {
                let message = format!("the body is longer than {most} bytes");
                Self(failure(413, reason::TOO_LARGE, message))
            }
            BadBody::TooSlow => bad_request("the body did not come in time"),
            BadBody::Broken(error) => bad_request(format!("the body broke off: {error}")),
        }
    }
}

impl<N: Node> FromRequestParts<Shared<N>> for Allowed {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared<N>) -> Result<Self, Refused> {
        match shared.rights.allow(&peer(parts)) {
            Ok(known) => Ok(Self(known.clone())),
            Err(denied) => Err(Refused(failure(403, reason::FORBIDDEN, denied.to_string()))),
        }
    }
}

impl<N: Node> FromRequestParts<Shared<N>> for AllowedManifests {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, shared: &Shared<N>) -> Result<Self, Refused> {
        match shared.rights.allow_manifests(&peer(parts)) {
            Ok(known) => Ok(Self(known.clone())),
            Err(denied) => Err(Refused(failure(403, reason::FORBIDDEN, denied.to_string()))),
        }
    }
}

impl<T: DeserializeOwned, S: Send + Sync, const MOST: usize> FromRequest<S> for Read<T, MOST> {
    type Rejection = Refused;

    // The content type is not looked at: curl says that every body is a form.
    async fn from_request(request: Request, _: &S) -> Result<Self, Refused> {
        let bytes = body_of_at_most(request.into_body(), MOST).await?;
        let text: &[u8] = if bytes.trim_ascii().is_empty() { b"{}" } else { &bytes };
        let mut json = serde_json::Deserializer::from_slice(text);
        let read =
            serde_path_to_error::deserialize(&mut json).map_err(|error| match error.path().to_string() {
                whole if whole == "." => bad_request(format!("the body cannot be read: {}", error.inner())),
                field => bad_request(format!("{field}: {}", error.inner())),
            })?;
        json.end().map_err(|error| bad_request(format!("the body cannot be read: {error}")))?;
        Ok(Self(read))
    }
}

impl<T: DeserializeOwned + Send, S: Send + Sync> FromRequestParts<S> for Named<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let read: Result<Path<T>, PathRejection> = Path::from_request_parts(parts, state).await;
        read.map(|Path(names)| Self(names)).map_err(|error| bad_request(error.body_text()))
    }
}

impl<T: DeserializeOwned, S: Send + Sync> FromRequestParts<S> for Asked<T> {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, state: &S) -> Result<Self, Refused> {
        let read: Result<Query<T>, QueryRejection> = Query::from_request_parts(parts, state).await;
        read.map(|Query(asked)| Self(asked)).map_err(|error| bad_request(error.body_text()))
    }
}
