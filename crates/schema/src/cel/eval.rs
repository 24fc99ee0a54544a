//! Running an expression.

mod loops;

use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;

use regex::Regex;

use super::budget::{Budget, LIST_COST, MAP_COST, Stop};
use super::ir::{Expr, Field, Mode, Slot};
use super::value::{Key, Result, Value};
use super::{Patterns, calls, ops};
use crate::node::Nodes;

/// One run of one expression.
pub(super) struct Run<'a, 'n> {
    pub(super) nodes: &'n Nodes,
    pub(super) budget: Budget,
    /// The variables by slot. One that could not be read fails when it is used, not before.
    vars: Vec<Result<'a>>,
    /// Regular expressions that the rule writes out.
    known: &'n Patterns,
    /// Regular expressions made during the run; a loop uses the same one for every item.
    patterns: HashMap<Box<str>, Option<Regex>>,
}

// === impl Run ===

impl<'a, 'n> Run<'a, 'n> {
    pub(super) fn new(nodes: &'n Nodes, budget: Budget, slots: Slot, known: &'n Patterns) -> Self {
        Self {
            nodes,
            budget,
            vars: vec![Ok(Value::Null); usize::from(slots)],
            known,
            patterns: HashMap::new(),
        }
    }

    pub(super) fn set(&mut self, slot: Slot, value: Result<'a>) {
        self.vars[usize::from(slot)] = value;
    }

