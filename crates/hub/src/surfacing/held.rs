//! Which workloads are held, on which nodes and by whom, from what the nodes say. Pure.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::{self, Write};

use jiff::Timestamp;
use safepoint_api::names::kubeedge;
use safepoint_api::node_gate::{GateState, NodeGateStatus, Origin, ScopeKind};

use crate::seen::Carrier;
use crate::source::list;

/// So many nodes are named.
const NAMED: usize = 3;

/// A workload as people know it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(super) struct Top {
    pub(super) kind: Carrier,
    pub(super) namespace: String,
    pub(super) name: String,
}

/// What is to be said about a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Summary {
    /// Since when something of it has been held.
    pub(super) since: Timestamp,
    /// A sentence.
    pub(super) text: String,
}

/// What is held.
#[derive(Default)]
pub(super) struct Held {
    workloads: HashMap<Top, BTreeMap<String, OnNode>>,
    by_node: HashMap<String, BTreeSet<Top>>,
}

/// What one node holds of a workload.
#[derive(Clone, PartialEq, Eq, Debug)]
struct OnNode {
    since: Timestamp,
    /// Who, as it is told.
    by: BTreeSet<String>,
    /// What ends it.
    way_out: String,
}

// === impl Held ===

impl Held {
    /// Takes what a node says now, and returns the workloads about which there may be something new to say.
    pub(super) fn update(&mut self, node: &str, gate: Option<&NodeGateStatus>) -> Vec<Top> {
        let mut now: BTreeMap<Top, OnNode> = BTreeMap::new();
        for change in gate.iter().flat_map(|gate| &gate.held) {
            let Some(of) = &change.workload else { continue };
            let Some(kind) = carrier(&of.kind) else { continue };
            let top = Top { kind, namespace: of.namespace.clone(), name: of.name.clone() };
            let holders = gate.iter().flat_map(|gate| holders(gate, &change.held_by)).collect();
            let way_out = gate.map(|gate| way_out(gate, &change.held_by, node, &top)).unwrap_or_default();
            let on_node = OnNode { since: change.since.0, by: holders, way_out };
            now.entry(top)
                .and_modify(|known| {
                    known.since = known.since.min(on_node.since);
                    known.by.extend(on_node.by.clone());
                })
                .or_insert(on_node);
        }
        let mut changed = Vec::new();
        let tops: BTreeSet<Top> = now.keys().cloned().collect();
        for over in self.by_node.remove(node).unwrap_or_default().difference(&tops) {
            if let Some(nodes) = self.workloads.get_mut(over) {
                nodes.remove(node);
                if nodes.is_empty() {
                    self.workloads.remove(over);
                }
            }
            changed.push(over.clone());
        }
        if !tops.is_empty() {
            self.by_node.insert(node.to_owned(), tops);
        }
        for (top, on_node) in now {
            let nodes = self.workloads.entry(top.clone()).or_default();
            if nodes.insert(node.to_owned(), on_node.clone()) != Some(on_node) {
                changed.push(top);
            }
        }
        changed
    }

    /// How many workloads are held.
    pub(super) fn len(&self) -> usize {
        self.workloads.len()
    }

    /// What is to be said about a workload; nothing if it is not held.
    pub(super) fn summary(&self, top: &Top) -> Option<Summary> {
        let nodes = self.workloads.get(top)?;
        let since = nodes.values().map(|on_node| on_node.since).min()?;
        let mut text = match nodes.len() {
            1 => "changes are held on node ".to_owned(),
            many => format!("changes are held on {many} nodes: "),
        };
        let each = nodes.iter().take(NAMED).map(|(node, on_node)| {
            let mut text = node.clone();
            if !on_node.by.is_empty() {
                text.push_str(" (");
                list(&mut text, on_node.by.iter().cloned());
                text.push(')');
            }
            text
        });
        list(&mut text, each.collect::<Vec<_>>().into_iter());
        if nodes.len() > NAMED {
            let _ = write!(text, " and {} more", nodes.len() - NAMED);
        }
        let way_out = nodes.values().map(|on_node| &on_node.way_out).next()?;
        let _ = write!(text, "; to let them through: {way_out}");
        Some(Summary { since, text })
    }
}

fn carrier(kind: &str) -> Option<Carrier> {
    match kind {
        "Deployment" => Some(Carrier::Deployment),
        "DaemonSet" => Some(Carrier::DaemonSet),
        "StatefulSet" => Some(Carrier::StatefulSet),
        _ => None,
    }
}

/// Who holds, as it is told: `crane: "lift"`, or that it is annotated.
fn holders(gate: &NodeGateStatus, held_by: &[String]) -> Vec<String> {
    let told = held_by.iter().map(|id| match id.as_str() {
        kubeedge::HOLD_UPGRADE => "annotated to hold its upgrades".to_owned(),
        id => match gate.holds.iter().find(|hold| hold.id == id) {
            Some(hold) => format!("{}: {:?}", hold.holder, hold.reason),
            None => id.to_owned(),
        },
    });
    told.collect()
}

