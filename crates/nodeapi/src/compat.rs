//! The APIs of other systems, each on its own loopback port, off unless configured.
//!
//! Paths, codes and texts are those that clients of KubeEdge, OpenYurt and Open Horizon know; the meaning is the gate's.
//! What is different, and why, is in `docs/compatibility.md`. Reading is for everybody on the machine, as it is with the
//! originals. Changing needs the same rights as on the unix socket, which the originals never asked for.

mod horizon;
mod kubeedge;
mod yurthub;

use std::fmt;

use axum::Router;
use axum::extract::Request;
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn};
use axum::response::{IntoResponse, Response};
use tokio_util::sync::CancellationToken;

use crate::node::Node;
use crate::rights::Rights;
use crate::routes::Shared;

/// Whose clients are answered.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Compat {
    /// KubeEdge's MetaServer: `unhold-upgrade`.
    KubeEdge,
    /// OpenYurt's YurtHub: pods, and OTA upgrades.
    YurtHub,
    /// Open Horizon's agent: the state of the node.
    Horizon,
}

/// The API of another system as a service. Who calls is expected among the extensions of a request, as a
/// [`Peer`](crate::Peer).
pub fn router<N: Node>(compat: Compat, node: N, rights: Rights) -> Router {
    let shared = Shared { node, rights, stop: CancellationToken::new() };
    let router = match compat {
        Compat::KubeEdge => kubeedge::router(shared),
        Compat::YurtHub => yurthub::router(shared),
        Compat::Horizon => horizon::router(shared),
    };
    router.layer(from_fn(no_browsers))
}

/// A page in a browser on this machine can send requests here as its user. No client of these APIs is a browser: what
/// names the page that it comes from is refused, and so is what was sent to another name than this machine's own.
async fn no_browsers(request: Request, next: Next) -> Response {
    let headers = request.headers();
    let page = headers.contains_key(header::ORIGIN) || headers.contains_key("sec-fetch-site");
    if page || !is_for_this_machine(headers) {
        let text = "this API is for programs on this machine, not for pages in a browser\n";
        return (StatusCode::FORBIDDEN, text).into_response();
    }
    next.run(request).await
}

fn is_for_this_machine(headers: &HeaderMap) -> bool {
    let Some(host) = headers.get(header::HOST) else { return true };
    let Ok(host) = host.to_str() else { return false };
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.trim_start_matches('[').trim_end_matches(']');
    name.eq_ignore_ascii_case("localhost") || name.parse().is_ok_and(|ip: std::net::IpAddr| ip.is_loopback())
}

/// Plain text as Go's servers send their errors.
fn text(code: StatusCode, text: impl fmt::Display) -> Response {
    let headers =
        [(header::CONTENT_TYPE, "text/plain; charset=utf-8"), (header::X_CONTENT_TYPE_OPTIONS, "nosniff")];
    (code, headers, format!("{text}\n")).into_response()
}

fn status(code: u16) -> StatusCode {
    StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

// === impl Compat ===

impl fmt::Display for Compat {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::KubeEdge => "KubeEdge",
            Self::YurtHub => "OpenYurt",
            Self::Horizon => "Open Horizon",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_names_of_this_machine_are_taken_for_it() {
        let sent_to =
            |host: &str| is_for_this_machine(&HeaderMap::from_iter([(header::HOST, host.parse().unwrap())]));
        for host in ["127.0.0.1:10550", "localhost:8510", "LOCALHOST", "[::1]:8510", "127.0.0.1", "[::1]"] {
            assert!(sent_to(host), "{host}");
        }
        for host in ["evil.example:10550", "10.0.0.1:10550", "localhost.evil.example", ""] {
            assert!(!sent_to(host), "{host}");
        }
    }
}
