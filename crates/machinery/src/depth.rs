//! How deep a document may be nested.
//!
//! Everything that copies, compares, prints or drops a [`Value`] recurses, so depth is stack. A parser bounds what
//! comes in, but patches can build deeper documents out of allowed ones: one `copy` doubles the depth. Whoever
//! builds a document therefore checks it with [`depth`], which does not recurse itself.

use serde_json::Value;

/// The deepest nesting that an object may have.
///
/// `serde_json` reads up to 127 levels. An object also travels inside lists, watch frames and admission reviews,
/// and a reader that uses the same parser must be able to read those too; seven levels are left for them.
pub const MAX_DEPTH: usize = 120;

/// The number of arrays and objects that enclose the innermost one, itself included; 0 for a scalar.
#[must_use]
pub fn depth(value: &Value) -> usize {
    let mut deepest = 0;
    let mut open = vec![(value, 1)];
    while let Some((value, level)) = open.pop() {
        match value {
            Value::Array(items) => {
                deepest = deepest.max(level);
                open.extend(items.iter().filter(|item| is_container(item)).map(|item| (item, level + 1)));
            }
            Value::Object(map) => {
                deepest = deepest.max(level);
                open.extend(map.values().filter(|item| is_container(item)).map(|item| (item, level + 1)));
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    deepest
}

fn is_container(value: &Value) -> bool {
    value.is_array() || value.is_object()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scalar_has_no_depth_and_each_container_adds_one() {
        assert_eq!(depth(&json!("x")), 0);
        assert_eq!(depth(&json!({})), 1);
        assert_eq!(depth(&json!({"a": [1, {"b": []}], "c": 1})), 4);
    }

    #[test]
    fn what_is_allowed_can_be_read_back_inside_a_review() {
        let deep = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
        let wrapped = format!(r#"{{"request":{{"objects":[{deep}]}}}}"#);
        assert_eq!(depth(&serde_json::from_str(&wrapped).unwrap()), MAX_DEPTH + 3);
    }
}
