//! Random histories against the simplest store there could be: every state it ever had, one after another.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::support::*;
use crate::*;

/// What is known of an object: the revision of its state, of its creation, and what it says.
type Entry = (u64, u64, Value);
type Snapshot = BTreeMap<Key, Entry>;

/// The state at revision 1 and after every write since.
struct Model {
    history: Vec<Snapshot>,
    changed: Vec<Key>,
}

#[derive(Debug, Clone)]
struct Step {
    key: Key,
    expect: Expectation,
    change: Option<Value>,
}

#[derive(Debug, Clone, Copy)]
enum Expectation {
    Absent,
    Current,
    Stale,
    Any,
}

// === impl Model ===

impl Model {
    fn new() -> Self {
        Self { history: vec![Snapshot::new()], changed: Vec::new() }
    }

    fn revision(&self) -> u64 {
        self.history.len() as u64
    }

    fn at(&self, revision: u64) -> &Snapshot {
        &self.history[revision as usize - 1]
    }

    fn now(&self) -> &Snapshot {
        self.at(self.revision())
    }

    /// What the store must answer: the new revision, or what kind of error.
    fn apply(&mut self, step: &Step, expect: Expect) -> Result<u64, &'static str> {
        let current = self.now().get(&step.key);
        match (expect, current) {
            (Expect::Absent, Some(_)) => return Err("exists"),
            (Expect::Revision(n), Some(entry)) if entry.0 != n => return Err("conflict"),
            (Expect::Revision(_), None) => return Err("conflict"),
            (_, None) if step.change.is_none() => return Err("not found"),
            _ => {}
        }
        let revision = self.revision() + 1;
        let created = current.map_or(revision, |entry| entry.1);
        let mut next = self.now().clone();
        match &step.change {
            Some(value) => next.insert(step.key.clone(), (revision, created, value.clone())),
            None => next.remove(&step.key),
        };
        self.history.push(next);
        self.changed.push(step.key.clone());
        Ok(revision)
    }

    fn list(&self, scope: &Scope, revision: u64, after: Option<&Key>) -> Vec<(Key, Entry)> {
        let entries = self.at(revision).iter().filter(|(key, entry)| is_in(scope, key, &entry.2));
        let entries = entries.filter(|(key, _)| after.is_none_or(|after| *key > after));
        entries.map(|(key, entry)| (key.clone(), entry.clone())).collect()
    }

    /// The events after a revision that concern the scope: revision, key, before and after.
    fn events(&self, scope: &Scope, after: u64) -> Vec<(u64, Key, Option<Entry>, Option<Entry>)> {
        let events = (after + 1..=self.revision()).map(|revision| {
            let key = &self.changed[revision as usize - 2];
            (
                revision,
                key.clone(),
                self.at(revision - 1).get(key).cloned(),
                self.at(revision).get(key).cloned(),
            )
        });
        events
            .filter(|(_, key, before, after)| {
                [before, after].into_iter().flatten().any(|entry| is_in(scope, key, &entry.2))
            })
            .collect()
    }
}

/// Written anew here, so that a mistake in the store's own idea of it shows.
fn is_in(scope: &Scope, key: &Key, value: &Value) -> bool {
    let field = |pointer| value.pointer(pointer).and_then(Value::as_str).unwrap_or("").to_owned();
    key.collection == scope.collection
        && (scope.namespace.is_none() || scope.namespace.as_ref() == Some(&key.namespace))
        && (scope.name.is_none() || scope.name.as_ref() == Some(&key.name))
        && match &scope.field {
            None => true,
            Some((name, wanted)) if &**name == "spec.nodeName" => field("/spec/nodeName") == **wanted,
            Some((_, wanted)) => field("/status/phase") == **wanted,
        }
}

fn entry(object: &Object) -> Entry {
    (object.revision, object.created, content(object))
}

fn entries(listing: &Listing) -> Vec<(Key, Entry)> {
    listing.objects.iter().map(|object| (object.key.clone(), entry(object))).collect()
}

// === What is tried ===

fn keys() -> impl Strategy<Value = Key> {
    let collection = prop::sample::select(vec!["pods", "nodes"]);
    let (namespace, name) =
        (prop::sample::select(vec!["", "a", "b"]), prop::sample::select(vec!["x", "y", "z"]));
    (collection, namespace, name)
        .prop_map(|(collection, namespace, name)| Key::new(collection, namespace, name))
}

