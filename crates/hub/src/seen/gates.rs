//! What the nodes last said about themselves, by node.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use kube::ResourceExt;
use kube::runtime::watcher::Event;
use safepoint_api::NodeGate;
use safepoint_api::node_gate::NodeGateStatus;

/// The status of every NodeGate that has one.
#[derive(Default)]
pub(crate) struct Gates {
    by_node: HashMap<String, Arc<NodeGateStatus>>,
    /// Those that the present list has shown so far.
    fresh: Option<HashSet<String>>,
}

// === impl Gates ===

impl Gates {
    pub(crate) fn get(&self, node: &str) -> Option<Arc<NodeGateStatus>> {
        self.by_node.get(node).cloned()
    }

    pub(crate) fn nodes(&self) -> impl Iterator<Item = &String> {
        self.by_node.keys()
    }

    /// Takes an event of the watch, and says of which nodes the gate has changed.
    pub(crate) fn take(&mut self, event: Event<NodeGate>) -> Vec<String> {
        match event {
            Event::Init => {
                self.fresh = Some(HashSet::new());
                Vec::new()
            }
            Event::InitApply(gate) | Event::Apply(gate) => {
                let node = gate.name_any();
                if let Some(fresh) = &mut self.fresh {
                    fresh.insert(node.clone());
                }
                let changed = match gate.status {
                    Some(status) => self.put(&node, slim(status)),
                    None => self.by_node.remove(&node).is_some(),
                };
                if changed { vec![node] } else { Vec::new() }
            }
            Event::Delete(gate) => {
                let node = gate.name_any();
                if self.by_node.remove(&node).is_some() { vec![node] } else { Vec::new() }
            }
            Event::InitDone => {
                let fresh = self.fresh.take().unwrap_or_default();
                self.by_node.extract_if(|node, _| !fresh.contains(node)).map(|(node, _)| node).collect()
            }
        }
    }

    fn put(&mut self, node: &str, status: NodeGateStatus) -> bool {
        let same = self.by_node.get(node).is_some_and(|known| **known == status);
        if !same {
            self.by_node.insert(node.to_owned(), Arc::new(status));
        }
        !same
    }
}

/// What nobody here asks for is not kept for ten thousand nodes.
fn slim(status: NodeGateStatus) -> NodeGateStatus {
    NodeGateStatus {
        observed_generation: None,
        blockers: Vec::new(),
        orders: Vec::new(),
        modules: Vec::new(),
        agent_version: None,
        conditions: Vec::new(),
        ..status
    }
}

#[cfg(test)]
mod tests {
    use safepoint_api::node_gate::{GateState, NodeGateSpec};

    use super::*;

    fn gate(node: &str, state: Option<GateState>) -> NodeGate {
        let mut gate = NodeGate::new(node, NodeGateSpec::default());
        gate.status = state.map(|state| NodeGateStatus { state: Some(state), ..NodeGateStatus::default() });
        gate
    }

    #[test]
    fn only_what_has_changed_is_told_and_a_list_forgets_what_is_gone() {
        let mut gates = Gates::default();
        let mut take = |event| gates.take(event);
        assert!(take(Event::Init).is_empty());
        assert_eq!(take(Event::InitApply(gate("a", Some(GateState::Open)))), ["a"]);
        assert_eq!(take(Event::InitApply(gate("b", Some(GateState::Open)))), ["b"]);
        assert!(take(Event::InitApply(gate("c", None))).is_empty(), "it has said nothing yet");
        assert!(take(Event::InitDone).is_empty());
        assert!(take(Event::Apply(gate("a", Some(GateState::Open)))).is_empty());
        assert_eq!(take(Event::Apply(gate("a", Some(GateState::Frozen)))), ["a"]);
        take(Event::Init);
        assert!(take(Event::InitApply(gate("a", Some(GateState::Frozen)))).is_empty());
        assert_eq!(take(Event::InitDone), ["b"]);
        assert_eq!(take(Event::Delete(gate("a", None))), ["a"]);
        assert!(gates.get("a").is_none() && gates.get("b").is_none());
    }
}
