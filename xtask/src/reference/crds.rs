//! The definitions, field by field.

use anyhow::{Context, Result};
use serde_json::Value;

use super::fields::{about, default, is_condition, is_selector, kind, rules};
use super::markdown::{code, prose, table};

const INTRO: &str = "# Custom resources

What the API server takes, from the definitions in `deploy/crds`. A field that is not required may be left out. Rules in words are
checked by the API server when an object is written; their CEL expressions are in the definitions.
";

pub(super) fn page() -> Result<String> {
    let mut text = INTRO.to_owned();
    for crd in safepoint_api::crds() {
        text.push_str(&kind_of_object(&serde_json::to_value(crd)?)?);
    }
    Ok(text)
}

fn kind_of_object(crd: &Value) -> Result<String> {
    let spec = &crd["spec"];
    let name = |key: &str| spec["names"][key].as_str().unwrap_or_default();
    let mut text = format!("\n## {}\n", name("kind"));
    for version in spec["versions"].as_array().context("a definition has versions")? {
        let schema = &version["schema"]["openAPIV3Schema"];
        let group = spec["group"].as_str().context("a definition has a group")?;
        let version_name = version["name"].as_str().context("a version has a name")?;
        let api = format!("{group}/{version_name}");
        let short = spec["names"]["shortNames"].as_array().into_iter().flatten();
        let short: Vec<String> = short.filter_map(Value::as_str).map(code).collect();
        text.push_str(&format!("\n{}\n\n", about(schema)));
        let scope = spec["scope"].as_str().unwrap_or_default().to_ascii_lowercase();
        let rows = [
            ["`apiVersion`".to_owned(), code(&api)],
            ["kubectl".to_owned(), [vec![code(name("plural"))], short].concat().join(", ")],
            ["scope".to_owned(), scope],
        ];
        text.push_str(&table(["", " "], &rows));
        let own = rules(schema);
        if !own.is_empty() {
            text.push_str(&format!("\nOf the whole object: {}.\n", own.join("; ")));
        }
        for part in ["spec", "status"] {
            let inner = &schema["properties"][part];
            if inner.is_null() {
                continue;
            }
            text.push_str(&format!("\n### {} of a {}\n\n{}\n", part, name("kind"), about(inner)));
            let own = rules(inner);
            if !own.is_empty() {
                text.push_str(&format!("\nRules: {}.\n", own.join("; ")));
            }
            let mut rows = Vec::new();
            fields(inner, part, &mut rows);
            text.push_str(&format!(
                "\n{}",
                table(["field", "type", "default", "rules", "what it is"], &rows)
            ));
        }
        text.push_str(&columns(version));
    }
    Ok(text)
}

/// Every field below this one, each by its whole path.
fn fields(schema: &Value, path: &str, rows: &mut Vec<[String; 5]>) {
    let required = schema["required"].as_array();
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = format!("{path}.{name}");
        let is_required = required.is_some_and(|names| names.iter().any(|it| it.as_str() == Some(name)));
        let mut rules = rules(field);
        if is_required {
            rules.insert(0, "required".to_owned());
        }
        let item = &field["items"];
        if item.is_object() && !is_condition(item) {
            rules.extend(super::fields::rules(item).into_iter().map(|rule| format!("each: {rule}")));
        }
        let kind = match is_condition(item) {
            true => "list of conditions".to_owned(),
            false => kind(field, &str::to_owned),
        };
        rows.push([code(&path), kind, default(field), rules.join("; "), about(field)]);
        if is_selector(field) || is_condition(item) {
            continue;
        }
        fields(field, &path, rows);
        fields(item, &format!("{path}[]"), rows);
        fields(&field["additionalProperties"], &format!("{path}.*"), rows);
    }
}

/// What `kubectl get` shows.
fn columns(version: &Value) -> String {
    let columns = version["additionalPrinterColumns"].as_array().into_iter().flatten();
    let columns = columns.map(|column| {
        let wide =
            if column["priority"].as_i64().is_some_and(|number| number > 0) { " (`-o wide`)" } else { "" };
        format!("{}{wide}", prose(column["name"].as_str().unwrap_or_default()))
    });
    let columns: Vec<String> = columns.collect();
    match columns.is_empty() {
        true => String::new(),
        false => format!("\n`kubectl get` shows: {}.\n", columns.join(", ")),
    }
}
