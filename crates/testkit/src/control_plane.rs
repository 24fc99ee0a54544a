//! A control plane: started in dependency order, ready when it says so, and gone when dropped.
//!
//! kube-apiserver cannot pick a port by itself, so one is picked for it, and between picking and using somebody else may
//! take it. A start that fails for that reason is repeated as a whole; every other failure is told at once, with the end
//! of the log.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};

use crate::access::Access;
use crate::assets::{Assets, assets};
use crate::certificates;
use crate::folder::Folder;
use crate::options::Options;
use crate::program::Program;

/// Ports are picked from tens of thousands: losing one three times in a row is no accident.
const ATTEMPTS: usize = 3;

/// A running Kubernetes control plane.
///
/// One that was started here ends when this is dropped, and at the latest with the process.
#[derive(Debug)]
pub struct ControlPlane {
    /// In the order in which they were started; none, if the control plane is somebody else's.
    programs: Vec<Program>,
    access: Access,
    assets: Assets,
    /// Certificates, logs, data, and a home for kubectl. After the programs, which write there.
    folder: Folder,
}

impl ControlPlane {
    /// Starts etcd and kube-apiserver, and waits until requests are answered.
    ///
    /// # Errors
    /// When the programs are missing, or one of them does not come up: then with the end of its log.
    pub fn start() -> Result<Self> {
        Self::start_with(&Options::default())
    }

    /// Starts what the options ask for, and waits until all of it is ready.
    ///
    /// # Errors
    /// As for [`ControlPlane::start`].
    pub fn start_with(options: &Options) -> Result<Self> {
        let assets = assets()?;
        let mut attempt = 1;
        loop {
            match Self::attempt(&assets, options) {
                Err(error) if attempt < ATTEMPTS && port_was_taken(&error) => attempt += 1,
                result => return result,
            }
        }
    }

    /// Uses one that runs already, given the kubeconfig that `cargo xtask kubernetes up` prints.
    ///
    /// # Errors
    /// When the file is from elsewhere, or nobody answers.
    pub fn attach(kubeconfig: &Path) -> Result<Self> {
        let access = Access::read(kubeconfig)?;
        let plane = Self { programs: Vec::new(), access, assets: assets()?, folder: Folder::create()? };
        plane
            .run(&["get", "--raw", "/readyz"])
            .context("the control plane does not answer: is it running?")?;
        Ok(plane)
    }

    fn attempt(assets: &Assets, options: &Options) -> Result<Self> {
        let folder = Folder::create()?;
        let path = folder.path().to_owned();
        certificates::write(&path).context("cannot make certificates")?;
        Access::write_token(&path)?;

        let mut etcd = Program::start(assets, &path, "etcd", &options.etcd(&path))?;
        let etcd_address = etcd.wait_for("serving", |etcd| client_address(&etcd.log()))?;

        let port = free_port()?;
        let access = Access::write(&path, &format!("https://127.0.0.1:{port}"))?;
        let flags = options.apiserver(&path, port, &etcd_address);
        let apiserver = Program::start(assets, &path, "kube-apiserver", &flags)?;
        let mut plane = Self { programs: vec![etcd, apiserver], access, assets: assets.clone(), folder };
        plane.wait_until_ready(port, "/readyz")?;

        if options.controllers {
            let port = free_port()?;
            let flags = options.controller_manager(&path, port);
            plane.programs.push(Program::start(assets, &path, "kube-controller-manager", &flags)?);
            plane.wait_until_ready(port, "/healthz")?;
        }
        if options.scheduler {
            let port = free_port()?;
            let flags = options.scheduler(&path, port);
            plane.programs.push(Program::start(assets, &path, "kube-scheduler", &flags)?);
            plane.wait_until_ready(port, "/healthz")?;
        }
        Ok(plane)
    }

