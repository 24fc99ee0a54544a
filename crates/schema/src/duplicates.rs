//! Fields that a document spells twice.
//!
//! A parsed object has forgotten them, so strict validation needs a look at the bytes. The scan keeps the names of the
//! objects it is inside of and nothing else.

use std::collections::HashSet;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// As many as an API server lists.
const MAX_FOUND: usize = 100;

/// The texts with which strict validation names the repeated fields of a JSON document, in the order they occur.
///
/// A document that is not JSON gives those found up to the error: parsing it will fail anyway.
///
/// ```
/// let found = safepoint_schema::duplicate_fields(br#"{"spec": {"x": 1, "x": 2}}"#);
/// assert_eq!(found, [r#"duplicate field "spec.x""#]);
/// ```
pub fn duplicate_fields(json: &[u8]) -> Vec<String> {
    let mut scan = Scan::default();
    let mut document = serde_json::Deserializer::from_slice(json);
    // An error ends the scan; see above.
    let _ = (Here { scan: &mut scan }).deserialize(&mut document);
    scan.found.into_iter().map(|path| format!("duplicate field \"{path}\"")).collect()
}

#[derive(Default)]
struct Scan {
    path: String,
    found: Vec<String>,
}

struct Here<'a> {
    scan: &'a mut Scan,
}

impl<'de> DeserializeSeed<'de> for Here<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Here<'_> {
    type Value = ();

    fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JSON")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen: HashSet<String> = HashSet::new();
        while let Some(name) = map.next_key::<String>()? {
            let length = self.scan.path.len();
            if length > 0 {
                self.scan.path.push('.');
            }
            self.scan.path.push_str(&name);
            if seen.contains(&name) {
                let known = self.scan.found.contains(&self.scan.path);
                if !known && self.scan.found.len() < MAX_FOUND {
                    self.scan.found.push(self.scan.path.clone());
                }
            } else {
                seen.insert(name);
            }
            map.next_value_seed(Here { scan: self.scan })?;
            self.scan.path.truncate(length);
        }
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let length = self.scan.path.len();
        for index in 0_usize.. {
            self.scan.path.push_str(&format!("[{index}]"));
            let item = items.next_element_seed(Here { scan: self.scan })?;
            self.scan.path.truncate(length);
            if item.is_none() {
                break;
            }
        }
        Ok(())
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, _: &str) -> Result<(), E> {
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(IgnoredAny).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_field_is_named_once_with_its_path() {
        let json = br#"{"a": 1, "b": {"c": [{"d": 1}, {"d": 1, "d": 2, "d": 3}]}, "a": {"x": 1, "x": 2}}"#;
        assert_eq!(
            duplicate_fields(json),
            [r#"duplicate field "b.c[1].d""#, r#"duplicate field "a""#, r#"duplicate field "a.x""#]
        );
    }

    #[test]
    fn equal_names_in_different_objects_are_not_repeated() {
        assert!(duplicate_fields(br#"{"a": {"a": [{"a": null}, {"a": true}]}, "b": {"a": 1.5}}"#).is_empty());
    }

    #[test]
    fn what_is_not_json_ends_the_scan() {
        assert_eq!(duplicate_fields(br#"{"a": 1, "a": 2, oops"#), [r#"duplicate field "a""#]);
        assert!(duplicate_fields(b"").is_empty());
        assert!(duplicate_fields("[".repeat(100_000).as_bytes()).is_empty());
    }

    #[test]
    fn the_list_is_bounded() {
        let fields: Vec<String> = (0..1000).map(|i| format!(r#""f{i}": 1, "f{i}": 2"#)).collect();
        let json = format!("{{{}}}", fields.join(", "));
        assert_eq!(duplicate_fields(json.as_bytes()).len(), 100);
    }
}
