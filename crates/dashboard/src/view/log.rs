//! What happened: Events of the cluster that are Safepoint's, the newest first.

use k8s_openapi::api::core::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use maud::{Markup, html};

use super::words::{moment, node_link};
use crate::live::Piece;
use crate::routes::events::Heard;

/// So many are shown.
pub(crate) const MOST: usize = 200;

/// Something that happened.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Told {
    pub(crate) at: Option<Time>,
    pub(crate) kind: String,
    pub(crate) namespace: String,
    pub(crate) name: String,
    /// The node that tells it, where it is one.
    pub(crate) node: Option<String>,
    pub(crate) reason: String,
    pub(crate) message: String,
    pub(crate) is_warning: bool,
    pub(crate) by: String,
}

// === impl Told ===

impl Told {
    pub(crate) fn of(event: Event) -> Self {
        let about = event.involved_object;
        let source = event.source.unwrap_or_default();
        let times = [event.last_timestamp, event.first_timestamp, event.metadata.creation_timestamp];
        let at = event.event_time.map(|at| Time(at.0)).into_iter().chain(times.into_iter().flatten()).next();
        let by = event.reporting_component.filter(|by| !by.is_empty()).or(source.component);
        let node = match about.kind.as_deref() {
            Some("Node" | "NodeGate") => about.name.clone(),
            _ => source.host.filter(|host| !host.is_empty()),
        };
        Self {
            at,
            node,
            kind: about.kind.unwrap_or_default(),
            namespace: about.namespace.unwrap_or_default(),
            name: about.name.unwrap_or_default(),
            reason: event.reason.unwrap_or_default(),
            message: event.message.unwrap_or_default(),
            is_warning: event.type_.as_deref() == Some("Warning"),
            by: by.unwrap_or_default(),
        }
    }

    /// The newest first, and no more than are shown.
    pub(crate) fn newest(mut all: Vec<Self>) -> Vec<Self> {
        all.sort_by(|a, b| b.at.as_ref().map(|at| at.0).cmp(&a.at.as_ref().map(|at| at.0)));
        all.truncate(MOST);
        all
    }
}

/// The page. None: the person may not see it.
pub(crate) fn pieces(heard: Option<&Heard>) -> Vec<Piece> {
    let page = html! {
        section id="log" aria-labelledby="log-title" {
            h2 id="log-title" { "What the cluster has heard" }
            @match heard {
                None => { p class="note" { "You may not list Events of all namespaces." } }
                Some(heard) => {
                    (table(&heard.newest, "log-title", "Nothing has happened that the cluster still knows of."))
                    @if heard.is_cut {
                        p class="note" {
                            "The newest " (heard.newest.len()) " of the " (heard.read) " that were read. The cluster has more, some of which may be newer: "
                            code { "kubectl get events -A --sort-by=.lastTimestamp" } "."
                        }
                    } @else if heard.read > heard.newest.len() {
                        p class="note" { "The newest " (heard.newest.len()) " of " (heard.read) "." }
                    }
                }
            }
            p class="note" {
                "This is how it was when the page was loaded; load it again to see what has happened since. It is "
                "what nodes, the hub and this dashboard have told as Events, which the cluster forgets after a while. "
                "The audit log itself is on each node, where every line is bound to the one before: "
                code { "safepoint log" } " on the node."
            }
        }
    };
    vec![Piece::new("log", page)]
}

pub(crate) fn table(told: &[Told], label: &str, empty: &str) -> Markup {
    html! {
        @if told.is_empty() { p { (empty) } } @else {
            div class="scroll" tabindex="0" role="group" aria-labelledby=(label) {
                table {
                    thead { tr {
                        th scope="col" { "When" } th scope="col" { "About" } th scope="col" { "What" }
                        th scope="col" { "Message" } th scope="col" { "Told by" }
                    } }
                    tbody {
                        @for it in told {
                            tr {
                                td { (moment(it.at.as_ref())) }
                                td {
                                    @if matches!(it.kind.as_str(), "Node" | "NodeGate") { (node_link(&it.name)) } @else {
                                        (it.kind.to_lowercase()) " " (it.namespace) "/" (it.name)
                                    }
                                }
                                td { span class=(if it.is_warning { "badge orphaned" } else { "badge" }) { (it.reason) } }
                                td { (it.message) }
                                td { (it.by) @if let Some(node) = &it.node { " on " (node_link(node)) } }
                            }
                        }
                    }
                }
            }
        }
    }
}
