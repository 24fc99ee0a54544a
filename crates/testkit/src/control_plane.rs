//! A control plane: started in dependency order, ready when it says so, and gone when dropped.
//!
//! kube-apiserver cannot pick a port by itself, so one is picked for it, and between picking and using somebody else may
//! take it. A start that fails for that reason is repeated as a whole; every other failure is told at once, with the end
//! of the log.

use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use rustix::process::Signal;

use crate::access::Access;
use crate::assets::{Assets, assets};
use crate::certificates;
use crate::folder::Folder;
use crate::options::{Options, Part};
use crate::place::Place;
use crate::program::{self, Program, wait_for};

/// Ports are picked from tens of thousands: losing one three times in a row is no accident.
const ATTEMPTS: usize = 3;

/// A running Kubernetes control plane.
///
/// One that was started here ends when this is dropped, and at the latest with the process.
#[derive(Debug)]
pub struct ControlPlane {
    /// In the order in which they were started; none, if the control plane is somebody else's.
    servers: Vec<Server>,
    access: Access,
    assets: Assets,
    place: Place,
    /// Certificates, logs, data, and a home for kubectl.
    home: PathBuf,
    /// Removes the home, unless that is for somebody else to do. After the programs, which write there.
    _folder: Option<Folder>,
}

/// One of its programs.
#[derive(Debug)]
struct Server {
    name: &'static str,
    program: Program,
    /// The port and the path at which it says that it is ready. Etcd says so in its log.
    health: Option<(u16, &'static str)>,
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
            let folder = Folder::create()?;
            let home = folder.path().to_owned();
            Self::prepare(&home)?;
            match Self::start_in(&assets, Place::Here, &home, Some(folder), options) {
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
        let folder = Folder::create()?;
        let home = folder.path().to_owned();
        let (servers, place) = (Vec::new(), Place::Here);
        let plane = Self { servers, access, assets: assets()?, place, home, _folder: Some(folder) };
        plane
            .run(&["get", "--raw", "/readyz"])
            .context("the control plane does not answer: is it running?")?;
        Ok(plane)
    }

    /// Makes the certificates and the token of a control plane that is about to be started.
    pub(crate) fn prepare(home: &Path) -> Result<()> {
        certificates::write(home).context("cannot make certificates")?;
        Access::write_token(home)
    }

    /// Starts one somewhere, with the certificates that are in its home already.
    pub(crate) fn start_in(
        assets: &Assets,
        place: Place,
        home: &Path,
        folder: Option<Folder>,
        options: &Options,
    ) -> Result<Self> {
        let port = place.port(6443)?;
        let access = Access::write(home, &format!("https://127.0.0.1:{port}"))?;
        let (servers, home) = (Vec::new(), home.to_owned());
        let mut plane = Self { servers, access, assets: assets.clone(), place, home, _folder: folder };

        let etcd = plane.launch("etcd", &options.etcd(&plane.home), None)?;
        let etcd = etcd.program.wait_for("serving", |etcd| client_address(&etcd.log()))?;
        let flags = options.apiserver(&plane.home, port, &etcd);
        plane.launch("kube-apiserver", &flags, Some((port, "/readyz")))?;
        plane.wait_until_ready("kube-apiserver")?;

        // The controller manager knows healthy, but not ready.
        if options.controllers {
            let port = plane.place.port(10257)?;
            let flags = options.controller_manager(&plane.home, port);
            plane.launch("kube-controller-manager", &flags, Some((port, "/healthz")))?;
        }
        if options.scheduler {
            let port = plane.place.port(10259)?;
            let flags = options.scheduler(&plane.home, port);
            plane.launch("kube-scheduler", &flags, Some((port, "/healthz")))?;
        }
        for name in plane.servers.iter().skip(2).map(|server| server.name).collect::<Vec<_>>() {
            plane.wait_until_ready(name)?;
        }
        if options.controllers {
            plane.wait_until_pods_can_be_made()?;
        }
        Ok(plane)
    }

    fn launch(
        &mut self,
        name: &'static str,
        flags: &[String],
        health: Option<(u16, &'static str)>,
    ) -> Result<&mut Server> {
        let mut command = program::kubernetes(&self.assets, name, |path| self.place.command(path))?;
        command.args(flags);
        let program = Program::start(name, &self.home, command)?;
        self.servers.push(Server { name, program, health });
        Ok(self.servers.last_mut().expect("one was just added"))
    }

    fn wait_until_ready(&mut self, name: &str) -> Result<()> {
        let mut kubectl = self.kubectl();
        let place = self.place.clone();
        let server = self.server(name)?;
        let Some((port, path)) = server.health else { return Ok(()) };
        // Each kubectl takes a good part of a core for a moment: none is started before somebody listens.
        kubectl
            .args(["get", "--raw", path, "--request-timeout=5s"])
            .arg(format!("--server=https://127.0.0.1:{port}"))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        server.program.wait_for("listening", |_| connect(&place, port))?;
        server.program.wait_for("ready", |_| kubectl.status().ok().filter(ExitStatus::success))?;
        Ok(())
    }

    /// A pod needs the account of its namespace, which a controller makes that may begin long after the first ones.
    fn wait_until_pods_can_be_made(&mut self) -> Result<()> {
        let mut kubectl = self.kubectl();
        kubectl
            .args(["get", "serviceaccount", "default", "--namespace=default", "--request-timeout=5s"])
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let manager = self.server("kube-controller-manager")?;
        manager.program.wait_for("making accounts", |_| kubectl.status().ok().filter(ExitStatus::success))?;
        Ok(())
    }

    fn server(&mut self, name: &str) -> Result<&mut Server> {
        let server = self.servers.iter_mut().find(|server| server.name == name);
        server.with_context(|| format!("there is no {name} here"))
    }

    /// Ends a program as an operator would, and waits for its end. kube-apiserver would wait a minute for whoever watches
    /// something; it is asked a second time, which it takes for an order, as soon as it takes no more connections.
    ///
    /// # Errors
    /// When it is not running, or was not started here.
    pub fn stop(&mut self, part: Part) -> Result<()> {
        let place = self.place.clone();
        let server = self.server(part.program())?;
        server.program.signal(Signal::TERM)?;
        if let Some((port, _)) = server.health {
            let deaf = wait_for(|| connect(&place, port).is_none().then_some(()));
            deaf.with_context(|| format!("{} goes on listening", server.name))?;
        }
        // An order to what has ended already is none.
        let _ = server.program.signal(Signal::TERM);
        server.program.wait_for_end()
    }

    /// Ends a program at once, as a power cut would.
    ///
    /// # Errors
    /// When it was not started here.
    pub fn kill(&mut self, part: Part) -> Result<()> {
        self.server(part.program())?.program.kill();
        Ok(())
    }

    /// Starts a program again that was stopped or killed, on the port that it had, and waits until it is ready.
    ///
    /// # Errors
    /// When it is running, or does not come up.
    pub fn start_again(&mut self, part: Part) -> Result<()> {
        self.server(part.program())?.program.start_again()?;
        self.wait_until_ready(part.program())
    }

    /// Makes a program stand still: its connections stay, and nobody answers.
    ///
    /// # Errors
    /// When it is not running, or was not started here.
    pub fn pause(&mut self, part: Part) -> Result<()> {
        self.server(part.program())?.program.signal(Signal::STOP)
    }

    /// Lets a program that stands still go on.
    ///
    /// # Errors
    /// When it is not running, or was not started here.
    pub fn resume(&mut self, part: Part) -> Result<()> {
        self.server(part.program())?.program.signal(Signal::CONT)
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
        self.servers.iter().map(|server| (server.name, server.program.pid())).collect()
    }

    /// A kubectl that knows this control plane only: nothing in the user's home, neither settings nor what it remembers
    /// of other servers, reaches it.
    pub fn kubectl(&self) -> Command {
        let mut command = self.place.command(self.assets.folder().join("kubectl"));
        command
            .env("KUBECONFIG", &self.access.kubeconfig)
            .env("HOME", &self.home)
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
            if let Err(error) = self.check() {
                return error;
            }
            thread::sleep(Duration::from_millis(250));
        }
    }

    /// An error if one of the programs that were started here has ended.
    pub(crate) fn check(&mut self) -> Result<()> {
        self.servers.iter_mut().try_for_each(|server| server.program.check())
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // Clients before servers, so that nobody spends its last moments on attempts to reconnect.
        while self.servers.pop().is_some() {}
    }
}

/// A connection to a port there, if somebody listens.
fn connect(place: &Place, port: u16) -> Option<TcpStream> {
    place.within(|| TcpStream::connect((Ipv4Addr::LOCALHOST, port)).ok()).ok().flatten()
}

/// Where etcd says in its log that clients reach it.
fn client_address(log: &str) -> Option<String> {
    let line = log.lines().find(|line| line.contains("serving client traffic"))?;
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(line.get("address")?.as_str()?.to_owned())
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
