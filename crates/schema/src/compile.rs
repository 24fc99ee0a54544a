//! From a definition's schema to nodes, with every reason why it cannot be used.
//!
//! The checks run in the order of an API server, because which of them run at all depends on what was found before:
//! a schema that is not structural has no defaults to check, and rules are only compiled on schemas that are sound.
//!
//! ```text
//! readable? ─► structural? ─► allowed keywords? ─► build ─► defaults valid? ─► rules compile? ─► Schema
//! ```

mod build;
mod defaults;
mod keywords;
mod rules;
mod structural;

#[cfg(test)]
mod tests;

use safepoint_machinery::FieldError;
use serde_json::Value;

use crate::node::{NodeId, Nodes};
use crate::raw::Raw;

/// How deep a schema may nest. JSON itself is read to 128 levels, of which each schema takes two.
const MAX_DEPTH: usize = 64;

/// Compiles a schema that stands at `path` in its definition.
pub(crate) fn compile(path: &str, schema: &Value) -> Result<(Nodes, NodeId), Vec<FieldError>> {
    let raw = Raw::new(schema);
    let mut problems = Vec::new();
    readable(raw, path, 0, &mut problems);
    if !problems.is_empty() {
        return Err(problems);
    }
    if raw.flag("nullable") {
        problems
            .push(FieldError::forbidden(format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    if !structural::is_expressible(raw) {
        // What such a schema would mean is unknown, so nothing else is said about it.
        keywords::check(raw, path, &mut problems);
        if problems.is_empty() {
            problems.push(FieldError::invalid(path, "", "OpenAPIV3Schema 'schema' is not supported"));
        }
        return Err(problems);
    }
    let structural = structural::check(raw, path);
    let is_structural = structural.is_empty();
    problems.extend(structural);
    keywords::check(raw, path, &mut problems);
    let (mut nodes, root) = match build::build(raw) {
        Ok(built) => built,
        // An expression that does not compile has been named by then.
        Err(_) if !problems.is_empty() => return Err(problems),
        Err(problem) => return Err(vec![problem]),
    };
    let (compiled, rule_problems) = rules::compile(raw, &nodes, root, path);
    if is_structural {
        // Defaults are tested like objects, so the rules that compile take part.
        rules::install(&mut nodes, compiled);
        defaults::check(&nodes, root, path, &mut problems);
    }
    if problems.is_empty() {
        problems.extend(rule_problems);
    }
    if problems.is_empty() {
        defaults::prune(&mut nodes);
        nodes.shrink();
        Ok((nodes, root))
    } else {
        Err(problems)
    }
}

/// Every part of the schema, also those behind keywords that are refused later, must at least be readable.
fn readable(raw: Raw<'_>, path: &str, depth: usize, out: &mut Vec<FieldError>) {
    if depth > MAX_DEPTH {
        out.push(FieldError::forbidden(path, format!("must not nest deeper than {MAX_DEPTH} schemas")));
        return;
    }
    raw.malformed(path, out);
    for (child, path) in children(raw, path) {
        readable(child, &path, depth + 1, out);
    }
}

/// All schemas directly inside a schema, with their paths.
fn children<'a>(raw: Raw<'a>, path: &str) -> Vec<(Raw<'a>, String)> {
    let mut out: Vec<(Raw<'a>, String)> = Vec::new();
    let schemas = |value: &'a Value| value.is_object().then(|| Raw::new(value));
    for keyword in ["properties", "patternProperties", "definitions"] {
        for (name, value) in raw.map(keyword).into_iter().flatten() {
            out.extend(schemas(value).map(|child| (child, format!("{path}.{keyword}[{name}]"))));
        }
    }
    for keyword in ["allOf", "anyOf", "oneOf", "items"] {
        for (index, value) in raw.list(keyword).iter().enumerate() {
            out.extend(schemas(value).map(|child| (child, format!("{path}.{keyword}[{index}]"))));
        }
    }
    for keyword in ["not", "items", "additionalProperties"] {
        out.extend(raw.schema(keyword).map(|child| (child, format!("{path}.{keyword}"))));
    }
    out
}