    /// Waits for the program that was started last. The controller manager knows healthy, but not ready.
    fn wait_until_ready(&mut self, port: u16, path: &str) -> Result<()> {
        // Each kubectl takes a good part of a core for a moment: none is started before somebody listens.
        let mut kubectl = self.kubectl();
        kubectl
            .args(["get", "--raw", path, "--request-timeout=5s"])
            .arg(format!("--server=https://127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let program = self.programs.last_mut().expect("one was just started");
        program.wait_for("listening", |_| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok())?;
        program.wait_for("ready", |_| kubectl.status().ok().filter(std::process::ExitStatus::success))?;
        Ok(())
    }

    /// The path of a kubeconfig with the administrator's token.
    pub fn kubeconfig_path(&self) -> &Path {
        &self.access.kubeconfig
    }

    /// The server's address, such as `https://127.0.0.1:40123`.
    pub fn url(&self) -> &str {
        &self.access.url
    }

    /// The certificate that signs the server's.
    pub fn ca_pem(&self) -> &str {
        &self.access.ca
    }

    /// The client certificate of an administrator: user `admin`, group `system:masters`.
    pub fn admin_cert_pem(&self) -> &str {
        &self.access.certificate
    }

    /// The key of [`ControlPlane::admin_cert_pem`].
    pub fn admin_key_pem(&self) -> &str {
        &self.access.key
    }

    /// A bearer token of the same administrator.
    pub fn token(&self) -> &str {
        &self.access.token
    }

    /// The programs that were started here, by name, with their process numbers.
    pub fn pids(&self) -> Vec<(&'static str, u32)> {
        self.programs.iter().map(|program| (program.name(), program.pid())).collect()
    }

    /// A kubectl that knows this control plane only: nothing in the user's home, neither settings nor what it remembers
    /// of other servers, reaches it.
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new(self.assets.folder().join("kubectl"));
        command
            .env("KUBECONFIG", &self.access.kubeconfig)
            .env("HOME", self.folder.path())
            .env_remove("KUBECACHEDIR")
            .env_remove("KUBERC")
            .stdin(Stdio::null());
        command
    }

    /// Runs kubectl and returns what it prints.
    ///
    /// # Errors
    /// When it fails, with what it says.
    pub fn run(&self, arguments: &[&str]) -> Result<String> {
        let output = self.kubectl().args(arguments).output().context("cannot run kubectl")?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            bail!("kubectl {} failed: {}", arguments.join(" "), said.trim());
        }
        String::from_utf8(output.stdout).context("kubectl printed something that is not text")
    }

    /// Returns when one of the programs that were started here ends by itself, with the end of its log.
    pub fn watch(&mut self) -> anyhow::Error {
        loop {
            for program in &mut self.programs {
                if let Err(error) = program.check() {
                    return error;
                }
            }
            thread::sleep(Duration::from_millis(250));
        }
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // Clients before servers, so that nobody spends its last moments on attempts to reconnect.
        while self.programs.pop().is_some() {}
    }
}

/// Where etcd says in its log that clients reach it.
fn client_address(log: &str) -> Option<String> {
    let line = log.lines().find(|line| line.contains("serving client traffic"))?;
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(line.get("address")?.as_str()?.to_owned())
}

/// A port that nobody had a moment ago.
fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot find a free port")?;
    Ok(listener.local_addr().context("cannot find a free port")?.port())
}

fn port_was_taken(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("address already in use")
}

#[cfg(test)]
mod tests {
    use super::client_address;

    #[test]
    fn etcd_is_not_there_before_it_has_said_so() {
        let early = r#"{"level":"info","msg":"serving peer traffic","address":"127.0.0.1:1"}"#;
        assert_eq!(client_address(early), None);
        let half =
            format!("{early}\n{}", r#"{"level":"info","msg":"serving client traffic insecurely","addr"#);
        assert_eq!(client_address(&half), None, "a line that is still being written");
        let whole = format!("{half}ess\":\"127.0.0.1:2\"}}\n");
        assert_eq!(client_address(&whole).as_deref(), Some("127.0.0.1:2"));
    }
}
