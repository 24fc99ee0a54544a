//! From an expression as written to one that runs, checked on the way.
//!
//! The checks are those that catch mistakes when a definition is created instead of when an object is: fields that do
//! not exist, functions that do not exist or do not take these types, comparisons of different types, a result of the
//! wrong type. Where a type is not known the check is left to the evaluation.

mod literals;
mod macros;
mod operators;

#[cfg(test)]
mod tests;

use super::Patterns;
use super::ast::{Ast, AstKind, Literal, Offset};
use super::escape::unescape;
use super::ir::{Expr, Field, Mode, OLD_SELF, SELF, Slot};
use super::signatures::{self, Signature};
use super::types::{Bindings, Type};
use crate::node::Nodes;
use operators::type_of_operator;

/// What is wrong, and where.
#[derive(Debug)]
pub(super) struct Mistake {
    pub(super) at: Offset,
    pub(super) message: String,
}

pub(super) type Lowered = Result<(Expr, Type), Mistake>;

/// Names of types that may be used as values.
const TYPE_NAMES: [&str; 10] =
    ["bool", "int", "uint", "double", "string", "bytes", "list", "map", "null_type", "type"];

/// The state of one lowering.
pub(super) struct Lowering<'a> {
    nodes: &'a Nodes,
    /// Innermost last.
    scope: Vec<(Box<str>, Slot, Type)>,
    next: Slot,
    /// How many variables exist at the same time at most.
    pub(super) slots: Slot,
    pub(super) uses_old_self: bool,
    /// The regular expressions that are written out, compiled.
    pub(super) patterns: Patterns,
    /// Inside the arguments of `format`, the one place where a list may mix types.
    mixed: bool,
}

// === impl Lowering ===

impl<'a> Lowering<'a> {
    /// A scope with `self` and `oldSelf`.
    pub(super) fn new(nodes: &'a Nodes, this: Type, old: Type) -> Self {
        let scope = vec![("self".into(), SELF, this), ("oldSelf".into(), OLD_SELF, old)];
        Self {
            nodes,
            scope,
            next: 2,
            slots: 2,
            uses_old_self: false,
            patterns: Patterns::new(),
            mixed: false,
        }
    }

    pub(super) fn lower(&mut self, ast: &Ast) -> Lowered {
        let at = ast.at;
        match &ast.kind {
            AstKind::Literal(literal) => Ok((Expr::Literal(literal.clone()), type_of_literal(literal))),
            AstKind::Ident(name) => self.ident(at, name),
            AstKind::Select { of, field, optional } => {
                let mode = if *optional { Mode::Optional } else { Mode::Value };
                self.select(at, of, field, mode)
            }
            AstKind::Index { of, by, optional } => self.index(at, of, by, *optional),
            AstKind::List(items) => self.list(items),
            AstKind::Map(entries) => self.map(entries),
            AstKind::And(terms) => Ok((Expr::And(self.terms(terms)?), Type::Bool)),
            AstKind::Or(terms) => Ok((Expr::Or(self.terms(terms)?), Type::Bool)),
            AstKind::Not(inner) => {
                let (inner, given) = self.lower(inner)?;
                self.want(at, "!_", &Type::Bool, &given)?;
                Ok((Expr::Not(Box::new(inner)), Type::Bool))
            }
            AstKind::Negate(inner) => {
                let (inner, given) = self.lower(inner)?;
                match given {
                    Type::Int | Type::Double | Type::Dyn => Ok((Expr::Negate(Box::new(inner)), given)),
                    given => Err(no_overload(at, "-_", &[given])),
                }
            }
            AstKind::If(parts) => {
                let (condition, condition_type) = self.lower(&parts[0])?;
                let (then, then_type) = self.lower(&parts[1])?;
                let (otherwise, else_type) = self.lower(&parts[2])?;
                let joined = then_type.join(&else_type).filter(|_| is_bool(&condition_type));
                match joined {
                    Some(joined) => Ok((Expr::If(Box::new([condition, then, otherwise])), joined)),
                    None => Err(no_overload(at, "_?_:_", &[condition_type, then_type, else_type])),
                }
            }
            AstKind::Binary(operator, operands) => {
                let (left, left_type) = self.lower(&operands[0])?;
                let (right, right_type) = self.lower(&operands[1])?;
                match type_of_operator(*operator, &left_type, &right_type) {
                    Some(result) => Ok((Expr::Binary(*operator, Box::new([left, right])), result)),
                    None => Err(no_overload(at, operator.name(), &[left_type, right_type])),
                }
            }
            AstKind::Call { target, name, args } => self.call(at, target.as_deref(), name, args),
        }
    }

