//! `Binding`: posted to put a pod on a node, and never kept.

use safepoint_machinery::status::{FieldError, FieldPath};
use serde_json::Value;

use super::Rules;
use super::check::{part, word};
use crate::fault::Problems;

pub(crate) struct Bindings;

impl Rules for Bindings {
    fn check(&self, object: &Value, problems: &mut Problems) {
        let at = FieldPath::new("target");
        let target = part(object, "target");
        let kind = word(target, "kind");
        if !matches!(kind, "" | "Node") {
            problems.push(FieldError::not_supported(at.child("kind"), kind, &["Node", "<empty>"]));
        }
        if word(target, "name").is_empty() {
            problems.push(FieldError::required(at.child("name"), ""));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_pod_is_bound_to_a_node_by_name() {
        let texts = |object: Value| {
            let mut problems = Problems::default();
            Bindings.check(&object, &mut problems);
            problems.iter().map(FieldError::to_string).collect::<Vec<_>>()
        };
        assert!(texts(json!({"target": {"name": "n"}})).is_empty());
        assert_eq!(
            texts(json!({"target": {"kind": "Pod"}})),
            [
                r#"target.kind: Unsupported value: "Pod": supported values: "Node", "<empty>""#,
                "target.name: Required value",
            ]
        );
    }
}
