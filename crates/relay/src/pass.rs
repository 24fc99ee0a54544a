//! Hands a request on and its answer back, both as they are.
//!
//! Nothing is changed but what belongs to one hop only. Bodies are not looked at: what the server compressed or encoded in
//! some way reaches the client so, piece by piece as it comes, and trailers after it.

use bytes::Bytes;
use http::{Request, Response, Version};
use http_body_util::BodyExt;

use crate::headers::end_to_end;
use crate::status::{Body, BoxError};
use crate::upstream::{NoAnswer, Upstream};

/// Sends a client's request to the cluster, and returns what the client is to be told: the server's answer, or, if there is
/// none, a `Status` that says why. Dropping the future or the answer's body cancels the request.
pub async fn pass<B>(upstream: &Upstream, request: Request<B>) -> Response<Body>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    try_pass(upstream, request).await.unwrap_or_else(|no_answer| no_answer.to_response())
}

/// The same for who knows something better to say where there is no answer.
///
/// # Errors
/// If there is no answer.
pub async fn try_pass<B>(upstream: &Upstream, request: Request<B>) -> Result<Response<Body>, NoAnswer>
where
    B: http_body::Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    let request = request.map(|body| body.map_err(Into::into).boxed_unsync());
    let mut response = upstream.send(request).await?;
    *response.headers_mut() = end_to_end(response.headers());
    // Each side has its own.
    *response.version_mut() = Version::default();
    Ok(response)
}