fn values() -> impl Strategy<Value = Value> {
    let node = prop::sample::select(vec![None, Some(""), Some("edge-1"), Some("edge-2")]);
    let phase = prop::sample::select(vec![None, Some("Running")]);
    (node, phase, 0..1000).prop_map(|(node, phase, n)| {
        let mut value = json!({ "n": n });
        if let Some(node) = node {
            value["spec"] = json!({ "nodeName": node });
        }
        if let Some(phase) = phase {
            value["status"] = json!({ "phase": phase });
        }
        value
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    use Expectation::*;
    let expect = prop::sample::select(vec![Absent, Current, Current, Stale, Any, Any]);
    let step = (keys(), expect, prop::option::weighted(0.7, values()));
    let step = step.prop_map(|(key, expect, change)| Step { key, expect, change });
    prop::collection::vec(step, 1..60)
}

fn scopes() -> Vec<Scope> {
    let mut scopes = vec![Scope::collection("nodes")];
    for namespace in [None, Some(""), Some("a"), Some("none")] {
        for name in [None, Some("x")] {
            for field in [
                None,
                Some(("spec.nodeName", "edge-1")),
                Some(("spec.nodeName", "")),
                Some(("status.phase", "")),
            ] {
                scopes.push(Scope {
                    collection: "pods".into(),
                    namespace: namespace.map(Into::into),
                    name: name.map(Into::into),
                    field: field.map(|(field, value)| (field.into(), value.into())),
                });
            }
        }
    }
    scopes
}

fn expectation(model: &Model, step: &Step) -> Expect {
    let current = model.now().get(&step.key).map_or(1, |entry| entry.0);
    match step.expect {
        Expectation::Absent => Expect::Absent,
        Expectation::Current => Expect::Revision(current),
        Expectation::Stale => Expect::Revision(current - 1),
        Expectation::Any => Expect::Any,
    }
}

// === What must be true ===

/// The store is where the model is, and its past is the model's as far as it is kept.
fn invariant_store_and_model_agree(store: &Store, model: &Model, kept: u64, page: usize) {
    assert_eq!(store.revision(), model.revision());
    let floor = model.revision().saturating_sub(kept).max(1);
    for scope in scopes() {
        assert_eq!(
            entries(&store.list(&scope, None, 0)),
            model.list(&scope, model.revision(), None),
            "{scope:?}"
        );
        for revision in 1..=model.revision() {
            let compacted = RevisionError::Compacted { oldest: floor };
            if revision < floor {
                assert_eq!(store.list_at(&scope, revision, None, 0), Err(compacted));
                assert_eq!(store.watch(scope.clone(), Start::After(revision)).unwrap_err(), compacted);
                continue;
            }
            assert_eq!(pages(store, &scope, revision, page), model.list(&scope, revision, None), "{scope:?}");
            let mut watch = store.watch(scope.clone(), Start::After(revision)).unwrap();
            assert_eq!(told(&mut watch), model.events(&scope, revision), "{scope:?}");
        }
    }
}

/// The whole, put together from pages.
fn pages(store: &Store, scope: &Scope, revision: u64, limit: usize) -> Vec<(Key, Entry)> {
    let mut all: Vec<(Key, Entry)> = Vec::new();
    loop {
        let after = all.last().map(|(key, _)| key.clone());
        let page = store.list_at(scope, revision, after.as_ref(), limit).unwrap();
        assert_eq!(page.revision, revision);
        assert_eq!(page.more, page.remaining > 0);
        assert!(page.objects.len() <= limit);
        all.extend(entries(&page));
        if !page.more {
            return all;
        }
    }
}

fn told(watch: &mut Watch) -> Vec<(u64, Key, Option<Entry>, Option<Entry>)> {
    let events = drain(watch).into_iter().map(|event| {
        assert_eq!(event.object.revision, event.revision);
        let after = (event.kind == EventKind::Put).then(|| entry(&event.object));
        (event.revision, event.object.key.clone(), event.previous.as_deref().map(entry), after)
    });
    events.collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_store_behaves_like_a_list_of_all_its_states(steps in steps(), kept in 1_usize..30, page in 1_usize..5) {
        let store = Store::in_memory(Options { ring_events: kept, ..options() });
        let mut model = Model::new();
        let mut live: Vec<_> =
            scopes().into_iter().map(|scope| store.watch(scope, Start::Now).unwrap()).collect();
        for step in &steps {
            let expect = expectation(&model, step);
            let change = step.change.clone().map_or(Change::Delete(None), Change::Put);
            let answer = wait(store.write(Write { key: step.key.clone(), expect, change }));
            let current = model.now().get(&step.key).cloned();
            let answer = answer.map(|committed| committed.revision).map_err(|error| match error {
                WriteError::Exists => "exists",
                WriteError::Conflict { current: found } => {
                    assert_eq!(found.as_deref().map(entry), current);
                    "conflict"
                }
                WriteError::NotFound => "not found",
                WriteError::Failed(_) | WriteError::Closed => "failed",
            });
            prop_assert_eq!(answer, model.apply(step, expect));
        }
        invariant_store_and_model_agree(&store, &model, kept as u64, page);
        for watch in &mut live {
            let scope = watch.scope().clone();
            prop_assert_eq!(told(watch), model.events(&scope, 1));
            prop_assert_eq!(watch.progress(), Some(model.revision()));
        }
    }
}
