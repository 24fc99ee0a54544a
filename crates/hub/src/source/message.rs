//! What somebody is told whose deletion or eviction is put off: one sentence, and the same for programs.

use std::fmt::Write;

use safepoint_api::names::kusionstack::TO_DELETE;
use safepoint_api::names::safepoint::END_WISHED;
use safepoint_api::node_gate::{Hold, Origin};
use serde_json::{Value, json};

use super::judge::Cause;
use super::wish::How;
use crate::pod::Pod;
use crate::webhook::Denial;

/// So many holders are named; a sentence is to be read.
const NAMED: usize = 3;

/// What happens when the pod is released.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Way {
    /// Its node ends it.
    Node,
    /// It is taken out of service first, and then deleted.
    Lifecycle,
    /// The same, once somebody asks again: that it is wished could not be written.
    Unnoted,
}

/// The refusal. An eviction gets the answer of a disruption budget, so that `kubectl drain` waits and asks again; a deletion
/// is in conflict with the state that the pod's node is in.
pub(crate) fn denial(pod: &Pod, causes: &[Cause<'_>], how: How, way: Way) -> Denial {
    let (code, reason) = match (how, way) {
        (How::Eviction, _) => (429, "TooManyRequests"),
        (How::Delete, Way::Unnoted) => (503, "ServiceUnavailable"),
        (How::Delete, _) => (409, "Conflict"),
    };
    let each = causes.iter().map(|cause| json!({"reason": word(cause), "message": because(pod, cause)}));
    let details =
        json!({"kind": "pods", "name": pod.name, "uid": pod.uid, "causes": each.collect::<Vec<Value>>()});
    Denial { code, reason, message: sentence(pod, causes, way), details }
}

fn sentence(pod: &Pod, causes: &[Cause<'_>], way: Way) -> String {
    let Pod { namespace, name, .. } = pod;
    let mut text = format!("pod {namespace}/{name} does not end now because ");
    list(&mut text, causes.iter().map(|cause| because(pod, cause)));
    text.push_str(match way {
        Way::Node => "; the wish is noted and the pod ends when it is released (",
        Way::Lifecycle => {
            "; the wish is noted and the pod goes through its lifecycle and ends when it is released ("
        }
        Way::Unnoted => "; the wish could not be noted: ask again, then the pod ends when it is released (",
    });
    let mut ways: Vec<String> = Vec::new();
    for way in causes.iter().flat_map(|cause| remedies(pod, cause)) {
        if !ways.contains(&way) {
            ways.push(way);
        }
    }
    list(&mut text, ways.into_iter());
    let _ = match way {
        Way::Node => write!(
            text,
            "), unless the wish is withdrawn (`kubectl annotate pod {name} -n {namespace} {END_WISHED}-`)"
        ),
        Way::Lifecycle => write!(
            text,
            "), unless the wish is withdrawn (`kubectl label pod {name} -n {namespace} {TO_DELETE}-`)"
        ),
        Way::Unnoted => write!(text, ")"),
    };
    text
}

/// One word for programs.
const fn word(cause: &Cause<'_>) -> &'static str {
    match cause {
        Cause::Frozen { settled: true, .. } => "NodeFrozen",
        Cause::Frozen { settled: false, .. } => "NodeFreezing",
        Cause::Held(_) => "Held",
        Cause::Annotated => "HoldUpgrade",
    }
}

fn because(pod: &Pod, cause: &Cause<'_>) -> String {
    let node = pod.node.as_deref().unwrap_or_default();
    match cause {
        Cause::Frozen { settled, by } => {
            let state = if *settled { "frozen" } else { "being frozen" };
            let mut text = format!("node {node} is {state}");
            if !by.is_empty() {
                text.push_str(" by ");
                list(&mut text, by.iter().take(NAMED).map(|hold| who(hold)));
                match by.len().saturating_sub(NAMED) {
                    0 => {}
                    more => {
                        let _ = write!(text, " (and {more} more)");
                    }
                }
            }
            text
        }
        Cause::Held(hold) => format!("it is held on node {node} by {}", who(hold)),
        Cause::Annotated => format!("{} is annotated to hold its upgrades", workload(pod)),
    }
}

/// `flight-control since 2026-11-15T12:00:00Z ("crane lift")`, what other people wrote in quotes.
fn who(hold: &Hold) -> String {
    let orphaned = if hold.orphaned { ", orphaned" } else { "" };
    format!("{} since {} ({:?}{orphaned})", hold.holder, hold.since.0, hold.reason)
}

/// The commands that release it. Each side ends what it holds itself.
fn remedies(pod: &Pod, cause: &Cause<'_>) -> Vec<String> {
    let node = pod.node.as_deref().unwrap_or_default();
    let here = || format!("`safepoint node unfreeze` on {node}");
    let there = || format!("`safepoint node unfreeze {node}`");
    match cause {
        Cause::Frozen { by, .. } => {
            let of = |origin: Origin| by.iter().any(|hold| hold.origin == origin);
            let mut ways = Vec::new();
            if of(Origin::Remote) || !of(Origin::Local) {
                ways.push(there());
            }
            if of(Origin::Local) {
                ways.push(here());
            }
            ways
        }
        Cause::Held(hold) => vec![format!("`safepoint unhold {}` on {node}", hold.id)],
        Cause::Annotated => vec![format!("`safepoint release {}/{} --node {node}`", pod.namespace, pod.name)],
    }
}

fn workload(pod: &Pod) -> String {
    let of = &pod.workload;
    let mut text = format!("{} {}/{}", of.kind.to_lowercase(), of.namespace, of.name);
    if let Some(ordinal) = of.ordinal {
        let _ = write!(text, " #{ordinal}");
    }
    text
}

/// `a`, `a and b`, `a, b and c`.
pub(crate) fn list(text: &mut String, items: impl ExactSizeIterator<Item = String>) {
    let last = items.len().saturating_sub(1);
    for (index, item) in items.enumerate() {
        text.push_str(match index {
            0 => "",
            index if index == last => " and ",
            _ => ", ",
        });
        text.push_str(&item);
    }
}

#[cfg(test)]
mod tests {
    use safepoint_api::node_gate::Hold;
    use serde_json::json;

    use super::*;

    fn pod() -> Pod {
        let pod = json!({"metadata": {"name": "web-1", "uid": "u1"}, "spec": {"nodeName": "rover-7"}});
        Pod::read("shop", &pod)
    }

    fn hold(id: &str, origin: &str, scope: &str) -> Hold {
        let hold = json!({"id": id, "holder": "flight-control", "origin": origin, "reason": "crane \"lift\"",
            "scope": {"kind": scope, "namespace": "shop"}, "since": "2026-11-15T11:30:00Z"});
        serde_json::from_value(hold).unwrap()
    }

    #[test]
    fn the_sentence_says_who_why_since_when_how_to_release_and_how_to_withdraw() {
        let freeze = hold("lift-42", "Remote", "Node");
        let causes = [Cause::Frozen { settled: true, by: vec![&freeze] }];
        let denial = denial(&pod(), &causes, How::Delete, Way::Node);
        assert_eq!(
            denial.message,
            "pod shop/web-1 does not end now because node rover-7 is frozen by flight-control since \
             2026-11-15T11:30:00Z (\"crane \\\"lift\\\"\"); the wish is noted and the pod ends when it is released \
             (`safepoint node unfreeze rover-7`), unless the wish is withdrawn \
             (`kubectl annotate pod web-1 -n shop safepoint.dev/end-wished-`)"
        );
        assert_eq!((denial.code, denial.reason), (409, "Conflict"));
        assert_eq!(denial.details["causes"][0]["reason"], "NodeFrozen");
    }

    #[test]
    fn all_causes_and_all_ways_out_are_named_once() {
        let (freeze, other) = (hold("lift-42", "Local", "Node"), hold("stock", "Local", "Namespace"));
        let causes = [
            Cause::Frozen { settled: false, by: vec![&freeze, &freeze] },
            Cause::Held(&other),
            Cause::Annotated,
        ];
        let text = sentence(&pod(), &causes, Way::Node);
        assert!(text.contains("node rover-7 is being frozen by flight-control"), "{text}");
        assert!(text.contains("), it is held on node rover-7 by flight-control since"), "{text}");
        assert!(text.contains(" and pod shop/web-1 is annotated to hold its upgrades; "), "{text}");
        let ways = "(`safepoint node unfreeze` on rover-7, `safepoint unhold stock` on rover-7 and \
                    `safepoint release shop/web-1 --node rover-7`)";
        assert!(text.contains(ways), "{text}");
    }

    #[test]
    fn a_freeze_that_nobody_is_known_for_is_ended_through_the_cluster() {
        let text = sentence(&pod(), &[Cause::Frozen { settled: true, by: vec![] }], Way::Node);
        assert!(text.contains("because node rover-7 is frozen; the wish"), "{text}");
        assert!(text.contains("(`safepoint node unfreeze rover-7`)"), "{text}");
    }

    #[test]
    fn a_pod_with_a_lifecycle_is_told_in_the_same_sentence_what_follows_the_release() {
        let text = sentence(&pod(), &[Cause::Frozen { settled: true, by: vec![] }], Way::Lifecycle);
        assert_eq!(
            text,
            "pod shop/web-1 does not end now because node rover-7 is frozen; the wish is noted and the pod goes through \
             its lifecycle and ends when it is released (`safepoint node unfreeze rover-7`), unless the wish is \
             withdrawn (`kubectl label pod web-1 -n shop collaset.kusionstack.io/to-delete-`)"
        );
    }

    #[test]
    fn a_wish_that_could_not_be_noted_is_not_said_to_be() {
        let unnoted = |how| denial(&pod(), &[Cause::Annotated], how, Way::Unnoted);
        assert_eq!((unnoted(How::Delete).code, unnoted(How::Eviction).code), (503, 429));
        let text = unnoted(How::Delete).message;
        assert!(text.contains("; the wish could not be noted: ask again") && text.ends_with("`)"), "{text}");
        assert!(!text.contains("the wish is noted"), "{text}");
    }

    #[test]
    fn an_eviction_is_answered_as_a_disruption_budget_answers() {
        let denial = denial(&pod(), &[Cause::Annotated], How::Eviction, Way::Node);
        assert_eq!((denial.code, denial.reason), (429, "TooManyRequests"));
        assert_eq!(denial.details["causes"][0]["reason"], "HoldUpgrade");
    }
}
