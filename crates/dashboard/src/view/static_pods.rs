//! Static pods, and how far their roll-outs are: a picture of nodes that fill up.

use std::sync::Arc;

use kube::ResourceExt;
use maud::{Markup, html};
use safepoint_api::StaticPod;
use safepoint_api::static_pod::{NodeUpgradeState, StaticPodStatus};

use super::words::{encoded, moment, node_link, node_path};
use crate::live::Piece;

/// The states of nodes in the order of the picture.
const ORDER: [NodeUpgradeState; 5] = [
    NodeUpgradeState::Upgraded,
    NodeUpgradeState::Upgrading,
    NodeUpgradeState::Pending,
    NodeUpgradeState::Deferred,
    NodeUpgradeState::Failed,
];
/// The width of the picture.
const WIDE: i64 = 1_000;
/// About so many squares are drawn where the cluster does not name all nodes.
const SQUARES: usize = 200;
/// So many nodes that are not upgraded are listed.
const MOST: usize = 100;

/// What is known of one when somebody looks at it.
pub(crate) struct Data {
    pub(crate) object: Arc<StaticPod>,
    pub(crate) may_steer: bool,
    pub(crate) may_roll_back: bool,
}

/// Whether nodes are still to be upgraded.
pub(crate) fn is_rolling(object: &StaticPod) -> bool {
    let status = object.status.as_ref();
    status.is_some_and(|status| status.upgraded_number < status.desired_number)
        || status.and_then(|status| status.observed_generation) != object.metadata.generation
}

pub(crate) fn path(object: &StaticPod) -> String {
    format!(
        "/static-pods/{}/{}",
        encoded(&object.namespace().unwrap_or_default()),
        encoded(&object.name_any())
    )
}

pub(crate) fn link(object: &StaticPod) -> Markup {
    html! { a href=(path(object)) { (object.namespace().unwrap_or_default()) "/" (object.name_any()) } }
}

pub(crate) fn list(objects: &[Arc<StaticPod>]) -> Vec<Piece> {
    let rows = objects.iter().map(|object| {
        let id = format!("static-pod-{}-{}", object.namespace().unwrap_or_default(), object.name_any());
        let status = object.status.clone().unwrap_or_default();
        let row = html! {
            tr id=(id) {
                th scope="row" { (link(object)) }
                td { (bar(object)) }
                td { (status.upgraded_number) " of " (status.desired_number) }
                td { (status.deferred_number) }
                td { (status.failed_number) }
                td { @if object.spec.paused { span class="badge frozen" { "paused" } } }
            }
        };
        (id, row)
    });
    let piece = Piece::of_parts("static-pods", rows.collect(), |rows| {
        html! {
            section id="static-pods" aria-label="Static pods" {
                @if objects.is_empty() { p { "The cluster has no StaticPods." } }
                div class="scroll" tabindex="0" role="group" aria-label="Static pods" {
                    table {
                        thead { tr {
                            th scope="col" { "Static pod" } th scope="col" { "Nodes" } th scope="col" { "Upgraded" }
                            th scope="col" { "Put off" } th scope="col" { "Failed" }
                            th scope="col" { span class="hidden" { "Paused" } }
                        } }
                        tbody { (rows) }
                    }
                }
            }
        }
    });
    vec![piece]
}

pub(crate) fn one(data: &Data) -> Vec<Piece> {
    let status = data.object.status.clone().unwrap_or_default();
    vec![
        Piece::new("progress", progress(&data.object, &status)),
        Piece::new("acts", acts(data)),
        Piece::new("picture", picture(&status)),
        Piece::new("waiting", waiting(&status)),
    ]
}

