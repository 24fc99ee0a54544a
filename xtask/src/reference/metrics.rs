//! The numbers, from pages of metrics that the programs themselves have written.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::markdown::{code, prose, table};
use super::source::snapshot;

const INTRO: &str = "# Metrics

All are in the text form of OpenMetrics. How they reach Prometheus, alert rules and a dashboard: [packages](../packages.md#prometheus-and-grafana).
";

pub(super) fn page(root: &Path) -> Result<String> {
    let mut text = INTRO.to_owned();
    for (title, about, path) in [
        (
            "The agent",
            "`GET /metrics` of the [node API](node-api.md), on its socket.",
            "crates/agent/src/snapshots/safepoint_agent__facts__tests__metrics.snap",
        ),
        (
            "The hub",
            "`GET /metrics` at `--health-address`, port 8081 unless told otherwise.",
            "crates/hub/src/snapshots/safepoint_hub__facts__tests__metrics.snap",
        ),
    ] {
        let rows = families(&snapshot(root, path)?).with_context(|| path.to_owned())?;
        let rows: Vec<[String; 4]> = rows.iter().map(Family::row).collect();
        text.push_str(&format!(
            "\n## {title}\n\n{about}\n\n{}",
            table(["metric", "type", "labels", "what it is"], &rows)
        ));
    }
    Ok(text)
}

#[derive(Debug, Default)]
struct Family {
    name: String,
    kind: String,
    help: String,
    labels: BTreeSet<String>,
    has_sample: bool,
}

impl Family {
    fn row(&self) -> [String; 4] {
        // What is asked for is the name of the samples.
        let name = if self.kind == "counter" { format!("{}_total", self.name) } else { self.name.clone() };
        let labels: Vec<String> = self.labels.iter().map(|label| code(label)).collect();
        [code(&name), self.kind.clone(), labels.join(", "), prose(&self.help)]
    }
}

fn families(page: &str) -> Result<Vec<Family>> {
    let mut families: Vec<Family> = Vec::new();
    for line in page.lines() {
        if let Some((name, kind)) = line.strip_prefix("# TYPE ").and_then(|rest| rest.split_once(' ')) {
            families.push(Family { name: name.into(), kind: kind.into(), ..Family::default() });
            continue;
        }
        let Some(family) = families.last_mut() else { continue };
        if let Some(rest) = line.strip_prefix("# HELP ") {
            family.help = rest.strip_prefix(&*family.name).unwrap_or(rest).trim().to_owned();
        } else if !line.starts_with('#') {
            ensure!(line.starts_with(&*family.name), "{line:?} stands with {}", family.name);
            family.has_sample = true;
            let labels = line.split_once('{').and_then(|(_, rest)| rest.split_once('}')).map(|it| it.0);
            let labels = labels.into_iter().flat_map(|labels| labels.split(','));
            family.labels.extend(labels.filter_map(|label| Some(label.split_once('=')?.0.to_owned())));
        }
    }
    if let Some(empty) = families.iter().find(|family| !family.has_sample) {
        anyhow::bail!("the test has no sample of {}, so that nobody knows its labels", empty.name);
    }
    Ok(families)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_family_has_the_labels_of_its_samples() {
        let page =
            "# TYPE a counter\n# HELP a How often.\na_total{x=\"1\",y=\"2\"} 1\na_total{x=\"2\"} 1\n# EOF\n";
        let families = families(page).unwrap();
        assert_eq!(families[0].row(), ["`a_total`", "counter", "`x`, `y`", "How often."].map(str::to_owned));
    }

    #[test]
    fn a_family_without_a_sample_is_an_error() {
        assert!(families("# TYPE a gauge\n# HELP a x\n# EOF\n").is_err());
    }
}
