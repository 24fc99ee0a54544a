//! Calls to the Kubernetes API, as JSON. Nothing is typed, so nothing that we do not know is lost.
//!
//! How a request travels is a [`Transport`]: over TLS to a server that a kubeconfig names, or straight into the embedded
//! API in the same process. Whatever takes longer than a call may take has not been answered, which is not the same as
//! not having happened: whoever writes must be able to write again.

mod path;
mod watch;

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full};
use safepoint_relay::Upstream;
use serde_json::Value;

pub(crate) use path::{Query, Resource};
pub(crate) use watch::Watch;

/// Who calls.
const WHO: &str = concat!("safepoint-agent/", env!("CARGO_PKG_VERSION"));
/// How long a call may take. A watch may take so long to begin.
const TIMEOUT: Duration = Duration::from_secs(30);
/// What one answer may weigh: a page of 500 objects of the largest kind that Kubernetes stores would be more, and would
/// be more than a small machine can hold.
const LARGEST: usize = 64 << 20;
/// How many objects a page of a list has.
const PAGE: usize = 500;

/// An answer, its body still on the way.
pub type Answered = Response<UnsyncBoxBody<Bytes, BoxError>>;
/// Whatever went wrong below.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A request on its way.
pub type Answering = Pin<Box<dyn Future<Output = Result<Answered, BoxError>> + Send>>;

/// Takes requests to an API server. The path of a request is absolute; who asks is the transport's business.
pub trait Transport: Send + Sync + 'static {
    /// Sends one request.
    fn send(&self, request: Request<Full<Bytes>>) -> Answering;
}

/// The cluster that this node belongs to. Cheap to clone.
#[derive(Clone)]
pub struct Cluster {
    transport: Arc<dyn Transport>,
}

/// Why a call did not succeed.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum CallError {
    /// There was no answer. Whether it happened is unknown.
    #[error("the cluster cannot be reached: {0}")]
    Unreachable(String),
    /// The server said no.
    #[error("the cluster answered {code} {reason}: {message}")]
    Refused { code: u16, reason: String, message: String },
    /// The answer makes no sense.
    #[error("the cluster's answer cannot be read: {0}")]
    Garbled(String),
}

/// How a patch is to be understood.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Patch {
    Merge,
    Strategic,
}

/// A complete list, and the version that it is of.
#[derive(Debug)]
pub(crate) struct List {
    pub(crate) items: Vec<Value>,
    pub(crate) version: String,
}

// === impl Cluster ===

impl<F> Transport for F
where
    F: Fn(Request<Full<Bytes>>) -> Answering + Send + Sync + 'static,
{
    fn send(&self, request: Request<Full<Bytes>>) -> Answering {
        self(request)
    }
}

impl Transport for Upstream {
    fn send(&self, request: Request<Full<Bytes>>) -> Answering {
        let upstream = self.clone();
        Box::pin(async move {
            let mut request = request.map(|body| body.map_err(|never| match never {}).boxed_unsync());
            request.headers_mut().insert(header::USER_AGENT, HeaderValue::from_static(WHO));
            Ok(Self::send(&upstream, request).await?)
        })
    }
}

impl Cluster {
    /// A cluster behind a transport of one's own.
    pub fn new(transport: impl Transport) -> Self {
        Self { transport: Arc::new(transport) }
    }

    pub(crate) async fn get(&self, resource: &Resource) -> Result<Value, CallError> {
        self.call(Method::GET, &resource.path(), None).await
    }

