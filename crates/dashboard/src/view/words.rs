//! Words, moments and links that several pages share.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use maud::{Markup, html};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use safepoint_api::WorkloadRef;
use safepoint_api::node_gate::{Change, HeldChange, Hold, OnExpiry, Scope, ScopeKind};

use crate::diff::{self, Difference, MOST, Source};
use crate::fleet::Standing;

/// What stands in a path or a query as it is.
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// How much of a revision tells it from another.
const SHORT: usize = 10;

/// A text as a part of an address.
pub(crate) fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// A moment. The script shows how long ago it was; without it, it is a moment all the same.
pub(crate) fn moment(time: Option<&Time>) -> Markup {
    html! {
        @if let Some(time) = time {
            time datetime=(time.0) { (time.0.strftime("%Y-%m-%d %H:%M:%S UTC")) }
        } @else { "—" }
    }
}

/// Since when. The script shows for how long.
pub(crate) fn since(time: &Time) -> Markup {
    html! { time class="since" datetime=(time.0) { "since " (time.0.strftime("%Y-%m-%d %H:%M:%S UTC")) } }
}

/// Why something is held, as its node has said it. How long it had been held by then is not repeated, because that was then: the
/// script says how long it is now, and without it, since when.
pub(crate) fn why(held: &HeldChange) -> Markup {
    let since = since(&held.since);
    let said = held.why.split_once(" has been held for ");
    match said.and_then(|(what, rest)| Some((what, rest.split_once(") because ")?.1))) {
        Some((what, because)) => html! { (what) " has been held " (since) " because " (because) },
        None => html! { (held.why) " (held " (since) ")" },
    }
}

pub(crate) fn standing(standing: Standing) -> Markup {
    html! { span class={ "badge " (standing.key()) } title=(standing.meaning()) { (standing.word()) } }
}

pub(crate) fn node_path(node: &str) -> String {
    format!("/nodes/{}", encoded(node))
}

pub(crate) fn node_link(node: &str) -> Markup {
    html! { a href=(node_path(node)) { (node) } }
}

pub(crate) fn workload(of: &WorkloadRef) -> String {
    let ordinal = of.ordinal.map_or_else(String::new, |ordinal| format!(" #{ordinal}"));
    format!("{} {}/{}{ordinal}", of.kind.to_lowercase(), of.namespace, of.name)
}

pub(crate) fn workload_path(of: &WorkloadRef) -> String {
    let ordinal = of.ordinal.map_or_else(String::new, |ordinal| format!("?ordinal={ordinal}"));
    format!("/workloads/{}/{}/{}{ordinal}", encoded(&of.namespace), encoded(&of.kind), encoded(&of.name))
}

pub(crate) fn workload_link(of: &WorkloadRef) -> Markup {
    html! { a href=(workload_path(of)) { (workload(of)) } }
}

/// What a hold covers.
pub(crate) fn scope(scope: &Scope) -> String {
    let Scope { kind, namespace, workload: of, pod, selector } = scope;
    let within =
        namespace.as_ref().map_or_else(String::new, |namespace| format!(" in namespace {namespace}"));
    match (kind, of, pod, selector) {
        (ScopeKind::Workload, Some(of), ..) => workload(of),
        (ScopeKind::Pod, _, Some(pod), _) => format!("pod {}/{}", pod.namespace, pod.name),
        (ScopeKind::Selector, .., Some(selector)) => format!("pods with {selector}{within}"),
        (ScopeKind::Namespace, ..) => format!("namespace {}", namespace.as_deref().unwrap_or_default()),
        _ => "the node".to_owned(),
    }
}

/// When a hold ends.
pub(crate) fn ends(hold: &Hold) -> Markup {
    html! {
        @if let Some(until) = &hold.suspended_until {
            "set aside until " (moment(Some(until)))
        } @else if hold.orphaned {
            span class="badge orphaned" { "orphaned" }
        } @else if let Some(expires) = &hold.expires {
            (moment(Some(expires)))
            @if hold.on_expiry == Some(OnExpiry::ThawIfSafe) { ", if it is safe" } @else { ", then it stays, orphaned" }
        } @else { "when it is dropped" }
    }
}

pub(crate) const fn change(change: Change) -> &'static str {
    match change {
        Change::Start => "start",
        Change::Update => "update",
        Change::Stop => "stop",
        Change::Config => "config",
    }
}

/// `a → b`, as far as it is known.
pub(crate) fn revisions(change: &HeldChange) -> String {
    let short =
        |revision: &Option<String>| revision.as_ref().map(|it| it.chars().take(SHORT).collect::<String>());
    match (short(&change.from_revision), short(&change.to_revision)) {
        (Some(from), Some(to)) if from == to => from,
        (Some(from), Some(to)) => format!("{from} → {to}"),
        (None, Some(to)) => format!("→ {to}"),
        (Some(from), None) => format!("{from} →"),
        (None, None) => String::new(),
    }
}

/// `1 change`, `2 changes`.
pub(crate) fn count(number: i64, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// What a held change would do, as far as it can be told: `all` are those that are held with it. Without `pods` the page says that
/// they may not be read.
pub(crate) fn before_and_after(change: &HeldChange, all: &[HeldChange], pods: Option<&[Pod]>) -> Markup {
    let is_unread = pods.is_none() && change.kind == "Pod" && change.change != Change::Stop;
    match diff::difference(change, all, pods.unwrap_or_default()) {
        Some(found) => difference(&found),
        None if is_unread => html! {},
        None => html! { p class="note" { (diff::instead(change, all)) } },
    }
}

/// Before and after, folded away until somebody looks.
fn difference(difference: &Difference) -> Markup {
    let note = match difference.source {
        Source::BothPods => "the old pod and its successor, as the cluster has them",
        Source::Images => {
            "the images that run, and those that are wanted; what else differs only the node knows"
        }
        Source::NewPod => "it does not run yet; what it replaces only the node knows",
    };
    html! {
        details class="diff" {
            summary { "Before and after" }
            p class="note" { (note) }
            @if difference.fields.is_empty() {
                p {
                    @match difference.source {
                        Source::Images => "The images are the same: something other than the images differs.",
                        Source::BothPods => "Nothing differs that the cluster knows of: the pod is replaced by one like it.",
                        Source::NewPod => "It has no containers.",
                    }
                }
            } @else {
                div class="scroll" tabindex="0" role="group" aria-label="Before and after" {
                    table {
                        thead { tr { th scope="col" { "Field" } th scope="col" { "Before" } th scope="col" { "After" } } }
                        tbody {
                            @for field in difference.fields.iter().take(MOST) {
                                tr {
                                    th scope="row" { code { (field.path) } }
                                    td { @if let Some(before) = &field.before { del { (before) } } @else { "—" } }
                                    td { @if let Some(after) = &field.after { ins { (after) } } @else { "—" } }
                                }
                            }
                        }
                    }
                }
                @if difference.fields.len() > MOST { p class="note" { "and " (difference.fields.len() - MOST) " more" } }
            }
        }
    }
}
