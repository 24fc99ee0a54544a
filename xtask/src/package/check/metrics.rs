//! What the program measures, asked of the running program: an alert about a number that nobody gives never comes.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail, ensure};

use super::super::program::Linking;
use super::super::{Shop, output};
use super::{dashboard, rules};

/// Every number that a query names is given by the agent or by the hub.
pub(super) fn all_exist(shop: &Shop) -> Result<()> {
    let program = shop.program(Linking::Dynamic)?;
    // The path of a socket has a hundred bytes, which a target folder may use up.
    let folder = tempfile::tempdir().context("cannot make a folder")?;
    let data = folder.path();
    let mut up = Command::new(&program);
    up.args(["up", "--listen=127.0.0.1:0", "--node-name=node", "--data"]).arg(data);
    let (_up, _) = Running::start(up)?;
    let agent =
        output(curl().arg("--unix-socket").arg(data.join("agent.sock")).arg("http://localhost/metrics"))?;
    let (_hub, hub) = hub(&program, data)?;
    let given = samples(&agent)?.union(&samples(&hub)?).cloned().collect();
    let mut queries = rules::queries(shop)?;
    queries.extend(dashboard::asked(shop)?);
    let unknown = unknown(&queries, &given);
    ensure!(unknown.is_empty(), "nobody measures {unknown:?}; there are {given:?}");
    Ok(())
}

/// A hub beside what runs in a folder, and its page.
fn hub(program: &Path, data: &Path) -> Result<(Running, String)> {
    let mut hub = Command::new(program);
    hub.args(["hub", "--webhook-address=127.0.0.1:0", "--webhook-url=https://127.0.0.1:8443"]);
    hub.args(["--health-address=127.0.0.1:0", "--kubeconfig"]).arg(data.join("kubeconfig"));
    let (hub, said) = Running::start(hub)?;
    let health = said.iter().find_map(|line| line.strip_prefix("health ")?.trim().strip_suffix("/readyz"));
    let page = format!("{}/metrics", health.context("the hub does not say where it answers")?);
    Ok((hub, output(curl().arg(page))?))
}

fn curl() -> Command {
    let mut curl = Command::new("curl");
    curl.args(["--fail", "--silent", "--show-error", "--max-time", "30"]);
    curl
}

/// A program that is ended with this.
struct Running(Child);

// === impl Running ===

impl Running {
    /// Starts one that says when it is ready, and returns what it said until then.
    fn start(mut command: Command) -> Result<(Self, Vec<String>)> {
        let child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn();
        let mut running = Self(child.context("cannot run the program")?);
        let stdout = running.0.stdout.take().context("the output is piped")?;
        let mut said = Vec::new();
        for line in BufReader::new(stdout).lines() {
            said.push(line.context("cannot read what the program says")?);
            if said.last().is_some_and(|line| line.starts_with("ready in ")) {
                return Ok((running, said));
            }
        }
        bail!("{command:?} ended before it was ready")
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself, which is as good.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// The names of the samples that the families of a page have, whether there is one at the moment or not.
fn samples(page: &str) -> Result<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for family in page.lines().filter_map(|line| line.strip_prefix("# TYPE ")) {
        let (name, kind) = family.split_once(' ').context("a family without a kind")?;
        let endings: &[&str] = match kind {
            "gauge" => &[""],
            "counter" => &["_total"],
            "histogram" => &["_bucket", "_sum", "_count"],
            other => bail!("{name} is a {other}, which is not known here"),
        };
        names.extend(endings.iter().map(|ending| format!("{name}{ending}")));
    }
    for line in page.lines().filter(|line| !line.starts_with('#')) {
        let name = line.split(['{', ' ']).next().unwrap_or_default();
        ensure!(names.contains(name), "{name} is not of its family's kind");
    }
    Ok(names)
}

/// The words of ours in queries that are the name of nothing, each with where it stands.
fn unknown(queries: &[(String, String)], given: &BTreeSet<String>) -> Vec<String> {
    let of_a_name = |letter: char| letter.is_ascii_alphanumeric() || letter == '_';
    let words = queries.iter().flat_map(|(place, query)| {
        let words = query.split(move |letter| !of_a_name(letter));
        words.filter(|word| word.starts_with("safepoint_")).map(move |word| (place, word))
    });
    let unknown = words.filter(|(_, word)| !given.contains(*word));
    unknown.map(|(place, word)| format!("{word} ({place})")).collect()
}

#[cfg(test)]
mod tests {
    use super::{samples, unknown};

    const PAGE: &str = "# TYPE safepoint_holds gauge\n# HELP safepoint_holds Holds.\nsafepoint_holds 1\n\
                        # TYPE safepoint_alarms counter\n# HELP safepoint_alarms Alarms.\n# EOF\n";

    #[test]
    fn a_counter_without_its_ending_is_nobodys_name() {
        let given = samples(PAGE).unwrap();
        let query = |text: &str| [("panel".to_owned(), text.to_owned())];
        assert!(
            unknown(&query("sum(safepoint_holds{a=\"b\"}) + rate(safepoint_alarms_total[5m])"), &given)
                .is_empty()
        );
        assert_eq!(unknown(&query("rate(safepoint_alarms[5m])"), &given), ["safepoint_alarms (panel)"]);
        assert_eq!(unknown(&query("safepoint_other > 0"), &given), ["safepoint_other (panel)"]);
    }

    #[test]
    fn a_sample_that_does_not_fit_its_family_is_an_error() {
        assert!(samples("# TYPE safepoint_alarms counter\nsafepoint_alarms 3\n").is_err());
        assert!(samples("safepoint_alarms_total 3\n").is_err());
    }
}
