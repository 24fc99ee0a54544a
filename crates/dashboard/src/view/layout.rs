//! What every page has around it.

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use maud::{DOCTYPE, Markup, html};

use super::words::{encoded, since as since_when};
use crate::assets;
use crate::live::Piece;
use crate::people::Sight;

/// Who looks, for the head of a page.
pub(crate) struct Viewer<'a> {
    pub(crate) name: &'a str,
    pub(crate) form_token: &'a str,
    pub(crate) sight: Sight,
}

/// A page.
pub(crate) struct Page<'a> {
    pub(crate) title: &'a str,
    /// The part of the menu that it belongs to.
    pub(crate) menu: &'a str,
    pub(crate) viewer: Option<Viewer<'a>>,
    /// What became of what was just asked for.
    pub(crate) said: Option<&'a Said>,
    /// The path that is watched, and how often anything had changed when the page was made.
    pub(crate) live: Option<(&'a str, u64)>,
}

/// What became of something.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Said {
    pub(crate) is_bad: bool,
    pub(crate) text: String,
}

/// Says that the cluster is not heard, where it is not: what was known then must not look like what is so now.
pub(crate) fn lost(since: Option<Timestamp>) -> Piece {
    let html = html! {
        div id="lost" class=[since.map(|_| "said bad")] {
            p role="status" {
                @if since.is_some() { "The cluster is not heard: what you see is what was known then, and may be old." }
            }
            // Outside of what is read out: how long that is changes every second.
            @if let Some(at) = since { p class="note" { "Not heard " (since_when(&Time(at))) "." } }
        }
    };
    Piece::new("lost", html)
}

/// The pages that this person is offered.
fn menu(sight: Sight) -> impl Iterator<Item = (&'static str, &'static str)> {
    let pages = [
        ("/", "Fleet", sight.gates),
        ("/held", "Held", sight.gates),
        ("/static-pods", "Static pods", sight.static_pods),
        ("/log", "Log", true),
    ];
    pages.into_iter().filter_map(|(path, name, may)| may.then_some((path, name)))
}

impl Page<'_> {
    /// The whole page around its pieces.
    pub(crate) fn of_pieces(&self, pieces: &[Piece]) -> Markup {
        self.of(&html! { @for piece in pieces { (piece) } })
    }

    /// The whole page around this.
    pub(crate) fn of(&self, content: &Markup) -> Markup {
        let live = self.live.map(|(path, seen)| format!("/live?page={}&seen={seen}", encoded(path)));
        html! {
            (DOCTYPE)
            html lang="en" {
                head {
                    meta charset="utf-8";
                    meta name="viewport" content="width=device-width, initial-scale=1";
                    meta name="color-scheme" content="light dark";
                    title { (self.title) " · Safepoint" }
                    link rel="icon" href=(assets::ICON.path()) type="image/svg+xml";
                    link rel="stylesheet" href=(assets::STYLE.path());
                    script type="module" src=(assets::SCRIPT.path()) {}
                }
                body {
                    a class="skip" href="#main" { "Skip to content" }
                    header {
                        p class="brand" { "Safepoint" }
                        @if let Some(viewer) = &self.viewer {
                            nav aria-label="Pages" {
                                ul {
                                    @for (path, name) in menu(viewer.sight) {
                                        li { a href=(path) aria-current=[(self.menu == path).then_some("page")] { (name) } }
                                    }
                                }
                            }
                            form id="sign-out" method="post" action="/sign-out" {
                                input type="hidden" name="form" value=(viewer.form_token);
                                span class="who" { (viewer.name) }
                                button type="submit" { "Sign out" }
                            }
                        }
                    }
                    main id="main" tabindex="-1" data-live=[live] {
                        h1 { (self.title) }
                        @if let Some(said) = self.said {
                            p id="said" class=(if said.is_bad { "said bad" } else { "said" })
                                role=(if said.is_bad { "alert" } else { "status" }) { (said.text) }
                        }
                        (content)
                    }
                    footer {
                        @if self.live.is_some() {
                            p id="link" role="status" data-lost="Not connected: what you see may be old." { }
                        }
                    }
                }
            }
        }
    }
}
