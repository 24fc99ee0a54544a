//! The native API: one table, from which come both the router and its description.

mod handlers;
mod health;
pub(crate) mod release;
pub(crate) mod static_pods;
mod table;

#[cfg(test)]
mod tests;

use axum::Router;
use axum::http::{Method, Uri};
use safepoint_api::local::reason;
use tokio_util::sync::CancellationToken;

use crate::answer::{Refused, failure};
use crate::node::Node;
use crate::rights::Rights;

pub(crate) use table::{Answers, Route, table};

/// What every handler has at hand.
#[derive(Clone)]
pub(crate) struct Shared<N> {
    pub(crate) node: N,
    pub(crate) rights: Rights,
    /// Ends what would go on for ever.
    pub(crate) stop: CancellationToken,
}

/// The native API as a service. Who calls is expected among the extensions of a request, as a
/// [`Peer`](crate::Peer): without one, nothing can be changed. `stop` ends the streams of events.
pub fn router<N: Node>(node: N, rights: Rights, stop: CancellationToken) -> Router {
    let routes = table::<N>().into_iter();
    let router = routes.fold(Router::new(), |router, route| router.route(route.path, route.handler));
    router.fallback(no_such_path).method_not_allowed_fallback(method_not_allowed).with_state(Shared {
        node,
        rights,
        stop,
    })
}

async fn no_such_path(uri: Uri) -> Refused {
    let message = format!("there is no path {}: GET /openapi.json lists them", uri.path());
    Refused(failure(404, reason::NO_SUCH_PATH, message))
}

// The router adds the methods that there are.
async fn method_not_allowed(method: Method, uri: Uri) -> Refused {
    let message =
        format!("{} cannot be called with {method}: GET /openapi.json lists the methods", uri.path());
    Refused(failure(405, reason::METHOD_NOT_ALLOWED, message))
}
