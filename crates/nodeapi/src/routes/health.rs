//! For whoever looks after the agent: systemd, a probe, Prometheus.

use std::fmt::Write;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;

use super::Shared;
use crate::node::{Health, Node};

const PROMETHEUS: &str = "text/plain; version=0.0.4; charset=utf-8";

pub(super) async fn live<N: Node>(State(shared): State<Shared<N>>) -> impl IntoResponse {
    let health = shared.node.health();
    (code(health.live), lines(&health))
}

pub(super) async fn ready<N: Node>(State(shared): State<Shared<N>>) -> impl IntoResponse {
    let health = shared.node.health();
    (code(health.live && health.ready), lines(&health))
}

pub(super) async fn metrics<N: Node>(State(shared): State<Shared<N>>) -> impl IntoResponse {
    ([(header::CONTENT_TYPE, PROMETHEUS)], shared.node.metrics())
}

const fn code(well: bool) -> StatusCode {
    if well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

/// A line for each part, in the form that people know from Kubernetes.
fn lines(health: &Health) -> String {
    let mut text = String::new();
    for module in &health.modules {
        let sign = if module.ready { "[+]" } else { "[-]" };
        let state = if module.ready { "ok" } else { "not ready" };
        let message = module.message.as_ref().map(|message| format!(": {message}")).unwrap_or_default();
        let _ = writeln!(text, "{sign}{} {state}{message}", module.name);
    }
    text.push_str(match (health.live, health.ready) {
        (true, true) => "ok\n",
        (true, false) => "not ready\n",
        (false, _) => "not working: start the agent anew\n",
    });
    text
}
