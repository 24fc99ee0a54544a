//! What an object may look like: enough to make one up, mostly a good one and sometimes one that is refused.
//!
//! Values come from small pools on purpose. Two objects, or an object and a patch, then often speak of the same
//! container or the same label, and that is where servers could disagree.

use serde_json::{Map, Value, json};

use super::dice::Dice;

/// The form of a value.
pub(crate) enum Shape {
    /// One of some values, or rarely one of those that no server takes.
    Leaf { good: Vec<Value>, bad: Vec<Value> },
    /// An object whose members all have one shape, and of which there are some.
    Map { keys: Vec<&'static str>, bad: Vec<&'static str>, least: usize, value: Box<Shape> },
    /// An object with members of its own.
    Object(Vec<Member>),
    /// A list that is one value.
    List(Box<Shape>),
    /// A list of objects that are told apart by one of their members.
    Keyed(&'static str, Box<Shape>),
    /// A list that has each value once.
    Set(Box<Shape>),
}

/// A member of an object.
pub(crate) struct Member {
    pub(crate) name: &'static str,
    pub(crate) need: Need,
    pub(crate) shape: Shape,
}

/// How much an object needs a member.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// There is no object without it.
    Must,
    /// There is hardly an object without it.
    Always,
    /// Every other object has it.
    Often,
    /// Few objects have it.
    Rarely,
    /// No new object has it, but a patch may speak of it.
    InPatches,
    /// Exactly one of the members of this kind is there.
    Choice,
}

/// One value in so many is one that is refused.
const BAD: usize = 200;
/// One value in so many has another type than it should.
const MISTYPED: usize = 400;

// === making shapes ===

/// One of these values.
pub(crate) fn any(good: impl IntoIterator<Item = impl Into<Value>>) -> Shape {
    Shape::Leaf { good: good.into_iter().map(Into::into).collect(), bad: Vec::new() }
}

/// Yes or no.
pub(crate) fn flag() -> Shape {
    any([true, false])
}

