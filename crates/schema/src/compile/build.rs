//! The nodes of a schema whose keywords are readable.

use std::collections::HashMap;
use std::sync::Arc;

use regex::Regex;
use safepoint_machinery::FieldError;

use super::structural::types;
use crate::format::Format;
use crate::node::{Additional, Checks, ListKind, Node, NodeId, Nodes, Types};
use crate::pattern;
use crate::raw::{Raw, RawAdditional};

/// Builds the nodes without their rules.
pub(super) fn build(raw: Raw<'_>) -> Result<(Nodes, NodeId), FieldError> {
    let mut builder = Builder::default();
    let root = builder.node(raw)?;
    Ok((builder.nodes, root))
}

#[derive(Default)]
struct Builder {
    nodes: Nodes,
    /// The same expression is often repeated in a definition, such as that of a quantity.
    patterns: HashMap<Box<str>, Arc<Regex>>,
}

// === impl Builder ===

impl Builder {
    fn node(&mut self, raw: Raw<'_>) -> Result<NodeId, FieldError> {
        let types = types(raw);
        let mut properties = Vec::new();
        for (name, child) in raw.properties() {
            properties.push((Box::from(name), self.node(child)?));
        }
        let items = raw.schema("items").map(|items| self.node(items)).transpose()?;
        let additional = match raw.additional() {
            None => Additional::Unspecified,
            Some(RawAdditional::Allowed(allowed)) => Additional::Allowed(allowed),
            Some(RawAdditional::Schema(child)) => Additional::Schema(self.node(child)?),
        };
        let list = match raw.text("x-kubernetes-list-type") {
            Some("set") => ListKind::Set,
            Some("map") => ListKind::Map(boxed(&raw.texts("x-kubernetes-list-map-keys"))),
            _ => ListKind::Atomic,
        };
        let children = properties.iter().map(|(_, id)| *id).chain(items).chain(match additional {
            Additional::Schema(id) => Some(id),
            Additional::Unspecified | Additional::Allowed(_) => None,
        });
        let defaults_below = children.into_iter().any(|id| {
            let child = self.nodes.get(id);
            child.default.is_some() || child.defaults_below
        });
        let node = Node {
            types,
            nullable: raw.flag("nullable"),
            preserve_unknown: raw.preserves_unknown(),
            embedded: raw.is_embedded(),
            int_or_string: raw.is_int_or_string(),
            rules_below: false,
            defaults_below,
            additional,
            items,
            properties: properties.into(),
            list,
            default: raw.get("default").cloned().map(Box::new),
            checks: self.checks(raw, types)?,
            rules: Box::default(),
        };
        Ok(self.nodes.push(node))
    }

    fn checks(&mut self, raw: Raw<'_>, types: Types) -> Result<Option<Box<Checks>>, FieldError> {
        const KEYWORDS: [&str; 17] = [
            "format",
            "maximum",
            "minimum",
            "multipleOf",
            "maxLength",
            "minLength",
            "maxItems",
            "minItems",
            "maxProperties",
            "minProperties",
            "pattern",
            "enum",
            "required",
            "allOf",
            "anyOf",
            "oneOf",
            "not",
        ];
        if !KEYWORDS.into_iter().any(|keyword| raw.get(keyword).is_some()) && !raw.flag("uniqueItems") {
            return Ok(None);
        }
        let format = raw.text("format").and_then(|name| Some((Format::find(name, types)?, name.into())));
        Ok(Some(Box::new(Checks {
            format,
            maximum: raw.number("maximum"),
            minimum: raw.number("minimum"),
            exclusive_maximum: raw.flag("exclusiveMaximum"),
            exclusive_minimum: raw.flag("exclusiveMinimum"),
            multiple_of: raw.number("multipleOf"),
            max_length: raw.count("maxLength"),
            min_length: raw.count("minLength"),
            max_items: raw.count("maxItems"),
            min_items: raw.count("minItems"),
            max_properties: raw.count("maxProperties"),
            min_properties: raw.count("minProperties"),
            unique_items: raw.flag("uniqueItems"),
            pattern: raw.text("pattern").map(|pattern| self.pattern(pattern)).transpose()?,
            one_of_values: raw.list("enum").to_vec().into(),
            required: boxed(&raw.texts("required")),
            all_of: self.all(raw, "allOf")?,
            any_of: self.all(raw, "anyOf")?,
            one_of: self.all(raw, "oneOf")?,
            not: raw.schema("not").map(|not| self.node(not)).transpose()?,
        })))
    }

    fn all(&mut self, raw: Raw<'_>, keyword: &str) -> Result<Box<[NodeId]>, FieldError> {
        raw.schemas(keyword).map(|child| self.node(child)).collect()
    }

    fn pattern(&mut self, source: &str) -> Result<(Box<str>, Arc<Regex>), FieldError> {
        if let Some(known) = self.patterns.get(source) {
            return Ok((source.into(), Arc::clone(known)));
        }
        let compiled =
            pattern::compile(source).map_err(|error| FieldError::invalid("pattern", source, error))?;
        let compiled = Arc::new(compiled);
        self.patterns.insert(source.into(), Arc::clone(&compiled));
        Ok((source.into(), compiled))
    }
}

fn boxed(texts: &[&str]) -> Box<[Box<str>]> {
    texts.iter().map(|text| Box::from(*text)).collect()
}
