//! The table of routes.

use axum::routing::{MethodRouter, delete, get, post, put};
use http::Method;
use safepoint_api::local::{
    ChangeList, FreezeState, Hold, HoldDropped, HoldList, HoldTaken, LogPage, ModuleList, NodeStatus, Notice,
    Overriding, PutStaticPod, Release, Released, RemoveStaticPod, RenewHold, RollBack, StaticPodHistory,
    StaticPodList, StaticPodState, TakeFreeze, TakeHold, Why,
};
use schemars::{JsonSchema, Schema, SchemaGenerator};

use super::{Shared, handlers, health, static_pods};
use crate::events;
use crate::node::Node;
use crate::openapi;

/// Describes a type.
type Describe = fn(&mut SchemaGenerator) -> Schema;

/// What a route answers when all is well.
#[derive(Clone, Copy)]
pub(crate) enum Answers {
    /// A JSON body.
    Json(Describe),
    /// Server-sent events, each with such a body.
    Events(Describe),
    /// Plain text.
    Text,
    /// The description of this API.
    OpenApi,
    /// No body.
    Nothing,
}

/// One method of one path.
pub(crate) struct Route<N> {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    /// Its name in generated clients.
    pub(crate) name: &'static str,
    pub(crate) summary: &'static str,
    /// What may stand after the question mark, and what it means.
    pub(crate) query: &'static [(&'static str, &'static str)],
    pub(crate) body: Option<Describe>,
    pub(crate) code: u16,
    pub(crate) answers: Answers,
    /// The codes of its refusals, beside those that every route has.
    pub(crate) refuses: &'static [u16],
    pub(crate) handler: MethodRouter<Shared<N>>,
}

fn json<T: JsonSchema>() -> Answers {
    Answers::Json(SchemaGenerator::subschema_for::<T>)
}

// === impl Route ===

impl<N: Node> Route<N> {
    fn new(method: Method, path: &'static str, name: &'static str, handler: MethodRouter<Shared<N>>) -> Self {
        Self {
            method,
            path,
            name,
            summary: "",
            query: &[],
            body: None,
            code: 200,
            answers: Answers::Nothing,
            refuses: &[503],
            handler,
        }
    }

    fn says(self, summary: &'static str) -> Self {
        Self { summary, ..self }
    }

    fn takes<T: JsonSchema>(self) -> Self {
        Self { body: Some(SchemaGenerator::subschema_for::<T>), ..self }
    }

    fn asks(self, query: &'static [(&'static str, &'static str)]) -> Self {
        Self { query, ..self }
    }

    fn gives(self, code: u16, answers: Answers) -> Self {
        Self { code, answers, ..self }
    }

    fn refuses(self, refuses: &'static [u16]) -> Self {
        Self { refuses, ..self }
    }
}

/// Every route, in the order in which they are described.
pub(crate) fn table<N: Node>() -> Vec<Route<N>> {
    let mut routes = of_the_gate();
    routes.extend(of_static_pods());
    routes.extend(of_the_agent());
    routes
}

fn of_the_gate<N: Node>() -> Vec<Route<N>> {
    let get_ = |path, name, handler| Route::new(Method::GET, path, name, handler);
    vec![
        get_("/v1/status", "getStatus", get(handlers::status::<N>))
            .says("What the gate does and why")
            .gives(200, json::<NodeStatus>()),
        get_("/v1/changes", "listChanges", get(handlers::changes::<N>))
            .says("What waits, oldest first")
            .gives(200, json::<ChangeList>()),
        get_("/v1/why/{namespace}/{pod}", "why", get(handlers::why::<N>))
            .says("Why a pod waits, as a sentence and as data")
            .gives(200, json::<Why>())
            .refuses(&[404, 503]),
        get_("/v1/holds", "listHolds", get(handlers::holds::<N>))
            .says("Who holds, oldest first")
            .gives(200, json::<HoldList>()),
        Route::new(Method::POST, "/v1/holds", "takeHold", post(handlers::take_hold::<N>))
            .says("Hold from now on")
            .takes::<TakeHold>()
            .gives(201, json::<HoldTaken>())
            .refuses(&[400, 403, 409, 413, 503]),
        Route::new(Method::PUT, "/v1/holds/{id}", "renewHold", put(handlers::renew_hold::<N>))
            .says("Show that the holder lives, or take an orphaned hold up again")
            .takes::<RenewHold>()
            .gives(200, json::<Hold>())
            .refuses(&[400, 403, 404, 409, 413, 503]),
        Route::new(Method::DELETE, "/v1/holds/{id}", "dropHold", delete(handlers::drop_hold::<N>))
            .says("Hold no longer")
            .takes::<Overriding>()
            .gives(200, json::<HoldDropped>())
            .refuses(&[400, 403, 404, 409, 413, 503]),
        get_("/v1/freeze", "getFreeze", get(handlers::freeze_state::<N>))
            .says("Whether the node is frozen")
            .gives(200, json::<FreezeState>()),
        Route::new(Method::POST, "/v1/freeze", "freeze", post(handlers::freeze::<N>))
            .says("Freeze the node; the answer waits until it is frozen or cannot be")
            .takes::<TakeFreeze>()
            .gives(201, json::<FreezeState>())
            .refuses(&[400, 403, 409, 413, 503]),
        Route::new(Method::DELETE, "/v1/freeze", "thaw", delete(handlers::thaw::<N>))
            .says("End every freeze that was taken on this machine")
            .takes::<Overriding>()
            .gives(200, json::<FreezeState>())
            .refuses(&[400, 403, 409, 413, 503]),
        Route::new(Method::POST, "/v1/releases", "release", post(handlers::release::<N>))
            .says("Let a pending upgrade through")
            .takes::<Release>()
            .gives(200, json::<Released>())
            .refuses(&[400, 403, 404, 409, 413, 503]),
    ]
}

