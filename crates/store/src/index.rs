//! The newest state of every object, by key and by the fields that were declared for it.

use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;
use std::sync::Arc;

use crate::event::Event;
use crate::key::{Key, Scope};
use crate::object::Object;

type Objects = BTreeMap<Key, Arc<Object>>;

/// All objects.
#[derive(Debug, Default)]
pub(crate) struct Index {
    objects: Objects,
    /// The declared fields of each collection.
    fields: HashMap<&'static str, Vec<FieldIndex>>,
}

/// The objects of one collection by the value of one field.
#[derive(Debug)]
struct FieldIndex {
    field: &'static str,
    values: HashMap<String, Objects>,
}

// === impl Index ===

impl Index {
    pub(crate) fn new(indexed: &[(&'static str, &'static str)], objects: Vec<Arc<Object>>) -> Self {
        let mut index = Self::default();
        for (collection, field) in indexed {
            let fields = index.fields.entry(collection).or_default();
            if fields.iter().all(|known| known.field != *field) {
                fields.push(FieldIndex { field, values: HashMap::new() });
            }
        }
        for object in objects {
            index.enter(&object);
        }
        index
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    /// Takes over what the event says.
    pub(crate) fn apply(&mut self, event: &Event) {
        if let Some(previous) = &event.previous {
            self.leave(previous, event.after());
        }
        if let Some(object) = event.after() {
            self.enter(object);
        }
    }

    /// The objects in the scope after `after`, in the order of their keys.
    pub(crate) fn range<'a>(
        &'a self,
        scope: &'a Scope,
        after: Option<&Key>,
    ) -> Box<dyn Iterator<Item = &'a Arc<Object>> + 'a> {
        if let (Some(namespace), Some(name)) = (&scope.namespace, &scope.name) {
            let key = Key::new(scope.collection.clone(), namespace.clone(), name.clone());
            let object = self.objects.get(&key).filter(|object| scope.matches(object));
            let is_after = after.is_none_or(|after| key > *after);
            return Box::new(object.filter(|_| is_after).into_iter());
        }
        let Some(objects) = self.narrowest(scope) else {
            return Box::new(std::iter::empty());
        };
        let objects = in_keys(objects, scope, after);
        if scope.name.is_none() && scope.field.is_none() {
            return Box::new(objects);
        }
        Box::new(objects.filter(|object| scope.matches(object)))
    }

    /// Where to look for the objects of the scope; `None` if an index knows that there are none.
    fn narrowest(&self, scope: &Scope) -> Option<&Objects> {
        let Some((field, value)) = &scope.field else {
            return Some(&self.objects);
        };
        let mut declared = self.fields.get(&*scope.collection).into_iter().flatten();
        match declared.find(|index| index.field == &**field) {
            Some(index) => index.values.get(&**value),
            None => Some(&self.objects),
        }
    }

    fn enter(&mut self, object: &Arc<Object>) {
        for index in self.fields.get_mut(&*object.key.collection).into_iter().flatten() {
            let value = object.tags.field(index.field);
            if !index.values.contains_key(value) {
                index.values.insert(value.to_owned(), Objects::new());
            }
            let objects = index.values.get_mut(value).expect("it was inserted if it was missing");
            objects.insert(object.key.clone(), Arc::clone(object));
        }
        self.objects.insert(object.key.clone(), Arc::clone(object));
    }

    /// Takes an object out of everywhere where its next state will not overwrite it.
    fn leave(&mut self, object: &Object, next: Option<&Arc<Object>>) {
        for index in self.fields.get_mut(&*object.key.collection).into_iter().flatten() {
            let value = object.tags.field(index.field);
            if next.is_some_and(|next| next.tags.field(index.field) == value) {
                continue;
            }
            let Some(objects) = index.values.get_mut(value) else { continue };
            objects.remove(&object.key);
            if objects.is_empty() {
                index.values.remove(value);
            }
        }
        if next.is_none() {
            self.objects.remove(&object.key);
        }
    }
}

/// The part of a map that the collection and the namespace of the scope span, after `after`.
///
/// Both ends are found in the tree, so that a listing compares no names on its way.
fn in_keys<'a>(
    objects: &'a Objects,
    scope: &Scope,
    after: Option<&Key>,
) -> impl Iterator<Item = &'a Arc<Object>> + use<'a> {
    let Scope { collection, namespace, .. } = scope;
    let (first, end) = match namespace {
        Some(namespace) => (
            Key::new(collection.clone(), namespace.clone(), ""),
            Key::new(collection.clone(), successor(namespace), ""),
        ),
        None => (Key::new(collection.clone(), "", ""), Key::new(successor(collection), "", "")),
    };
    let from = match after {
        // The tree panics if asked for a range that ends before it begins.
        Some(after) if *after >= end => Bound::Included(end.clone()),
        Some(after) if *after >= first => Bound::Excluded(after.clone()),
        _ => Bound::Included(first),
    };
    objects.range((from, Bound::Excluded(end))).map(|(_, object)| object)
}

/// The smallest text that is larger than this one.
fn successor(text: &str) -> String {
    format!("{text}\0")
}
