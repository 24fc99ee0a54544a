//! The dashboard: Grafana takes almost anything and shows a blank panel for the rest, so it is looked at here.

use std::collections::BTreeSet;
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use super::super::{Shop, output, read, write};

/// The width of a dashboard.
const COLUMNS: u64 = 24;

fn dashboard(shop: &Shop) -> Result<Vec<Value>> {
    let dashboard: Value = serde_json::from_str(&read(&shop.deploy("monitoring/dashboard.json"))?)?;
    dashboard["panels"].as_array().cloned().context("a dashboard has panels")
}

/// The queries of panels, each with the title of its panel.
pub(super) fn asked(shop: &Shop) -> Result<Vec<(String, String)>> {
    let mut asked = Vec::new();
    for panel in dashboard(shop)? {
        let title = panel["title"].as_str().unwrap_or_default();
        for target in panel["targets"].as_array().into_iter().flatten() {
            let query =
                target["expr"].as_str().with_context(|| format!("{title}: a target without a query"))?;
            asked.push((title.to_owned(), query.to_owned()));
        }
    }
    Ok(asked)
}

/// Prometheus can read every query, with what Grafana puts in the place of its variables.
pub(super) fn queries(shop: &Shop) -> Result<()> {
    let rules: Vec<_> = asked(shop)?
        .into_iter()
        .enumerate()
        .map(|(number, (title, query))| {
            let query = query.replace("$__rate_interval", "5m").replace("$node", ".*");
            ensure!(!query.contains('$'), "{title}: a variable that the dashboard does not have, in {query}");
            Ok(json!({ "record": format!("query:{number}"), "expr": query }))
        })
        .collect::<Result<_>>()?;
    ensure!(!rules.is_empty(), "the dashboard asks for nothing");
    let file = shop.workshop("dashboard")?.join("queries.yaml");
    write(&file, json!({ "groups": [{ "name": "dashboard", "rules": rules }] }).to_string())?;
    output(Command::new("promtool").args(["check", "rules"]).arg(file)).map(drop)
}

/// Panels say what they show, and none lies on another.
pub(super) fn panels(shop: &Shop) -> Result<()> {
    let (mut ids, mut taken) = (BTreeSet::new(), BTreeSet::new());
    for panel in dashboard(shop)? {
        let title =
            panel["title"].as_str().filter(|title| !title.is_empty()).context("a panel without a title")?;
        ensure!(ids.insert(panel["id"].as_u64()), "{title}: another panel has the same id");
        let says = panel["description"].as_str().is_some_and(|text| !text.is_empty());
        ensure!(says || panel["type"] == "row", "{title}: no description");
        let place =
            |name: &str| panel["gridPos"][name].as_u64().with_context(|| format!("{title}: no place"));
        let (x, y, width, height) = (place("x")?, place("y")?, place("w")?, place("h")?);
        ensure!(x + width <= COLUMNS, "{title}: beyond the edge");
        for column in x..x + width {
            for line in y..y + height {
                ensure!(taken.insert((column, line)), "{title}: lies on another panel");
            }
        }
    }
    Ok(())
}