fn of_static_pods<N: Node>() -> Vec<Route<N>> {
    const ONE: &str = "/v1/static-pods/{namespace}/{name}";
    let get_ = |path, name, handler| Route::new(Method::GET, path, name, handler);
    let post_ = |path, name, handler| Route::new(Method::POST, path, name, handler);
    vec![
        get_("/v1/static-pods", "listStaticPods", get(static_pods::list::<N>))
            .says("The static pods of this node, and what waits for them")
            .gives(200, json::<StaticPodList>())
            .refuses(&[501, 503]),
        get_(ONE, "getStaticPod", get(static_pods::get::<N>))
            .says("What is in place of a static pod, what waits, and what became of the last swap")
            .gives(200, json::<StaticPodState>())
            .refuses(&[404, 501, 503]),
        Route::new(Method::PUT, ONE, "putStaticPod", put(static_pods::put::<N>))
            .says("Give a static pod another manifest, as soon as the gate lets it pass, or lay it ready")
            .takes::<PutStaticPod>()
            .gives(202, json::<StaticPodState>())
            .refuses(&[400, 403, 404, 409, 413, 500, 501, 503]),
        Route::new(Method::DELETE, ONE, "removeStaticPod", delete(static_pods::remove::<N>))
            .says("Take a static pod away")
            .takes::<RemoveStaticPod>()
            .gives(202, json::<StaticPodState>())
            .refuses(&[400, 403, 404, 409, 413, 501, 503]),
        get_(
            "/v1/static-pods/{namespace}/{name}/history",
            "staticPodHistory",
            get(static_pods::history::<N>),
        )
        .says("The manifests of a static pod that were good, oldest first")
        .gives(200, json::<StaticPodHistory>())
        .refuses(&[404, 501, 503]),
        post_(
            "/v1/static-pods/{namespace}/{name}/upgrade",
            "upgradeStaticPod",
            post(static_pods::upgrade::<N>),
        )
        .says("Apply what waits for a static pod, or what the cluster has for it; it answers when that has begun")
        .gives(202, json::<StaticPodState>())
        .refuses(&[403, 404, 409, 501, 503]),
        post_(
            "/v1/static-pods/{namespace}/{name}/rollback",
            "rollBackStaticPod",
            post(static_pods::rollback::<N>),
        )
        .says("Go back to an earlier manifest; it answers when that has begun")
        .takes::<RollBack>()
        .gives(202, json::<StaticPodState>())
        .refuses(&[400, 403, 404, 409, 413, 501, 503]),
        Route::new(
            Method::DELETE,
            "/v1/static-pods/{namespace}/{name}/next",
            "withdrawStaticPod",
            delete(static_pods::withdraw::<N>),
        )
        .says("What waits for a static pod is not wanted any more")
        .gives(200, json::<StaticPodState>())
        .refuses(&[403, 404, 501, 503]),
    ]
}

fn of_the_agent<N: Node>() -> Vec<Route<N>> {
    let get_ = |path, name, handler| Route::new(Method::GET, path, name, handler);
    vec![
        get_("/v1/modules", "listModules", get(handlers::modules::<N>))
            .says("The parts of the agent")
            .gives(200, json::<ModuleList>())
            .refuses(&[]),
        Route::new(Method::POST, "/v1/modules/{name}/restart", "restartModule", post(handlers::restart::<N>))
            .says("Start a part of the agent afresh")
            .gives(202, Answers::Nothing)
            .refuses(&[403, 404, 503]),
        get_("/v1/log", "readLog", get(handlers::log::<N>))
            .says("The audit log, oldest first")
            .asks(&[
                ("after", "Only lines with a higher number; 0 or absent for all"),
                ("limit", "At most so many lines, 1 to 1000; 100 if absent"),
            ])
            .gives(200, json::<LogPage>())
            .refuses(&[400, 503]),
        get_("/v1/events", "followEvents", get(events::follow::<N>))
            .says("What happens, as it happens")
            .gives(200, Answers::Events(SchemaGenerator::subschema_for::<Notice>))
            .refuses(&[]),
        get_("/healthz", "isAlive", get(health::live::<N>))
            .says("Whether the agent is of use; if not, it should be started anew")
            .gives(200, Answers::Text),
        get_("/readyz", "isReady", get(health::ready::<N>))
            .says("Whether the agent does everything that it is there for")
            .gives(200, Answers::Text),
        get_("/metrics", "metrics", get(health::metrics::<N>))
            .says("Metrics, in the text form of Prometheus")
            .gives(200, Answers::Text)
            .refuses(&[]),
        get_("/openapi.json", "openApi", get(openapi::document::<N>))
            .says("This description")
            .gives(200, Answers::OpenApi)
            .refuses(&[]),
    ]
}
