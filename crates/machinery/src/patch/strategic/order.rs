//! The order of merged lists, and the directive that sets it.
//!
//! What the patch says comes first, and it says the order of its own items, or of those that `$setElementOrder` lists.
//! The other items keep the order of the object. Both are then merged like two sorted lists, and the object's list
//! decides which of two items is the smaller; an item that it does not have goes before those of the other side.

use std::collections::{HashMap, HashSet};

use serde_json::Value;

use super::{
    DIRECTIVE, Lookup, Object, PatchError, SET_ORDER, as_list, directive_field,
    go::{Key, Type, bad_type, item_type},
    list::List,
    without_directives,
};
use crate::go::plain;

/// Up to this length we imitate how Kubernetes sorts items that the order does not have. It takes quadratic time.
const IMITATED: usize = 1024;

/// The two orders that meet in a merged list.
pub(super) struct Sides<'a> {
    pub(super) patch: &'a [Key],
    pub(super) current: &'a [Key],
}

/// Carries out every `$setElementOrder/…` of the patch, together with the changes to that list.
pub(super) fn set_orders(
    object: &mut Object,
    patch: &mut Object,
    schema: &dyn Lookup,
) -> Result<(), PatchError> {
    let names: Vec<String> = patch.keys().filter(|name| name.starts_with(SET_ORDER)).cloned().collect();
    for name in names {
        // The list of one directive can be another one, and is then used up.
        if let Some(order) = patch.remove(&name) {
            set_order(object, patch, schema, &name, &order)?;
        }
    }
    Ok(())
}

fn set_order(
    object: &mut Object,
    patch: &mut Object,
    schema: &dyn Lookup,
    name: &str,
    order: &Value,
) -> Result<(), PatchError> {
    let order = as_list(order)?;
    let field = directive_field(name, SET_ORDER)?;
    let current = object.get(field).map(as_list).transpose()?;
    let change = patch.get(field).map(as_list).transpose()?;
    let list = List::new(schema, field);
    if let Some(change) = change {
        check_order(&list, change, order)?;
    }
    let (items, leftovers, kind) = match (current, change) {
        (None, None) => return Ok(()),
        (Some(current), None) => {
            let leftovers = list.keys_of(current)?;
            (current.clone(), leftovers, item_type(current, &[]))
        }
        (None, Some(change)) => {
            let items = change.iter().cloned().filter_map(without_directives).collect();
            (items, vec![], item_type(&[], change))
        }
        (Some(current), Some(change)) => {
            let kind = item_type(current, change);
            let merged = list.merge(current.clone(), change.clone(), false)?;
            (merged.items, merged.leftovers?, kind)
        }
    };
    let order = list.keys_of(order)?;
    if (kind? == Type::Object) != list.key.is_some() {
        return Err(PatchError::Failed(format!("the items of {field} cannot be ordered")));
    }
    let items = arrange(&list, items, &Sides { patch: &order, current: &leftovers })?;
    object.insert(field.to_owned(), Value::Array(items));
    patch.remove(field);
    Ok(())
}

/// Refuses a patch whose items are not listed, or in another order than that of the directive.
fn check_order(list: &List<'_>, change: &[Value], order: &[Value]) -> Result<(), PatchError> {
    if change.is_empty() || order.is_empty() {
        return Ok(());
    }
    let mut rest = order.iter();
    for item in change {
        let mut found = false;
        match directive(list, item)? {
            Some("delete") => continue,
            // It needs no place of its own, but Kubernetes does not look at it when all places are taken.
            Some(_) => found = !rest.as_slice().is_empty(),
            None => {
                let key = list.key_of(item)?;
                for listed in rest.by_ref() {
                    if list.key_of(listed)? == key {
                        found = true;
                        break;
                    }
                }
            }
        }
        if !found {
            let show = |items: &[Value]| plain(&Value::Array(items.to_vec()));
            return Err(PatchError::Failed(format!(
                "The order in patch list:\n{}\n doesn't match $setElementOrder list:\n{}\n",
                show(change),
                show(order)
            )));
        }
    }
    Ok(())
}

/// The directive of an item; an empty one if it is no text.
fn directive<'a>(list: &List<'_>, item: &'a Value) -> Result<Option<&'a str>, PatchError> {
    match (list.key, item) {
        (None, _) => Ok(None),
        (Some(_), Value::Object(map)) => {
            Ok(map.get(DIRECTIVE).map(|value| value.as_str().unwrap_or_default()))
        }
        (Some(_), other) => Err(bad_type("map[string]interface {}", other)),
    }
}

/// Brings `items` into their order.
pub(super) fn arrange(
    list: &List<'_>,
    items: Vec<Value>,
    sides: &Sides<'_>,
) -> Result<Vec<Value>, PatchError> {
    let listed: HashSet<&Key> = sides.patch.iter().collect();
    let (mut patched, mut others) = (vec![], vec![]);
    for item in items {
        let key = list.key_of(&item)?;
        if listed.contains(&key) { patched.push((key, item)) } else { others.push((key, item)) }
    }
    let current = places(sides.current);
    let patched = sorted(patched, &places(sides.patch));
    let others = sorted(others, &current);

    let mut arranged = Vec::with_capacity(patched.len() + others.len());
    let (mut patched, mut others) = (patched.into_iter().peekable(), others.into_iter().peekable());
    while let (Some((patch_key, _)), Some((other_key, _))) = (patched.peek(), others.peek()) {
        let other_first = match (current.get(other_key), current.get(patch_key)) {
            (Some(other), Some(patch)) => other < patch,
            _ => false,
        };
        arranged.extend(if other_first { others.next() } else { patched.next() });
    }
    Ok(arranged.into_iter().chain(patched).chain(others).map(|(_, item)| item).collect())
}

fn places(keys: &[Key]) -> HashMap<&Key, usize> {
    let mut places = HashMap::new();
    for (place, key) in keys.iter().enumerate() {
        places.entry(key).or_insert(place);
    }
    places
}

/// Sorts by the place in the order. Items that carry a deletion go last.
fn sorted(items: Vec<(Key, Value)>, places: &HashMap<&Key, usize>) -> Vec<(Key, Value)> {
    let deletion = |item: &Value| item.get(DIRECTIVE).is_some_and(|directive| directive == "delete");
    let (last, mut items): (Vec<_>, Vec<_>) = items.into_iter().partition(|(_, item)| deletion(item));
    if items.iter().all(|(key, _)| places.contains_key(key)) {
        items.sort_by_key(|(key, _)| places[key]);
    } else if items.len() <= IMITATED {
        // Only a directive with an empty list leads here. Kubernetes then calls every pair of items out of order, and
        // the result is that of its insertion sort.
        let before = |a: &Key, b: &Key| match (places.get(a), places.get(b)) {
            (Some(a), Some(b)) => a < b,
            _ => true,
        };
        for end in 1..items.len() {
            for i in (1..=end).rev() {
                if !before(&items[i].0, &items[i - 1].0) {
                    break;
                }
                items.swap(i, i - 1);
            }
        }
    }
    items.extend(last);
    items
}
