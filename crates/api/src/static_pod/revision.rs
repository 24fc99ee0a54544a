//! The revision of a template: a short text that is equal where the templates are.
//!
//! It is taken from the template as JSON and not from a type, so that a field of a newer Kubernetes counts, and a hub that is
//! built on newer types finds the same revision for the same template. The order of members does not count, nor does a null.
//! Lists and objects that are empty do count: `emptyDir: {}` means something.

use serde_json::{Map, Number, Value};

use super::PodTemplate;

/// Letters that make no words, and no digit that looks like one of them: what Kubernetes names its revisions with.
const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
/// Twelve letters are 57 bits: chance alone does not make two revisions of one static pod the same.
const LENGTH: usize = 12;

/// The revision of a template as it was read.
///
/// The pod's name says nothing new, for it is that of the object, and labels and annotations that are empty are none.
#[must_use]
pub fn revision(template: &Value) -> String {
    let mut hash = Fnv::new();
    let empty = Map::new();
    let template = template.as_object().unwrap_or(&empty);
    let metadata = template.get("metadata").and_then(Value::as_object).unwrap_or(&empty);
    let says = |(name, value): &(&String, &Value)| {
        *name != "name" && !value.as_object().is_some_and(Map::is_empty) && !value.is_null()
    };
    let metadata: Map<String, Value> =
        metadata.iter().filter(says).map(|(name, value)| (name.clone(), value.clone())).collect();
    hash.object(&metadata);
    let rest: Map<String, Value> = template
        .iter()
        .filter(|(name, _)| *name != "metadata")
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    hash.object(&rest);
    hash.letters()
}

// === impl PodTemplate ===

impl PodTemplate {
    /// The revision of this template.
    #[must_use]
    pub fn revision(&self) -> String {
        revision(&serde_json::to_value(self).unwrap_or_default())
    }
}

/// FNV-1a with 128 bits. Nobody gains by a collision who may not write the template anyway, so it need not be a
/// cryptographic one, and this one is a few lines that no upgrade of a library can change.
struct Fnv(u128);

// === impl Fnv ===

impl Fnv {
    const fn new() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u128::from(*byte)).wrapping_mul(0x0100_0000_0000_0000_0000_013b);
        }
    }

    /// Every text comes with its length and every value with a letter for its type: no two values are fed the same bytes.
    fn text(&mut self, text: &str) {
        self.bytes(&u64::try_from(text.len()).unwrap_or(u64::MAX).to_le_bytes());
        self.bytes(text.as_bytes());
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.bytes(b"n"),
            Value::Bool(is) => self.bytes(if *is { b"t" } else { b"f" }),
            Value::Number(number) => {
                self.bytes(b"d");
                self.text(&plain(number));
            }
            Value::String(text) => {
                self.bytes(b"s");
                self.text(text);
            }
            Value::Array(items) => {
                self.bytes(b"[");
                items.iter().for_each(|item| self.value(item));
                self.bytes(b"]");
            }
            Value::Object(members) => self.object(members),
        }
    }

    fn object(&mut self, members: &Map<String, Value>) {
        let mut members: Vec<_> = members.iter().filter(|(_, value)| !value.is_null()).collect();
        members.sort_by_key(|(name, _)| *name);
        self.bytes(b"{");
        for (name, value) in members {
            self.text(name);
            self.value(value);
        }
        self.bytes(b"}");
    }

    fn letters(&self) -> String {
        let mut rest = self.0;
        let mut letter = || {
            let letter = LETTERS[usize::try_from(rest % 27).unwrap_or_default()];
            rest /= 27;
            char::from(letter)
        };
        (0..LENGTH).map(|_| letter()).collect()
    }
}

/// A number as every server writes it: one that is whole has no fraction, however it came.
fn plain(number: &Number) -> String {
    match number.as_f64() {
        Some(float) if number.is_f64() && float.fract() == 0.0 && float.abs() < 9e15 => format!("{float:.0}"),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// These never change: a hub that finds another revision would upgrade every node of every fleet.
    #[test]
    fn known_templates_have_known_revisions() {
        for (template, known) in [
            (json!({"spec": {"containers": [{"name": "proxy", "image": "proxy:1"}]}}), "mkj2j7j4xzrq"),
            (json!({"spec": {"containers": [{"name": "proxy", "image": "proxy:2"}]}}), "h96hpd5ww7w2"),
            (
                json!({"metadata": {"labels": {"app": "proxy"}}, "spec": {"hostNetwork": true}}),
                "756mrp5xjt6j",
            ),
        ] {
            assert_eq!(revision(&template), known, "{template}");
        }
    }

    /// OpenYurt, defect 18: it hashes the fields that its types know, in the order they have there.
    #[test]
    fn a_field_that_no_type_knows_counts_and_the_order_of_members_does_not() {
        let plain = json!({"spec": {"containers": [{"name": "proxy", "image": "proxy:1"}]}});
        let newer =
            json!({"spec": {"containers": [{"name": "proxy", "image": "proxy:1", "fromTheFuture": 1}]}});
        assert_ne!(revision(&plain), revision(&newer));
        let turned: Value =
            serde_json::from_str(r#"{"spec": {"containers": [{"image": "proxy:1", "name": "proxy"}]}}"#)
                .unwrap();
        assert_eq!(revision(&plain), revision(&turned));
        let typed: PodTemplate = serde_json::from_value(newer.clone()).unwrap();
        assert_eq!(typed.revision(), revision(&newer));
    }

    #[test]
    fn what_says_nothing_does_not_count_and_what_is_empty_and_says_something_does() {
        let plain = revision(&json!({"spec": {"priority": 1}}));
        for same in [
            json!({"metadata": {"name": "proxy", "labels": {}}, "spec": {"priority": 1}}),
            json!({"spec": {"priority": 1.0, "hostname": null}}),
        ] {
            assert_eq!(revision(&same), plain, "{same}");
        }
        assert_ne!(revision(&json!({"spec": {"priority": 1, "emptyDir": {}}})), plain);
        assert_ne!(revision(&json!({"spec": {"priority": "1"}})), plain);
    }

    #[test]
    fn a_revision_can_be_part_of_a_name() {
        let revision = revision(&json!({}));
        assert!(
            revision.len() == LENGTH && revision.bytes().all(|byte| LETTERS.contains(&byte)),
            "{revision}"
        );
    }
}