fn progress(object: &StaticPod, status: &StaticPodStatus) -> Markup {
    html! {
        section id="progress" aria-label="How far it is" {
            p role="status" {
                (status.upgraded_number) " of " (status.desired_number) " nodes upgraded, "
                (status.upgrading_number.unwrap_or_default()) " under way, " (status.deferred_number) " put off, " (status.failed_number) " failed."
            }
            (bar(object))
            dl {
                dt { "Strategy" } dd { (format!("{:?}", object.spec.upgrade_strategy.type_)) }
                @if object.spec.paused { dt { "Paused" } dd { "no further upgrade is started" } }
                dt { "Revision" } dd { code { (status.update_revision.as_deref().unwrap_or("not seen by the hub yet")) } }
                @if let Some(phase) = status.canary_phase { dt { "Canaries" } dd { (format!("{phase:?}").to_lowercase()) } }
                @for condition in &status.conditions {
                    dt { (condition.type_) }
                    dd { (condition.status.to_lowercase()) " (" (condition.reason) ") " (condition.message) }
                }
            }
            @if status.observed_generation != object.metadata.generation {
                p class="note" { "The numbers are of an earlier version of it: the hub has not seen the newest yet." }
            }
        }
    }
}

fn acts(data: &Data) -> Markup {
    let path = path(&data.object);
    html! {
        section id="acts" aria-label="What you can do" {
            ul class="acts" {
                @if data.may_steer {
                    @if data.object.spec.paused {
                        li { a class="button" href={ (path) "/resume" } { "Resume…" } }
                    } @else {
                        li { a class="button" href={ (path) "/pause" } { "Pause…" } }
                    }
                }
                @if data.may_roll_back { li { a class="button" href={ (path) "/roll-back" } { "Roll back…" } } }
            }
            @if !data.may_steer && !data.may_roll_back {
                p class="note" { "You may look, and not steer it: that needs the right to patch the StaticPod." }
            }
        }
    }
}

/// How many nodes are in each state.
fn counts(status: &StaticPodStatus) -> [(NodeUpgradeState, i64); 5] {
    ORDER.map(|state| {
        let counted = match state {
            NodeUpgradeState::Upgraded => status.upgraded_number,
            NodeUpgradeState::Upgrading => status.upgrading_number.unwrap_or_default(),
            NodeUpgradeState::Deferred => status.deferred_number,
            NodeUpgradeState::Failed => status.failed_number,
            NodeUpgradeState::Pending => {
                let others = status.upgraded_number
                    + status.upgrading_number.unwrap_or_default()
                    + status.deferred_number
                    + status.failed_number;
                status.desired_number - others
            }
        };
        (state, i64::from(counted.max(0)))
    })
}

const fn word(state: NodeUpgradeState) -> &'static str {
    match state {
        NodeUpgradeState::Pending => "pending",
        NodeUpgradeState::Upgrading => "upgrading",
        NodeUpgradeState::Upgraded => "upgraded",
        NodeUpgradeState::Deferred => "deferred",
        NodeUpgradeState::Failed => "failed",
    }
}

/// All nodes as one bar, by state.
pub(crate) fn bar(object: &StaticPod) -> Markup {
    let counts = counts(&object.status.clone().unwrap_or_default());
    let all: i64 = counts.iter().map(|(_, number)| number).sum::<i64>().max(1);
    let label: Vec<String> = counts
        .iter()
        .filter(|(_, number)| *number > 0)
        .map(|(state, number)| format!("{number} {}", word(*state)))
        .collect();
    let mut end = 0;
    let parts = counts.map(|(state, number)| {
        let begin = end;
        end += number * WIDE / all;
        (state, begin, end - begin)
    });
    html! {
        svg class="bar" role="img" aria-label=(if label.is_empty() { "no nodes".to_owned() } else { label.join(", ") })
            viewBox={ "0 0 " (WIDE) " 20" } preserveAspectRatio="none" {
            @for (state, begin, wide) in parts {
                @if wide > 0 { rect class=(word(state)) x=(begin) y="0" width=(wide) height="20" {} }
            }
        }
    }
}

