//! The public face: a schema, and what it says about an object.

#[cfg(test)]
mod tests;

use safepoint_machinery::FieldError;
use serde_json::Value;

use crate::cel::Shape;
use crate::node::{NodeId, Nodes};
use crate::path::Base;
use crate::problem::{NO_PATH, blocks_rules};
use crate::shape::Steps;
use crate::typed::Typed;
use crate::{check, compile, rules, shape};

/// Where a definition keeps its schema, if all its versions share one.
const DEFAULT_PATH: &str = "spec.validation.openAPIV3Schema";

/// A compiled schema. Cheap to share behind an `Arc`, free of the documentation it came with.
#[derive(Debug)]
pub struct Schema {
    inner: Inner,
}

#[derive(Debug)]
enum Inner {
    Structural { nodes: Nodes, root: NodeId },
    Typed(Typed),
}

/// What [`Schema::admit`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Options {
    /// Remove unknown fields, and nulls where the schema allows none. Without it unknown fields are still named.
    pub prune: bool,
    /// Fill in defaults.
    pub default: bool,
    /// Check the values, the list types and the rules.
    pub validate: bool,
    /// The change goes to the `status` subresource: values outside of `status` are not checked, rules still are.
    pub status_only: bool,
}

/// What [`Schema::admit`] found. The object is acceptable if there are no problems.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Outcome {
    /// `unknown field "spec.foo"` for every field that the schema does not know: warnings, or reasons to refuse.
    pub unknown_fields: Vec<String>,
    /// Everything that is wrong.
    pub problems: Vec<FieldError>,
}

// === impl Options ===

impl Default for Options {
    fn default() -> Self {
        Self { prune: true, default: true, validate: true, status_only: false }
    }
}

impl Options {
    /// For built-in kinds: name unknown fields and wrong types, change nothing.
    pub fn field_validation() -> Self {
        Self { prune: false, default: false, validate: true, status_only: false }
    }
}

// === impl Schema ===

impl Schema {
    /// Compiles the `openAPIV3Schema` of a definition.
    ///
    /// # Errors
    ///
    /// Everything because of which an API server would refuse the definition: keywords that a structural schema may not
    /// have, types that are missing, extensions that contradict each other, defaults that are not valid, rules that do
    /// not compile. Paths start at `spec.validation.openAPIV3Schema`; see [`Schema::compile_at`].
    ///
    /// ```
    /// use safepoint_schema::Schema;
    /// use serde_json::json;
    ///
    /// let problems = Schema::compile(&json!({"type": "object", "properties": {"spec": {}}})).unwrap_err();
    /// assert_eq!(
    ///     problems[0].to_string(),
    ///     "spec.validation.openAPIV3Schema.properties[spec].type: Required value: \
    ///      must not be empty for specified object fields"
    /// );
    /// ```
    pub fn compile(schema: &Value) -> Result<Self, Vec<FieldError>> {
        Self::compile_at(DEFAULT_PATH, schema)
    }

    /// Compiles a schema that stands elsewhere, such as `spec.versions[1].schema.openAPIV3Schema`.
    ///
    /// # Errors
    ///
    /// The same as [`Schema::compile`], with paths below `path`.
    pub fn compile_at(path: &str, schema: &Value) -> Result<Self, Vec<FieldError>> {
        let (nodes, root) = compile::compile(path, schema)?;
        Ok(Self { inner: Inner::Structural { nodes, root } })
    }

    /// Reads the JSON Schema (2020-12, as schemars writes it) of a built-in kind.
    ///
    /// Such a schema knows fields and types only: [`Schema::admit`] names unknown fields and values of the wrong type,
    /// and neither defaults nor checks anything else. Null is accepted everywhere, as it is when decoding into a struct.
    pub fn from_json_schema(root: &Value) -> Self {
        Self { inner: Inner::Typed(Typed::new(root)) }
    }

    /// Prunes, defaults and validates an object in place.
    ///
    /// `old` is the object before an update, as it was read: with it, rules about the past run, and problems in values
    /// that did not change are not reported.
    ///
    /// ```
    /// use safepoint_schema::{Options, Schema};
    /// use serde_json::json;
    ///
    /// let schema = Schema::compile(&json!({
    ///     "type": "object",
    ///     "properties": {"spec": {
    ///         "type": "object",
    ///         "properties": {"replicas": {"type": "integer", "default": 1, "minimum": 0}},
    ///     }},
    /// })).unwrap();
    /// let mut object = json!({"spec": {"replica": 3}});
    /// let outcome = schema.admit(&mut object, None, Options::default());
    /// assert_eq!(object, json!({"spec": {"replicas": 1}}));
    /// assert_eq!(outcome.unknown_fields, [r#"unknown field "spec.replica""#]);
    /// assert!(outcome.problems.is_empty());
    /// ```
    pub fn admit(&self, object: &mut Value, old: Option<&Value>, options: Options) -> Outcome {
        let (found, problems) = match &self.inner {
            Inner::Typed(typed) => (typed.walk(object, options.prune), Vec::new()),
            Inner::Structural { nodes, root } => {
                let steps = Steps { prune: options.prune, default: options.default };
                let found = shape::apply(nodes, *root, object, steps);
                // What cannot even be decoded is not looked at any further.
                let problems = match options.validate && found.problems.is_empty() {
                    true => validate(nodes, *root, object, old, options.status_only),
                    false => Vec::new(),
                };
                (found, problems)
            }
        };
        let unknown_fields = found.unknown.iter().map(|path| format!("unknown field \"{path}\"")).collect();
        Outcome { unknown_fields, problems: found.problems.into_iter().chain(problems).collect() }
    }
}

fn validate(
    nodes: &Nodes,
    root: NodeId,
    object: &Value,
    old: Option<&Value>,
    status_only: bool,
) -> Vec<FieldError> {
    let mut problems = if status_only {
        match (object.get("status"), nodes.get(root).property("status")) {
            (Some(status), Some(id)) => {
                let old = old.and_then(|old| old.get("status"));
                check::update(nodes, id, status, old, Base(Some("status")))
            }
            _ => Vec::new(),
        }
    } else {
        let mut problems = check::update(nodes, root, object, old, Base(None));
        problems.extend(check::embedded_resources(nodes, root, object, false, Base(None)));
        problems
    };
    // Lists that were already wrong before excuse those that are wrong now.
    if old.is_none_or(|old| check::list_types(nodes, root, old).is_empty()) {
        problems.extend(check::list_types(nodes, root, object));
    }
    if nodes.get(root).rules_below {
        if problems.iter().any(|problem| blocks_rules(problem.kind)) {
            let detail = "some validation rules were not checked because the object was invalid; \
                          correct the existing errors to complete validation";
            problems.push(FieldError::invalid(NO_PATH, Value::Null, detail));
        } else {
            problems.extend(rules::check(nodes, (root, Shape::Root(root)), object, old, Base(None)));
        }
    }
    problems
}
