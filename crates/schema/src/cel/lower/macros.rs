//! Macros: calls whose arguments name variables or are not evaluated once.

use super::{Lowered, Lowering, Mistake, is_bool, mistake, no_overload};
use crate::cel::ast::{Ast, AstKind, Offset};
use crate::cel::ir::{Expr, Loop, LoopKind, Mode, Slot};
use crate::cel::types::Type;

/// What a loop's body must be.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Body {
    Condition,
    Value,
}

impl Lowering<'_> {
    /// Lowers the call if it is a macro.
    pub(super) fn macro_call(
        &mut self,
        at: Offset,
        target: Option<&Ast>,
        name: &str,
        args: &[Ast],
    ) -> Result<Option<(Expr, Type)>, Mistake> {
        let lowered = match (target, name, args) {
            (None, "has", [arg]) => self.has(arg),
            (Some(of), "optMap" | "optFlatMap", [variable, body]) => {
                self.optional_map(at, of, variable, body, name == "optFlatMap")
            }
            (Some(range), _, _) => {
                let Some((kind, variables, filter, body)) = loop_of(name, args) else { return Ok(None) };
                self.fold(at, kind, range, variables, filter, body)
            }
            _ => return Ok(None),
        };
        lowered.map(Some)
    }

    fn has(&mut self, arg: &Ast) -> Lowered {
        match &arg.kind {
            AstKind::Select { of, field, optional: false } => self.select(arg.at, of, field, Mode::Test),
            _ => Err(mistake(arg.at, "invalid argument to has() macro".to_owned())),
        }
    }

    fn optional_map(&mut self, at: Offset, of: &Ast, variable: &Ast, body: &Ast, flat: bool) -> Lowered {
        let (of, of_type) = self.lower(of)?;
        let inner = match &of_type {
            Type::Optional(inner) => (**inner).clone(),
            Type::Dyn => Type::Dyn,
            other => return Err(no_overload(at, "optMap", std::slice::from_ref(other))),
        };
        let (slot, body, body_type) =
            self.with_variable(simple_name(variable)?, inner, |lowering, slot| {
                let (body, body_type) = lowering.lower(body)?;
                Ok((slot, body, body_type))
            })?;
        let result = match (flat, body_type) {
            (false, of) => Type::optional(of),
            (true, of @ (Type::Optional(_) | Type::Dyn)) => of,
            (true, of) => return Err(no_overload(at, "optFlatMap", &[of_type, of])),
        };
        Ok((Expr::OptionalMap { of: Box::new(of), slot, body: Box::new(body), flat }, result))
    }

    fn fold(
        &mut self,
        at: Offset,
        kind: LoopKind,
        range: &Ast,
        variables: &[Ast],
        filter: Option<&Ast>,
        body: &Ast,
    ) -> Lowered {
        let (range_expr, range_type) = self.lower(range)?;
        let (key, item) = match &range_type {
            Type::List(item) => (Type::Int, (**item).clone()),
            Type::Map(key, value) => ((**key).clone(), (**value).clone()),
            Type::Dyn => (Type::Dyn, Type::Dyn),
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                return Err(mistake(range.at, message));
            }
        };
        let over_map = matches!(range_type, Type::Map(..));
        let parts = match variables {
            [one] => {
                // A map is walked by its keys.
                let of = if over_map { key.clone() } else { item.clone() };
                self.with_variable(simple_name(one)?, of, |lowering, slot| {
                    lowering.parts(kind, slot, None, filter, body)
                })?
            }
            [first, second] => {
                let (first, second) = (simple_name(first)?, simple_name(second)?);
                self.with_variable(first, key.clone(), |lowering, slot| {
                    lowering.with_variable(second, item.clone(), |lowering, second| {
                        lowering.parts(kind, slot, Some(second), filter, body)
                    })
                })?
            }
            _ => return Err(mistake(at, "a loop has one or two variables".to_owned())),
        };
        let result = match kind {
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne => Type::Bool,
            LoopKind::List => Type::list(parts.body_type),
            LoopKind::Map => Type::map(key, parts.body_type),
            LoopKind::Entries => match parts.body_type {
                of @ (Type::Map(..) | Type::Dyn) => of,
                other => return Err(no_overload(at, "transformMapEntry", &[other])),
            },
            LoopKind::SortBy => range_type,
        };
        let Parts { first, second, filter, body, .. } = parts;
        Ok((Expr::Loop(Box::new(Loop { kind, range: range_expr, first, second, filter, body })), result))
    }

    /// The inside of a loop, its variables in scope.
    fn parts(
        &mut self,
        kind: LoopKind,
        first: Slot,
        second: Option<Slot>,
        filter: Option<&Ast>,
        body: &Ast,
    ) -> Result<Parts, Mistake> {
        let filter = match filter {
            Some(filter) => Some(self.part(filter, Body::Condition)?.0),
            None => None,
        };
        let wanted = match kind {
            LoopKind::All | LoopKind::Exists | LoopKind::ExistsOne => Body::Condition,
            _ => Body::Value,
        };
        let (body, body_type) = self.part(body, wanted)?;
        Ok(Parts { first, second, filter, body, body_type })
    }

    fn part(&mut self, ast: &Ast, wanted: Body) -> Lowered {
        let (expr, given) = self.lower(ast)?;
        if wanted == Body::Condition && !is_bool(&given) {
            return Err(mistake(ast.at, format!("expected type 'bool' but found '{given}'")));
        }
        Ok((expr, given))
    }
}

