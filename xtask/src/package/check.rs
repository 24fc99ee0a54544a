//! Every package is built, looked at with the tools of those who will use it, and tried.
//!
//! The program in them is the one that the tests have compiled, linked again: how it is optimised makes no difference to how it is
//! packaged.

mod chart;
mod container;
mod dashboard;
mod debian;
mod manifests;
mod metrics;
mod rules;
mod units;

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Profile, Shop};
use crate::steps::Tally;
use crate::tools;

/// A check, and the sentence that it proves.
type Check = (&'static str, fn(&Shop) -> Result<()>);

const CHECKS: [Check; 13] = [
    ("every value of the chart is described, and changes what is rendered", chart::every_value_counts),
    ("a dashboard that is switched off is served nowhere", chart::a_dashboard_can_be_switched_off),
    ("the base is what the plain manifests are, and an overlay can change it", manifests::base_and_overlay),
    ("systemd understands the units", units::verified),
    ("systemd understands the unit that the installer writes", units::installers),
    ("alerts come when they should", rules::tested),
    ("every query of the dashboard is one", dashboard::queries),
    ("panels have titles, descriptions and places of their own", dashboard::panels),
    ("alerts and dashboard name only what the program measures", metrics::all_exist),
    ("lintian finds nothing in the Debian package", debian::linted),
    ("the Debian package is installed, upgraded, kept, removed and purged", debian::lived_through),
    ("all files can be packaged", files),
    ("the image runs in containerd, as the hub of a cluster that is found by name", container::runs),
];

/// Checks all packages.
pub(crate) fn run(root: &Path) -> Result<Tally> {
    tools::package_programs()?;
    let shop = Shop::new(root, "package-check", Profile::Debug)?;
    let mut tally = Tally::default();
    for (sentence, check) in CHECKS {
        match check(&shop) {
            Ok(()) => {
                println!("package: {sentence} ... ok");
                tally.passed += 1;
            }
            Err(error) => {
                println!("package: {sentence} ... FAILED\n{error:#}");
                tally.failed += 1;
                tally.said.push(format!("--- package: {sentence}\n{error:#}"));
            }
        }
    }
    if tally.failed == 0 {
        // Half a gigabyte that nobody installs.
        fs::remove_dir_all(&shop.out).context("cannot remove what was packaged for the checks")?;
    }
    Ok(tally)
}

fn files(shop: &Shop) -> Result<()> {
    super::files::build(shop).map(drop)
}
