//! One workload: where something of it is held, and why.

use k8s_openapi::api::core::v1::Pod;
use maud::{Markup, html};
use safepoint_api::node_gate::HeldChange;

use super::log::{Told, table};
use super::node_tables::release_path;
use super::words::{before_and_after, change, node_link, revisions, why as why_held};
use crate::live::Piece;

/// So many nodes are shown.
pub(crate) const MOST: usize = 100;

/// What is known of a workload when somebody looks at it.
pub(crate) struct Data {
    /// Where something is held, and how many nodes more there are.
    pub(crate) places: Vec<Place>,
    pub(crate) more: usize,
    /// The pods that are named in them, if the person may read them.
    pub(crate) pods: Option<Vec<Pod>>,
    /// What happened to them lately, if the person may list Events.
    pub(crate) history: Option<Vec<Told>>,
}

/// A node where something of it is held.
pub(crate) struct Place {
    pub(crate) node: String,
    pub(crate) changes: Vec<HeldChange>,
    /// Whether the person may order this node something.
    pub(crate) may_order: bool,
}

pub(crate) fn pieces(data: &Data) -> Vec<Piece> {
    vec![Piece::new("why", why(data)), Piece::new("history", history(data))]
}

fn why(data: &Data) -> Markup {
    html! {
        section id="why" aria-labelledby="why-title" {
            h2 id="why-title" { "Why it waits" }
            p role="status" {
                @match data.places.len() + data.more {
                    0 => "No node holds anything of it.",
                    1 => "Something of it is held on 1 node.",
                    nodes => { "Something of it is held on " (nodes) " nodes." }
                }
            }
            @if data.pods.is_none() && !data.places.is_empty() {
                p class="note" { "You may not read the pods of this namespace, so before and after are not shown." }
            }
            ul class="cards" {
                @for Place { node, changes, may_order } in &data.places {
                    li {
                        h3 { (node_link(node)) }
                        @for it in changes {
                            p {
                                b { (change(it.change)) " of " (it.kind.to_lowercase()) " " (it.name) }
                                @let revisions = revisions(it);
                                @if !revisions.is_empty() { " " code { (revisions) } }
                                ": " (why_held(it))
                            }
                            (before_and_after(it, changes, data.pods.as_deref()))
                        }
                        @if *may_order && let Some(path) = changes.iter().find_map(|it| release_path(node, it)) {
                            p { a class="button" href=(path) { "Release on " (node) "…" } }
                        }
                    }
                }
            }
            @if data.more > 0 { p class="note" { "and on " (data.more) " nodes more" } }
        }
    }
}

fn history(data: &Data) -> Markup {
    html! {
        section id="history" aria-labelledby="history-title" {
            h2 id="history-title" { "Lately" }
            @match &data.history {
                Some(history) => { (table(history, "history-title", "The cluster has no Events of its pods.")) }
                None => { p class="note" { "You may not list the Events of this namespace." } }
            }
        }
    }
}
