//! A checked expression, ready to run.
//!
//! Names are resolved: variables are numbers, macros are loops, functions are known to exist. What is left of the source
//! is small enough to keep one per rule of every definition in memory.

use super::ast::{Literal, Operator};

/// Number of a variable. `self` is 0, `oldSelf` is 1, loops count on from there.
pub(super) type Slot = u16;

pub(super) const SELF: Slot = 0;
pub(super) const OLD_SELF: Slot = 1;

/// An expression.
#[derive(Debug)]
pub(super) enum Expr {
    Literal(Literal),
    /// The name of a type, used as a value.
    TypeName(&'static str),
    Var(Slot),
    Select {
        of: Box<Expr>,
        field: Field,
        mode: Mode,
    },
    Index {
        of: Box<Expr>,
        by: Box<Expr>,
        optional: bool,
    },
    List(Box<[(Expr, bool)]>),
    Map(Box<[(Expr, Expr, bool)]>),
    And(Box<[Expr]>),
    Or(Box<[Expr]>),
    Not(Box<Expr>),
    Negate(Box<Expr>),
    If(Box<[Expr; 3]>),
    Binary(Operator, Box<[Expr; 2]>),
    /// The receiver is the first argument.
    Call {
        name: &'static str,
        args: Box<[Expr]>,
        on_value: bool,
    },
    Loop(Box<Loop>),
    /// `optMap` and `optFlatMap`.
    OptionalMap {
        of: Box<Expr>,
        slot: Slot,
        body: Box<Expr>,
        flat: bool,
    },
}

/// What a selection asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// The value.
    Value,
    /// Whether there is one.
    Test,
    /// The value as an optional.
    Optional,
}

/// A field by both of its names.
#[derive(Debug)]
pub(super) struct Field {
    /// As written in the rule: the key of a map.
    pub(super) ident: Box<str>,
    /// The property of an object; `None` if it is the same.
    pub(super) property: Option<Box<str>>,
}

// === impl Field ===

impl Field {
    pub(super) fn property(&self) -> &str {
        self.property.as_deref().unwrap_or(&self.ident)
    }
}

/// What a loop makes of its items.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LoopKind {
    All,
    Exists,
    ExistsOne,
    /// A list of the bodies.
    List,
    /// A map of the same keys to the bodies.
    Map,
    /// A map of the entries that the bodies are.
    Entries,
    /// The items in the order of the bodies.
    SortBy,
}

/// A macro over a list or a map.
#[derive(Debug)]
pub(super) struct Loop {
    pub(super) kind: LoopKind,
    pub(super) range: Expr,
    /// The item, or with two variables the index or key.
    pub(super) first: Slot,
    pub(super) second: Option<Slot>,
    pub(super) filter: Option<Expr>,
    pub(super) body: Expr,
}
