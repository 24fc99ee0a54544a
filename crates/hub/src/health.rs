//! For whoever looks after the hub: probes and Prometheus.

use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use safepoint_serving::Limits;
use safepoint_supervisor::{Ctx, Fault, Handle, Health, Module, Spec};
use tokio::net::TcpListener;

use crate::clock::Clock;
use crate::facts::{Facts, Now};
use crate::leader::Leadership;
use crate::webhook::Certificates;

/// Probes and Prometheus come one at a time.
const LIMITS: Limits = Limits::of(64);
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// What the answers are made of.
#[derive(Clone)]
pub(crate) struct Sources {
    pub(crate) facts: Arc<Facts>,
    pub(crate) clock: Clock,
    pub(crate) leadership: Leadership,
    pub(crate) certificates: Certificates,
    /// The supervisor of the process, once it is there.
    pub(crate) handle: Arc<OnceLock<Handle>>,
}

/// The server as a module.
pub(crate) struct HealthServer {
    address: SocketAddr,
    first: Mutex<Option<std::net::TcpListener>>,
    sources: Sources,
}

// === impl HealthServer ===

impl HealthServer {
    pub(crate) fn new(listener: std::net::TcpListener, sources: Sources) -> io::Result<Self> {
        Ok(Self { address: listener.local_addr()?, first: Mutex::new(Some(listener)), sources })
    }
}

impl Module for HealthServer {
    fn spec(&self) -> Spec {
        // Before everything else: whoever asks shall hear what is missing.
        Spec::new("health")
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let first = self.first.lock().unwrap_or_else(PoisonError::into_inner).take();
        let listener = match first {
            Some(listener) => TcpListener::from_std(listener),
            None => TcpListener::bind(self.address).await,
        };
        let router = Router::new()
            .route("/healthz", get(live))
            .route("/readyz", get(ready))
            .route("/metrics", get(metrics))
            .with_state(self.sources.clone());
        let listener = listener.map_err(Fault::transient)?;
        ctx.ready();
        safepoint_serving::serve(listener, None, router, LIMITS, ctx.token()).await;
        Ok(())
    }
}

// === impl Sources ===

impl Sources {
    fn health(&self) -> Option<Health> {
        self.handle.get().map(|handle| handle.health().borrow().clone())
    }
}

async fn live(State(sources): State<Sources>) -> impl IntoResponse {
    let health = sources.health();
    (code(health.as_ref().is_none_or(|health| health.live)), lines(health.as_ref()))
}

async fn ready(State(sources): State<Sources>) -> impl IntoResponse {
    let health = sources.health();
    (code(health.as_ref().is_some_and(|health| health.live && health.ready)), lines(health.as_ref()))
}

async fn metrics(State(sources): State<Sources>) -> impl IntoResponse {
    let now = Now {
        now: sources.clock.now(),
        leads: sources.leadership.leads(),
        certificate_ends: sources.certificates.ends(),
    };
    let page = sources.facts.metrics(now, sources.health().as_ref());
    ([(header::CONTENT_TYPE, OPEN_METRICS)], page)
}

const fn code(well: bool) -> StatusCode {
    if well { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE }
}

/// A line for each module, in the form that people know from Kubernetes.
fn lines(health: Option<&Health>) -> String {
    let Some(health) = health else { return "not ready: starting\n".to_owned() };
    let mut text = String::new();
    for (name, module) in &health.modules {
        let sign = if module.state.is_serving() { "[+]" } else { "[-]" };
        text.push_str(&format!("{sign}{name} {}\n", crate::health::state(&module.state)));
    }
    text.push_str(match (health.live, health.ready) {
        (true, true) => "ok\n",
        (true, false) => "not ready\n",
        (false, _) => "not working: start the hub anew\n",
    });
    text
}

fn state(state: &safepoint_supervisor::State) -> String {
    use safepoint_supervisor::State;
    match state {
        State::Ready | State::Completed => "ok".to_owned(),
        State::Degraded { reason } => format!("degraded: {reason}"),
        State::WaitingFor { what } => format!("waiting for {what}"),
        State::Backoff { cause, .. } => format!("failed, and starts again: {cause}"),
        State::Failed { cause } => format!("failed: {cause}"),
        State::Starting { .. } => "starting".to_owned(),
        State::Stopped | State::Stopping => "stopped".to_owned(),
    }
}
