//! The lists of a node's page.

use k8s_openapi::api::core::v1::Pod;
use maud::{Markup, html};
use safepoint_api::NodeGate;
use safepoint_api::node_gate::{HeldChange, ModuleState, NodeGateStatus, OrderPhase, Origin};

use super::words::{
    before_and_after, change, count, encoded, ends, moment, node_path, revisions, scope, why, workload_link,
};

/// Where a change is released. Bound to the revision that is looked at.
pub(crate) fn release_path(node: &str, change: &HeldChange) -> Option<String> {
    let of = change.workload.as_ref()?;
    let pairs = [
        ("kind", Some(of.kind.clone())),
        ("namespace", Some(of.namespace.clone())),
        ("name", Some(of.name.clone())),
        ("ordinal", of.ordinal.map(|ordinal| ordinal.to_string())),
        ("revision", change.to_revision.clone()),
    ];
    let set = pairs.iter().filter_map(|(name, value)| Some(format!("{name}={}", encoded(value.as_ref()?))));
    Some(format!("{}/release?{}", node_path(node), set.collect::<Vec<_>>().join("&")))
}

pub(crate) fn held(node: &str, status: &NodeGateStatus, pods: Option<&[Pod]>, may_order: bool) -> Markup {
    html! {
        section id="held" aria-labelledby="held-title" {
            h2 id="held-title" { "Held changes" }
            p { (count(i64::from(status.held_count), "change")) "." }
            @if status.held_truncated {
                p class="note" { "Only the oldest are shown; " code { "safepoint changes" } " on the node has them all." }
            }
            @if pods.is_none() && !status.held.is_empty() {
                p class="note" { "You may not list pods, so before and after are not shown." }
            }
            ul class="cards" {
                @for it in &status.held {
                    li {
                        h3 {
                            (change(it.change)) " of " (it.kind.to_lowercase()) " " (it.namespace) "/" (it.name)
                            @let revisions = revisions(it);
                            @if !revisions.is_empty() { " " code { (revisions) } }
                        }
                        p { (why(it)) }
                        p class="note" {
                            @if let Some(of) = &it.workload { "Of " (workload_link(of)) ". " }
                            @if !it.held_by.is_empty() { "Held by " (it.held_by.join(", ")) "." }
                        }
                        (before_and_after(it, &status.held, pods))
                        @if may_order && let Some(path) = release_path(node, it) {
                            p { a class="button" href=(path) { "Release…" } }
                        }
                    }
                }
            }
        }
    }
}

pub(crate) fn holds(status: &NodeGateStatus) -> Markup {
    html! {
        section id="holds" aria-labelledby="holds-title" {
            h2 id="holds-title" { "Holds" }
            @if status.holds.is_empty() { p { "None." } } @else {
                div class="scroll" tabindex="0" role="group" aria-labelledby="holds-title" {
                    table {
                        thead { tr {
                            th scope="col" { "Name" } th scope="col" { "Holder" } th scope="col" { "Covers" }
                            th scope="col" { "Reason" } th scope="col" { "Since" } th scope="col" { "Ends" }
                        } }
                        tbody {
                            @for hold in &status.holds {
                                tr {
                                    th scope="row" { code { (hold.id) } }
                                    td {
                                        (hold.holder)
                                        span class="note" { (origin(hold.origin)) }
                                    }
                                    td { (scope(&hold.scope)) }
                                    td { (hold.reason) }
                                    td { (moment(Some(&hold.since))) }
                                    td { (ends(hold)) }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

const fn origin(origin: Origin) -> &'static str {
    match origin {
        Origin::Local => ", on the node",
        Origin::Remote => ", the cluster",
    }
}

const fn phase(phase: OrderPhase) -> &'static str {
    match phase {
        OrderPhase::Obeyed => "obeyed",
        OrderPhase::Refused => "refused",
        OrderPhase::Vetoed => "vetoed",
    }
}

pub(crate) fn grants(status: &NodeGateStatus) -> Markup {
    html! {
        section id="grants" aria-labelledby="grants-title" hidden[status.grants.is_empty()] {
            h2 id="grants-title" { "Releases under way" }
            ul {
                @for grant in &status.grants {
                    li {
                        (workload_link(&grant.workload))
                        @if let Some(revision) = &grant.revision { " " code { (revision) } }
                        ", by " (grant.by) " " (moment(Some(&grant.since)))
                        @if let Some(expires) = &grant.expires { ", closes at the latest " (moment(Some(expires))) }
                    }
                }
            }
        }
    }
}

pub(crate) fn orders(gate: &NodeGate, status: &NodeGateStatus) -> Markup {
    let answer = |id: &str| status.orders.iter().find(|answer| answer.id == id);
    html! {
        section id="orders" aria-labelledby="orders-title" hidden[gate.spec.orders.is_empty()] {
            h2 id="orders-title" { "Orders" }
            ul {
                @for order in &gate.spec.orders {
                    li {
                        code { (order.id) } " "
                        @if let Some(release) = &order.release {
                            "release " @if let Some(of) = &release.workload { (workload_link(of)) }
                            @if let Some(pod) = &release.pod { "pod " (pod.namespace) "/" (pod.name) }
                        } @else { "thaw" }
                        ": "
                        @match answer(&order.id) {
                            Some(answer) => {
                                (phase(answer.phase)) ", " (answer.message) " " (moment(Some(&answer.at)))
                            }
                            None => "not answered yet"
                        }
                    }
                }
            }
        }
    }
}

pub(crate) fn modules(status: &NodeGateStatus) -> Markup {
    let is_well = |state| matches!(state, ModuleState::Ready | ModuleState::Completed);
    html! {
        section id="modules" aria-labelledby="modules-title" {
            h2 id="modules-title" { "Modules of the agent" }
            @if status.modules.is_empty() { p { "None is reported." } } @else {
                div class="scroll" tabindex="0" role="group" aria-labelledby="modules-title" {
                    table {
                        thead { tr {
                            th scope="col" { "Module" } th scope="col" { "State" } th scope="col" { "Restarts" }
                            th scope="col" { "Message" } th scope="col" { "Last failure" }
                        } }
                        tbody {
                            @for module in &status.modules {
                                tr {
                                    th scope="row" { (module.name) }
                                    @let class = if is_well(module.state) { "badge open" } else { "badge offline" };
                                    td { span class=(class) { (format!("{:?}", module.state)) } }
                                    td { (module.restarts) }
                                    td { (module.message.as_deref().unwrap_or_default()) }
                                    td {
                                        @if let Some(failure) = &module.last_failure { (moment(Some(&failure.at))) " " (failure.message) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}
