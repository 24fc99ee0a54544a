//! Merging lists.
//!
//! Items of the patch come in the patch's order and the others in the order of the object; where the two meet is up to
//! [`super::order`].

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{
    DIRECTIVE, Lookup, PatchError, Rule,
    go::{Key, Type, item_type, key_of, merge_key, no_merge_key},
    inner, merge_object,
    order::{Sides, arrange},
    unknown_directive,
};

/// Up to this length we imitate what Kubernetes does to the order of a list that repeats itself. It takes quadratic time.
const IMITATED: usize = 1024;

/// How one list is merged.
#[derive(Clone, Copy)]
pub(super) struct List<'a> {
    /// Whether it is merged at all, and not just replaced.
    merges: bool,
    /// What identifies its items; `None` if they identify themselves.
    pub(super) key: Option<&'a str>,
    item: &'a dyn Lookup,
}

/// A merged list.
pub(super) struct Merged {
    pub(super) items: Vec<Value>,
    /// The keys of what is left in the memory of the object's list afterwards, see [`Leftovers`]. Only those who set an
    /// order care, and so only they are told that an item has no key.
    pub(super) leftovers: Result<Vec<Key>, PatchError>,
}

/// What Kubernetes leaves in the memory of a list from which it deletes in place.
///
/// The items behind a deleted one move up, and the last place keeps what it had. Items that are added afterwards
/// overwrite these places. Where an order was set, Kubernetes sorts by the whole memory of the list, as if nothing
/// had been deleted, so that what is in these places decides about the order of items that clients do see.
struct Leftovers {
    /// What the freed places hold, the last place first.
    freed: Vec<Key>,
}

// === impl List ===

impl<'a> List<'a> {
    pub(super) fn new(schema: &'a dyn Lookup, name: &str) -> Self {
        let (merges, key) = match schema.field(name).map(|field| field.rule) {
            Some(Rule::Map { key, .. }) => (true, Some(key)),
            Some(Rule::Set) => (true, None),
            Some(Rule::Object(_) | Rule::Replace) | None => (false, None),
        };
        Self { merges, key, item: inner(schema, name) }
    }

    /// The key of one item.
    pub(super) fn key_of(&self, item: &Value) -> Result<Key, PatchError> {
        match self.key {
            Some(name) => merge_key(item, name),
            None => key_of(item),
        }
    }

    pub(super) fn keys_of(&self, items: &[Value]) -> Result<Vec<Key>, PatchError> {
        items.iter().map(|item| self.key_of(item)).collect()
    }

    /// Merges `patch` into `current`, or deletes its scalars from there.
    pub(super) fn merge(
        &self,
        current: Vec<Value>,
        patch: Vec<Value>,
        deletes: bool,
    ) -> Result<Merged, PatchError> {
        if !(self.merges || deletes) {
            return Ok(Merged { items: patch, leftovers: self.keys_of(&current) });
        }
        if current.is_empty() && patch.is_empty() {
            return Ok(Merged { items: current, leftovers: Ok(vec![]) });
        }
        match item_type(&current, &patch)? {
            Type::Object => match self.key {
                Some(key) => self.merge_objects(current, patch, key),
                None => {
                    // Sets are lists of texts.
                    let items = if self.merges { "string" } else { "struct" };
                    Err(PatchError::Failed(format!("cannot merge lists without merge key for {items}")))
                }
            },
            _ if deletes => {
                let keys = scalar_keys(&current)?;
                let unwanted: HashSet<Key> = scalar_keys(&patch)?.into_iter().collect();
                let mut kept = keys.iter().map(|key| !unwanted.contains(key));
                let items = current.into_iter().filter(|_| kept.next() == Some(true)).collect();
                Ok(Merged { items, leftovers: Ok(keys) })
            }
            _ => self.merge_scalars(current, &patch),
        }
    }

    fn merge_scalars(&self, current: Vec<Value>, patch: &[Value]) -> Result<Merged, PatchError> {
        // Kubernetes notices only here that the items have no key.
        let patch_keys = self.keys_of(patch)?;
        let mut order = self.keys_of(&current)?;
        let mut items = current;
        if patch.is_empty() {
            deduplicate_in_place(&mut items, &mut order);
        } else {
            items.extend_from_slice(patch);
            let mut seen = HashSet::new();
            let keys: Vec<Key> = order.iter().chain(&patch_keys).cloned().collect();
            let mut keys = keys.into_iter();
            items.retain(|_| keys.next().is_some_and(|key| seen.insert(key)));
        }
        let items = arrange(self, items, &Sides { patch: &patch_keys, current: &order })?;
        Ok(Merged { items, leftovers: Ok(order) })
    }