/// The command that lets the change through: what decides comes first.
fn way_out(gate: &NodeGateStatus, held_by: &[String], node: &str, top: &Top) -> String {
    let holds = || gate.holds.iter().filter(|hold| held_by.contains(&hold.id));
    let is_frozen = matches!(gate.state, Some(GateState::Frozen | GateState::Freezing));
    let freezes = || holds().filter(|hold| hold.scope.kind == ScopeKind::Node);
    match holds().next() {
        _ if is_frozen && freezes().all(|hold| hold.origin == Origin::Remote) => {
            format!("`safepoint node unfreeze {node}`")
        }
        _ if is_frozen => format!("`safepoint node unfreeze` on {node}"),
        Some(hold) => format!("`safepoint unhold {}` on {node}", hold.id),
        None => {
            let (kind, name) = (top.kind.word().to_lowercase(), &top.name);
            format!("`safepoint release {kind}/{name} -n {} --node {node}`", top.namespace)
        }
    }
}

impl fmt::Display for Top {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind.word().to_lowercase(), self.namespace, self.name)
    }
}

#[cfg(test)]
#[expect(clippy::needless_pass_by_value, reason = "a JSON text reads best where it is passed")]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn change(kind: &str, name: &str, held_by: Value) -> Value {
        json!({"kind": "Pod", "namespace": "shop", "name": "p", "change": "Stop", "since": "2026-11-15T12:00:00Z", "why": "w",
            "heldBy": held_by, "workload": {"kind": kind, "namespace": "shop", "name": name}})
    }

    fn gate(state: &str, held: Value) -> NodeGateStatus {
        let hold = |id: &str, scope: &str, origin: &str| {
            json!({"id": id, "holder": "crane", "origin": origin, "reason": "lift", "scope": {"kind": scope, "namespace": "shop"},
                "since": "2026-11-15T11:30:00Z"})
        };
        let status = json!({"state": state, "held": held,
            "holds": [hold("lift", "Node", "Remote"), hold("stock", "Namespace", "Local")]});
        serde_json::from_value(status).unwrap()
    }

    fn top(kind: Carrier, name: &str) -> Top {
        Top { kind, namespace: "shop".into(), name: name.into() }
    }

    const ANNOTATION: &str = "edge.kubeedge.io/hold-upgrade";

    #[test]
    fn the_text_says_where_by_whom_and_how_to_let_it_through() {
        let mut held = Held::default();
        held.update(
            "rover-7",
            Some(&gate("Open", json!([change("Deployment", "web", json!([ANNOTATION]))]))),
        );
        let summary = held.summary(&top(Carrier::Deployment, "web")).unwrap();
        assert_eq!(
            summary.text,
            "changes are held on node rover-7 (annotated to hold its upgrades); to let them through: \
             `safepoint release deployment/web -n shop --node rover-7`"
        );
        held.update("rover-8", Some(&gate("Open", json!([change("Deployment", "web", json!(["stock"]))]))));
        let text = held.summary(&top(Carrier::Deployment, "web")).unwrap().text;
        assert!(text.starts_with("changes are held on 2 nodes: rover-7 (annotated to hold its upgrades) and rover-8 (crane: \"lift\");"), "{text}");
    }

    #[test]
    fn a_frozen_node_is_to_be_thawed_and_a_hold_to_be_dropped() {
        for (state, by, way) in [
            ("Frozen", "lift", "`safepoint node unfreeze rover-7`"),
            ("Open", "stock", "`safepoint unhold stock` on rover-7"),
        ] {
            let mut held = Held::default();
            held.update("rover-7", Some(&gate(state, json!([change("DaemonSet", "lidar", json!([by]))]))));
            let text = held.summary(&top(Carrier::DaemonSet, "lidar")).unwrap().text;
            assert!(text.ends_with(way), "{text}");
        }
    }

    #[test]
    fn many_nodes_are_counted_and_only_some_are_named() {
        let mut held = Held::default();
        let status = gate("Open", json!([change("StatefulSet", "db", json!([ANNOTATION]))]));
        for number in 0..5 {
            assert_eq!(held.update(&format!("rover-{number}"), Some(&status)).len(), 1);
        }
        let text = held.summary(&top(Carrier::StatefulSet, "db")).unwrap().text;
        assert!(text.contains("on 5 nodes: rover-0 (") && text.contains("and 2 more;"), "{text}");
        assert_eq!(held.len(), 1);
    }

    #[test]
    fn only_news_is_returned_and_what_is_over_is_forgotten() {
        let mut held = Held::default();
        let (web, db) =
            (change("Deployment", "web", json!([ANNOTATION])), change("StatefulSet", "db", json!([])));
        let both = gate("Open", json!([web, db, change("Pod", "bare", json!([]))]));
        assert_eq!(held.update("rover-7", Some(&both)).len(), 2);
        assert!(held.update("rover-7", Some(&both)).is_empty());
        assert_eq!(
            held.update("rover-7", Some(&gate("Open", json!([web])))),
            [top(Carrier::StatefulSet, "db")]
        );
        assert_eq!(held.update("rover-7", None), [top(Carrier::Deployment, "web")]);
        assert_eq!((held.len(), held.by_node.len()), (0, 0));
    }
}