    /// Lists everything there is now, in pages of one snapshot.
    pub(crate) async fn list(&self, resource: &Resource, query: &Query) -> Result<List, CallError> {
        let mut items = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let page = query.page(PAGE, next.as_deref());
            let mut answer = self.call(Method::GET, &format!("{}?{page}", resource.path()), None).await?;
            // Whatever is not in a list is gone, so it had better be one.
            let is_list =
                answer.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
            let version = answer
                .pointer("/metadata/resourceVersion")
                .and_then(Value::as_str)
                .unwrap_or_default()
                .to_owned();
            if !is_list || version.is_empty() {
                return Err(CallError::Garbled("it is no list".into()));
            }
            match answer["items"].take() {
                Value::Array(page) => items.extend(page),
                Value::Null => {}
                _ => return Err(CallError::Garbled("it is a list without items".into())),
            }
            let metadata = &answer["metadata"];
            next = metadata["continue"].as_str().filter(|token| !token.is_empty()).map(str::to_owned);
            if next.is_none() {
                return Ok(List { items, version });
            }
        }
    }

    /// Watches what happens after a version.
    pub(crate) async fn watch(
        &self,
        resource: &Resource,
        query: &Query,
        after: &str,
    ) -> Result<Watch, CallError> {
        let request = request(Method::GET, &format!("{}?{}", resource.path(), query.watch(after)), None)?;
        let answer = self.answer(request).await?;
        if answer.status() != StatusCode::OK {
            let status = answer.status();
            let body = tokio::time::timeout(TIMEOUT, collect(answer)).await.map_err(|_| late())??;
            return Err(refusal(status, &body));
        }
        Ok(Watch::new(answer.into_body()))
    }

    pub(crate) async fn create(&self, resource: &Resource, object: &Value) -> Result<Value, CallError> {
        self.call(Method::POST, &resource.path(), Some(("application/json", object))).await
    }

    pub(crate) async fn patch(
        &self,
        resource: &Resource,
        patch: Patch,
        change: &Value,
    ) -> Result<Value, CallError> {
        let kind = match patch {
            Patch::Merge => "application/merge-patch+json",
            Patch::Strategic => "application/strategic-merge-patch+json",
        };
        self.call(Method::PATCH, &resource.path(), Some((kind, change))).await
    }

    pub(crate) async fn delete(&self, resource: &Resource, options: &Value) -> Result<Value, CallError> {
        self.call(Method::DELETE, &resource.path(), Some(("application/json", options))).await
    }

    async fn call(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Value, CallError> {
        let answer = self.answer(request(method, path, body)?).await?;
        let status = answer.status();
        let body = tokio::time::timeout(TIMEOUT, collect(answer)).await.map_err(|_| late())??;
        match status.is_success() {
            true => serde_json::from_slice(&body).map_err(|error| CallError::Garbled(error.to_string())),
            false => Err(refusal(status, &body)),
        }
    }

    async fn answer(&self, request: Request<Full<Bytes>>) -> Result<Answered, CallError> {
        match tokio::time::timeout(TIMEOUT, self.transport.send(request)).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(CallError::Unreachable(with_causes(&*error))),
            Err(_) => Err(late()),
        }
    }
}

// === impl CallError ===

impl CallError {
    pub(crate) fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } => Some(*code),
            Self::Unreachable(_) | Self::Garbled(_) => None,
        }
    }

    /// Whether the server answered and will answer the same again: neither busy nor ill nor away.
    pub(crate) fn is_final(&self) -> bool {
        self.code().is_some_and(|code| (400..500).contains(&code) && code != 408 && code != 429)
    }
}

fn late() -> CallError {
    CallError::Unreachable(format!("no answer within {} s", TIMEOUT.as_secs()))
}

fn request(
    method: Method,
    path: &str,
    body: Option<(&str, &Value)>,
) -> Result<Request<Full<Bytes>>, CallError> {
    let mut request = Request::builder().method(method).uri(path).header(header::ACCEPT, "application/json");
    let mut bytes = Bytes::new();
    if let Some((kind, object)) = body {
        request = request.header(header::CONTENT_TYPE, kind);
        bytes = serde_json::to_vec(object).map_err(|error| CallError::Garbled(error.to_string()))?.into();
    }
    request.body(Full::new(bytes)).map_err(|error| CallError::Garbled(error.to_string()))
}

async fn collect(answer: Answered) -> Result<Bytes, CallError> {
    let mut body = answer.into_body();
    let mut bytes = BytesMut::new();
    while let Some(frame) = body.frame().await {
        let frame = frame.map_err(|error| CallError::Unreachable(with_causes(&*error)))?;
        if let Ok(data) = frame.into_data() {
            bytes.extend_from_slice(&data);
        }
        if bytes.len() > LARGEST {
            return Err(CallError::Garbled(format!("it is larger than {} MiB", LARGEST >> 20)));
        }
    }
    Ok(bytes.freeze())
}

fn refusal(status: StatusCode, body: &[u8]) -> CallError {
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    let text = |key: &str| said[key].as_str().map(str::to_owned);
    CallError::Refused {
        code: status.as_u16(),
        reason: text("reason").unwrap_or_else(|| status.canonical_reason().unwrap_or_default().to_owned()),
        message: text("message")
            .unwrap_or_else(|| String::from_utf8_lossy(&body[..body.len().min(200)]).into_owned()),
    }
}

/// An error with all that lies below it: hyper and rustls say what is wrong only there.
fn with_causes(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut below = error.source();
    while let Some(cause) = below {
        let cause_text = cause.to_string();
        if !text.contains(&cause_text) {
            text = format!("{text}: {cause_text}");
        }
        below = cause.source();
    }
    text
}
