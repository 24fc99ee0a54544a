//! OpenYurt's YurtHub: the pods of this node, and upgrades that its owner decides on. The facts are in
//! `docs/compatibility.md`.
//!
//! With OpenYurt, `upgrade` deletes a pod through the cluster, so it needs the cluster. Here the newer version has come
//! already and waits at the gate: the call releases it, connected or not. Only a static pod for which nothing has come is
//! asked for in the cluster.

#[cfg(test)]
mod tests;

use axum::extract::{Path, Request, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::{any, get, post};
use axum::{Json, Router};
use safepoint_api::local::reason;
use safepoint_api::names::openyurt::pod_condition::NEED_UPGRADE;
use safepoint_api::names::openyurt::yurthub::{
    APPLY_FAILED, DISCONNECTED, GET_POD_FAILED_PREFIX, GET_PODS_FAILED, NO_CONFIG_MAP, NO_OWNER, PATH_PODS,
    PATH_UPGRADE, PRE_CHECK_FAILED_PREFIX, UNSUPPORTED_OWNER_PREFIX, UPGRADE_STARTED_PREFIX,
};
use safepoint_core::{Gate, Key, Kind, WorkloadKind};
use serde_json::{Value, json};

use crate::answer::Refused;
use crate::extract::peer;
use crate::node::{Node, StaticPodWish};
use crate::routes::Shared;
use crate::routes::release::release_pod;
use crate::view;

const PATH_IMAGE_PULL: &str = "/openyurt.io/v1/namespaces/{ns}/pods/{podname}/imagepull";

/// What is to be said of a pod before its upgrade is tried.
enum Found {
    Nowhere,
    Ending,
    NothingWaits(Key),
    NoOwner,
    Unsupported(String),
    Waits(Key),
}

pub(super) fn router<N: Node>(shared: Shared<N>) -> Router {
    Router::new()
        .route(PATH_PODS, get(pods::<N>))
        .route(PATH_UPGRADE, post(upgrade::<N>))
        .route(PATH_IMAGE_PULL, post(image_pull::<N>))
        .route("/v1/healthz", get(async || bare(StatusCode::OK, "OK")))
        .route("/v1/readyz", get(ready::<N>))
        .route("/v1/token", any(token))
        .route("/metrics", get(metrics::<N>))
        .fallback(async || bare(StatusCode::NOT_FOUND, "404 page not found\n"))
        .with_state(shared)
}

/// Bare text, without a line break at its end.
fn bare(code: StatusCode, text: impl Into<String>) -> Response {
    (code, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], text.into()).into_response()
}

async fn pods<N: Node>(State(shared): State<Shared<N>>) -> Response {
    match shared.node.pods().await {
        // OpenYurt fails where there is none; a machine without pods is not broken.
        Ok(items) => Json(json!({ "kind": "PodList", "apiVersion": "v1", "metadata": {}, "items": items }))
            .into_response(),
        Err(_) => bare(StatusCode::INTERNAL_SERVER_ERROR, GET_PODS_FAILED),
    }
}

async fn upgrade<N: Node>(
    State(shared): State<Shared<N>>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    let caller = match shared.rights.allow(&peer(&parts)) {
        Ok(known) => known.caller(None),
        Err(denied) => return bare(StatusCode::FORBIDDEN, denied.to_string()),
    };
    let refused = |why: &str| {
        bare(StatusCode::FORBIDDEN, format!("{PRE_CHECK_FAILED_PREFIX}{namespace}/{name}: {why}"))
    };
    let found = match find_in(&shared, &namespace, &name).await {
        Ok(found) => found,
        Err(response) => return response,
    };
    let key = match found {
        Found::Waits(key) => key,
        Found::NothingWaits(key) => match take_up(&shared, &key).await {
            Ok(()) => key,
            Err(_) if !shared.node.uplink().connected => {
                return bare(StatusCode::SERVICE_UNAVAILABLE, DISCONNECTED);
            }
            // The cluster has marked it, and has not brought what it is marked for.
            Err(why) if is_marked(&shared, &key).await => {
                return bare(StatusCode::FORBIDDEN, format!("{NO_CONFIG_MAP}: {why}"));
            }
            Err(why) => return refused(&why),
        },
        Found::Nowhere => return no_such_pod(&name),
        Found::Ending => return refused("the pod is ending already"),
        Found::NoOwner => return bare(StatusCode::BAD_REQUEST, NO_OWNER),
        Found::Unsupported(kind) => {
            return bare(StatusCode::BAD_REQUEST, format!("{UNSUPPORTED_OWNER_PREFIX}{kind}"));
        }
    };
    match release_pod(&shared, caller, key).await {
        // Plain text with this label, as YurtHub sends it.
        Ok(_) => {
            let text = format!("{UPGRADE_STARTED_PREFIX}{namespace}/{name}");
            (StatusCode::OK, [(header::CONTENT_TYPE, "application/json")], text).into_response()
        }
        Err(Refused(failure)) if failure.reason == reason::UNAVAILABLE => {
            bare(StatusCode::INTERNAL_SERVER_ERROR, APPLY_FAILED)
        }
        Err(Refused(failure)) => refused(&failure.message),
    }
}

