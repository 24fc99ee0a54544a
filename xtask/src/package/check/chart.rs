//! The chart: a value that nothing uses is a promise that nobody keeps.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use safepoint_testkit::helm;
use serde_json::{Value, json};

use super::super::{Shop, output, read};
use crate::tools;

/// Every value in the schema is described and in `values.yaml`, and another one in its place renders other objects.
pub(super) fn every_value_counts(shop: &Shop) -> Result<()> {
    tools::build_helm()?;
    let chart = shop.deploy("chart/safepoint");
    let schema: Value = serde_json::from_str(&read(&chart.join("values.schema.json"))?)?;
    let values: Value = serde_saphyr::from_str(&read(&chart.join("values.yaml"))?)?;
    let usual = rendered(&chart, None)?;
    let mut found = Vec::new();
    leaves(&schema, "", &mut found)?;
    for (path, kind) in &found {
        // Helm's own, for charts that have others as parts.
        if path == "global" {
            continue;
        }
        let pointer = format!("/{}", path.replace('.', "/"));
        let value = values.pointer(&pointer).with_context(|| format!("{path} is not in values.yaml"))?;
        let other =
            another(kind, value).with_context(|| format!("{path} is of a kind that is not known here"))?;
        ensure!(
            rendered(&chart, Some(&format!("{path}={other}")))? != usual,
            "nothing uses the value {path}"
        );
    }
    ensure!(found.len() > 10, "the schema describes {} values, which cannot be all", found.len());
    Ok(())
}

/// A dashboard that is switched off is served nowhere, not even with a certificate that is still there; one with a certificate is served
/// with it and behind the Service.
pub(super) fn a_dashboard_can_be_switched_off(shop: &Shop) -> Result<()> {
    tools::build_helm()?;
    let chart = shop.deploy("chart/safepoint");
    let with = |values: &str| rendered(&chart, Some(&format!("dashboard={values}")));
    for off in [r#"{"enabled":false,"tlsSecret":"web"}"#, r#"{"enabled":false,"tlsSecret":""}"#] {
        let hub = with(off)?;
        // Neither an address nor a port, a volume or a place behind the Service.
        ensure!(!hub.contains("dashboard"), "with dashboard={off} it is still served:\n{hub}");
    }
    let (plain, secured) =
        (with(r#"{"enabled":true,"tlsSecret":""}"#)?, with(r#"{"enabled":true,"tlsSecret":"web"}"#)?);
    let everybody = ["--dashboard-address=0.0.0.0:8444", "secretName: web", "targetPort: dashboard"];
    for part in everybody {
        ensure!(
            secured.contains(part) && !plain.contains(part),
            "{part} goes with a certificate, and only with it"
        );
    }
    ensure!(
        plain.contains("--dashboard-address=127.0.0.1:8080"),
        "without a certificate it is on the loopback"
    );
    Ok(())
}

fn rendered(chart: &Path, set: Option<&str>) -> Result<String> {
    let mut command = Command::new(helm()?);
    command.args(["template", "safepoint"]).arg(chart);
    output(command.args(set.map(|set| ["--set-json", set]).into_iter().flatten()))
}

/// The values that the schema describes, each with what it says of it.
fn leaves<'a>(schema: &'a Value, path: &str, found: &mut Vec<(String, &'a Value)>) -> Result<()> {
    let properties = schema["properties"].as_object().context("a group of values has properties")?;
    for (name, kind) in properties {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        ensure!(kind["description"].is_string(), "the schema does not say what {path} is for");
        match kind["properties"].is_object() {
            true => leaves(kind, &path, found)?,
            false => found.push((path, kind)),
        }
    }
    Ok(())
}

/// A value of the same kind that is not the usual one.
fn another(kind: &Value, usual: &Value) -> Option<Value> {
    if let Some(allowed) = kind["enum"].as_array() {
        return allowed.iter().find(|value| *value != usual).cloned();
    }
    if kind["$ref"] == "#/definitions/strings" {
        return Some(json!({ "another": "yes" }));
    }
    Some(match kind["type"].as_str()? {
        "string" => json!(format!("{}another", usual.as_str()?)),
        "integer" => json!(usual.as_i64()? + 1),
        "boolean" => json!(!usual.as_bool()?),
        "array" => json!([{ "name": "another" }]),
        "object" => json!({ "another": { "one": "yes" } }),
        _ => return None,
    })
}
