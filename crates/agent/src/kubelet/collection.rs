//! A collection as the kubelet is shown it: what is in it now, and what happened to it lately. Pure.
//!
//! Versions are of our own: they count what was shown, and never go back, because the upper half of each counts the starts
//! of the door. A watch goes on after any version that is remembered; whoever comes with another one has to begin anew.

use std::collections::{BTreeMap, VecDeque};

use bytes::Bytes;
use safepoint_core::Uid;
use safepoint_machinery::EventType;
use serde_json::{Value, json};

use super::route::Select;

/// What is remembered for those who come back: more than a node of the usual size does in a minute.
const REMEMBERED: usize = 512;
/// And not more than this of it.
const WEIGHT: usize = 2 << 20;

/// Namespace and name.
pub(super) type Name = (String, String);

/// The collection.
#[derive(Debug)]
pub(super) struct Collection {
    items: BTreeMap<Name, Item>,
    happened: VecDeque<Happened>,
    weight: usize,
    newest: u64,
    /// Who comes with this version, or with a later one, has missed nothing that is not remembered.
    oldest: u64,
}

#[derive(Debug)]
struct Item {
    uid: Uid,
    json: Bytes,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub(super) struct Happened {
    pub(super) version: u64,
    pub(super) kind: EventType,
    name: Name,
    pub(super) json: Bytes,
}

// === impl Collection ===

impl Collection {
    /// An empty one, whose versions begin after this.
    pub(super) fn new(first: u64) -> Self {
        Self { items: BTreeMap::new(), happened: VecDeque::new(), weight: 0, newest: first, oldest: first }
    }

    pub(super) fn newest(&self) -> u64 {
        self.newest
    }

    /// Shows an object. One of another uid under the same name goes first.
    pub(super) fn put(&mut self, name: &Name, uid: &Uid, mut object: Value) {
        if self.items.get(name).is_some_and(|item| item.uid != *uid) {
            self.take(name);
        }
        self.newest += 1;
        let json = written(&mut object, self.newest);
        let item = Item { uid: uid.clone(), json: json.clone() };
        let kind = match self.items.insert(name.clone(), item) {
            Some(_) => EventType::Modified,
            None => EventType::Added,
        };
        self.remember(kind, name, json);
    }

    /// Shows an object no longer.
    pub(super) fn take(&mut self, name: &Name) {
        let Some(item) = self.items.remove(name) else { return };
        self.newest += 1;
        let mut object: Value = serde_json::from_slice(&item.json).unwrap_or_default();
        let json = written(&mut object, self.newest);
        self.remember(EventType::Deleted, name, json);
    }

    /// Everything that is selected.
    pub(super) fn all(&self, of: &Select) -> impl Iterator<Item = &Bytes> {
        self.items
            .iter()
            .filter(move |((namespace, name), _)| of.takes(namespace, name))
            .map(|(_, item)| &item.json)
    }

    pub(super) fn get(&self, name: &Name) -> Option<&Bytes> {
        self.items.get(name).map(|item| &item.json)
    }

    /// What happened after a version; none if that is too long ago, or never was.
    pub(super) fn since(&self, version: u64, of: &Select) -> Option<Vec<Happened>> {
        if version < self.oldest || version > self.newest {
            return None;
        }
        let first = self.happened.partition_point(|happened| happened.version <= version);
        let selected = |happened: &&Happened| of.takes(&happened.name.0, &happened.name.1);
        Some(self.happened.range(first..).filter(selected).cloned().collect())
    }

    fn remember(&mut self, kind: EventType, name: &Name, json: Bytes) {
        self.weight += json.len();
        self.happened.push_back(Happened { version: self.newest, kind, name: name.clone(), json });
        while self.happened.len() > REMEMBERED || self.weight > WEIGHT {
            let Some(gone) = self.happened.pop_front() else { return };
            self.weight -= gone.json.len();
            self.oldest = gone.version;
        }
    }
}

fn written(object: &mut Value, version: u64) -> Bytes {
    object["metadata"]["resourceVersion"] = json!(version.to_string());
    serde_json::to_vec(object).unwrap_or_default().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FIRST: u64 = 1 << 32;

    fn name(of: &str) -> Name {
        ("default".into(), of.into())
    }

    fn collection(names: &[&str]) -> Collection {
        let mut collection = Collection::new(FIRST);
        for of in names {
            collection.put(&name(of), &Uid::from(*of), json!({"metadata": {"name": of}}));
        }
        collection
    }

    fn happened(collection: &Collection, after: u64) -> Option<Vec<(EventType, String)>> {
        let events = collection.since(after, &Select::default())?;
        Some(events.into_iter().map(|event| (event.kind, event.name.1)).collect())
    }

    #[test]
    fn whoever_comes_back_is_told_what_happened_since() {
        let mut collection = collection(&["a", "b"]);
        let seen = collection.newest();
        collection.put(&name("a"), &Uid::from("a"), json!({"metadata": {"name": "a"}}));
        collection.take(&name("b"));
        let expected = vec![(EventType::Modified, "a".to_owned()), (EventType::Deleted, "b".to_owned())];
        assert_eq!(happened(&collection, seen), Some(expected));
        assert_eq!(happened(&collection, collection.newest()), Some(vec![]));
    }

    #[test]
    fn every_event_carries_the_version_at_which_it_happened() {
        let mut collection = collection(&["a"]);
        collection.take(&name("a"));
        for event in collection.since(FIRST, &Select::default()).unwrap() {
            let object: Value = serde_json::from_slice(&event.json).unwrap();
            assert_eq!(object["metadata"]["resourceVersion"], event.version.to_string());
        }
    }

    #[test]
    fn a_version_that_is_not_remembered_or_of_somebody_else_is_not_gone_on_from() {
        let mut collection = collection(&["a"]);
        assert_eq!(happened(&collection, FIRST - 1), None);
        assert_eq!(happened(&collection, collection.newest() + 1), None);
        for _ in 0..=REMEMBERED {
            collection.put(&name("a"), &Uid::from("a"), json!({"metadata": {}}));
        }
        assert_eq!(happened(&collection, FIRST), None);
        assert_eq!(happened(&collection, collection.newest() - 1).unwrap().len(), 1);
    }

    #[test]
    fn what_is_remembered_has_a_limit() {
        let mut collection = collection(&["a"]);
        let large = "x".repeat(WEIGHT / 4);
        for _ in 0..8 {
            collection.put(&name("a"), &Uid::from("a"), json!({"metadata": {}, "data": large}));
        }
        assert!(collection.weight <= WEIGHT);
        assert!(happened(&collection, FIRST).is_none());
    }

    #[test]
    fn another_one_of_the_same_name_comes_after_the_end_of_the_first() {
        let mut collection = collection(&["a"]);
        let seen = collection.newest();
        collection.put(&name("a"), &Uid::from("again"), json!({"metadata": {"name": "a"}}));
        let expected = vec![(EventType::Deleted, "a".to_owned()), (EventType::Added, "a".to_owned())];
        assert_eq!(happened(&collection, seen), Some(expected));
    }

    #[test]
    fn only_what_is_selected_is_shown() {
        let mut collection = collection(&["a", "b"]);
        let of = Select { namespace: Some("default".into()), name: Some("b".into()) };
        assert_eq!(collection.all(&of).count(), 1);
        let seen = collection.newest();
        collection.take(&name("a"));
        assert_eq!(collection.since(seen, &of).unwrap().len(), 0);
    }
}
