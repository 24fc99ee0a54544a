//! CEL expressions that cannot bring the process down, and that say at once when they could never be true.
//!
//! `kube-cel` parses and evaluates. Four things are added here, because an expression is user input:
//!
//! - The parser and the interpreter call themselves once per level of nesting and need up to 100 KiB of stack for it; two
//!   dozen parentheses would overflow the stack of a worker, which ends the process. So both run on a stack of their own,
//!   and what is longer or deeper than that stack can bear is refused. A panic in there ends as an error, too.
//! - Selecting a field of what has no fields (`oldObject.spec` on a creation) is an error in CEL, where the interpreter
//!   takes it for `false`. Selections are rewritten into lookups, which fail as they should.
//! - The library does not check names: an unknown variable or function is found out here when the expression is compiled,
//!   and not by the first request.
//! - Optional selection (`a.?b`) stays off: the interpreter gets it wrong, and an error is better than a wrong answer.
//!
//! There is no cost budget. Who may write a webhook configuration may refuse every write anyway.

use std::sync::LazyLock;
use std::thread;

use kube_cel::KubeCelExt;
use kube_cel::cel::common::ast::{CallExpr, EntryExpr, Expr, LiteralValue, operators};
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{Context, ExecutionError, IdedExpr, Value};

/// Bounds the time and the stack for parsing; far beyond what a person writes.
const LONGEST: usize = 8 * 1024;
/// Bounds the time for parsing: what opens and never closes takes the parser seconds per thousand.
const MOST_BRACKETS: usize = 256;
/// Bounds the stack for evaluation. The parser's own bound, 96, is one of brackets only.
const DEEPEST: usize = 200;
/// Room for [`DEEPEST`] levels of an unoptimised build, with a factor of three. Only what is touched takes memory.
const STACK: usize = 64 * 1024 * 1024;

/// What an expression may name. `authorizer` is not among it: who may do what is not for CEL to ask here.
const VARIABLES: [&str; 4] = ["object", "oldObject", "request", "namespaceObject"];

/// All functions. Built once, for it is a few hundred of them.
static FUNCTIONS: LazyLock<Context<'static>> = LazyLock::new(|| {
    let mut context = Context::default().with_all();
    context.add_function("dyn", |value: Value| -> Result<Value, ExecutionError> { Ok(value) });
    context
});

/// An expression that parses, names only what there is, and may evaluate to a boolean.
#[derive(Debug)]
pub(crate) struct Expression {
    root: IdedExpr,
}

// === impl Expression ===

impl Expression {
    /// Compiles an expression; the error is the detail of a field error.
    pub(crate) fn compile(source: &str) -> Result<Expression, String> {
        if source.len() > LONGEST {
            return Err(format!("compilation failed: expression is longer than {LONGEST} bytes"));
        }
        if source.matches(['(', '[', '{']).count() > MOST_BRACKETS {
            return Err(format!("compilation failed: expression has more than {MOST_BRACKETS} brackets"));
        }
        let root = on_its_own_stack(|| {
            let mut root = Parser::default().parse(source).map_err(|errors| errors.to_string())?;
            Check::default().expression(&mut root, 0)?;
            Ok(root)
        });
        let root =
            root.and_then(|parsed| parsed).map_err(|why: String| format!("compilation failed: {why}"))?;
        match never_bool(&root.expr) {
            Some(got) => Err(format!("must evaluate to bool but got {got}")),
            None => Ok(Expression { root }),
        }
    }
}

/// Evaluates expressions with the same variables. The results are in the order of the expressions.
pub(crate) fn evaluate<'a>(
    expressions: impl Iterator<Item = &'a Expression> + Send,
    variables: Vec<(&'static str, Value)>,
) -> Result<Vec<Result<bool, String>>, String> {
    on_its_own_stack(move || {
        let mut context = FUNCTIONS.new_inner_scope();
        for (name, value) in variables {
            context.add_variable_from_value(name, value);
        }
        let run = |expression: &Expression| match context.resolve(&expression.root) {
            Ok(Value::Bool(result)) => Ok(result),
            Ok(_) => Err("must evaluate to bool".to_owned()),
            Err(error) => Err(tell(&error)),
        };
        expressions.map(run).collect()
    })
}

