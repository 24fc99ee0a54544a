//! The Debian package, through a life on a machine that is only a folder.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use anyhow::{Context, Result, ensure};

use super::super::{Shop, deb, output, read, write};

/// Nothing that lintian calls an error or a warning.
pub(super) fn linted(shop: &Shop) -> Result<()> {
    let package = deb::build(shop)?;
    let mut lintian = Command::new("lintian");
    lintian.args(["--allow-root", "--fail-on=error,warning", "--tag-display-limit=0"]);
    output(lintian.arg(package)).map(drop)
}

/// A machine in a folder.
struct Machine(PathBuf);

// === impl Machine ===

impl Machine {
    fn new(shop: &Shop) -> Result<Self> {
        let root = shop.workshop("machine")?;
        for folder in ["updates", "info", "triggers"] {
            fs::create_dir_all(root.join("var/lib/dpkg").join(folder)).context("cannot make a machine")?;
        }
        for file in ["var/lib/dpkg/status", "var/lib/dpkg/available"] {
            write(&root.join(file), "")?;
        }
        Ok(Self(root))
    }

    fn at(&self, path: &str) -> PathBuf {
        self.0.join(path)
    }

    /// Scripts run as they would in a folder that becomes a machine: outside, and told where it is. There are no other packages.
    fn dpkg(&self, arguments: &[&str], more: Option<&Path>) -> Result<Output> {
        let mut dpkg = Command::new("dpkg");
        dpkg.args(["--force-script-chrootless", "--force-depends", "--force-confold", "--root"]).arg(&self.0);
        dpkg.args(arguments).args(more).output().context("cannot run dpkg")
    }

    fn must(&self, arguments: &[&str], more: Option<&Path>) -> Result<()> {
        let output = self.dpkg(arguments, more)?;
        let said = String::from_utf8_lossy(&output.stderr);
        ensure!(output.status.success(), "dpkg {} failed: {}", arguments.join(" "), said.trim());
        Ok(())
    }

    fn state(&self) -> Result<String> {
        let mut query = Command::new("dpkg-query");
        query.arg("--admindir").arg(self.at("var/lib/dpkg"));
        output(query.args(["--show", "--showformat=${db:Status-Status}", deb::NAME]))
    }
}

/// Installed, upgraded with changed settings, kept while a kubelet needs it, removed, purged.
pub(super) fn lived_through(shop: &Shop) -> Result<()> {
    let package = deb::build(shop)?;
    let machine = Machine::new(shop)?;
    machine.must(&["--install"], Some(&package))?;
    ensure!(machine.state()? == "installed", "it is {} and not installed", machine.state()?);
    let version = output(Command::new(machine.at("usr/bin/safepoint")).arg("--version"))?;
    ensure!(version.contains(super::super::VERSION), "it says that it is {version}");
    for file in [
        "lib/systemd/system/safepoint-agent.service",
        "usr/share/man/man1/safepoint-agent.1.gz",
        "usr/share/bash-completion/completions/safepoint",
        "usr/share/doc/safepoint-agent/copyright",
    ] {
        ensure!(machine.at(file).exists(), "{file} is missing");
    }
    let [plugin, completion] = deb::PLUGIN.map(|name| machine.at("usr/bin").join(name));
    let help = output(Command::new(plugin).arg("--help"))?;
    ensure!(help.contains("Usage: kubectl safepoint"), "as a plugin of kubectl it says\n{help}");
    let completed = output(Command::new(completion).arg("stat"))?;
    ensure!(completed.contains("status"), "kubectl is told to complete `stat` with\n{completed}");
    // It is for somebody to say which cluster this is, and then to enable the service.
    ensure!(!machine.at("etc/systemd/system").exists(), "the service was enabled");
    ensure!(!machine.at("etc/safepoint/node.kubeconfig").exists(), "it brings a kubeconfig");

    let settings = machine.at("etc/safepoint/agent.env");
    write(&settings, "SAFEPOINT_NODE=rover-7\n")?;
    machine.must(&["--install"], Some(&package))?;
    ensure!(read(&settings)? == "SAFEPOINT_NODE=rover-7\n", "an upgrade lost the settings");

    let unit = machine.at("etc/systemd/system/safepoint-agent.service");
    write(&unit, "# Written by `safepoint agent install`; `safepoint agent uninstall` removes it.\n")?;
    let refused = machine.dpkg(&["--remove", deb::NAME], None)?;
    let said = String::from_utf8_lossy(&refused.stderr);
    ensure!(
        !refused.status.success() && said.contains("run `safepoint agent uninstall` first"),
        "removed from under a kubelet: {said}"
    );
    ensure!(machine.at("usr/bin/safepoint").exists(), "a removal that was refused removed the program");

    fs::remove_file(unit).context("cannot play the uninstallation")?;
    let journal = machine.at("var/lib/safepoint/journal.redb");
    write(&journal, "what the agent knows")?;
    machine.must(&["--remove", deb::NAME], None)?;
    ensure!(
        !machine.at("usr/bin/safepoint").exists() && settings.exists() && journal.exists(),
        "removed too much"
    );
    machine.must(&["--purge", deb::NAME], None)?;
    ensure!(!settings.exists() && !journal.exists(), "a purge left something behind");
    Ok(())
}