struct Parts {
    first: Slot,
    second: Option<Slot>,
    filter: Option<Expr>,
    body: Expr,
    body_type: Type,
}

/// The loop that a call spells: its kind, variables, filter and body.
fn loop_of<'a>(name: &str, args: &'a [Ast]) -> Option<(LoopKind, &'a [Ast], Option<&'a Ast>, &'a Ast)> {
    Some(match (name, args) {
        ("all", [_, body]) => (LoopKind::All, &args[..1], None, body),
        ("all", [_, _, body]) => (LoopKind::All, &args[..2], None, body),
        ("exists", [_, body]) => (LoopKind::Exists, &args[..1], None, body),
        ("exists", [_, _, body]) => (LoopKind::Exists, &args[..2], None, body),
        ("exists_one" | "existsOne", [_, body]) => (LoopKind::ExistsOne, &args[..1], None, body),
        ("existsOne", [_, _, body]) => (LoopKind::ExistsOne, &args[..2], None, body),
        ("map", [_, body]) => (LoopKind::List, &args[..1], None, body),
        ("map", [_, filter, body]) => (LoopKind::List, &args[..1], Some(filter), body),
        // What is kept is the item itself.
        ("filter", [item, filter]) => (LoopKind::List, &args[..1], Some(filter), item),
        ("transformList", [_, _, body]) => (LoopKind::List, &args[..2], None, body),
        ("transformList", [_, _, filter, body]) => (LoopKind::List, &args[..2], Some(filter), body),
        ("transformMap", [_, _, body]) => (LoopKind::Map, &args[..2], None, body),
        ("transformMap", [_, _, filter, body]) => (LoopKind::Map, &args[..2], Some(filter), body),
        ("transformMapEntry", [_, _, body]) => (LoopKind::Entries, &args[..2], None, body),
        ("transformMapEntry", [_, _, filter, body]) => (LoopKind::Entries, &args[..2], Some(filter), body),
        ("sortBy", [_, body]) => (LoopKind::SortBy, &args[..1], None, body),
        _ => return None,
    })
}

fn simple_name(ast: &Ast) -> Result<&str, Mistake> {
    match &ast.kind {
        AstKind::Ident(name) => Ok(name),
        _ => Err(mistake(ast.at, "argument must be a simple name".to_owned())),
    }
}
