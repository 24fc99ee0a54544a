//! Things of the cluster as people name them.

use jiff::Timestamp;
use safepoint_api::WorkloadRef;
use safepoint_api::node_gate::{Change, HeldChange, Hold, OnExpiry, Scope, ScopeKind};

use super::age;

/// How much of a revision tells it from another, as in the sentences of the gate.
const SHORT: usize = 10;

/// `deployment shop/web`, `statefulset shop/db #2`.
pub(crate) fn workload(of: &WorkloadRef) -> String {
    let ordinal = of.ordinal.map_or_else(String::new, |ordinal| format!(" #{ordinal}"));
    format!("{} {}/{}{ordinal}", of.kind.to_lowercase(), of.namespace, of.name)
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
pub(crate) fn ends(hold: &Hold, now: Timestamp) -> String {
    let then = match hold.on_expiry {
        Some(OnExpiry::ThawIfSafe) => "ends if safe",
        Some(OnExpiry::Stay) | None => "then stays",
    };
    if let Some(until) = &hold.suspended_until {
        let left = age::left(until, now).map_or_else(String::new, |left| format!(" for {left}"));
        return format!("out of force{left}");
    }
    match &hold.expires {
        _ if hold.orphaned => "ORPHANED".to_owned(),
        None => "when dropped".to_owned(),
        Some(expires) => match age::left(expires, now) {
            Some(left) => format!("in {left}, {then}"),
            None => format!("now, {then}"),
        },
    }
}

/// `a → b`, as far as it is known; shortened for a table that is not wide.
pub(crate) fn revisions(change: &HeldChange, wide: bool) -> String {
    let short = |revision: &Option<String>| {
        let shown = |revision: &String| {
            revision.chars().take(if wide { usize::MAX } else { SHORT }).collect::<String>()
        };
        revision.as_ref().map(shown)
    };
    match (short(&change.from_revision), short(&change.to_revision)) {
        (Some(from), Some(to)) if from == to => from,
        (Some(from), Some(to)) => format!("{from} → {to}"),
        (None, Some(to)) => format!("→ {to}"),
        (Some(from), None) => format!("{from} →"),
        (None, None) => String::new(),
    }
}

/// What a change would do.
pub(crate) const fn change(change: Change) -> &'static str {
    match change {
        Change::Start => "start",
        Change::Update => "update",
        Change::Stop => "stop",
        Change::Config => "config",
    }
}

/// What others wrote, on one line and without anything that a terminal would obey.
pub(crate) fn clean(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// `1 change`, `2 changes`.
pub(crate) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_wrote_does_not_reach_the_terminal() {
        assert_eq!(clean("crane\u{1b}[2J\nlift\u{9b}1m"), "crane [2J lift 1m");
    }

    #[test]
    fn a_count_is_in_the_right_number() {
        assert_eq!((count(0, "change"), count(1, "change")), ("0 changes".to_owned(), "1 change".to_owned()));
    }
}
