//! What a person is told when something cannot be shown or done, and with which code.

use axum::response::{IntoResponse, Redirect, Response};
use http::StatusCode;
use maud::html;

use crate::routes::reply;
use crate::view::layout::Page;
use crate::view::words::encoded;

/// Why something is not shown or done.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// Nobody has signed in, or the token is good no longer.
    SignIn {
        next: String,
    },
    /// The form was not made for this person, or comes from elsewhere.
    NotFromHere,
    Forbidden(String),
    NotFound(String),
    Bad(String),
    /// Something stands against it now.
    Conflict(String),
    /// The cluster does not answer.
    Cluster(String),
    TooMany,
}

// === impl Refusal ===

impl Refusal {
    pub(crate) fn code(&self) -> StatusCode {
        match self {
            Self::SignIn { .. } => StatusCode::UNAUTHORIZED,
            Self::NotFromHere | Self::Forbidden(_) => StatusCode::FORBIDDEN,
            Self::NotFound(_) => StatusCode::NOT_FOUND,
            Self::Bad(_) => StatusCode::BAD_REQUEST,
            Self::Conflict(_) => StatusCode::CONFLICT,
            Self::Cluster(_) => StatusCode::BAD_GATEWAY,
            Self::TooMany => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Self::SignIn { .. } => "Sign in first.",
            Self::NotFromHere => {
                "This did not come from a form of this page for you, and nothing was done. Load the page again and try once more."
            }
            Self::Forbidden(text)
            | Self::NotFound(text)
            | Self::Bad(text)
            | Self::Conflict(text)
            | Self::Cluster(text) => text,
            Self::TooMany => "Too many people look at this at once. Try again in a while.",
        }
    }

    const fn title(&self) -> &'static str {
        match self {
            Self::SignIn { .. } => "Sign in",
            Self::NotFromHere | Self::Forbidden(_) => "You may not",
            Self::NotFound(_) => "Not there",
            Self::Bad(_) => "Not understood",
            Self::Conflict(_) => "Not now",
            Self::Cluster(_) => "The cluster does not answer",
            Self::TooMany => "Too many",
        }
    }
}

impl From<kube::Error> for Refusal {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) => match status.code {
                401 => Self::SignIn { next: "/".to_owned() },
                403 => Self::Forbidden(format!("The cluster says no: {}", status.message)),
                404 => Self::NotFound(format!("The cluster says: {}", status.message)),
                409 => Self::Conflict(format!("Somebody else has changed it meanwhile: {}", status.message)),
                400 | 422 => Self::Bad(format!("The cluster says no: {}", status.message)),
                _ => Self::Cluster(format!("The cluster says: {}", status.message)),
            },
            other => Self::Cluster(format!("The cluster cannot be reached: {other}.")),
        }
    }
}

impl From<safepoint_orders::Error> for Refusal {
    fn from(error: safepoint_orders::Error) -> Self {
        use safepoint_orders::Error;
        match error {
            Error::Cluster(error) => error.into(),
            Error::NoGate { .. } | Error::NoStaticPod { .. } | Error::NoRevision => {
                Self::NotFound(format!("{error}."))
            }
            Error::Occupied { .. } => Self::Conflict(format!("Not frozen: {error}. Thaw that first.")),
            other => Self::Cluster(format!("{other}.")),
        }
    }
}

impl IntoResponse for Refusal {
    fn into_response(self) -> Response {
        if let Self::SignIn { next } = &self {
            return Redirect::to(&format!("/sign-in?next={}", encoded(next))).into_response();
        }
        let page = Page { title: self.title(), menu: "", viewer: None, said: None, live: None };
        let content = html! {
            p id="refusal" role="alert" { (self.text()) }
            p {
                a href="/" { "To the fleet" }
                @if matches!(self, Self::Forbidden(_)) { " or " a href="/sign-in" { "sign in as somebody else" } }
            }
        };
        (self.code(), reply(&page.of(&content))).into_response()
    }
}