    fn terms(&mut self, terms: &[Ast]) -> Result<Box<[Expr]>, Mistake> {
        terms
            .iter()
            .map(|term| {
                let (expr, given) = self.lower(term)?;
                match is_bool(&given) {
                    true => Ok(expr),
                    false => Err(mistake(term.at, format!("expected type 'bool' but found '{given}'"))),
                }
            })
            .collect()
    }

    fn want(&self, at: Offset, function: &str, wanted: &Type, given: &Type) -> Result<(), Mistake> {
        match wanted.takes(given, &mut Bindings::default()) {
            true => Ok(()),
            false => Err(no_overload(at, function, std::slice::from_ref(given))),
        }
    }

    /// Makes a variable for the length of `body`.
    pub(super) fn with_variable<T>(
        &mut self,
        name: &str,
        of: Type,
        body: impl FnOnce(&mut Self, Slot) -> Result<T, Mistake>,
    ) -> Result<T, Mistake> {
        let slot = self.next;
        self.next += 1;
        self.slots = self.slots.max(self.next);
        self.scope.push((name.into(), slot, of));
        let result = body(self, slot);
        self.scope.pop();
        self.next -= 1;
        result
    }

    fn variable(&self, name: &str) -> Option<(Slot, Type)> {
        let (_, slot, of) = self.scope.iter().rev().find(|(known, ..)| **known == *name)?;
        Some((*slot, of.clone()))
    }

    fn ident(&mut self, at: Offset, name: &str) -> Lowered {
        if let Some((slot, of)) = self.variable(name) {
            self.uses_old_self |= slot == OLD_SELF;
            return Ok((Expr::Var(slot), of));
        }
        match TYPE_NAMES.into_iter().find(|known| *known == name) {
            Some(name) => Ok((Expr::TypeName(name), Type::Meta)),
            None => Err(undeclared(at, name)),
        }
    }

