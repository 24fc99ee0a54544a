//! Makes up patches that fit an object: they speak of what is there more often than of what is not.

use serde_json::{Map, Value, json};

use super::dice::Dice;
use super::shape::{Member, Need, Shape, mistyped, retain_first};

/// Makes a patch of the two forms that look like the object they change.
pub(crate) struct Merging {
    /// Whether lists are merged and directives are understood.
    pub(crate) strategic: bool,
}

// === impl Merging ===

impl Merging {
    /// A patch for a value of this shape.
    pub(crate) fn patch(&self, shape: &Shape, current: Option<&Value>, dice: &mut Dice) -> Value {
        if dice.once_in(300) {
            return mistyped(dice);
        }
        match shape {
            Shape::Object(members) => Value::Object(self.object(members, current, dice)),
            Shape::Map { value, .. } => {
                let mut patch = Map::new();
                for _ in 0..1 + dice.below(2) {
                    let change = if dice.percent(30) { Value::Null } else { value.value(dice) };
                    patch.insert(self.known(shape, current, dice), change);
                }
                self.add_directive(&mut patch, dice);
                Value::Object(patch)
            }
            Shape::Keyed(key, item) if self.strategic => self.keyed(key, item, current, dice),
            Shape::Leaf { .. } | Shape::List(_) | Shape::Set(_) | Shape::Keyed(..) => {
                // Saying again what is there must change nothing.
                match current {
                    Some(current) if dice.percent(20) => current.clone(),
                    _ => shape.value(dice),
                }
            }
        }
    }

    /// A key of a map, half of the time one that is there.
    fn known(&self, shape: &Shape, current: Option<&Value>, dice: &mut Dice) -> String {
        let there: Vec<&String> =
            current.and_then(Value::as_object).into_iter().flatten().map(|(key, _)| key).collect();
        if there.is_empty() || dice.percent(50) {
            shape.key(dice).to_owned()
        } else {
            (*dice.pick(&there)).clone()
        }
    }

    fn object(&self, members: &[Member], current: Option<&Value>, dice: &mut Dice) -> Map<String, Value> {
        let mut patch = Map::new();
        // A patch about nothing teaches nothing; a few tries make it rare.
        for _ in 0..4 {
            for member in members {
                let now = current.and_then(|current| current.get(member.name));
                if speaks_of(member, now.is_some(), dice) {
                    let change =
                        if dice.percent(8) { Value::Null } else { self.patch(&member.shape, now, dice) };
                    if self.strategic {
                        add_order(&mut patch, member, now, &change, dice);
                    }
                    patch.insert(member.name.to_owned(), change);
                }
                if self.strategic {
                    add_deletion(&mut patch, member, now, dice);
                }
            }
            if !patch.is_empty() {
                break;
            }
        }
        self.add_directive(&mut patch, dice);
        self.add_retained(&mut patch, members, dice);
        patch
    }

    fn add_directive(&self, patch: &mut Map<String, Value>, dice: &mut Dice) {
        if self.strategic && dice.once_in(40) {
            let directive = *dice.pick(&["replace", "delete", "replace", "merge", "bogus", ""]);
            patch.insert("$patch".to_owned(), directive.into());
        }
    }

    /// Names the members that stay. One that the patch sets and does not name is a mistake.
    fn add_retained(&self, patch: &mut Map<String, Value>, members: &[Member], dice: &mut Dice) {
        if !self.strategic || !dice.once_in(25) {
            return;
        }
        let mut names: Vec<String> = patch.keys().filter(|name| !name.starts_with('$')).cloned().collect();
        names.extend(members.iter().filter(|_| dice.percent(60)).map(|member| member.name.to_owned()));
        if dice.once_in(6) {
            names.retain(|_| dice.percent(70));
        }
        names.sort();
        names.dedup();
        patch.insert("$retainKeys".to_owned(), if dice.once_in(30) { mistyped(dice) } else { names.into() });
    }

    /// Items of a list that is merged: changes of some that are there, new ones, deletions.
    fn keyed(&self, key: &str, item: &Shape, current: Option<&Value>, dice: &mut Dice) -> Value {
        let there: Vec<&Value> = current.and_then(Value::as_array).into_iter().flatten().collect();
        let mut items = Vec::new();
        for _ in 0..1 + dice.below(2) {
            let old = (!there.is_empty() && dice.percent(70)).then(|| *dice.pick(&there));
            let mut change = self.patch(item, old, dice);
            if let Some(map) = change.as_object_mut() {
                let name = old.unwrap_or(&Value::Null).get(key).cloned();
                let name = name.or_else(|| item.value(dice).get(key).cloned());
                if let Some(name) = name
                    && !dice.once_in(60)
                {
                    map.insert(key.to_owned(), name);
                }
                if dice.once_in(6) {
                    map.retain(|name, _| name == key);
                    map.insert("$patch".to_owned(), "delete".into());
                }
            }
            items.push(change);
        }
        if dice.once_in(20) {
            items.push(json!({ "$patch": "replace" }));
        }
        if !dice.once_in(20) {
            retain_first(&mut items, |item| item.get(key).cloned());
        }
        Value::Array(items)
    }
}

fn speaks_of(member: &Member, is_there: bool, dice: &mut Dice) -> bool {
    let percent = match member.need {
        Need::Must | Need::Always => 20,
        Need::Often => 20,
        Need::Rarely | Need::Choice => 3,
        Need::InPatches => 1,
    };
    dice.percent(if is_there { percent + 7 } else { percent })
}

