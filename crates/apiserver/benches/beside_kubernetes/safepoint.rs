//! `safepoint up` as a process.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context as _, Result, bail};

use super::client::Access;
use super::process::Process;

/// The binary under test.
pub(crate) struct Binary(PathBuf);

impl Binary {
    pub(crate) fn at(path: &Path) -> Binary {
        Binary(path.to_owned())
    }

    /// Starts it on a data folder, which may be empty or not be there. It is ready when this returns.
    pub(crate) fn start(&self, data: &Path) -> Result<(Vec<Process>, Access)> {
        let mut command = Command::new(&self.0);
        command
            .args(["up", "--api-only", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let mut process = Process::start(&mut command)?;
        let output = process.child().stdout.take().context("the output is piped")?;
        let mut address = None;
        for line in BufReader::new(output).lines() {
            let line = line?;
            if let Some(url) = line.strip_prefix("Kubernetes API") {
                address = url.trim().strip_prefix("https://").map(str::to_owned);
            }
            if line.starts_with("ready in") {
                let address = address.context("it is ready and has not said where")?;
                return Ok((vec![process], access(data, &address)?));
            }
        }
        bail!("safepoint ended before it was ready")
    }
}

fn access(data: &Path, address: &str) -> Result<Access> {
    let kubeconfig = fs::read_to_string(data.join("kubeconfig"))?;
    let token = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("token:"));
    let token = token.context("the kubeconfig has no token")?.trim().trim_matches('"');
    Access::new(address, &fs::read(data.join("pki/ca.crt"))?, token)
}