/// A square for each node; where the cluster does not name them all, each square stands for several.
fn picture(status: &StaticPodStatus) -> Markup {
    html! {
        section id="picture" aria-labelledby="picture-title" {
            h2 id="picture-title" { "Nodes" }
            ul class="legend" aria-label="What the colours mean" {
                @for (state, number) in counts(status) {
                    li { span class={ "cell " (word(state)) } {} " " (number) " " (word(state)) }
                }
            }
            @if status.nodes_truncated {
                @let (each, squares) = squares(status);
                // In words it is above.
                div class="cells" aria-hidden="true" {
                    @for state in squares { span class={ "cell " (word(state)) } title=(word(state)) {} }
                }
                p class="note" {
                    "A square stands for " (each) " nodes or fewer. "
                    (left_out(status))
                }
            }
            ul class="cells" aria-label="Nodes by state" {
                @for node in &status.nodes {
                    li {
                        a class={ "cell " (word(node.state)) } href=(node_path(&node.node))
                            title={ (node.node) ": " (word(node.state)) } {
                            span class="hidden" { (node.node) ": " (word(node.state)) }
                        }
                    }
                }
            }
        }
    }
}

/// The states of about so many squares as are drawn, and for how many nodes each of them stands. A state that any node is in has one.
fn squares(status: &StaticPodStatus) -> (usize, impl Iterator<Item = NodeUpgradeState>) {
    let counts = counts(status).map(|(state, number)| (state, usize::try_from(number).unwrap_or_default()));
    let all: usize = counts.iter().map(|(_, number)| number).sum();
    let each = all.div_ceil(SQUARES).max(1);
    let squares =
        counts.into_iter().flat_map(move |(state, number)| std::iter::repeat_n(state, number.div_ceil(each)));
    (each, squares)
}

/// How many nodes are not upgraded.
fn behind(status: &StaticPodStatus) -> usize {
    usize::try_from(status.desired_number - status.upgraded_number).unwrap_or_default()
}

/// Which nodes are named, where not all are.
fn left_out(status: &StaticPodStatus) -> String {
    let behind = behind(status);
    let named = status.nodes.iter().filter(|node| node.state != NodeUpgradeState::Upgraded).count();
    match named {
        _ if behind == 0 => "All nodes are upgraded.".to_owned(),
        _ if named >= behind => "Those that are not upgraded follow by name.".to_owned(),
        _ => format!(
            "Of the {behind} nodes that are not upgraded {named} follow by name: those that failed, are under way or are put off \
             before those that only wait."
        ),
    }
}

/// The nodes that are not upgraded, and why.
fn waiting(status: &StaticPodStatus) -> Markup {
    let waiting: Vec<_> =
        status.nodes.iter().filter(|node| node.state != NodeUpgradeState::Upgraded).collect();
    let all = if status.nodes_truncated { behind(status).max(waiting.len()) } else { waiting.len() };
    let more = all - waiting.len().min(MOST);
    html! {
        section id="waiting" aria-labelledby="waiting-title" hidden[waiting.is_empty()] {
            h2 id="waiting-title" { "Not upgraded, and why" }
            div class="scroll" tabindex="0" role="group" aria-labelledby="waiting-title" {
                table {
                    thead { tr {
                        th scope="col" { "Node" } th scope="col" { "State" } th scope="col" { "Reason" }
                        th scope="col" { "Message" } th scope="col" { "Since" } th scope="col" { "Tried again" }
                    } }
                    tbody {
                        @for node in waiting.iter().take(MOST) {
                            tr {
                                th scope="row" { (node_link(&node.node)) }
                                td { (word(node.state)) }
                                td { (node.reason.as_deref().unwrap_or_default()) }
                                td { (node.message.as_deref().unwrap_or_default()) }
                                td { (moment(node.since.as_ref())) }
                                td { (moment(node.retry_at.as_ref())) }
                            }
                        }
                    }
                }
            }
            @if more > 0 { p class="note" { "and " (more) " more" } }
        }
    }
}
