//! Match conditions: what a hook says in CEL about the requests it wants.

use serde_json::{Value, json};

use super::attributes::Attributes;
use super::convert::Versioned;
use super::expression::{self, Expression};
use super::matching::Invocation;
use super::review::About;

/// One match condition of a hook.
#[derive(Debug)]
pub(crate) struct Condition {
    source: String,
    compiled: Result<Expression, String>,
}

/// What all conditions of a hook say together.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Judgement {
    /// All are true.
    Met,
    /// One is false, whatever the others are.
    Unmet,
    /// None is false, and of these it cannot be said.
    Unclear(String),
}

// === impl Condition ===

impl Condition {
    pub(crate) fn compile(source: &str) -> Condition {
        Condition { source: source.to_owned(), compiled: Expression::compile(source) }
    }
}

/// Evaluates the conditions of a hook for a request.
pub(crate) fn judge(
    conditions: &[Condition],
    attributes: &Attributes,
    invocation: &Invocation,
    versioned: &Versioned<'_>,
) -> Judgement {
    // The conditions see the kind that the hook will be shown and the resource that was asked for. That is odd, and
    // what Kubernetes does.
    let seen = Invocation { kind: invocation.kind.clone(), resource: attributes.resource.clone() };
    let request = json!(About::of(attributes, &seen));
    let show = |value: Option<&Value>| expression::to_cel(value.unwrap_or(&Value::Null));
    let variables = vec![
        ("object", show(versioned.object.as_deref())),
        ("oldObject", show(versioned.old_object.as_deref())),
        ("request", expression::to_cel(&request)),
        // Declared, so that an expression may name it, and never given to a webhook's conditions.
        ("namespaceObject", show(None)),
    ];
    let compiled = conditions.iter().filter_map(|condition| condition.compiled.as_ref().ok());
    let mut results = match expression::evaluate(compiled, variables) {
        Ok(results) => results.into_iter(),
        Err(why) => return Judgement::Unclear(why),
    };
    let mut unclear: Vec<String> = Vec::new();
    for Condition { source, compiled } in conditions {
        let result = match compiled {
            Ok(_) => results
                .next()
                .unwrap_or_else(|| Err("was not evaluated".into()))
                .map_err(|why| format!("expression '{source}' resulted in error: {why}")),
            Err(why) => Err(format!("compilation error: {why}")),
        };
        match result {
            Ok(true) => {}
            Ok(false) => return Judgement::Unmet,
            Err(why) if unclear.contains(&why) => {}
            Err(why) => unclear.push(why),
        }
    }
    match unclear.as_slice() {
        [] => Judgement::Met,
        [one] => Judgement::Unclear(one.clone()),
        several => Judgement::Unclear(format!("[{}]", several.join(", "))),
    }
}