    fn merge_objects(&self, current: Vec<Value>, patch: Vec<Value>, key: &str) -> Result<Merged, PatchError> {
        let mut ordinary = vec![];
        let mut deleted: Vec<Key> = vec![];
        let mut replaces = false;
        for item in patch {
            let Some(directive) = item.get(DIRECTIVE) else {
                ordinary.push(item);
                continue;
            };
            match directive.as_str() {
                Some("delete") => match item.get(key) {
                    // No item has an object or a list for its key.
                    Some(value) => deleted.extend(key_of(value).ok()),
                    None => return Err(no_merge_key(&item, key)),
                },
                Some("replace") => replaces = true,
                Some("merge") => {
                    let text = "merging lists cannot yet be specified in the patch";
                    return Err(PatchError::Failed(text.to_owned()));
                }
                _ => {
                    let map = item.as_object().cloned().unwrap_or_default();
                    return Err(unknown_directive(directive, &map));
                }
            }
        }
        let (mut items, left) = delete(current, &deleted, key)?;
        if replaces {
            let order = self.keys_of(&ordinary)?;
            let leftovers = left.overlaid(&items, &[], key);
            let items = arrange(self, ordinary, &Sides { patch: &[], current: &order })?;
            return Ok(Merged { items, leftovers });
        }
        let n_current = items.len();
        let mut places: HashMap<Key, usize> = HashMap::new();
        for (place, item) in items.iter().enumerate() {
            // An item without a key is found out below; one with an object for a key cannot be compared.
            if let Some(value) = item.get(key) {
                places.entry(key_of(value)?).or_insert(place);
            }
        }
        let mut patch_keys = vec![];
        for item in ordinary {
            let item_key = merge_key(&item, key)?;
            match places.get(&item_key) {
                Some(place) => {
                    if let (Value::Object(object), Value::Object(patch)) = (&mut items[*place], item) {
                        *object = merge_object(std::mem::take(object), patch, self.item)?;
                    }
                }
                None => {
                    places.insert(item_key.clone(), items.len());
                    items.push(item);
                }
            }
            patch_keys.push(item_key);
        }
        let order = self.keys_of(&items[..n_current])?;
        let leftovers = left.overlaid(&items[..n_current], &items[n_current..], key);
        let items = arrange(self, items, &Sides { patch: &patch_keys, current: &order })?;
        Ok(Merged { items, leftovers })
    }
}

/// The items that have none of these keys.
fn delete(items: Vec<Value>, unwanted: &[Key], key: &str) -> Result<(Vec<Value>, Leftovers), PatchError> {
    let mut left = Leftovers { freed: vec![] };
    if unwanted.is_empty() {
        return Ok((items, left));
    }
    let keys: Vec<Option<Key>> =
        items.iter().map(|item| item.get(key).map(key_of).transpose()).collect::<Result<_, _>>()?;
    let mut places: HashMap<&Key, Vec<usize>> = HashMap::new();
    for (place, key) in keys.iter().enumerate() {
        if let Some(key) = key {
            places.entry(key).or_default().push(place);
        }
    }
    let mut gone = vec![false; items.len()];
    let mut end = items.len();
    for key in unwanted {
        for place in places.remove(key).into_iter().flatten() {
            left.freed.extend(keys[end - 1].clone());
            gone[place] = true;
            while end > 0 && gone[end - 1] {
                end -= 1;
            }
        }
    }
    let mut gone = gone.into_iter();
    let items = items.into_iter().filter(|_| gone.next() == Some(false)).collect();
    Ok((items, left))
}

// === impl Leftovers ===

impl Leftovers {
    /// The keys in the memory of the list, from the first place to the last.
    fn overlaid(self, kept: &[Value], added: &[Value], key: &str) -> Result<Vec<Key>, PatchError> {
        let n_freed = self.freed.len();
        let mut keys: Vec<Key> = kept.iter().map(|item| merge_key(item, key)).collect::<Result<_, _>>()?;
        let added: Vec<Key> =
            added.iter().take(n_freed).map(|item| merge_key(item, key)).collect::<Result<_, _>>()?;
        let n_added = added.len();
        keys.extend(added);
        keys.extend(self.freed.into_iter().rev().skip(n_added));
        Ok(keys)
    }
}

fn scalar_keys(items: &[Value]) -> Result<Vec<Key>, PatchError> {
    items.iter().map(key_of).collect()
}

/// Keeps one of each. A duplicate is overwritten with the last item, as Kubernetes does in place; `order` becomes
/// what is then in the memory of the list.
fn deduplicate_in_place(items: &mut Vec<Value>, order: &mut [Key]) {
    if items.len() > IMITATED {
        let mut seen = HashSet::new();
        let mut keys = order.iter();
        items.retain(|_| keys.next().is_some_and(|key| seen.insert(key)));
        return;
    }
    let mut i = 0;
    while i + 1 < items.len() {
        let mut j = i + 1;
        while j < items.len() {
            if order[i] == order[j] {
                let last = items.len() - 1;
                order[j] = order[last].clone();
                items.swap_remove(j);
            } else {
                j += 1;
            }
        }
        i += 1;
    }
}
