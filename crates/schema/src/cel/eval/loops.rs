//! Macros over lists and maps.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::Run;
use crate::cel::budget::{LIST_COST, Stop};
use crate::cel::ir::{Loop, LoopKind};
use crate::cel::ops;
use crate::cel::value::{Key, Result, Value};

impl<'a> Run<'a, '_> {
    pub(super) fn run_loop(&mut self, inner: &Loop) -> Result<'a> {
        let range = self.eval(&inner.range)?;
        let steps = match (range.list_len(), range.keys(self.nodes)) {
            (Some(length), _) => Steps::Items(length),
            (None, Some(keys)) => Steps::Keys(keys),
            (None, None) => return Err(Stop::no_such_overload()),
        };
        match inner.kind {
            LoopKind::All => self.decide(inner, &range, &steps, false),
            LoopKind::Exists => self.decide(inner, &range, &steps, true),
            LoopKind::ExistsOne => self.exists_one(inner, &range, &steps),
            LoopKind::List => self.collect(inner, &range, &steps),
            LoopKind::Map | LoopKind::Entries => self.collect_map(inner, &range, &steps),
            LoopKind::SortBy => self.sort_by(inner, &range, &steps),
        }
    }

    /// Sets the variables for one step; `None` after the last.
    fn step(
        &mut self,
        inner: &Loop,
        range: &Value<'a>,
        steps: &Steps,
        at: usize,
    ) -> std::result::Result<Option<Key>, Stop> {
        let (key, item) = match steps {
            Steps::Items(length) if at < *length => {
                (Key::Int(at.try_into().unwrap_or(i64::MAX)), range.item(self.nodes, at))
            }
            Steps::Keys(keys) if at < keys.len() => {
                let key = keys[at].clone();
                // With one variable a map's values are not looked at.
                let item = match inner.second {
                    Some(_) => range.entry(self.nodes, &key),
                    None => Some(Ok(key.clone().into())),
                };
                (key, item)
            }
            _ => return Ok(None),
        };
        // The same as cel-go: the accumulator, the condition and the step.
        self.budget.spend(3)?;
        let item = item.unwrap_or(Ok(Value::Null));
        match inner.second {
            Some(second) => {
                self.set(inner.first, Ok(key.clone().into()));
                self.set(second, item);
            }
            None => self.set(inner.first, item),
        }
        Ok(Some(key))
    }

    fn condition(&mut self, expr: &crate::cel::ir::Expr) -> std::result::Result<bool, Stop> {
        match self.eval(expr)? {
            Value::Bool(bool) => Ok(bool),
            _ => Err(Stop::no_such_overload()),
        }
    }

    /// `all` and `exists`: one item that decides is enough, even if another one fails.
    fn decide(&mut self, inner: &Loop, range: &Value<'a>, steps: &Steps, decides: bool) -> Result<'a> {
        let mut failed = None;
        for at in 0.. {
            let met = match self.step(inner, range, steps, at) {
                Ok(None) => break,
                Ok(Some(_)) => self.condition(&inner.body),
                Err(stop) => Err(stop),
            };
            match met {
                Ok(bool) if bool == decides => return Ok(Value::Bool(decides)),
                Ok(_) => {}
                Err(Stop::OutOfBudget) => return Err(Stop::OutOfBudget),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        match failed {
            Some(error) => Err(error),
            None => Ok(Value::Bool(!decides)),
        }
    }

    fn exists_one(&mut self, inner: &Loop, range: &Value<'a>, steps: &Steps) -> Result<'a> {
        let mut count = 0;
        for at in 0.. {
            if self.step(inner, range, steps, at)?.is_none() {
                break;
            }
            count += usize::from(self.condition(&inner.body)?);
        }
        Ok(Value::Bool(count == 1))
    }

    fn collect(&mut self, inner: &Loop, range: &Value<'a>, steps: &Steps) -> Result<'a> {
        self.budget.spend(LIST_COST)?;
        let mut out = Vec::new();
        for at in 0.. {
            if self.step(inner, range, steps, at)?.is_none() {
                break;
            }
            if let Some(filter) = &inner.filter
                && !self.condition(filter)?
            {
                continue;
            }
            out.push(self.eval(&inner.body)?);
            self.budget.spend(LIST_COST)?;
        }
        Ok(Value::list(out))
    }

    fn collect_map(&mut self, inner: &Loop, range: &Value<'a>, steps: &Steps) -> Result<'a> {
        let mut out = BTreeMap::new();
        for at in 0.. {
            let Some(key) = self.step(inner, range, steps, at)? else { break };
            if let Some(filter) = &inner.filter
                && !self.condition(filter)?
            {
                continue;
            }
            let value = self.eval(&inner.body)?;
            self.budget.spend(LIST_COST)?;
            if inner.kind == LoopKind::Map {
                out.insert(key, value);
                continue;
            }
            for key in value.keys(self.nodes).ok_or_else(Stop::no_such_overload)? {
                let entry = value.entry(self.nodes, &key).transpose()?.unwrap_or(Value::Null);
                if out.insert(key, entry).is_some() {
                    return Err(Stop::error("insert failed: key already exists"));
                }
            }
        }
        Ok(Value::Map(Rc::new(out)))
    }

    fn sort_by(&mut self, inner: &Loop, range: &Value<'a>, steps: &Steps) -> Result<'a> {
        let Some(items) = range.items(self.nodes)? else { return Err(Stop::no_such_overload()) };
        let mut keyed = Vec::with_capacity(items.len());
        for (at, item) in items.into_iter().enumerate() {
            self.step(inner, range, steps, at)?;
            keyed.push((self.eval(&inner.body)?, item));
            self.budget.spend(LIST_COST)?;
        }
        let comparable = keyed.windows(2).all(|pair| ops::compare(&pair[0].0, &pair[1].0).is_some());
        if !comparable {
            return Err(Stop::error("list elements must have the same type"));
        }
        keyed.sort_by(|left, right| ops::order(&left.0, &right.0));
        Ok(Value::list(keyed.into_iter().map(|(_, item)| item).collect()))
    }
}

/// What a loop walks over.
enum Steps {
    Items(usize),
    Keys(Vec<Key>),
}
