//! What of an object matters to the machine, as a short text that is equal if and only if that is equal.
//!
//! The order of members never counts, so a digest does not change with the library or the server that wrote the object.

use std::fmt::Write;

use aws_lc_rs::digest::{Context, SHA256};
use safepoint_core::Digest;
use serde_json::Value;

/// Digests some values, one after the other. `null` and an absent member are the same.
pub(crate) fn of(parts: &[&Value]) -> Digest {
    let mut context = Context::new(&SHA256);
    for part in parts {
        feed(&mut context, part);
    }
    let mut text = String::with_capacity(32);
    // Sixteen bytes: far beyond chance, and short enough to be shown.
    for byte in &context.finish().as_ref()[..16] {
        let _ = write!(text, "{byte:02x}");
    }
    Digest::from(text)
}

/// Every value begins with a letter for its type and texts with their length: no two values are fed the same bytes.
fn feed(context: &mut Context, value: &Value) {
    match value {
        Value::Null => context.update(b"n"),
        Value::Bool(is) => context.update(if *is { b"t" } else { b"f" }),
        Value::Number(number) => {
            context.update(b"d");
            feed_text(context, &number.to_string());
        }
        Value::String(text) => {
            context.update(b"s");
            feed_text(context, text);
        }
        Value::Array(items) => {
            context.update(b"[");
            items.iter().for_each(|item| feed(context, item));
            context.update(b"]");
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().filter(|(_, value)| !value.is_null()).collect();
            members.sort_by_key(|(name, _)| *name);
            context.update(b"{");
            for (name, value) in members {
                feed_text(context, name);
                feed(context, value);
            }
            context.update(b"}");
        }
    }
}

fn feed_text(context: &mut Context, text: &str) {
    context.update(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
    context.update(text.as_bytes());
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_order_of_members_does_not_count_and_the_order_of_items_does() {
        let one = serde_json::from_str(r#"{"a":1,"b":[1,2]}"#).unwrap();
        let other = serde_json::from_str(r#"{"b":[1,2],"a":1,"c":null}"#).unwrap();
        assert_eq!(of(&[&one]), of(&[&other]));
        assert_ne!(of(&[&one]), of(&[&json!({"a": 1, "b": [2, 1]})]));
    }

    #[test]
    fn values_that_look_alike_have_digests_of_their_own() {
        let values =
            [json!("1"), json!(1), json!(["1"]), json!({"1": 1}), json!(null), json!(""), json!(["", ""])];
        for (index, value) in values.iter().enumerate() {
            for other in &values[index + 1..] {
                assert_ne!(of(&[value]), of(&[other]), "{value} {other}");
            }
        }
        assert_ne!(of(&[&json!("ab"), &json!("c")]), of(&[&json!("a"), &json!("bc")]));
    }
}
