//! The rules of a schema: their texts, their expressions, and where they may look into the past.

use safepoint_machinery::FieldError;
use serde_json::{Value, json};

use crate::cel::{Program, Purpose, Shape, is_visible};
use crate::node::{NodeId, Nodes, Reason, Rule};
use crate::raw::Raw;

const KEYWORD: &str = "x-kubernetes-validations";
const REASONS: [&str; 4] =
    ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// Compiled rules, waiting for their node.
pub(super) type Compiled = Vec<(NodeId, Vec<Rule>)>;

fn text<'a>(rule: &'a Value, field: &str) -> &'a str {
    rule.get(field).and_then(Value::as_str).unwrap_or_default()
}

fn has_line_break(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

/// Everything about the rules of one schema that does not need their expressions.
pub(super) fn check_texts(raw: Raw<'_>, path: &str, out: &mut Vec<FieldError>) {
    for (index, rule) in raw.list(KEYWORD).iter().enumerate() {
        let at = |field: &str| format!("{path}.{KEYWORD}[{index}].{field}");
        let (source, message) = (text(rule, "rule").trim(), text(rule, "message").trim());
        if source.is_empty() {
            out.push(FieldError::required(at("rule"), "rule is not specified"));
        } else if message.is_empty() && !text(rule, "message").is_empty() {
            out.push(FieldError::invalid(
                at("message"),
                text(rule, "message"),
                "must be non-empty if specified",
            ));
        } else if has_line_break(message) {
            out.push(FieldError::invalid(
                at("message"),
                text(rule, "message"),
                "must not contain line breaks",
            ));
        } else if has_line_break(source) && message.is_empty() {
            out.push(FieldError::required(
                at("message"),
                "message must be specified if rule contains line breaks",
            ));
        }
        let expression = text(rule, "messageExpression");
        if !expression.is_empty() && expression.trim().is_empty() {
            let detail = "messageExpression must be non-empty if specified";
            out.push(FieldError::required(at("messageExpression"), detail));
        }
        if let Some(reason) =
            rule.get("reason").and_then(Value::as_str).filter(|reason| !REASONS.contains(reason))
        {
            out.push(FieldError::not_supported(at("reason"), reason, &REASONS));
        }
        check_field_path(raw, text(rule, "fieldPath"), &at("fieldPath"), out);
    }
}

fn check_field_path(raw: Raw<'_>, field_path: &str, path: &str, out: &mut Vec<FieldError>) {
    if field_path.is_empty() {
        return;
    }
    if field_path.trim().is_empty() {
        out.push(FieldError::invalid(path, field_path, "must be non-empty if specified"));
    }
    if has_line_break(field_path) {
        out.push(FieldError::invalid(path, field_path, "must not contain line breaks"));
    }
    if normalized(raw, field_path).is_none() {
        out.push(FieldError::invalid(path, field_path, "must be a valid path"));
    }
}

/// A field path in the form that problems use, if it leads somewhere: `.spec['x']` is `spec[x]` for a map.
fn normalized(raw: Raw<'_>, field_path: &str) -> Option<String> {
    let mut here = raw;
    let mut out = String::new();
    let mut rest = field_path;
    while !rest.is_empty() {
        let name = if let Some(tail) = rest.strip_prefix('.') {
            let end = tail.find(['.', '[', ']']).unwrap_or(tail.len());
            rest = &tail[end..];
            tail[..end].to_owned()
        } else {
            let tail = rest.strip_prefix("['")?;
            let (name, tail) = quoted(tail)?;
            rest = tail.strip_prefix(']')?;
            name
        };
        if name.is_empty() {
            return None;
        }
        if here.properties().is_empty() {
            here = here.additional_schema()?;
            out.push_str(&format!("[{name}]"));
        } else {
            here = here.property(&name)?;
            if !out.is_empty() {
                out.push('.');
            }
            out.push_str(&name);
        }
    }
    Some(out)
}

/// A single quoted name after its first quote, and what follows it.
fn quoted(text: &str) -> Option<(String, &str)> {
    let mut name = String::new();
    let mut chars = text.char_indices();
    while let Some((index, c)) = chars.next() {
        match c {
            '\'' => return Some((name, &text[index + 1..])),
            '\\' => name.push(match chars.next()?.1 {
                'a' => '\u{7}',
                'b' => '\u{8}',
                'f' => '\u{c}',
                'n' => '\n',
                'r' => '\r',
                't' => '\t',
                'v' => '\u{b}',
                c @ ('\'' | '\\') => c,
                _ => return None,
            }),
            c => name.push(c),
        }
    }
    None
}

/// Compiles the rules of all schemas outside of logic. Those that do not compile are problems.
pub(super) fn compile(raw: Raw<'_>, nodes: &Nodes, root: NodeId, path: &str) -> (Compiled, Vec<FieldError>) {
    let mut compiler = Compiler { nodes, compiled: Vec::new(), problems: Vec::new() };
    compiler.schema(raw, root, Shape::Root(root), path, None);
    (compiler.compiled, compiler.problems)
}

/// Puts rules on their nodes and tells every node whether some are below it.
pub(super) fn install(nodes: &mut Nodes, compiled: Compiled) {
    for (id, rules) in compiled {
        nodes.get_mut(id).rules = rules.into();
    }
    nodes.mark_rules();
}

struct Compiler<'a> {
    nodes: &'a Nodes,
    compiled: Compiled,
    problems: Vec<FieldError>,
}