/// An error without the values it is about: who may change a Secret may not be one who may read it.
fn tell(error: &ExecutionError) -> String {
    match error {
        ExecutionError::NoSuchKey(key) => format!("no such key: {key}"),
        ExecutionError::UndeclaredReference(name) => format!("undeclared reference to '{name}'"),
        ExecutionError::DivisionByZero(_) => "division by zero".into(),
        ExecutionError::RemainderByZero(_) => "modulus by zero".into(),
        ExecutionError::Overflow(..) => "integer overflow".into(),
        ExecutionError::IndexOutOfBounds(_) => "index out of bounds".into(),
        ExecutionError::InvalidArgumentCount { expected, actual } => {
            format!("expected {expected} arguments, got {actual}")
        }
        ExecutionError::FunctionError { function, .. } => {
            format!("{function} cannot be called with these arguments")
        }
        _ => "no such overload".into(),
    }
}

/// Runs something on a thread with a large stack, to its end. A panic in it is an error.
fn on_its_own_stack<T: Send>(work: impl FnOnce() -> T + Send) -> Result<T, String> {
    thread::scope(|scope| {
        let builder = thread::Builder::new().name("cel".into()).stack_size(STACK);
        let thread =
            builder.spawn_scoped(scope, work).map_err(|error| format!("cannot evaluate CEL: {error}"))?;
        thread.join().map_err(|_| "the CEL library failed on this expression".to_owned())
    })
}

/// A JSON value as CEL sees it. Numbers without a fraction are `int`, as the API server holds them.
pub(crate) fn to_cel(value: &serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match value {
        Json::Null => Value::Null,
        Json::Bool(value) => Value::Bool(*value),
        Json::Number(number) => match number.as_i64() {
            Some(int) => Value::Int(int),
            None => Value::Float(number.as_f64().unwrap_or(f64::NAN)),
        },
        Json::String(text) => Value::from(text.as_str()),
        Json::Array(items) => Value::from(items.iter().map(to_cel).collect::<Vec<_>>()),
        Json::Object(map) => {
            let entries = map.iter().map(|(key, value)| (key.clone(), to_cel(value)));
            Value::from(entries.collect::<std::collections::HashMap<_, _>>())
        }
    }
}

/// Walks an expression: rewrites selections, and refuses names that nothing answers to.
#[derive(Default)]
struct Check {
    /// The variables of the comprehensions around, innermost last.
    bound: Vec<String>,
}

impl Check {
    fn expression(&mut self, node: &mut IdedExpr, depth: usize) -> Result<(), String> {
        if depth > DEEPEST {
            return Err(format!("expression is nested deeper than {DEEPEST} levels"));
        }
        let depth = depth + 1;
        match &mut node.expr {
            Expr::Unspecified | Expr::Literal(_) => Ok(()),
            Expr::Ident(name) => self.variable(name),
            Expr::Call(call) => self.call(call, depth),
            Expr::Select(select) => {
                self.expression(&mut select.operand, depth)?;
                if !select.test {
                    let operand = std::mem::take(&mut *select.operand);
                    let field = IdedExpr {
                        id: node.id,
                        expr: Expr::Literal(LiteralValue::String(select.field.as_str().into())),
                    };
                    let args = vec![operand, field];
                    node.expr =
                        Expr::Call(CallExpr { func_name: operators::INDEX.into(), target: None, args });
                }
                Ok(())
            }
            Expr::List(list) => list.elements.iter_mut().try_for_each(|item| self.expression(item, depth)),
            Expr::Map(map) => map.entries.iter_mut().try_for_each(|entry| match &mut entry.expr {
                EntryExpr::StructField(field) => self.expression(&mut field.value, depth),
                EntryExpr::MapEntry(entry) => {
                    self.expression(&mut entry.key, depth)?;
                    self.expression(&mut entry.value, depth)
                }
            }),
            Expr::Struct(message) => Err(format!("undeclared reference to '{}'", message.type_name)),
            Expr::Comprehension(comprehension) => {
                self.expression(&mut comprehension.iter_range, depth)?;
                self.expression(&mut comprehension.accu_init, depth)?;
                let outer = self.bound.len();
                let vars = [Some(&comprehension.iter_var), comprehension.iter_var2.as_ref()];
                self.bound.extend(vars.into_iter().flatten().cloned());
                self.bound.push(comprehension.accu_var.clone());
                self.expression(&mut comprehension.loop_cond, depth)?;
                self.expression(&mut comprehension.loop_step, depth)?;
                self.expression(&mut comprehension.result, depth)?;
                self.bound.truncate(outer);
                Ok(())
            }
        }
    }