    pub(super) fn eval(&mut self, expr: &Expr) -> Result<'a> {
        match expr {
            Expr::Literal(literal) => Ok(Value::of_literal(literal)),
            Expr::TypeName(name) => Ok(Value::Type(name)),
            Expr::Var(slot) => {
                self.budget.spend(1)?;
                self.vars[usize::from(*slot)].clone()
            }
            Expr::Select { of, field, mode } => {
                let of = self.eval(of)?;
                // Asking is free, so that a rule is not punished for being careful.
                self.budget.spend(u64::from(*mode != Mode::Test))?;
                self.select(&of, field, *mode)
            }
            Expr::Index { of, by, optional } => {
                let of = self.eval(of)?;
                let by = self.eval(by)?;
                self.budget.spend(1)?;
                self.index(&of, &by, *optional)
            }
            Expr::List(items) => {
                self.budget.spend(LIST_COST)?;
                let mut out = Vec::with_capacity(items.len());
                for (item, optional) in items {
                    let value = self.eval(item)?;
                    out.extend(present(value, *optional)?);
                }
                Ok(Value::list(out))
            }
            Expr::Map(entries) => {
                self.budget.spend(MAP_COST)?;
                let mut out = BTreeMap::new();
                for (key, value, optional) in entries {
                    let key = self.key(key)?;
                    let value = self.eval(value)?;
                    if let Some(value) = present(value, *optional)?
                        && out.insert(key, value).is_some()
                    {
                        return Err(Stop::error("Failed with repeated key"));
                    }
                }
                Ok(Value::Map(Rc::new(out)))
            }
            Expr::And(terms) => self.terms(terms, false),
            Expr::Or(terms) => self.terms(terms, true),
            Expr::Not(inner) => match self.eval(inner)? {
                Value::Bool(bool) => Ok(Value::Bool(!bool)),
                _ => Err(Stop::no_such_overload()),
            },
            Expr::Negate(inner) => {
                let value = self.eval(inner)?;
                self.budget.spend(1)?;
                ops::negate(&value)
            }
            Expr::If(parts) => match self.eval(&parts[0])? {
                Value::Bool(true) => self.eval(&parts[1]),
                Value::Bool(false) => self.eval(&parts[2]),
                _ => Err(Stop::no_such_overload()),
            },
            Expr::Binary(operator, operands) => {
                let left = self.eval(&operands[0])?;
                let right = self.eval(&operands[1])?;
                ops::binary(self.nodes, &mut self.budget, *operator, &left, &right)
            }
            Expr::Call { name, args, on_value } => self.call(name, args, *on_value),
            Expr::Loop(inner) => self.run_loop(inner),
            Expr::OptionalMap { of, slot, body, flat } => match self.eval(of)? {
                Value::Optional(None) => Ok(Value::Optional(None)),
                Value::Optional(Some(value)) => {
                    self.set(*slot, Ok((*value).clone()));
                    let value = self.eval(body)?;
                    Ok(if *flat { value } else { Value::some(value) })
                }
                _ => Err(Stop::no_such_overload()),
            },
        }
    }

    fn key(&mut self, expr: &Expr) -> std::result::Result<Key, Stop> {
        self.eval(expr)?.as_key().ok_or_else(|| Stop::error("unsupported key type"))
    }

    /// `&&` and `||`: one term that decides is enough, even if another one fails.
    fn terms(&mut self, terms: &[Expr], decides: bool) -> Result<'a> {
        let mut failed = None;
        for term in terms {
            match self.eval(term) {
                Ok(Value::Bool(bool)) if bool == decides => return Ok(Value::Bool(decides)),
                Ok(Value::Bool(_)) => {}
                Ok(_) => failed = failed.or(Some(Stop::no_such_overload())),
                Err(Stop::OutOfBudget) => return Err(Stop::OutOfBudget),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Value::Bool(!decides)),
        }
    }

    fn select(&mut self, of: &Value<'a>, field: &Field, mode: Mode) -> Result<'a> {
        let (of, chained) = match of {
            Value::Optional(None) if mode == Mode::Test => return Ok(Value::Bool(false)),
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        let found = match &of {
            Value::Object(_, shape) if shape.is_object(self.nodes) => {
                of.property(self.nodes, field.property())
            }
            Value::Object(..) | Value::Map(_) => of.entry(self.nodes, &Key::Text((*field.ident).into())),
            _ => return Err(Stop::error(format!("no such key: {}", field.ident))),
        };
        match (mode, found) {
            (Mode::Test, found) => Ok(Value::Bool(found.is_some())),
            (Mode::Optional, None) => Ok(Value::Optional(None)),
            (Mode::Value, None) if chained => Ok(Value::Optional(None)),
            (Mode::Value, None) => Err(Stop::error(format!("no such key: {}", field.ident))),
            (Mode::Optional, Some(value)) => value.map(Value::some),
            (Mode::Value, Some(value)) if chained => value.map(Value::some),
            (Mode::Value, Some(value)) => value,
        }
    }

    fn index(&mut self, of: &Value<'a>, by: &Value<'a>, optional: bool) -> Result<'a> {
        let (of, optional) = match of {
            Value::Optional(None) => return Ok(Value::Optional(None)),
            Value::Optional(Some(inner)) => ((**inner).clone(), true),
            other => (other.clone(), optional),
        };
        let (found, missing) = if of.list_len().is_some() {
            let Some(Key::Int(index)) = by.as_key() else {
                return Err(Stop::error("unsupported index type in list"));
            };
            let found = usize::try_from(index).ok().and_then(|index| of.item(self.nodes, index));
            (found, format!("index out of bounds: {index}"))
        } else {
            let Some(key) = by.as_key() else { return Err(Stop::no_such_overload()) };
            match of {
                Value::Object(..) | Value::Map(_) => {
                    (of.entry(self.nodes, &key), format!("no such key: {}", text_of(&key)))
                }
                _ => return Err(Stop::no_such_overload()),
            }
        };
        match (found, optional) {
            (Some(value), true) => value.map(Value::some),
            (Some(value), false) => value,
            (None, true) => Ok(Value::Optional(None)),
            (None, false) => Err(Stop::error(missing)),
        }
    }

    fn call(&mut self, name: &'static str, args: &[Expr], on_value: bool) -> Result<'a> {
        // The fallback of an optional is not evaluated if there is a value.
        if let ("or" | "orValue", [of, fallback]) = (name, args) {
            return match self.eval(of)? {
                value @ Value::Optional(Some(_)) if name == "or" => Ok(value),
                Value::Optional(Some(value)) => Ok((*value).clone()),
                Value::Optional(None) => self.eval(fallback),
                _ => Err(Stop::no_such_overload()),
            };
        }
        let mut values = Vec::with_capacity(args.len());
        for arg in args {
            values.push(self.eval(arg)?);
        }
        calls::call(self, name, on_value, &values)
    }

    /// A regular expression, compiled at most once per run.
    pub(super) fn pattern(&mut self, source: &str) -> std::result::Result<&Regex, Stop> {
        if let Some(known) = self.known.get(source) {
            return Ok(known);
        }
        if !self.patterns.contains_key(source) {
            // Compiling is the expensive part of an expression that is made while running.
            self.budget.spend(source.len() as u64)?;
            self.patterns.insert(source.into(), crate::pattern::compile(source).ok());
        }
        let compiled = self.patterns.get(source).and_then(Option::as_ref);
        compiled.ok_or_else(|| Stop::error(format!("error parsing regexp: {source}")))
    }
}

/// An element of a literal; a marked one is taken out of its optional or left out.
fn present(value: Value<'_>, optional: bool) -> std::result::Result<Option<Value<'_>>, Stop> {
    match (optional, value) {
        (false, value) => Ok(Some(value)),
        (true, Value::Optional(inner)) => Ok(inner.map(|inner| (*inner).clone())),
        (true, _) => Err(Stop::no_such_overload()),
    }
}

fn text_of(key: &Key) -> String {
    match key {
        Key::Bool(bool) => bool.to_string(),
        Key::Int(int) => int.to_string(),
        Key::Uint(uint) => uint.to_string(),
        Key::Text(text) => text.to_string(),
    }
}
