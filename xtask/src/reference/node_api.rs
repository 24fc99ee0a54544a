//! The node API, from the description that the agent serves.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use serde_json::Value;

use super::fields::{about, default, kind, rules};
use super::markdown::{code, prose, table};
use super::source::{constants, json};
use crate::tidy::Slugs;

const DESCRIPTION: &str =
    "crates/nodeapi/src/openapi/snapshots/safepoint_nodeapi__openapi__tests__openapi.snap";
const REASONS: &str = "crates/api/src/local/failure.rs";
/// How types of Kubernetes begin.
const KUBERNETES: &str = "io.k8s.";
const INTRO: &str = "# Paths and types of the node API

What [the node API](../node-api.md) is for, who may call it and how, is told there. The same for programs: `GET /openapi.json`, as OpenAPI 3.1.
";

pub(super) fn page(root: &Path) -> Result<String> {
    let description = json(root, DESCRIPTION)?;
    let mut text = INTRO.to_owned();
    let mut rows = Vec::new();
    let mut details = String::new();
    let mut slugs = Slugs::default();
    for (path, methods) in description["paths"].as_object().context("there are paths")? {
        for (method, operation) in methods.as_object().context("a path has methods")? {
            let title = format!("{} {path}", method.to_uppercase());
            let summary = prose(operation["summary"].as_str().unwrap_or_default());
            rows.push([format!("[`{title}`](#{})", slugs.of(&title)), summary, codes(operation)]);
            details.push_str(&described(&title, operation));
        }
    }
    text.push_str(&format!("\n## All of them\n\n{}", table(["call", "what it does", "codes"], &rows)));
    text.push_str(&format!("\n## Each of them\n{details}"));
    text.push_str(&reasons(root)?);
    text.push_str("\n## Types\n");
    for (name, schema) in description["components"]["schemas"].as_object().context("there are types")? {
        if !name.starts_with(KUBERNETES) {
            text.push_str(&format!("\n### {name}\n\n{}\n\n{}", about(schema), shape(schema)));
        }
    }
    Ok(text)
}

fn codes(operation: &Value) -> String {
    let codes = operation["responses"].as_object().into_iter().flatten().map(|(code, _)| code.as_str());
    codes.collect::<Vec<_>>().join(", ")
}

fn described(title: &str, operation: &Value) -> String {
    let summary = prose(operation["summary"].as_str().unwrap_or_default());
    let mut text = format!("\n### {}\n\n{summary}.\n\n", code(title));
    let mut rows: Vec<[String; 3]> = Vec::new();
    for parameter in operation["parameters"].as_array().into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        let place = if parameter["in"] == "query" { format!("?{name}=") } else { format!("{{{name}}}") };
        rows.push([code(&place), kind(&parameter["schema"], &link), about(parameter)]);
    }
    if let Some(body) = operation.get("requestBody") {
        let left_out = if body["required"] == true { "" } else { "May be left out." };
        rows.push(["body".to_owned(), kind(content(body), &link), left_out.to_owned()]);
    }
    for (code, response) in operation["responses"].as_object().into_iter().flatten() {
        let schema = content(response);
        let kind = if schema.is_null() { String::new() } else { kind(schema, &link) };
        let what = if response["description"] == "Done" { String::new() } else { about(response) };
        rows.push([code.clone(), kind, what]);
    }
    text.push_str(&table(["", "type", "what it is"], &rows));
    text
}

fn content(of: &Value) -> &Value {
    let media = of["content"].as_object().and_then(|content| content.values().next());
    media.map_or(&Value::Null, |media| &media["schema"])
}

/// The words by which programs tell refusals apart.
fn reasons(root: &Path) -> Result<String> {
    let source = fs::read_to_string(root.join(REASONS)).with_context(|| format!("cannot read {REASONS}"))?;
    let groups = constants(&source)?;
    let group = groups.iter().find(|group| group.module == "reason").context("refusals have reasons")?;
    let rows: Vec<[String; 3]> = group
        .constants
        .iter()
        .map(|word| {
            let (number, meaning) = word.about.split_once(": ").unwrap_or(("", &word.about));
            [code(&word.value), number.to_owned(), prose(meaning)]
        })
        .collect();
    Ok(format!(
        "\n## Reasons of refusals\n\nA refusal is a [Failure](#failure). Programs match on its `reason`: words are added, never renamed. \
         What is refused of a static pod has the code of its outcome for a reason, such as `ManifestExists`.\n\n{}",
        table(["reason", "code", "when"], &rows)
    ))
}

/// The fields of a type, or its values.
fn shape(schema: &Value) -> String {
    if let Some(values) = schema["oneOf"].as_array() {
        let rows: Vec<[String; 2]> = values
            .iter()
            .map(|value| [code(value["const"].as_str().unwrap_or_default()), about(value)])
            .collect();
        return table(["value", "what it means"], &rows);
    }
    let Some(fields) = schema["properties"].as_object() else {
        return format!("It is a {}.\n", kind(schema, &link));
    };
    let required = schema["required"].as_array();
    let rows: Vec<[String; 5]> = fields
        .iter()
        .map(|(name, field)| {
            let mut rules = rules(field);
            if required.is_some_and(|names| names.iter().any(|it| it.as_str() == Some(name))) {
                rules.insert(0, "always there".to_owned());
            }
            [code(name), kind(field, &link), default(field), rules.join("; "), about(field)]
        })
        .collect();
    table(["field", "type", "default", "rules", "what it is"], &rows)
}

/// A type by its name.
fn link(name: &str) -> String {
    match name.strip_prefix(KUBERNETES) {
        Some(name) if name.ends_with(".Time") => "time".to_owned(),
        Some(name) => name.rsplit('.').next().unwrap_or(name).to_ascii_lowercase(),
        None => format!("[{name}](#{})", name.to_ascii_lowercase()),
    }
}
