//! KubeEdge's MetaServer, as far as `unhold-upgrade` goes. The facts are in `docs/compatibility.md`.
//!
//! KubeEdge releases a pod that waits to start. Here the running pod may wait as well, because the gate holds its end and
//! its update: whichever pod of the workload is named, what is released is the workload's pending upgrade. "Not in pending
//! phase" is therefore said where nothing of the workload waits, and not where the named pod happens to run.

#[cfg(test)]
mod tests;

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use safepoint_api::local::reason;
use safepoint_api::names::kubeedge::metaserver::{
    INVALID_FORMAT, NODE_NOT_FOUND_PREFIX, NODE_REQUIRED, NOT_MARKED, NOT_PENDING, POD_NOT_FOUND_PREFIX,
    UNSUPPORTED_RESOURCE,
};
use safepoint_core::{Gate, HoldId, Key, Slot, Workload};

use super::{status, text};
use crate::answer::Refused;
use crate::caller::Caller;
use crate::extract::{BadBody, body, peer};
use crate::node::Node;
use crate::parse::{ReleaseAsk, Target};
use crate::routes::Shared;
use crate::routes::release::{Outcome, release, release_pod};
use crate::view;

/// The last part of the path, which KubeEdge takes for the name of an object.
const VERB: &str = "unhold-upgrade";
/// What was released, beside a body that stays empty because clients expect it so.
const RELEASED: &str = "x-safepoint-released";
/// What stays held, and by which holds.
const HELD: &str = "x-safepoint-held";

/// A pod, as far as a release cares.
enum Found {
    Nowhere,
    Unmarked,
    Marked(Key),
}

pub(super) fn router<N: Node>(shared: Shared<N>) -> Router {
    // KubeEdge looks at the name and the resource alone, so a path with a namespace in it works as well.
    Router::new().fallback(serve::<N>).with_state(shared)
}

async fn serve<N: Node>(State(shared): State<Shared<N>>, request: Request) -> Response {
    let path = request.uri().path().trim_end_matches('/').to_owned();
    let parts: Vec<&str> = path.split('/').skip(1).collect();
    let resource = match &*parts {
        ["api" | "apis", .., resource, VERB] => *resource,
        _ => return text(StatusCode::NOT_FOUND, "404 page not found"),
    };
    if request.method() != Method::POST {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "method not allowed");
        response.headers_mut().insert("allow", HeaderValue::from_static("POST"));
        return response;
    }
    let (parts, sent) = request.into_parts();
    let caller = match shared.rights.allow(&peer(&parts)) {
        Ok(known) => known.caller(None),
        Err(denied) => return text(StatusCode::FORBIDDEN, denied),
    };
    match resource {
        "pods" => pod(&shared, caller, sent).await,
        "nodes" => node(&shared, caller, sent).await,
        _ => text(StatusCode::BAD_REQUEST, UNSUPPORTED_RESOURCE),
    }
}

async fn pod<N: Node>(shared: &Shared<N>, caller: Caller, sent: Body) -> Response {
    let sent = match words(sent).await {
        Ok(sent) => sent,
        Err(response) => return response,
    };
    // KubeEdge takes a line break for a part of the name; nobody means that.
    let Some((namespace, name)) = sent.split_once('/') else {
        return text(StatusCode::BAD_REQUEST, INVALID_FORMAT);
    };
    let (here, namespace, pod) = (shared.node.name().to_owned(), namespace.to_owned(), name.to_owned());
    let found = match shared.node.read(move |gate| find(gate, &here, &namespace, &pod)).await {
        Ok(found) => found,
        Err(error) => return text(StatusCode::SERVICE_UNAVAILABLE, error),
    };
    match found {
        Found::Nowhere => {
            text(StatusCode::NOT_FOUND, format_args!("{POD_NOT_FOUND_PREFIX}pods {name:?} not found"))
        }
        Found::Unmarked => text(StatusCode::BAD_REQUEST, NOT_MARKED),
        Found::Marked(key) => match release_pod(shared, caller, key).await {
            Ok(outcome) => done(&outcome),
            Err(Refused(failure)) if failure.reason == reason::NOTHING_HELD => {
                text(StatusCode::BAD_REQUEST, NOT_PENDING)
            }
            Err(Refused(failure)) => text(status(failure.code), failure.message),
        },
    }
}

async fn node<N: Node>(shared: &Shared<N>, caller: Caller, sent: Body) -> Response {
    let name = match words(sent).await {
        Ok(name) if name.is_empty() => return text(StatusCode::BAD_REQUEST, NODE_REQUIRED),
        Ok(name) => name,
        Err(response) => return response,
    };
    if name != shared.node.name() {
        return text(StatusCode::NOT_FOUND, format_args!("{NODE_NOT_FOUND_PREFIX}nodes {name:?} not found"));
    }
    let asked = ReleaseAsk { target: Target::Node, revision: None, overriding: None };
    match release(shared, caller, asked).await {
        // Something waits and none of it may pass: a 200 would be taken for a release.
        Ok((released, held)) if released.is_empty() && !held.is_empty() => {
            text(StatusCode::CONFLICT, format_args!("nothing was released: {}", kept(&held)))
        }
        Ok(outcome) => done(&outcome),
        Err(Refused(failure)) if failure.reason == reason::NOTHING_HELD => done(&(Vec::new(), Vec::new())),
        Err(Refused(failure)) => text(status(failure.code), failure.message),
    }
}

/// A pod counts as marked when it or another pod of its workload is: the gate holds them as one.
fn find(gate: &Gate, node: &str, namespace: &str, name: &str) -> Found {
    let Some(key) = view::find_pod(gate, node, namespace, name) else { return Found::Nowhere };
    let Some(workload) = gate.slots().get(&key).and_then(Slot::workload) else { return Found::Unmarked };
    let versions = gate.slots().values().flat_map(Slot::versions);
    let mut siblings = versions.filter(|version| version.workload.as_ref() == Some(workload));
    if siblings.any(|version| version.hold) { Found::Marked(key) } else { Found::Unmarked }
}

async fn words(sent: Body) -> Result<String, Response> {
    let text = |message: &str| text(StatusCode::INTERNAL_SERVER_ERROR, message);
    match body(sent).await {
        Ok(bytes) => Ok(String::from_utf8_lossy(&bytes).trim().to_owned()),
        Err(BadBody::TooLarge(_)) => Err(text("http: request body too large")),
        Err(BadBody::TooSlow) => Err(text("the body did not come in time")),
        Err(BadBody::Broken(error)) => Err(text(&error)),
    }
}

fn done((released, held): &Outcome) -> Response {
    let mut response = StatusCode::OK.into_response();
    let released: Vec<String> = released.iter().map(ToString::to_string).collect();
    let told = [(RELEASED, released.join(", ")), (HELD, kept(held))];
    for (name, value) in told.into_iter().filter(|(_, value)| !value.is_empty()) {
        if let Ok(value) = HeaderValue::from_str(&value) {
            response.headers_mut().insert(name, value);
        }
    }
    response
}

/// `deployment shop/web (held by mission)`.
fn kept(held: &[(Workload, Vec<HoldId>)]) -> String {
    let one = |(workload, holds): &(Workload, Vec<HoldId>)| {
        let holds: Vec<&str> = holds.iter().map(HoldId::as_str).collect();
        format!("{workload} (held by {})", holds.join(" "))
    };
    held.iter().map(one).collect::<Vec<_>>().join(", ")
}