/// Wants what lies ready for a static pod and has failed before, or what the cluster has for it. Otherwise, why there is
/// nothing.
async fn take_up<N: Node>(shared: &Shared<N>, key: &Key) -> Result<(), String> {
    if key.kind != Kind::StaticPod {
        return Err("no newer version waits for it".to_owned());
    }
    let (namespace, name) = (key.namespace.to_string(), key.name.to_string());
    shared.node.wish(StaticPodWish::TakeUp { namespace, name }).await.map_err(|failure| failure.message)
}

/// Whether the cluster says that a static pod needs an upgrade.
async fn is_marked<N: Node>(shared: &Shared<N>, key: &Key) -> bool {
    let mirror = format!("{}-{}", key.name, shared.node.name());
    let is_it = |pod: &&Value| {
        pod["metadata"]["namespace"] == *key.namespace && pod["metadata"]["name"] == mirror.as_str()
    };
    let pods = shared.node.pods().await.unwrap_or_default();
    let mut conditions =
        pods.iter().find(is_it).into_iter().flat_map(|pod| pod["status"]["conditions"].as_array());
    key.kind == Kind::StaticPod
        && conditions.any(|all| all.iter().any(|it| it["type"] == NEED_UPGRADE && it["status"] == "True"))
}

/// Honest: an image cannot be pulled ahead from here, and a 200 would let somebody fly off believing that it was.
async fn image_pull<N: Node>(
    State(shared): State<Shared<N>>,
    Path((namespace, name)): Path<(String, String)>,
    request: Request,
) -> Response {
    let (parts, _) = request.into_parts();
    if let Err(denied) = shared.rights.allow(&peer(&parts)) {
        return bare(StatusCode::FORBIDDEN, denied.to_string());
    }
    match find_in(&shared, &namespace, &name).await {
        Ok(Found::Nowhere) => no_such_pod(&name),
        Ok(_) => bare(
            StatusCode::NOT_IMPLEMENTED,
            "Image pre-pull is not offered here: nothing was requested, the image is pulled when the upgrade is released",
        ),
        Err(response) => response,
    }
}

async fn token() -> Response {
    bare(StatusCode::NOT_IMPLEMENTED, "There is no join token here: the agent uses credentials of its own")
}

async fn ready<N: Node>(State(shared): State<Shared<N>>) -> Response {
    let health = shared.node.health();
    if health.live && health.ready {
        return bare(StatusCode::OK, "OK");
    }
    let wrong = health.modules.iter().filter(|module| !module.ready);
    let wrong: Vec<String> = wrong
        .map(|module| format!("{} {}", module.name, module.message.as_deref().unwrap_or("is not ready")))
        .collect();
    let wrong = if wrong.is_empty() { "the agent is not ready".to_owned() } else { wrong.join("; ") };
    bare(StatusCode::INTERNAL_SERVER_ERROR, wrong)
}

async fn metrics<N: Node>(State(shared): State<Shared<N>>) -> Response {
    bare(StatusCode::OK, shared.node.metrics())
}

fn no_such_pod(name: &str) -> Response {
    let text = format!("{GET_POD_FAILED_PREFIX}pods {name:?} not found");
    bare(StatusCode::INTERNAL_SERVER_ERROR, text)
}

async fn find_in<N: Node>(shared: &Shared<N>, namespace: &str, name: &str) -> Result<Found, Response> {
    let (node, namespace, name) = (shared.node.name().to_owned(), namespace.to_owned(), name.to_owned());
    let read = shared.node.read(move |gate| find(gate, &node, &namespace, &name)).await;
    read.map_err(|error| bare(StatusCode::INTERNAL_SERVER_ERROR, format!("{GET_POD_FAILED_PREFIX}{error}")))
}

/// The checks of YurtHub, in its order.
fn find(gate: &Gate, node: &str, namespace: &str, name: &str) -> Found {
    let Some(key) = view::find_pod(gate, node, namespace, name) else { return Found::Nowhere };
    let Some(slot) = gate.slots().get(&key) else { return Found::Nowhere };
    let Some(workload) = slot.workload() else { return Found::NoOwner };
    if slot.is_ending() {
        return Found::Ending;
    }
    let mut waiting = gate.pending().filter_map(|key| gate.slots().get(key)?.workload());
    if !waiting.any(|other| other == workload) && !gate.grants().contains_key(workload) {
        return Found::NothingWaits(key);
    }
    match &workload.kind {
        WorkloadKind::DaemonSet | WorkloadKind::StaticPod => Found::Waits(key),
        WorkloadKind::Pod => Found::NoOwner,
        // The owner of the pod itself, as YurtHub reads it.
        WorkloadKind::Deployment | WorkloadKind::ReplicaSet => Found::Unsupported("ReplicaSet".to_owned()),
        WorkloadKind::StatefulSet => Found::Unsupported("StatefulSet".to_owned()),
        WorkloadKind::Job => Found::Unsupported("Job".to_owned()),
        WorkloadKind::Other(kind) => Found::Unsupported(kind.to_string()),
    }
}