// === impl Compiler ===

impl Compiler<'_> {
    /// `unrelated` is the path of the list around that cannot relate its items to earlier ones.
    fn schema(&mut self, raw: Raw<'_>, id: NodeId, shape: Shape, path: &str, unrelated: Option<&str>) {
        let node = self.nodes.get(id);
        for (name, child) in &node.properties {
            let path = format!("{path}.properties[{name}]");
            if let Some(raw) = raw.property(name) {
                self.schema(raw, *child, Shape::of(self.nodes, *child), &path, unrelated);
            }
        }
        if let crate::node::Additional::Schema(child) = node.additional
            && let Some(raw) = raw.additional_schema()
        {
            let path = format!("{path}.additionalProperties");
            self.schema(raw, child, Shape::of(self.nodes, child), &path, unrelated);
        }
        if let (Some(child), Some(items)) = (node.items, raw.schema("items")) {
            let related = raw.text("x-kubernetes-list-type") == Some("map");
            let unrelated = if related { unrelated } else { unrelated.or(Some(path)) };
            self.schema(items, child, Shape::of(self.nodes, child), &format!("{path}.items"), unrelated);
        }
        let rules = raw.list(KEYWORD);
        if rules.is_empty() {
            return;
        }
        if !is_visible(self.nodes, shape) {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: \
                          unable to convert structural schema to CEL declarations";
            self.problems.push(FieldError::internal(format!("{path}.{KEYWORD}"), detail));
            return;
        }
        let mut compiled = Vec::with_capacity(rules.len());
        for (index, rule) in rules.iter().enumerate() {
            let path = format!("{path}.{KEYWORD}[{index}]");
            compiled.extend(self.rule(raw, rule, shape, &path, unrelated));
        }
        self.compiled.push((id, compiled));
    }

    fn rule(
        &mut self,
        raw: Raw<'_>,
        rule: &Value,
        shape: Shape,
        path: &str,
        unrelated: Option<&str>,
    ) -> Option<Rule> {
        let source = text(rule, "rule");
        let optional = rule.get("optionalOldSelf").and_then(Value::as_bool);
        let optional_old_self = optional.unwrap_or_default();
        let program = match Program::compile(self.nodes, shape, optional_old_self, Purpose::Rule, source) {
            Ok(program) => program,
            Err(error) => {
                let detail = match error.starts_with("ERROR") {
                    true => format!("compilation failed: {error}"),
                    false => error,
                };
                self.problems.push(FieldError::invalid(format!("{path}.rule"), shown(rule), detail));
                return None;
            }
        };
        if let Some(unrelated) = unrelated.filter(|_| program.uses_old_self) {
            let detail = format!(
                "oldSelf cannot be used on the uncorrelatable portion of the schema within {unrelated}"
            );
            self.problems.push(FieldError::invalid(format!("{path}.rule"), source, detail));
        }
        if let Some(optional) = optional.filter(|_| !program.uses_old_self) {
            let detail = "may not be set if oldSelf is not used in rule";
            self.problems.push(FieldError::invalid(format!("{path}.optionalOldSelf"), optional, detail));
        }
        let expression = text(rule, "messageExpression");
        let message_program = match expression {
            "" => None,
            expression => {
                match Program::compile(self.nodes, shape, optional_old_self, Purpose::Message, expression) {
                    Ok(program) => Some(program),
                    Err(error) => {
                        let detail = match error.starts_with("ERROR") {
                            true => format!("messageExpression compilation failed: {error}"),
                            false => error,
                        };
                        self.problems.push(FieldError::invalid(
                            format!("{path}.messageExpression"),
                            shown(rule),
                            detail,
                        ));
                        None
                    }
                }
            }
        };
        Some(Rule {
            program,
            message: text(rule, "message").trim().into(),
            message_program,
            reason: match text(rule, "reason") {
                "FieldValueForbidden" => Reason::Forbidden,
                "FieldValueRequired" => Reason::Required,
                "FieldValueDuplicate" => Reason::Duplicate,
                _ => Reason::Invalid,
            },
            field_path: normalized(raw, text(rule, "fieldPath")).unwrap_or_default().into(),
            optional_old_self,
            source: source.trim().into(),
        })
    }
}

/// A rule as the API server shows it in problems.
fn shown(rule: &Value) -> Value {
    json!({
        "Rule": text(rule, "rule"),
        "Message": text(rule, "message"),
        "MessageExpression": text(rule, "messageExpression"),
        "Reason": rule.get("reason"),
        "FieldPath": text(rule, "fieldPath"),
        "OptionalOldSelf": rule.get("optionalOldSelf"),
    })
}
