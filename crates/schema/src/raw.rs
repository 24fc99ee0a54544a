//! A schema as written, read keyword by keyword.
//!
//! [`Raw`] is a thin view of one JSON schema. A keyword with a value of the wrong JSON type reads as absent; the places
//! where that happens are collected by [`Raw::malformed`], because an API server refuses such a definition when decoding
//! it.

use safepoint_machinery::FieldError;
use serde_json::{Map, Value};

/// One schema of a definition.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Raw<'a> {
    value: &'a Value,
}

/// `additionalProperties` as written.
#[derive(Clone, Copy, Debug)]
pub(crate) enum RawAdditional<'a> {
    Allowed(bool),
    Schema(Raw<'a>),
}

const TEXTS: [&str; 10] = [
    "id",
    "$schema",
    "$ref",
    "description",
    "type",
    "format",
    "title",
    "pattern",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
];
const FLAGS: [&str; 7] = [
    "nullable",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "uniqueItems",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
];
const NUMBERS: [&str; 3] = ["maximum", "minimum", "multipleOf"];
const COUNTS: [&str; 6] =
    ["maxLength", "minLength", "maxItems", "minItems", "maxProperties", "minProperties"];
const LISTS: [&str; 7] =
    ["enum", "required", "allOf", "anyOf", "oneOf", "x-kubernetes-list-map-keys", "x-kubernetes-validations"];
const MAPS: [&str; 4] = ["properties", "patternProperties", "definitions", "dependencies"];

// === impl Raw ===

impl<'a> Raw<'a> {
    pub(crate) fn new(value: &'a Value) -> Self {
        Self { value }
    }

