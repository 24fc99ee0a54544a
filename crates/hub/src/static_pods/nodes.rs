//! The nodes, as far as a roll-out asks for them. Pure.

use std::collections::{BTreeMap, HashMap, HashSet};

use kube::runtime::watcher::Event;
use safepoint_api::names::kubernetes::CONDITION_READY;
use safepoint_core::rollout::Presence;
use safepoint_core::{Text, Timestamp};

use super::slim::{SlimNode, moment};

/// What is known of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct NodeFacts {
    pub(crate) presence: Presence,
    pub(crate) cordoned: bool,
    labels: Box<[(Text, Text)]>,
}

/// All nodes.
#[derive(Default)]
pub(crate) struct Nodes {
    all: HashMap<Text, NodeFacts>,
    /// Labels have few keys and few values: each is there once.
    texts: HashSet<Text>,
    fresh: Option<HashSet<Text>>,
    /// Whether a list has been complete.
    pub(crate) complete: bool,
}

// === impl NodeFacts ===

impl NodeFacts {
    pub(crate) fn has(&self, selector: &BTreeMap<String, String>) -> bool {
        let has = |(key, value): (&String, &String)| {
            let found = self.labels.binary_search_by(|(known, _)| (**known).cmp(key.as_str()));
            found.is_ok_and(|index| *self.labels[index].1 == **value)
        };
        selector.iter().all(has)
    }
}

// === impl Nodes ===

impl Nodes {
    pub(crate) fn get(&self, node: &str) -> Option<&NodeFacts> {
        self.all.get(node)
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &Text> {
        self.all.keys()
    }

    /// Takes an event, and says of which nodes something has changed that matters. A heartbeat does not.
    pub(crate) fn take(&mut self, event: Event<SlimNode>) -> Vec<Text> {
        match event {
            Event::Init => {
                self.fresh = Some(HashSet::new());
                Vec::new()
            }
            Event::InitApply(node) | Event::Apply(node) => {
                let Some(name) = node.metadata.name.as_deref().map(Text::from) else { return Vec::new() };
                if let Some(fresh) = &mut self.fresh {
                    fresh.insert(name.clone());
                }
                let facts = self.read(node);
                if self.all.get(&name) == Some(&facts) {
                    return Vec::new();
                }
                self.all.insert(name.clone(), facts);
                vec![name]
            }
            Event::Delete(node) => {
                let name = node.metadata.name.as_deref().unwrap_or_default();
                self.all.remove_entry(name).map(|(name, _)| name).into_iter().collect()
            }
            Event::InitDone => {
                self.complete = true;
                let fresh = self.fresh.take().unwrap_or_default();
                self.all.extract_if(|name, _| !fresh.contains(name)).map(|(name, _)| name).collect()
            }
        }
    }

    fn read(&mut self, node: SlimNode) -> NodeFacts {
        let ready = node.condition(CONDITION_READY);
        let since = ready.and_then(|ready| ready.last_transition_time.as_ref());
        let since = since.or(node.metadata.creation_timestamp.as_ref()).map_or(Timestamp(0), moment);
        let presence = match ready.is_some_and(|ready| ready.status == "True") {
            true => Presence::Ready,
            false => Presence::Away { since },
        };
        let cordoned = node.spec.unschedulable == Some(true);
        let labels = node.metadata.labels.unwrap_or_default().into_iter();
        let labels = labels.map(|(key, value)| (self.shared(&key), self.shared(&value))).collect();
        NodeFacts { presence, cordoned, labels }
    }

    fn shared(&mut self, text: &str) -> Text {
        match self.texts.get(text) {
            Some(known) => known.clone(),
            None => {
                let text = Text::from(text);
                self.texts.insert(text.clone());
                text
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn node(name: &str, ready: &str, heartbeat: &str) -> SlimNode {
        serde_json::from_value(json!({"metadata": {"name": name, "labels": {"zone": "a", "kubernetes.io/hostname": name}},
            "spec": {}, "status": {"conditions": [{"type": "Ready", "status": ready, "lastHeartbeatTime": heartbeat,
                "lastTransitionTime": "1970-01-01T00:00:05Z"}]}}))
        .unwrap()
    }

    #[test]
    fn a_heartbeat_changes_nothing_and_a_node_that_leaves_does() {
        let mut nodes = Nodes::default();
        assert!(nodes.take(Event::Init).is_empty());
        assert_eq!(nodes.take(Event::InitApply(node("a", "True", "1970-01-01T00:00:10Z"))).len(), 1);
        nodes.take(Event::InitDone);
        assert!(nodes.complete);
        assert!(nodes.take(Event::Apply(node("a", "True", "1970-01-01T00:00:20Z"))).is_empty());
        assert_eq!(nodes.take(Event::Apply(node("a", "Unknown", "1970-01-01T00:00:20Z"))).len(), 1);
        assert_eq!(nodes.get("a").unwrap().presence, Presence::Away { since: Timestamp(5_000) });
        nodes.take(Event::Init);
        assert_eq!(nodes.take(Event::InitDone), [Text::from("a")]);
    }

    #[test]
    fn labels_are_found() {
        let mut nodes = Nodes::default();
        nodes.take(Event::Apply(node("a", "True", "1970-01-01T00:00:10Z")));
        let has = |key: &str, value: &str| {
            nodes.get("a").unwrap().has(&BTreeMap::from([(key.to_owned(), value.to_owned())]))
        };
        assert!(has("zone", "a") && has("kubernetes.io/hostname", "a"));
        assert!(!has("zone", "b") && !has("other", "a"));
        assert!(nodes.get("a").unwrap().has(&BTreeMap::new()));
    }
}
