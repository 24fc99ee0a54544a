//! The files that go beside a program: manifests in one file, the chart, units, alert rules and the dashboard.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;
use safepoint_testkit::helm;

use super::{Shop, VERSION, copy, deb, output, write};
use crate::{kubernetes, tools};

/// Builds them.
pub(super) fn build(shop: &Shop) -> Result<Vec<PathBuf>> {
    let manifests = shop.out.join(format!("safepoint-{VERSION}.yaml"));
    write(&manifests, kustomize(shop, &shop.deploy(""))?)?;
    tools::build_helm()?;
    output(
        Command::new(helm()?)
            .arg("package")
            .arg(shop.deploy("chart/safepoint"))
            .arg("--destination")
            .arg(&shop.out),
    )?;
    let mut made = vec![manifests, shop.out.join(format!("safepoint-{VERSION}.tgz"))];
    let units = deb::UNITS.map(|unit| format!("systemd/{unit}"));
    let others =
        ["systemd/agent.env", "monitoring/alerts.yaml", "monitoring/dashboard.json"].map(str::to_owned);
    for file in units.into_iter().chain(others) {
        let to = shop.out.join(&file);
        copy(&shop.deploy(&file), &to)?;
        made.push(to);
    }
    Ok(made)
}

/// What kubectl makes of a folder with a `kustomization.yaml`.
pub(super) fn kustomize(shop: &Shop, folder: &Path) -> Result<String> {
    let kubectl = kubernetes::build(&shop.root)?.program("kubectl")?;
    output(Command::new(kubectl).arg("kustomize").arg(folder))
}