    pub(crate) fn get(self, keyword: &str) -> Option<&'a Value> {
        self.value.get(keyword).filter(|value| !value.is_null())
    }

    /// A text; absent if empty.
    pub(crate) fn text(self, keyword: &str) -> Option<&'a str> {
        self.get(keyword)?.as_str().filter(|text| !text.is_empty())
    }

    pub(crate) fn flag(self, keyword: &str) -> bool {
        self.get(keyword).and_then(Value::as_bool).unwrap_or_default()
    }

    pub(crate) fn number(self, keyword: &str) -> Option<f64> {
        self.get(keyword)?.as_f64()
    }

    pub(crate) fn count(self, keyword: &str) -> Option<i64> {
        self.get(keyword)?.as_i64()
    }

    pub(crate) fn list(self, keyword: &str) -> &'a [Value] {
        self.get(keyword).and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn texts(self, keyword: &str) -> Vec<&'a str> {
        self.list(keyword).iter().filter_map(Value::as_str).collect()
    }

    pub(crate) fn map(self, keyword: &str) -> Option<&'a Map<String, Value>> {
        self.get(keyword)?.as_object()
    }

    /// The named type; empty if there is none.
    pub(crate) fn kind(self) -> &'a str {
        self.text("type").unwrap_or_default()
    }

    /// The properties, sorted by name.
    pub(crate) fn properties(self) -> Vec<(&'a str, Raw<'a>)> {
        let mut all: Vec<_> = self
            .map("properties")
            .into_iter()
            .flatten()
            .map(|(name, value)| (name.as_str(), Raw::new(value)))
            .collect();
        all.sort_by_key(|(name, _)| *name);
        all
    }

    pub(crate) fn property(self, name: &str) -> Option<Raw<'a>> {
        self.map("properties")?.get(name).map(Raw::new)
    }

    pub(crate) fn schemas(self, keyword: &str) -> impl Iterator<Item = Raw<'a>> {
        self.list(keyword).iter().map(Raw::new)
    }

    pub(crate) fn schema(self, keyword: &str) -> Option<Raw<'a>> {
        self.get(keyword).filter(|value| value.is_object()).map(Raw::new)
    }

    pub(crate) fn additional(self) -> Option<RawAdditional<'a>> {
        match self.get("additionalProperties")? {
            Value::Bool(allowed) => Some(RawAdditional::Allowed(*allowed)),
            schema @ Value::Object(_) => Some(RawAdditional::Schema(Raw::new(schema))),
            _ => None,
        }
    }

    pub(crate) fn additional_schema(self) -> Option<Raw<'a>> {
        match self.additional()? {
            RawAdditional::Schema(schema) => Some(schema),
            RawAdditional::Allowed(_) => None,
        }
    }

    pub(crate) fn preserves_unknown(self) -> bool {
        self.flag("x-kubernetes-preserve-unknown-fields")
    }

    pub(crate) fn is_embedded(self) -> bool {
        self.flag("x-kubernetes-embedded-resource")
    }

    pub(crate) fn is_int_or_string(self) -> bool {
        self.flag("x-kubernetes-int-or-string")
    }

    /// Whether a keyword is set to anything but its zero value.
    pub(crate) fn is_set(self, keyword: &str) -> bool {
        match self.get(keyword) {
            None | Some(Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.is_empty(),
            Some(Value::Array(items)) => !items.is_empty(),
            Some(Value::Object(map)) => !map.is_empty(),
            Some(_) => true,
        }
    }

    /// Whether a keyword other than these is set.
    pub(crate) fn says_more_than(self, known: &[&str]) -> bool {
        let objects =
            ["properties", "additionalProperties", "items", "not", "default", "externalDocs", "example"];
        let mut keywords =
            TEXTS.iter().chain(&FLAGS).chain(&NUMBERS).chain(&COUNTS).chain(&LISTS).chain(&objects);
        keywords.any(|keyword| !known.contains(keyword) && self.is_set(keyword))
    }

    /// Keywords whose values have the wrong JSON type.
    pub(crate) fn malformed(self, path: &str, out: &mut Vec<FieldError>) {
        let Some(map) = self.value.as_object() else {
            out.push(FieldError::invalid(path, self.value.clone(), "must be a schema object"));
            return;
        };
        let mut wrong = |keyword: &str, wanted: &str| {
            out.push(FieldError::invalid(
                format!("{path}.{keyword}"),
                map[keyword].clone(),
                format!("must be {wanted}"),
            ));
        };
        for (keyword, value) in map.iter().filter(|(_, value)| !value.is_null()) {
            let keyword = keyword.as_str();
            match keyword {
                _ if TEXTS.contains(&keyword) && !value.is_string() => wrong(keyword, "a string"),
                _ if FLAGS.contains(&keyword) && !value.is_boolean() => wrong(keyword, "a boolean"),
                _ if NUMBERS.contains(&keyword) && !value.is_number() => wrong(keyword, "a number"),
                _ if COUNTS.contains(&keyword) && !value.is_i64() => wrong(keyword, "an integer"),
                _ if LISTS.contains(&keyword) && !value.is_array() => wrong(keyword, "an array"),
                _ if MAPS.contains(&keyword) && !value.is_object() => wrong(keyword, "an object"),
                "not" if !value.is_object() => wrong(keyword, "a schema object"),
                "items" if !value.is_object() && !value.is_array() => wrong(keyword, "a schema object"),
                "additionalProperties" if !value.is_object() && !value.is_boolean() => {
                    wrong(keyword, "a schema object or a boolean");
                }
                "required" | "x-kubernetes-list-map-keys"
                    if value.as_array().is_some_and(|all| !all.iter().all(Value::is_string)) =>
                {
                    wrong(keyword, "an array of strings");
                }
                "allOf" | "anyOf" | "oneOf" | "x-kubernetes-validations"
                    if value.as_array().is_some_and(|all| !all.iter().all(Value::is_object)) =>
                {
                    wrong(keyword, "an array of objects");
                }
                "properties" if value.as_object().is_some_and(|all| !all.values().all(Value::is_object)) => {
                    wrong(keyword, "an object of schema objects");
                }
                _ => {}
            }
        }
    }
}