/// Says in which order the items of a list shall be.
fn add_order(
    patch: &mut Map<String, Value>,
    member: &Member,
    now: Option<&Value>,
    change: &Value,
    dice: &mut Dice,
) {
    if !matches!(member.shape, Shape::Keyed(..) | Shape::Set(_)) || !dice.once_in(5) {
        return;
    }
    let names = |list: Option<&Value>| -> Vec<Value> {
        let items = list.and_then(Value::as_array).into_iter().flatten();
        let items = items.filter(|item| item.get("$patch").is_none());
        match &member.shape {
            Shape::Keyed(key, _) => items.filter_map(|item| Some(json!({ *key: item.get(*key)? }))).collect(),
            _ => items.cloned().collect(),
        }
    };
    let mut order = names(now);
    dice.shuffle(&mut order);
    order.truncate(dice.below(4));
    // The items of the patch must be among them, in their order; where the others stand is free.
    let mut at = 0;
    order.retain(|name| !names(Some(change)).contains(name));
    for name in names(Some(change)) {
        at += dice.below(order.len() + 1 - at);
        order.insert(at, name);
        at += 1;
    }
    if dice.once_in(10) {
        dice.shuffle(&mut order);
    }
    if dice.once_in(20) {
        order.pop();
    }
    patch.insert(format!("$setElementOrder/{}", member.name), order.into());
}

/// Removes items from a list of values. Not together with a change of the list, which Kubernetes does in any order.
fn add_deletion(patch: &mut Map<String, Value>, member: &Member, now: Option<&Value>, dice: &mut Dice) {
    let Shape::Set(item) = &member.shape else { return };
    if patch.contains_key(member.name) || !dice.once_in(12) {
        return;
    }
    let mut items: Vec<Value> = now.and_then(Value::as_array).cloned().unwrap_or_default();
    items.push(item.value(dice));
    dice.shuffle(&mut items);
    items.truncate(1 + dice.below(2));
    patch.insert(format!("$deleteFromPrimitiveList/{}", member.name), items.into());
}

// === operations ===

/// A JSON patch: some operations on an object of this shape.
pub(crate) fn operations(shape: &Shape, current: &Value, dice: &mut Dice) -> Value {
    (0..1 + dice.below(3)).map(|_| operation(shape, current, dice)).collect()
}

fn operation(shape: &Shape, current: &Value, dice: &mut Dice) -> Value {
    let op = *dice.pick(&["add", "add", "add", "replace", "replace", "remove", "test", "copy", "move"]);
    let (path, shape) = walk(shape, Some(current), dice);
    let found = current.pointer(&path);
    let mut operation = json!({ "op": op, "path": path });
    match op {
        "add" | "replace" => operation["value"] = shape.value(dice),
        "test" => {
            operation["value"] = match found {
                Some(found) if dice.percent(85) => found.clone(),
                _ => shape.value(dice),
            };
        }
        "copy" | "move" => {
            // A neighbour is of the same type most of the time.
            let parent = path.rsplit_once('/').map_or("", |(parent, _)| parent);
            let from = match current.pointer(parent) {
                Some(Value::Array(items)) if !items.is_empty() => {
                    format!("{parent}/{}", dice.below(items.len()))
                }
                Some(Value::Object(map)) if !map.is_empty() && dice.percent(50) => {
                    let keys: Vec<&String> = map.keys().collect();
                    format!("{parent}/{}", escape(dice.pick::<&String>(&keys)))
                }
                _ => path.clone(),
            };
            operation["from"] = from.into();
        }
        _ => {}
    }
    if dice.once_in(60) {
        let member = *dice.pick(&["op", "path", "value", "from"]);
        operation[member] = mistyped(dice);
    }
    operation
}

/// A place in an object: mostly one that is there, or could be.
fn walk<'a>(shape: &'a Shape, current: Option<&Value>, dice: &mut Dice) -> (String, &'a Shape) {
    let (mut path, mut shape, mut current) = (String::new(), shape, current);
    loop {
        let step = match shape {
            Shape::Leaf { .. } => return (path, shape),
            Shape::Object(members) => {
                let there: Vec<&Member> = members
                    .iter()
                    .filter(|member| current.is_some_and(|current| current.get(member.name).is_some()))
                    .collect();
                let member = match there.is_empty() || dice.percent(30) {
                    true => dice.pick(members),
                    false => dice.pick(&there),
                };
                // Only a few patches try to rename an object or to make another kind of it.
                if member.need == Need::InPatches && !dice.once_in(4) {
                    continue;
                }
                shape = &member.shape;
                member.name.to_owned()
            }
            Shape::Map { value, .. } => {
                let key = Merging { strategic: false }.known(shape, current, dice);
                shape = value;
                key
            }
            Shape::List(item) | Shape::Set(item) | Shape::Keyed(_, item) => {
                let n_items = current.and_then(Value::as_array).map_or(0, Vec::len);
                shape = item;
                match dice.below(12) {
                    0 | 1 => "-".to_owned(),
                    2 => n_items.to_string(),
                    3 if dice.once_in(4) => "-1".to_owned(),
                    4 if dice.once_in(4) => "x".to_owned(),
                    _ => dice.below(n_items).to_string(),
                }
            }
        };
        current = current.and_then(|current| match current {
            Value::Array(items) => items.get(step.parse::<usize>().ok()?),
            other => other.get(&step),
        });
        path = format!("{path}/{}", escape(&step));
        if path.matches('/').count() > 1 && dice.once_in(4) || dice.once_in(60) {
            return (path, shape);
        }
    }
}

fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}
