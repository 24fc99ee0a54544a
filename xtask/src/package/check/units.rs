//! Units, as systemd reads them.

use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::super::deb::UNITS;
use super::super::program::Linking;
use super::super::{Shop, output, read, write};

/// What the installer plans, as its own tests keep it.
const PLAN: &str = "crates/cli/src/commands/install/snapshots/safepoint__commands__install__tests__the_plan_for_a_node_of_kubeadm.snap";

/// The units of `deploy/systemd`.
pub(super) fn verified(shop: &Shop) -> Result<()> {
    let units = UNITS.map(|unit| Ok((unit, read(&shop.deploy("systemd").join(unit))?)));
    let units = units.into_iter().collect::<Result<Vec<_>>>()?;
    // What pods inherit from the agent cannot be much; it is not measured.
    verify(shop, "units", &units, &[("safepoint-metrics.service", 20)])
}

/// The unit that `safepoint agent install` writes.
pub(super) fn installers(shop: &Shop) -> Result<()> {
    let plan = read(&shop.root.join(PLAN))?;
    let written =
        plan.lines().skip_while(|line| !line.contains("write /etc/systemd/system/safepoint-agent.service"));
    let text: String = written
        .skip(1)
        .take_while(|line| !line.starts_with('['))
        .filter_map(|line| line.trim_start().strip_prefix('+'))
        .map(|line| format!("{}\n", line.strip_prefix(' ').unwrap_or(line)))
        .collect();
    ensure!(text.contains("[Service]\n"), "the plan in {PLAN} has no unit any more");
    let unit = "safepoint-agent.service";
    verify(shop, "installers", &[(unit, text)], &[(unit, 75)])
}

/// A word that systemd does not know, or a value that it cannot read, is a warning to it and an error here.
///
/// `exposure` has tenths of systemd's own measure, a little above what it is today, so that hardening is not lost unnoticed.
fn verify(shop: &Shop, name: &str, units: &[(&str, String)], exposure: &[(&str, u8)]) -> Result<()> {
    let program = shop.program(Linking::Dynamic)?;
    let program = program.to_str().context("the path of the target folder is not text")?;
    let folder = shop.workshop(name)?;
    let mut command = Command::new("systemd-analyze");
    command.args(["--man=no", "--recursive-errors=no", "verify"]);
    for (unit, text) in units {
        let text = text.replace("/usr/bin/safepoint", program).replace("/usr/local/bin/safepoint", program);
        write(&folder.join(unit), text)?;
        command.arg(folder.join(unit));
    }
    let ended = command.output().context("cannot run systemd-analyze")?;
    let said = String::from_utf8_lossy(&ended.stderr);
    ensure!(ended.status.success() && said.trim().is_empty(), "{}", said.trim());
    for (unit, most) in exposure {
        let mut security = Command::new("systemd-analyze");
        security.args(["security", "--no-pager", "--offline=true", &format!("--threshold={most}")]);
        output(security.arg(folder.join(unit)))?;
    }
    Ok(())
}