/// A map from these keys.
pub(crate) fn map(keys: &[&'static str], value: Shape) -> Shape {
    Shape::Map { keys: keys.to_vec(), bad: vec!["", "a b", "-"], least: 0, value: Box::new(value) }
}

/// An object of these members.
pub(crate) fn object(members: Vec<Member>) -> Shape {
    Shape::Object(members)
}

/// A list that is replaced as a whole.
pub(crate) fn list(item: Shape) -> Shape {
    Shape::List(Box::new(item))
}

/// A list that is merged by a key.
pub(crate) fn keyed(key: &'static str, members: Vec<Member>) -> Shape {
    Shape::Keyed(key, Box::new(object(members)))
}

/// A list that is a set.
pub(crate) fn set(item: Shape) -> Shape {
    Shape::Set(Box::new(item))
}

/// A member that is always there.
pub(crate) fn must(name: &'static str, shape: Shape) -> Member {
    Member { name, need: Need::Must, shape }
}

/// A member that is nearly always there.
pub(crate) fn always(name: &'static str, shape: Shape) -> Member {
    Member { name, need: Need::Always, shape }
}

/// A member that is there every other time.
pub(crate) fn often(name: &'static str, shape: Shape) -> Member {
    Member { name, need: Need::Often, shape }
}

/// A member that is seldom there.
pub(crate) fn rarely(name: &'static str, shape: Shape) -> Member {
    Member { name, need: Need::Rarely, shape }
}

/// A member of which only patches speak.
pub(crate) fn in_patches(name: &'static str, shape: Shape) -> Member {
    Member { name, need: Need::InPatches, shape }
}

/// A member of which there is one.
pub(crate) fn choice(name: &'static str, shape: Shape) -> Member {
    Member { name, need: Need::Choice, shape }
}

// === impl Shape ===

impl Shape {
    /// Makes a map one that is never empty: in Go, that is not the same as one that is not there.
    pub(crate) fn filled(mut self) -> Shape {
        if let Shape::Map { least, .. } = &mut self {
            *least = 1;
        }
        self
    }

    /// Adds values that are refused.
    pub(crate) fn or(mut self, refused: impl IntoIterator<Item = impl Into<Value>>) -> Shape {
        if let Shape::Leaf { bad, .. } = &mut self {
            bad.extend(refused.into_iter().map(Into::into));
        }
        self
    }

    /// Makes up a value.
    pub(crate) fn value(&self, dice: &mut Dice) -> Value {
        if dice.once_in(MISTYPED) {
            return mistyped(dice);
        }
        match self {
            Shape::Leaf { good, bad } => {
                let is_bad = !bad.is_empty() && dice.once_in(BAD);
                dice.pick(if is_bad { bad } else { good }).clone()
            }
            Shape::Map { value, least, .. } => {
                let entries = (0..least + dice.below(4 - least))
                    .map(|_| (self.key(dice).to_owned(), value.value(dice)));
                Value::Object(entries.collect())
            }
            Shape::Object(members) => Value::Object(make_object(members, dice)),
            Shape::List(item) => (0..dice.below(3)).map(|_| item.value(dice)).collect(),
            Shape::Keyed(key, item) => {
                let keeps_doubles = dice.once_in(40);
                let mut items: Vec<Value> = (0..1 + dice.below(3)).map(|_| item.value(dice)).collect();
                if !keeps_doubles {
                    retain_first(&mut items, |item| item.get(*key).cloned());
                }
                Value::Array(items)
            }
            Shape::Set(item) => {
                let mut items: Vec<Value> = (0..1 + dice.below(3)).map(|_| item.value(dice)).collect();
                // Doubles in a set are merged by what Go happens to have in memory.
                retain_first(&mut items, |item| Some(item.clone()));
                Value::Array(items)
            }
        }
    }

    /// A key of a map.
    pub(crate) fn key(&self, dice: &mut Dice) -> &'static str {
        match self {
            Shape::Map { keys, bad, .. } => {
                let is_bad = dice.once_in(BAD);
                dice.pick::<&str>(if is_bad { bad } else { keys })
            }
            _ => "",
        }
    }
}

fn make_object(members: &[Member], dice: &mut Dice) -> Map<String, Value> {
    let choices: Vec<&str> =
        members.iter().filter(|member| member.need == Need::Choice).map(|member| member.name).collect();
    let mut chosen: Vec<&str> = Vec::new();
    if !choices.is_empty() && !dice.once_in(40) {
        chosen.push(*dice.pick(&choices));
        if dice.once_in(40) {
            chosen.push(*dice.pick(&choices));
        }
    }
    let mut made = Map::new();
    for member in members {
        let is_there = match member.need {
            Need::Must => true,
            Need::Always => !dice.once_in(150),
            Need::Often => dice.percent(40),
            Need::Rarely => dice.percent(6),
            Need::InPatches => false,
            Need::Choice => chosen.contains(&member.name),
        };
        if is_there {
            let is_null = member.need != Need::Must && dice.once_in(100);
            let value = if is_null { Value::Null } else { member.shape.value(dice) };
            made.insert(member.name.to_owned(), value);
        }
    }
    made
}

/// Something that hardly any field can hold.
pub(crate) fn mistyped(dice: &mut Dice) -> Value {
    // No members that nobody knows: the embedded server keeps those on purpose.
    let odd = [json!(7), json!("x"), json!(true), json!([]), json!({}), json!(1.5), json!(["x"])];
    dice.pick(&odd).clone()
}

/// Keeps the first of those that are the same by `key`.
pub(crate) fn retain_first(items: &mut Vec<Value>, key: impl Fn(&Value) -> Option<Value>) {
    let mut seen: Vec<Option<Value>> = Vec::new();
    items.retain(|item| {
        let key = key(item);
        let is_new = !seen.contains(&key);
        seen.push(key);
        is_new
    });
}