    fn select(&mut self, at: Offset, of: &Ast, field: &str, mode: Mode) -> Lowered {
        if let Some(name) = type_path(of, field).filter(|_| mode == Mode::Value) {
            return Ok((Expr::TypeName(name), Type::Meta));
        }
        let (of, of_type) = self.lower(of)?;
        let property = unescape(field).unwrap_or_else(|| field.to_owned());
        // Below an optional every step is optional.
        let (inner, chained) = match &of_type {
            Type::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        let found = match inner {
            Type::Dyn => Type::Dyn,
            Type::Map(_, value) => (*value).clone(),
            Type::Object(shape) => shape
                .field_type(self.nodes, &property)
                .ok_or_else(|| mistake(at, format!("undefined field '{field}'")))?,
            other => return Err(mistake(at, format!("type '{other}' does not support field selection"))),
        };
        let property = Some(property.into_boxed_str()).filter(|property| **property != *field);
        let field = Field { ident: field.into(), property };
        let result = match mode {
            Mode::Test => Type::Bool,
            Mode::Optional => Type::optional(found),
            Mode::Value if chained => Type::optional(found),
            Mode::Value => found,
        };
        Ok((Expr::Select { of: Box::new(of), field, mode }, result))
    }

    fn index(&mut self, at: Offset, of: &Ast, by: &Ast, optional: bool) -> Lowered {
        let (of, of_type) = self.lower(of)?;
        let (by, by_type) = self.lower(by)?;
        let (inner, chained) = match &of_type {
            Type::Optional(inner) => ((**inner).clone(), true),
            other => (other.clone(), false),
        };
        let name = if optional { "_[?_]" } else { "_[_]" };
        let fits = |wanted: &Type| wanted.takes(&by_type, &mut Bindings::default());
        let found = match inner {
            Type::Dyn => Type::Dyn,
            Type::List(item) if fits(&Type::Int) => (*item).clone(),
            Type::Map(key, value) if fits(&key) => (*value).clone(),
            _ => return Err(no_overload(at, name, &[of_type, by_type])),
        };
        let result = if optional || chained { Type::optional(found) } else { found };
        Ok((Expr::Index { of: Box::new(of), by: Box::new(by), optional }, result))
    }

    fn list(&mut self, items: &[(Ast, bool)]) -> Lowered {
        let mut item_type = None;
        let mut out = Vec::with_capacity(items.len());
        for (item, optional) in items {
            let (expr, given) = self.lower(item)?;
            let given = self.element(item.at, given, *optional)?;
            self.join_into(&mut item_type, given, item.at)?;
            out.push((expr, *optional));
        }
        Ok((Expr::List(out.into()), Type::list(item_type.unwrap_or(Type::Dyn))))
    }

    fn map(&mut self, entries: &[(Ast, Ast, bool)]) -> Lowered {
        let (mut key_type, mut value_type) = (None, None);
        let mut out = Vec::with_capacity(entries.len());
        for (key, value, optional) in entries {
            let (key_expr, key_given) = self.lower(key)?;
            self.join_into(&mut key_type, key_given, key.at)?;
            let (value_expr, value_given) = self.lower(value)?;
            let value_given = self.element(value.at, value_given, *optional)?;
            self.join_into(&mut value_type, value_given, value.at)?;
            out.push((key_expr, value_expr, *optional));
        }
        let of = Type::map(key_type.unwrap_or(Type::Dyn), value_type.unwrap_or(Type::Dyn));
        Ok((Expr::Map(out.into()), of))
    }

    /// Elements of a literal must be of one type.
    fn join_into(&self, slot: &mut Option<Type>, given: Type, at: Offset) -> Result<(), Mistake> {
        let joined = match slot.take() {
            None => given,
            Some(known) => match known.join(&given) {
                Some(joined) => joined,
                None if self.mixed => Type::Dyn,
                None => return Err(mistake(at, format!("expected type '{known}' but found '{given}'"))),
            },
        };
        *slot = Some(joined);
        Ok(())
    }

    /// The type of an element, which for a marked one is inside an optional.
    fn element(&self, at: Offset, given: Type, optional: bool) -> Result<Type, Mistake> {
        match (optional, given) {
            (false, given) | (true, given @ Type::Dyn) => Ok(given),
            (true, Type::Optional(inner)) => Ok((*inner).clone()),
            (true, given) => Err(mistake(at, format!("expected type 'optional_type' but found '{given}'"))),
        }
    }

    fn call(&mut self, at: Offset, target: Option<&Ast>, name: &str, args: &[Ast]) -> Lowered {
        if let Some(lowered) = self.macro_call(at, target, name, args)? {
            return Ok(lowered);
        }
        // `sets.contains(a, b)` is a function of a longer name unless `sets` is a variable.
        if let Some(AstKind::Ident(prefix)) = target.map(|target| &target.kind)
            && self.variable(prefix).is_none()
        {
            let qualified = signatures::find(&format!("{prefix}.{name}"));
            if !qualified.is_empty() {
                return self.plain_call(at, qualified, None, args);
            }
        }
        let signatures = signatures::find(name);
        if signatures.is_empty() {
            return Err(undeclared(at, name));
        }
        self.plain_call(at, signatures, target, args)
    }

    fn plain_call(
        &mut self,
        at: Offset,
        signatures: &'static [Signature],
        target: Option<&Ast>,
        args: &[Ast],
    ) -> Lowered {
        let mut exprs = Vec::with_capacity(args.len() + 1);
        let mut given = Vec::with_capacity(args.len() + 1);
        let mixed = self.mixed;
        self.mixed |= signatures[0].name == "format" && target.is_some();
        for ast in target.into_iter().chain(args) {
            let (expr, of) = self.lower(ast)?;
            exprs.push(expr);
            given.push(of);
        }
        self.mixed = mixed;
        self.literals(signatures[0].name, args)?;
        let mut result: Option<Type> = None;
        for signature in signatures {
            let Some(found) = result_of(signature, target.is_some(), &given) else { continue };
            // With a dynamic receiver several may fit; then nothing is known about the result.
            result = Some(match result {
                Some(other) if other != found => Type::Dyn,
                _ => found,
            });
        }
        let name = signatures[0].name;
        match result {
            Some(result) => Ok((Expr::Call { name, args: exprs.into(), on_value: target.is_some() }, result)),
            None if target.is_some() => {
                let (receiver, args) = given.split_at(1);
                let message = format!(
                    "found no matching overload for '{name}' applied to '{}.({})'",
                    receiver[0],
                    listed(args)
                );
                Err(mistake(at, message))
            }
            None => Err(no_overload(at, name, &given)),
        }
    }
}

/// The result of a call if the signature takes these arguments.
fn result_of(signature: &Signature, on_value: bool, given: &[Type]) -> Option<Type> {
    let mut bindings = Bindings::default();
    let args = match &signature.receiver {
        Some(receiver) if on_value => {
            let (first, rest) = given.split_first()?;
            receiver.takes(first, &mut bindings).then_some(rest)?
        }
        None if !on_value => given,
        _ => return None,
    };
    let least = signature.args.len() - signature.optional;
    if args.len() < least || args.len() > signature.args.len() {
        return None;
    }
    for (alternatives, arg) in signature.args.iter().zip(args) {
        let mut fits = false;
        for wanted in alternatives {
            let mut attempt = bindings.clone();
            if wanted.takes(arg, &mut attempt) {
                bindings = attempt;
                fits = true;
                break;
            }
        }
        if !fits {
            return None;
        }
    }
    Some(signature.result.bound(&bindings))
}

fn type_of_literal(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::Text(_) => Type::Text,
        Literal::Bytes(_) => Type::Bytes,
    }
}

