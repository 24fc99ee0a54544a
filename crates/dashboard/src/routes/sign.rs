//! Signing in with a token of the cluster, and signing out.

use axum::Form;
use axum::extract::{Query, State};
use axum::response::{IntoResponse, Redirect, Response};
use http::{HeaderMap, StatusCode, Uri, header};
use serde::Deserialize;

use super::{App, reply};
use crate::people::Person;
use crate::refusal::Refusal;
use crate::session::{is_form_of, is_from_here, is_token, next_page};
use crate::view::layout::Page;
use crate::view::sign_in;

#[derive(Deserialize)]
pub(crate) struct Next {
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub(crate) struct SignIn {
    token: String,
    #[serde(default)]
    next: String,
}

#[derive(Deserialize)]
pub(crate) struct SignOut {
    form: String,
}

pub(crate) async fn form(State(app): State<App>, Query(Next { next }): Query<Next>) -> Response {
    page(&app, next_page(&next), None).into_response()
}

pub(crate) async fn sign_in(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
    Form(SignIn { token, next }): Form<SignIn>,
) -> Result<Response, Refusal> {
    if !is_from_here(&headers, &uri, app.cookies.secure) {
        return Err(Refusal::NotFromHere);
    }
    let (token, next) = (token.trim(), next_page(&next));
    let wrong = |text| Ok((StatusCode::UNAUTHORIZED, page(&app, next, Some(text))).into_response());
    if !is_token(token) {
        return wrong("That does not look like a token.");
    }
    match app.people.by(token).await.map_err(Refusal::from) {
        Ok(person) => {
            tracing::info!(by = person.name, "somebody has signed in to the dashboard");
            let mut response = Redirect::to(next).into_response();
            response.headers_mut().append(header::SET_COOKIE, app.cookies.sign_in(token));
            Ok(response)
        }
        Err(Refusal::SignIn { .. }) => wrong("The cluster does not know this token, or it has ended."),
        Err(other) => Err(other),
    }
}

pub(crate) async fn sign_out(
    State(app): State<App>,
    uri: Uri,
    headers: HeaderMap,
    person: Person,
    Form(SignOut { form }): Form<SignOut>,
) -> Result<Response, Refusal> {
    if !is_from_here(&headers, &uri, app.cookies.secure) || !is_form_of(&person.token, &form) {
        return Err(Refusal::NotFromHere);
    }
    let mut response = Redirect::to("/sign-in").into_response();
    response.headers_mut().append(header::SET_COOKIE, app.cookies.sign_out());
    Ok(response)
}

fn page(app: &App, next: &str, wrong: Option<&str>) -> impl IntoResponse + use<> {
    let page = Page { title: "Sign in", menu: "", viewer: None, said: None, live: None };
    reply(&page.of(&sign_in::form(next, wrong, &app.hint)))
}
