//! Rules at every value of an object.
//!
//! The walk keeps three things apart: the value now, the value it was (for `oldSelf`), and the nearest value around it
//! that can be compared with its predecessor (to excuse a broken rule about something that did not change).

#[cfg(test)]
mod tests;

use safepoint_machinery::FieldError;
use serde_json::Value;

use crate::cel::{CALL_LIMIT, OBJECT_LIMIT, Past, Shape, Stop};
use crate::check::past::{self, OldItems};
use crate::node::{Additional, Node, NodeId, Nodes, Reason, Rule, Types};
use crate::path::{Base, Path};
use crate::problem;
use crate::shape::MAX_DEPTH;

/// Bytes that the text of a message expression may have.
const MAX_MESSAGE: usize = 5 * 1024;

/// Evaluates all rules of an object or a default.
pub(crate) fn check(
    nodes: &Nodes,
    (id, shape): (NodeId, Shape),
    value: &Value,
    old: Option<&Value>,
    base: Base<'_>,
) -> Vec<FieldError> {
    let mut walk = Walk { nodes, base, left: Some(OBJECT_LIMIT), problems: Vec::new() };
    let node = nodes.get(id);
    let here = Place { node, value, old, ratchet: Ratchet::root(node, value, old) };
    walk.value(shape, here, &Path::ROOT);
    walk.problems
}

struct Walk<'a> {
    nodes: &'a Nodes,
    base: Base<'a>,
    /// Units left for all rules; none once they have run out.
    left: Option<u64>,
    problems: Vec<FieldError>,
}

/// A value and what it was.
#[derive(Clone, Copy)]
struct Place<'a> {
    node: &'a Node,
    value: &'a Value,
    old: Option<&'a Value>,
    ratchet: Ratchet<'a>,
}

/// A value and its predecessor that can be compared.
type Pair<'a> = (&'a Node, &'a Value, &'a Value);

/// What may excuse a broken rule.
#[derive(Clone, Copy, Default)]
struct Ratchet<'a> {
    /// The value itself, if it can be compared.
    here: Option<Pair<'a>>,
    /// Otherwise the nearest value around it that can.
    around: Option<Pair<'a>>,
}

// === impl Ratchet ===

impl<'a> Ratchet<'a> {
    fn root(node: &'a Node, value: &'a Value, old: Option<&'a Value>) -> Self {
        Self { here: old.map(|old| (node, value, old)), around: None }
    }

    /// The same one step further in.
    fn child(self, node: &'a Node, value: &'a Value, old: Option<&'a Value>) -> Self {
        match self.here {
            None => self,
            Some(parent) => Self { here: old.map(|old| (node, value, old)), around: Some(parent) },
        }
    }

    fn excuses(self, nodes: &Nodes) -> bool {
        self.here.or(self.around).is_some_and(|(node, value, old)| past::same(nodes, node, value, old))
    }
}

// === impl Walk ===