/// `google.protobuf.Timestamp` and `google.protobuf.Duration` look like selections.
fn type_path(of: &Ast, field: &str) -> Option<&'static str> {
    let AstKind::Select { of: root, field: middle, .. } = &of.kind else { return None };
    match (&root.kind, &**middle, field) {
        (AstKind::Ident(root), "protobuf", "Timestamp") if &**root == "google" => {
            Some("google.protobuf.Timestamp")
        }
        (AstKind::Ident(root), "protobuf", "Duration") if &**root == "google" => {
            Some("google.protobuf.Duration")
        }
        _ => None,
    }
}

pub(super) fn is_bool(given: &Type) -> bool {
    matches!(given, Type::Bool | Type::Dyn)
}

pub(super) fn mistake(at: Offset, message: String) -> Mistake {
    Mistake { at, message }
}

fn undeclared(at: Offset, name: &str) -> Mistake {
    mistake(at, format!("undeclared reference to '{name}' (in container '')"))
}

fn no_overload(at: Offset, function: &str, given: &[Type]) -> Mistake {
    mistake(at, format!("found no matching overload for '{function}' applied to '({})'", listed(given)))
}

fn listed(types: &[Type]) -> String {
    let texts: Vec<String> = types.iter().map(Type::to_string).collect();
    texts.join(", ")
}
