//! One node: how it stands, what it holds, what is asked of it, and what its agent says of itself.

use k8s_openapi::api::core::v1::Pod;
use maud::{Markup, html};
use safepoint_api::NodeGate;
use safepoint_api::node_gate::{GateState, NodeGateStatus};
use safepoint_orders::{has_seen, local_freezes};

use super::log::{Told, table};
use super::node_tables::{grants, held, holds, modules, orders};
use super::words::{moment, node_path, standing};
use crate::fleet::Standing;
use crate::known::NodeFacts;
use crate::live::Piece;

/// What is known of a node when somebody looks at it.
pub(crate) struct Data {
    pub(crate) name: String,
    pub(crate) standing: Standing,
    pub(crate) node: Option<NodeFacts>,
    pub(crate) gate: NodeGate,
    /// The pods of the node, if the person may list them.
    pub(crate) pods: Option<Vec<Pod>>,
    /// What happened lately, if the person may list Events.
    pub(crate) history: Option<Vec<Told>>,
    pub(crate) may_order: bool,
}

pub(crate) fn pieces(data: &Data) -> Vec<Piece> {
    let status = data.gate.status.clone().unwrap_or_default();
    let pods = data.pods.as_deref();
    vec![
        Piece::new("standing", stands(data, &status)),
        Piece::new("acts", acts(data, &status)),
        Piece::new("blockers", blockers(&status)),
        Piece::new("held", held(&data.name, &status, pods, data.may_order)),
        Piece::new("holds", holds(&status)),
        Piece::new("grants", grants(&status)),
        Piece::new("orders", orders(&data.gate, &status)),
        Piece::new("history", history(data)),
        Piece::new("modules", modules(&status)),
    ]
}

fn stands(data: &Data, status: &NodeGateStatus) -> Markup {
    let said = status.state.map(|state| format!("{state:?}").to_lowercase());
    let unheard =
        !has_seen(&data.gate, data.gate.metadata.generation) && data.gate.metadata.generation.is_some();
    let wanted = data.gate.spec.freeze.as_ref();
    html! {
        section id="standing" aria-label="How it stands" {
            p role="status" {
                (standing(data.standing)) " " (data.standing.meaning())
                @if data.standing == Standing::Offline && let Some(said) = &said { "; when it was last heard of it was " (said) }
                "."
            }
            dl {
                @if let Some(holder) = &status.holder { dt { "Holder" } dd { (holder) } }
                @if let Some(reason) = &status.reason { dt { "Reason" } dd { (reason) } }
                dt { "Since" } dd { (moment(status.since.as_ref())) }
                @if let Some(node) = &data.node {
                    dt { "Node" } dd { (if node.ready { "ready" } else { "not ready" }) " since " (moment(node.since.as_ref())) }
                }
                @if let Some(version) = &status.agent_version { dt { "Agent" } dd { (version) } }
                @if let Some(wanted) = wanted {
                    dt { "Wanted by the cluster" }
                    dd { "frozen by " (wanted.holder.as_deref().unwrap_or("the cluster")) ": " (wanted.reason) }
                }
            }
            @if unheard { p class="note" { "The node has not yet answered what is wanted of it now." } }
        }
    }
}

fn acts(data: &Data, status: &NodeGateStatus) -> Markup {
    let path = node_path(&data.name);
    let closed = matches!(status.state, Some(GateState::Freezing | GateState::Frozen));
    let wanted = data.gate.spec.freeze.is_some();
    // The cluster's own freeze is thawed; only one that was taken on the node has to be set aside.
    let vetoes = closed && local_freezes(status).next().is_some();
    html! {
        section id="acts" aria-label="What you can do" {
            @if !data.may_order {
                p class="note" { "You may look, and not order this node anything: that needs the right to patch its NodeGate." }
            } @else {
                ul class="acts" {
                    @if !wanted { li { a class="button" href={ (path) "/freeze" } { "Freeze…" } } }
                    @if wanted || closed { li { a class="button" href={ (path) "/thaw" } { "Thaw…" } } }
                    @if vetoes { li { a class="button" href={ (path) "/thaw?override=yes" } { "Override a freeze of the node…" } } }
                }
            }
        }
    }
}

fn blockers(status: &NodeGateStatus) -> Markup {
    html! {
        section id="blockers" aria-labelledby="blockers-title" hidden[status.blockers.is_empty()] {
            h2 id="blockers-title" { "What it waits for before it is frozen" }
            ul {
                @for blocker in &status.blockers {
                    li { b { (blocker.reason) } ": " (blocker.message) " " span class="note" { (moment(blocker.since.as_ref())) } }
                }
            }
        }
    }
}

fn history(data: &Data) -> Markup {
    html! {
        section id="history" aria-labelledby="history-title" {
            h2 id="history-title" { "Lately" }
            @match &data.history {
                Some(history) => { (table(history, "history-title", "The cluster has no Events of this node.")) }
                None => { p class="note" { "You may not list Events." } }
            }
            p class="note" {
                "The cluster forgets Events after a while. The node keeps its whole log, each line bound to the one before: "
                code { "safepoint log" } " on the node."
            }
        }
    }
}