impl Walk<'_> {
    fn value(&mut self, shape: Shape, here: Place<'_>, path: &Path<'_>) {
        if !here.node.rules_below || here.value.is_null() || path.depth() > MAX_DEPTH {
            return;
        }
        for rule in &here.node.rules {
            if self.left.is_none() {
                return;
            }
            self.rule(rule, shape, here, path);
        }
        match here.value {
            Value::Object(map) => {
                for (name, value) in map {
                    let (id, path) = match (here.node.property(name), here.node.additional) {
                        (Some(id), _) => (id, path.field(name)),
                        (None, Additional::Schema(id)) => (id, path.key(name)),
                        _ => continue,
                    };
                    let node = self.nodes.get(id);
                    let old = here.old.and_then(|old| old.get(name));
                    // The version and the kind never change visibly, so they excuse nothing.
                    let ratchet = match (path.depth(), name.as_str()) {
                        (1, "apiVersion" | "kind") => Ratchet::default(),
                        _ => {
                            let before = here.ratchet.here.and_then(|(_, _, old)| old.get(name));
                            here.ratchet.child(node, value, before)
                        }
                    };
                    let old = old.filter(|old| !old.is_null());
                    self.value(Shape::of(self.nodes, id), Place { node, value, old, ratchet }, &path);
                    if self.left.is_none() {
                        return;
                    }
                }
            }
            Value::Array(items) => {
                let Some(id) = here.node.items else { return };
                let node = self.nodes.get(id);
                let old_items = OldItems::new(&here.node.list, here.old);
                for (index, value) in items.iter().enumerate() {
                    let old = old_items.find(value);
                    let ratchet =
                        here.ratchet.child(node, value, old.filter(|_| here.ratchet.here.is_some()));
                    let place = Place { node, value, old, ratchet };
                    self.value(Shape::of(self.nodes, id), place, &path.index(index));
                    if self.left.is_none() {
                        return;
                    }
                }
            }
            _ => {}
        }
    }

    fn invalid(&mut self, node: &Node, path: &Path<'_>, detail: String) {
        // Without a value worth showing, the API server shows the declared type.
        let path = self.base.join(&path.bracketed());
        let kind = if node.int_or_string { String::new() } else { node.types.text() };
        self.problems.push(FieldError::invalid(path, kind, detail));
    }

    fn out_of_budget(&mut self, node: &Node, path: &Path<'_>) {
        let detail =
            "validation failed due to running out of cost budget, no further validation rules will be run";
        self.invalid(node, path, detail.to_owned());
        self.left = None;
    }

    fn rule(&mut self, rule: &Rule, shape: Shape, here: Place<'_>, path: &Path<'_>) {
        if rule.program.uses_old_self && here.old.is_none() && !rule.optional_old_self {
            return;
        }
        let past = if rule.optional_old_self { Past::Optional(here.old) } else { Past::Plain(here.old) };
        let left = self.left.unwrap_or_default();
        if left == 0 {
            return self.out_of_budget(here.node, path);
        }
        let limit = CALL_LIMIT.min(left);
        let (result, cost) = rule.program.holds(self.nodes, shape, here.value, past, limit);
        self.left = Some(left.saturating_sub(cost));
        let holds = match result {
            Ok(holds) => holds,
            Err(Stop::OutOfBudget) if limit < CALL_LIMIT => return self.out_of_budget(here.node, path),
            Err(Stop::OutOfBudget) => {
                let detail = format!(
                    "'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to \
                     call cost exceeds limit for rule: {}",
                    rule.name()
                );
                self.invalid(here.node, path, detail);
                self.left = None;
                return;
            }
            Err(Stop::Error(error)) if error.starts_with("no such overload") => {
                let detail = format!(
                    "'{error}': call arguments did not match a supported operator, function or macro signature for \
                     rule: {}",
                    rule.name()
                );
                return self.invalid(here.node, path, detail);
            }
            Err(Stop::Error(error)) => {
                return self.invalid(here.node, path, format!("{error} evaluating rule: {}", rule.name()));
            }
        };
        if holds {
            return;
        }
        let detail = self.message(rule, shape, here, past);
        if !rule.program.uses_old_self && here.ratchet.excuses(self.nodes) {
            return;
        }
        let problem = self.broken(rule, here, path, detail);
        self.problems.push(problem);
    }

    /// What a broken rule says: its message expression if that gives a text, its message, or itself.
    fn message(&mut self, rule: &Rule, shape: Shape, here: Place<'_>, past: Past<'_>) -> String {
        if let Some(program) = &rule.message_program {
            let left = self.left.unwrap_or_default();
            let (text, cost) = program.text(self.nodes, shape, here.value, past, CALL_LIMIT.min(left));
            self.left = Some(left.saturating_sub(cost));
            let text = text.unwrap_or_default();
            let text = text.trim();
            if !text.is_empty() && text.len() <= MAX_MESSAGE && !text.contains('\n') {
                return text.to_owned();
            }
        }
        match &*rule.message {
            "" => format!("failed rule: {}", rule.source),
            message => message.to_owned(),
        }
    }

    fn broken(&self, rule: &Rule, here: Place<'_>, path: &Path<'_>, detail: String) -> FieldError {
        let mut path = path.bracketed();
        match &*rule.field_path {
            "" => {}
            below => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(below);
            }
        }
        let path = self.base.join(&path);
        // An object or a list would be too long to show.
        let shown = match here.node.types {
            Types::OBJECT | Types::ARRAY => None,
            _ => Some(here.value.clone()),
        };
        match (rule.reason, shown) {
            (Reason::Forbidden, _) => FieldError::forbidden(path, detail),
            (Reason::Required, _) => FieldError::required(path, detail),
            (Reason::Duplicate, shown) => problem::duplicate(path, shown),
            (Reason::Invalid, Some(value)) => FieldError::invalid(path, value, detail),
            (Reason::Invalid, None) => problem::invalid_omitted(path, detail),
        }
    }
}
