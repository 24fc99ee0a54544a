//! The expression language of `x-kubernetes-validations`.
//!
//! A rule is parsed, checked against the types its schema gives to `self` and `oldSelf`, and kept as a small tree that
//! runs directly on the JSON of an object. The functions of Kubernetes that need tables or arithmetic of their own
//! (quantities, addresses, versions, names, calendars) come from `kube-cel`; parsing, checking and running do not, for
//! three reasons: its parser overflows the stack on nested brackets, its interpreter copies the object at
//! every step and cannot be stopped, and it knows neither `type()` nor the two-variable macros.

mod ast;
mod budget;
mod calls;
mod escape;
mod eval;
mod ir;
mod lexer;
mod library;
mod lower;
mod ops;
mod parser;
mod quantity;
mod shape;
mod signatures;
mod types;
mod value;

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use regex::Regex;
use serde_json::Value as Json;

pub(crate) use budget::{CALL_LIMIT, OBJECT_LIMIT, Stop};
pub(crate) use shape::Shape;

use crate::node::Nodes;
use budget::Budget;
use eval::Run;
use ir::{Expr, OLD_SELF, SELF, Slot};
use lower::Lowering;
use types::Type;
use value::Value;

/// Regular expressions by their source.
type Patterns = HashMap<Box<str>, Regex>;

/// An expression that has been checked.
#[derive(Debug)]
pub(crate) struct Program {
    expr: Expr,
    slots: Slot,
    patterns: Patterns,
    /// Whether it compares with the past, and therefore only runs on updates.
    pub(crate) uses_old_self: bool,
}

/// What an expression is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Purpose {
    /// Yes or no.
    Rule,
    /// A text.
    Message,
}

/// Which past a rule sees.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Past<'a> {
    /// The value before, or none; a rule that needs it does not run without.
    Plain(Option<&'a Json>),
    /// The same as an optional.
    Optional(Option<&'a Json>),
}

/// Whether rules can be written about values of this shape.
pub(crate) fn is_visible(nodes: &Nodes, shape: Shape) -> bool {
    shape.type_of(nodes).is_some()
}

// === impl Program ===

impl Program {
    /// Parses and checks an expression about values of a shape. The error is the text an API server gives.
    pub(crate) fn compile(
        nodes: &Nodes,
        shape: Shape,
        optional_old_self: bool,
        purpose: Purpose,
        source: &str,
    ) -> Result<Self, String> {
        let ast = parser::parse(source)?;
        let this = shape.type_of(nodes).unwrap_or(Type::Dyn);
        let old = if optional_old_self { Type::optional(this.clone()) } else { this.clone() };
        let mut lowering = Lowering::new(nodes, this, old);
        let (expr, result) = lowering
            .lower(&ast)
            .map_err(|mistake| parser::describe(source, mistake.at as usize, &mistake.message))?;
        let fits = match purpose {
            Purpose::Rule => result == Type::Bool,
            Purpose::Message => result == Type::Text,
        };
        match (fits, purpose) {
            (true, _) => {}
            (false, Purpose::Rule) => return Err("cel expression must evaluate to a bool".to_owned()),
            (false, Purpose::Message) => return Err("messageExpression must evaluate to a string".to_owned()),
        }
        let Lowering { slots, patterns, uses_old_self, .. } = lowering;
        Ok(Self { expr, slots, patterns, uses_old_self })
    }

    /// Whether the rule holds, and what finding out has cost.
    pub(crate) fn holds(
        &self,
        nodes: &Nodes,
        shape: Shape,
        this: &Json,
        past: Past<'_>,
        limit: u64,
    ) -> (Result<bool, Stop>, u64) {
        self.run(nodes, shape, this, past, limit, |value| match value {
            Value::Bool(bool) => Ok(*bool),
            _ => Err(Stop::error("rule did not evaluate to a bool")),
        })
    }

    /// The text that a message expression gives, and what it has cost.
    pub(crate) fn text(
        &self,
        nodes: &Nodes,
        shape: Shape,
        this: &Json,
        past: Past<'_>,
        limit: u64,
    ) -> (Result<String, Stop>, u64) {
        self.run(nodes, shape, this, past, limit, |value| match value.text() {
            Some(text) => Ok(text.to_owned()),
            None => Err(Stop::error("messageExpression failed to convert to string")),
        })
    }

    fn run<T>(
        &self,
        nodes: &Nodes,
        shape: Shape,
        this: &Json,
        past: Past<'_>,
        limit: u64,
        finish: impl FnOnce(&Value<'_>) -> Result<T, Stop>,
    ) -> (Result<T, Stop>, u64) {
        let mut run = Run::new(nodes, Budget::new(limit), self.slots, &self.patterns);
        let result = self.run_with(&mut run, nodes, shape, this, past).and_then(|value| finish(&value));
        (result, run.budget.spent())
    }

    fn run_with<'a>(
        &self,
        run: &mut Run<'a, '_>,
        nodes: &Nodes,
        shape: Shape,
        this: &'a Json,
        past: Past<'a>,
    ) -> value::Result<'a> {
        run.set(SELF, value::view(nodes, this, shape));
        let view = |old: Option<&'a Json>| old.map(|old| value::view(nodes, old, shape));
        run.set(
            OLD_SELF,
            match past {
                Past::Plain(old) => view(old).unwrap_or(Ok(Value::Null)),
                Past::Optional(old) => view(old).transpose().map(|old| Value::Optional(old.map(Into::into))),
            },
        );
        run.eval(&self.expr)
    }
}