    fn variable(&self, name: &str) -> Result<(), String> {
        let known = name.starts_with('@')
            || VARIABLES.contains(&name)
            || self.bound.iter().any(|bound| bound == name);
        if known { Ok(()) } else { Err(format!("undeclared reference to '{name}'")) }
    }

    fn call(&mut self, call: &mut CallExpr, depth: usize) -> Result<(), String> {
        let name = call.func_name.as_str();
        let is_operator = !name.starts_with(|first: char| first.is_ascii_alphabetic());
        match &mut call.target {
            // `sets.contains(..)`: a function with a dot in its name looks like one that is called on a variable.
            Some(target) if matches!(&target.expr, Expr::Ident(prefix) if is_function(&format!("{prefix}.{name}"))) =>
                {}
            Some(target) => {
                self.expression(target, depth)?;
                if !is_function(name) {
                    return Err(format!("undeclared reference to '{name}'"));
                }
            }
            None if is_operator || is_function(name) => {}
            None => return Err(format!("undeclared reference to '{name}'")),
        }
        call.args.iter_mut().try_for_each(|argument| self.expression(argument, depth))
    }
}

/// Whether there is such a function: called without anything, one that exists complains about something else.
fn is_function(name: &str) -> bool {
    let call = Expr::Call(CallExpr { func_name: name.into(), target: None, args: Vec::new() });
    match FUNCTIONS.resolve(&IdedExpr { id: 0, expr: call }) {
        Err(ExecutionError::UndeclaredReference(missing)) => *missing != name,
        _ => true,
    }
}

/// The type of an expression that is certainly not a boolean. Fields of objects have no type that is known beforehand,
/// and Kubernetes takes only what is known to be one: `object.spec.paused == true`, not `object.spec.paused`.
fn never_bool(root: &Expr) -> Option<&'static str> {
    match root {
        Expr::Literal(LiteralValue::Boolean(_)) => None,
        Expr::Literal(literal) => Some(match literal {
            LiteralValue::Boolean(_) => "bool",
            LiteralValue::Bytes(_) => "bytes",
            LiteralValue::Double(_) => "double",
            LiteralValue::Int(_) => "int",
            LiteralValue::Null => "null_type",
            LiteralValue::String(_) => "string",
            LiteralValue::UInt(_) => "uint",
        }),
        Expr::Ident(_) => Some("dyn"),
        Expr::List(_) => Some("list(dyn)"),
        Expr::Map(_) => Some("map(dyn, dyn)"),
        Expr::Call(call) if call.func_name == operators::INDEX => match call.args.as_slice() {
            [of, field] if is_dry_run(&of.expr, &field.expr) => None,
            _ => Some("dyn"),
        },
        Expr::Call(call) if call.func_name == "size" => Some("int"),
        _ => None,
    }
}

/// `request.dryRun`, the one field that is known to be a boolean.
fn is_dry_run(of: &Expr, field: &Expr) -> bool {
    matches!(of, Expr::Ident(name) if name == "request")
        && matches!(field, Expr::Literal(LiteralValue::String(name)) if name.inner() == "dryRun")
}

#[cfg(test)]
mod tests;
