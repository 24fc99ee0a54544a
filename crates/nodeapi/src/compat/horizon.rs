//! Open Horizon's agent: the state of the node, with the `changefreeze` that was designed there and never built. The facts
//! are in `docs/compatibility.md`.
//!
//! `configured` is a gate that is open, `changefreeze` one that is frozen: acknowledged and settled, nothing less. It works
//! without the cluster. A node that has not settled refuses with the reasons, and the caller tries again.

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, PoisonError};

use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::{Json, Router};
use safepoint_api::local::Failure;
use safepoint_api::names::horizon::{INPUT_STATE, PATH_CONFIGSTATE, state};
use safepoint_core::{Ask, Gate, HoldId, Mode, Span};
use serde_json::{Value, json};

use super::{status, text};
use crate::answer::{About, Done, Refused};
use crate::caller::Credentials;
use crate::extract::{BadBody, body, peer};
use crate::node::Node;
use crate::routes::Shared;

/// What can be done with the state; the original names the wrong ones.
const ALLOW: &str = "GET, HEAD, PUT, OPTIONS";
/// The field that a body which is no object is blamed on.
const INPUT_BODY: &str = "configstate";
/// Why the node is frozen: the request has no room for a reason.
const REASON: &str = "asked for as changefreeze over the Open Horizon API";

#[derive(Clone)]
struct Agent<N> {
    shared: Shared<N>,
    /// The state that was shown last, and since when: the gate keeps no time for being open.
    shown: Arc<Mutex<Option<(&'static str, i64)>>>,
}

pub(super) fn router<N: Node>(shared: Shared<N>) -> Router {
    let agent = Agent { shared, shown: Arc::default() };
    Router::new().fallback(serve::<N>).with_state(agent)
}

async fn serve<N: Node>(State(agent): State<Agent<N>>, request: Request) -> Response {
    if request.uri().path() != PATH_CONFIGSTATE {
        return text(StatusCode::NOT_FOUND, "404 page not found");
    }
    match *request.method() {
        Method::GET | Method::HEAD => agent.show(StatusCode::OK).await,
        Method::PUT => agent.put(request).await,
        Method::OPTIONS => (StatusCode::OK, [(header::ALLOW, ALLOW)]).into_response(),
        _ => (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, ALLOW)]).into_response(),
    }
}

// === impl Agent ===

impl<N: Node> Agent<N> {
    async fn show(&self, code: StatusCode) -> Response {
        match self.shared.node.read(now).await {
            Ok((state, since, wall)) => (code, Json(self.object(state, since, wall))).into_response(),
            Err(error) => text(StatusCode::INTERNAL_SERVER_ERROR, error),
        }
    }

    fn object(&self, state: &'static str, since: Option<i64>, wall: i64) -> Value {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        let last = shown.filter(|(last, _)| *last == state).map(|(_, since)| since);
        let since = since.or(last).unwrap_or(wall);
        *shown = Some((state, since));
        // Seconds without a sign, as the original has them.
        json!({ "state": state, "last_update_time": since.max(0) })
    }

    async fn put(&self, request: Request) -> Response {
        let (parts, sent) = request.into_parts();
        let caller = match self.shared.rights.allow(&peer(&parts)) {
            Ok(known) => known.clone(),
            Err(denied) => {
                return (StatusCode::FORBIDDEN, Json(json!({ "error": denied.to_string() }))).into_response();
            }
        };
        let wanted = match wanted(sent).await {
            Ok(wanted) => wanted,
            Err(response) => return response,
        };
        let done = match &*wanted {
            state::CHANGEFREEZE => self.freeze(&caller).await,
            state::CONFIGURED => self.thaw(&caller).await,
            state::CONFIGURING | state::UNCONFIGURING | state::UNCONFIGURED => {
                let error =
                    format!("the state {wanted} cannot be asked for: this agent is always configured");
                return bad_input(&error, INPUT_STATE);
            }
            _ => {
                let error = format!("the state {wanted:?} is not known: use configured or changefreeze");
                return bad_input(&error, INPUT_STATE);
            }
        };
        match done {
            Ok(()) => self.show(StatusCode::CREATED).await,
            Err(response) => response,
        }
    }

    /// Each user's freeze is one of its own, so that asking twice is asking once.
    async fn freeze(&self, caller: &Credentials) -> Result<(), Response> {
        let id = HoldId::from(format!("horizon-{}", caller.uid));
        let ask = Ask::Freeze {
            id: id.clone(),
            reason: REASON.into(),
            lease: None,
            settle: Span::ZERO,
            keep_barrier: false,
        };
        let asked = self.shared.ask(caller.caller(None), None, ask, About::Hold(id), |_, _| ()).await;
        asked.map_err(|Refused(failure)| conflict(&failure))
    }

    async fn thaw(&self, caller: &Credentials) -> Result<(), Response> {
        let asked = self.shared.ask(caller.caller(None), None, Ask::Thaw, About::Node, |_, done| done).await;
        match asked {
            Ok(Done::StillFrozen { by }) => {
                let by: Vec<&str> = by.iter().map(HoldId::as_str).collect();
                let error =
                    format!("the freezes of this machine are over, the cluster's are not: {}", by.join(", "));
                Err((StatusCode::CONFLICT, Json(json!({ "error": error, "holds": by }))).into_response())
            }
            Ok(_) => Ok(()),
            Err(Refused(failure)) => Err(conflict(&failure)),
        }
    }
}

/// The state, since when if the gate knows, and the wall clock; in seconds.
fn now(gate: &Gate) -> (&'static str, Option<i64>, i64) {
    let frozen = gate.mode() == Mode::Frozen;
    let since = gate.phase().filter(|_| frozen).map(|phase| phase.since().at.0.div_euclid(1000));
    let state = if frozen { state::CHANGEFREEZE } else { state::CONFIGURED };
    (state, since, gate.wall().0.div_euclid(1000))
}

async fn wanted(sent: Body) -> Result<String, Response> {
    let bytes = body(sent).await.map_err(|bad| match bad {
        BadBody::TooLarge(_) => text(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large"),
        BadBody::TooSlow => bad_input("the body did not come in time", INPUT_BODY),
        BadBody::Broken(error) => bad_input(&format!("the body broke off: {error}"), INPUT_BODY),
    })?;
    let object: Value = serde_json::from_slice(&bytes)
        .map_err(|error| bad_input(&format!("the body is no JSON: {error}"), INPUT_BODY))?;
    match object.get("state") {
        Some(Value::String(state)) => Ok(state.clone()),
        Some(_) => Err(bad_input("the state must be a text", INPUT_STATE)),
        None => Err(bad_input("the state is missing: send {\"state\":\"changefreeze\"}", INPUT_STATE)),
    }
}

fn bad_input(error: &str, input: &str) -> Response {
    (StatusCode::BAD_REQUEST, Json(json!({ "error": error, "input": input }))).into_response()
}

/// A refusal, with everything that stands in the way.
fn conflict(failure: &Failure) -> Response {
    let mut object = json!({ "error": failure.message, "reason": failure.reason });
    if !failure.blockers.is_empty() {
        object["reasons"] = json!(failure.blockers);
    }
    if !failure.holds.is_empty() {
        object["holds"] = json!(failure.holds);
    }
    let mut response = (status(failure.code), Json(object)).into_response();
    if let Some(seconds) = failure.retry_after {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    response
}
