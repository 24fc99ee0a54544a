//! What is answered where.
//!
//! | path | |
//! |---|---|
//! | `/sign-in`, `/sign-out` | the only pages for people who have not signed in |
//! | `/`, `/held`, `/nodes/NODE`, `/workloads/…`, `/static-pods…`, `/log` | pages: `look.rs` says what is on them |
//! | `/nodes/NODE/ACT`, `/static-pods/NAMESPACE/NAME/ACT` | `GET` asks, `POST` does: `ask.rs`, `act.rs` |
//! | `/live?page=PATH` | the pieces of a page as they change, as server-sent events |
//! | `/assets/…` | the style, the script and the icon |

pub(crate) mod act;
pub(crate) mod ask;
pub(crate) mod events;
pub(crate) mod fields;
pub(crate) mod live;
pub(crate) mod look;
pub(crate) mod sign;

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{FromRequestParts, Request, State};
use axum::middleware::{Next, from_fn, map_response};
use axum::response::{Html, IntoResponse, Response};
use axum::routing::get;
use http::header::{self, HeaderName, HeaderValue};
use http::request::Parts;
use http::{HeaderMap, StatusCode, Uri};
use kube::Client;
use maud::Markup;
use percent_encoding::percent_decode_str;
use safepoint_serving::Caller;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::acts::Job;
use crate::assets;
use crate::dashboard::Clock;
use crate::known::Known;
use crate::people::{People, Person};
use crate::places::Places;
use crate::refusal::Refusal;
use crate::session::{Cookies, form_token};
use crate::view::layout::{Page, Said, Viewer};
use look::Look;

/// A form has a reason in it and little else.
const LARGEST: usize = 16 * 1024;
/// A form that has not come by then does not come.
const PATIENCE: Duration = Duration::from_secs(10);
/// Scripts, styles and pictures come from here and from nowhere else, nothing is written into the page, no other site shows it
/// in a frame, and its forms go nowhere else.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
    form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/// What handlers need.
#[derive(Clone)]
pub(crate) struct App(Arc<Inner>);

pub(crate) struct Inner {
    pub(crate) known: Arc<Known>,
    pub(crate) people: Arc<People>,
    /// The cluster as the dashboard itself, for notes.
    pub(crate) own: Client,
    pub(crate) cookies: Cookies,
    pub(crate) clock: Clock,
    /// Where a token comes from.
    pub(crate) hint: String,
    pub(crate) jobs: mpsc::Sender<Job>,
    pub(crate) places: Places,
    pub(crate) stop: CancellationToken,
}

// === impl App ===

impl App {
    pub(crate) fn new(inner: Inner) -> Self {
        Self(Arc::new(inner))
    }

    pub(crate) fn router(self) -> Router {
        Router::new()
            .route("/sign-in", get(sign::form).post(sign::sign_in))
            .route("/sign-out", axum::routing::post(sign::sign_out))
            .route("/live", get(live::stream))
            .route("/assets/{name}", get(assets::get))
            .route("/nodes/{node}/{act}", get(ask::of_node).post(act::on_node))
            .route("/static-pods/{namespace}/{name}/{act}", get(ask::of_static_pod).post(act::on_static_pod))
            .fallback(get(page))
            .layer(from_fn(received))
            .layer(map_response(guarded))
            .with_state(self)
    }
}

impl std::ops::Deref for App {
    type Target = Inner;

    fn deref(&self) -> &Inner {
        &self.0
    }
}

/// Whoever has not signed in is sent to do so, and comes back to where they were going.
impl FromRequestParts<App> for Person {
    type Rejection = Refusal;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refusal> {
        let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
        // What was to be done is not done by coming back.
        let next = if parts.method == http::Method::GET { path } else { "/" };
        let sign_in = || Refusal::SignIn { next: next.to_owned() };
        let token = app.cookies.token(&parts.headers).ok_or_else(sign_in)?;
        let person = app.people.by(&token).await.map_err(|error| match Refusal::from(error) {
            Refusal::SignIn { .. } => sign_in(),
            other => other,
        })?;
        if let Some(caller) = parts.extensions.get::<Caller>() {
            caller.is_known();
        }
        Ok(person)
    }
}

/// A page that is looked at.
async fn page(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
    person: Person,
) -> Result<Response, Refusal> {
    let look = Look::parse(&uri)?;
    // Before the look: what changes in between is sent again.
    let seen = app.known.version();
    let pieces = look.pieces(&app, &person).await?;
    let said = app.cookies.said(&headers).map(said);
    let token = form_token(&person.token);
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    let (title, menu) = (look.title(), look.menu());
    let page = Page {
        title: &title,
        menu,
        viewer: Some(Viewer { name: &person.name, form_token: &token, sight: person.sight().await? }),
        said: said.as_ref(),
        live: look.is_live().then_some((path, seen)),
    };
    let mut response = reply(&page.of_pieces(&pieces)).into_response();
    if said.is_some() {
        response.headers_mut().append(header::SET_COOKIE, app.cookies.said_it());
    }
    Ok(response)
}

/// What the cookie says, that is for the next page.
fn said(cookie: &str) -> Said {
    let text = percent_decode_str(cookie).decode_utf8_lossy();
    match text.strip_prefix('!') {
        Some(text) => Said { is_bad: true, text: text.to_owned() },
        None => Said { is_bad: false, text: text.into_owned() },
    }
}

/// A page as an answer.
pub(crate) fn reply(page: &Markup) -> Html<String> {
    Html(page.0.clone())
}

/// Whoever sends a form sends all of it, and soon.
async fn received(request: Request, next: Next) -> Response {
    let (parts, body) = request.into_parts();
    match timeout(PATIENCE, to_bytes(body, LARGEST)).await {
        Ok(Ok(body)) => next.run(Request::from_parts(parts, Body::from(body))).await,
        Ok(Err(_)) => StatusCode::PAYLOAD_TOO_LARGE.into_response(),
        Err(_) => StatusCode::REQUEST_TIMEOUT.into_response(),
    }
}

/// What every answer says about itself.
async fn guarded(mut response: Response) -> Response {
    let headers = response.headers_mut();
    for (name, value) in [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        // Not `no-referrer`: with that a browser does not say where a form comes from.
        (header::REFERRER_POLICY, "same-origin"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    // What a person sees is for that person. The files under changing names say otherwise.
    headers.entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    response
}

/// The parts of a path, decoded.
pub(crate) fn segments(uri: &Uri) -> Option<Vec<String>> {
    let parts = uri.path().trim_start_matches('/').split('/').filter(|part| !part.is_empty());
    parts.map(|part| percent_decode_str(part).decode_utf8().ok().map(Into::into)).collect()
}
