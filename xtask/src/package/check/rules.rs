//! Alert rules, as Prometheus reads and evaluates them.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::super::{Shop, output, read};

/// The queries of alerts, each with the name of its alert.
pub(super) fn queries(shop: &Shop) -> Result<Vec<(String, String)>> {
    let rules: Value = serde_saphyr::from_str(&read(&shop.deploy("monitoring/alerts.yaml"))?)?;
    let groups = rules["groups"].as_array().context("rules come in groups")?;
    let rules = groups.iter().flat_map(|group| group["rules"].as_array().into_iter().flatten());
    let word = |value: &Value| value.as_str().map(str::to_owned);
    rules
        .map(|rule| word(&rule["alert"]).zip(word(&rule["expr"])).context("a rule that is no alert"))
        .collect()
}

/// promtool takes the rules, their tests pass, and no alert is without a test that raises it.
pub(super) fn tested(shop: &Shop) -> Result<()> {
    let folder = shop.deploy("monitoring");
    let promtool = |arguments: &[&str]| output(Command::new("promtool").args(arguments).current_dir(&folder));
    promtool(&["check", "rules", "alerts.yaml"])?;
    promtool(&["test", "rules", "alerts.test.yaml"])?;
    let tests = read(&folder.join("alerts.test.yaml"))?;
    let tests: Value = serde_saphyr::from_str(&tests)?;
    let mut raised = BTreeSet::new();
    for test in tests["tests"].as_array().into_iter().flatten() {
        for alert in test["alert_rule_test"].as_array().into_iter().flatten() {
            if alert["exp_alerts"].as_array().is_some_and(|expected| !expected.is_empty()) {
                raised.extend(alert["alertname"].as_str());
            }
        }
        for sample in test["promql_expr_test"].as_array().into_iter().flatten() {
            for sample in sample["exp_samples"].as_array().into_iter().flatten() {
                let labels = sample["labels"].as_str().unwrap_or_default();
                raised.extend(labels.split('"').find(|word| word.starts_with("Safepoint")));
            }
        }
    }
    let untested: Vec<_> = queries(shop)?
        .into_iter()
        .map(|(alert, _)| alert)
        .filter(|alert| !raised.contains(&**alert))
        .collect();
    ensure!(
        untested.is_empty(),
        "no test raises {untested:?}: add one to deploy/monitoring/alerts.test.yaml"
    );
    Ok(())
}
