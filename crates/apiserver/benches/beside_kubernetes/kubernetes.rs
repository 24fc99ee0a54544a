//! etcd and kube-apiserver as processes, with the flags that tests use.
//!
//! The test kit starts a control plane with certificates of its own, and ends it for good. Here the same one is started
//! again and again, on data that may be old, and nothing but its start is to be measured. So one is started by the kit,
//! and its command lines and certificates are taken for the others.

use std::fs::{self, File};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context as _, Result, ensure};
use safepoint_testkit::{ControlPlane, Options};

use super::client::Access;
use super::process::Process;

/// How often it is asked whether it is there: often enough not to be seen in a start of seconds.
const POLL: Duration = Duration::from_millis(5);

/// How to start a control plane.
pub(crate) struct Recipe {
    etcd: Vec<String>,
    apiserver: Vec<String>,
    /// Certificates and tokens.
    folder: PathBuf,
    ca: String,
    token: String,
}

impl Recipe {
    /// Takes the recipe from a control plane of the test kit.
    pub(crate) fn take(folder: &Path) -> Result<Recipe> {
        let folder = folder.join("kubernetes-certificates");
        fs::create_dir_all(&folder)?;
        let plane = ControlPlane::start_with(&Options { durable: true, ..Options::default() })?;
        let original = plane.kubeconfig_path().parent().context("the kubeconfig is in a folder")?;
        for entry in fs::read_dir(original)? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), folder.join(entry.file_name()))?;
            }
        }
        let (from, to) = (original.to_string_lossy(), folder.to_string_lossy());
        let command_line = |name: &str| -> Result<Vec<String>> {
            let (_, pid) =
                plane.pids().into_iter().find(|(of, _)| *of == name).context("it was just started")?;
            let line = fs::read_to_string(format!("/proc/{pid}/cmdline"))?;
            Ok(line.split_terminator('\0').map(|argument| argument.replace(&*from, &to)).collect())
        };
        let (etcd, apiserver) = (command_line("etcd")?, command_line("kube-apiserver")?);
        ensure!(etcd.iter().all(|flag| flag != "--unsafe-no-fsync"), "etcd would not wait for the disk");
        let (ca, token) = (plane.ca_pem().to_owned(), plane.token().to_owned());
        Ok(Recipe { etcd, apiserver, folder, ca, token })
    }

    /// Starts both on a data folder, which may be empty or not be there, and returns when the socket is open.
    pub(crate) async fn start(&self, data: &Path) -> Result<(Vec<Process>, Access)> {
        fs::create_dir_all(data)?;
        let log = data.join("etcd.log");
        let etcd = self.run(&self.etcd, &log, &[("data-dir", &data.join("etcd").to_string_lossy())])?;
        let etcd_address = loop {
            if let Some(address) = client_address(&fs::read_to_string(&log)?) {
                break address;
            }
            tokio::time::sleep(POLL).await;
        };
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?.port();
        let changes =
            [("etcd-servers", &*format!("http://{etcd_address}")), ("secure-port", &port.to_string())];
        let mut apiserver = self.run(&self.apiserver, &data.join("kube-apiserver.log"), &changes)?;
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            ensure!(
                apiserver.child().try_wait()?.is_none(),
                "kube-apiserver has ended: see its log in {}",
                data.display()
            );
            tokio::time::sleep(POLL).await;
        }
        let access = Access::new(&format!("127.0.0.1:{port}"), self.ca.as_bytes(), &self.token)?;
        Ok((vec![etcd, apiserver], access))
    }

    fn run(&self, command_line: &[String], log: &Path, changes: &[(&str, &str)]) -> Result<Process> {
        let (program, arguments) = command_line.split_first().context("an empty command line")?;
        let changed = |argument: &String| {
            let change = changes.iter().find(|(flag, _)| argument.starts_with(&format!("--{flag}=")));
            change.map_or_else(|| argument.clone(), |(flag, value)| format!("--{flag}={value}"))
        };
        let output = File::create(log)?;
        let mut command = Command::new(program);
        command
            .args(arguments.iter().map(changed))
            .current_dir(&self.folder)
            // Ends it with this process, however that ends.
            .env("SAFEPOINT_STDIN_LEASH", "1")
            .stdin(Stdio::piped())
            .stdout(output.try_clone()?)
            .stderr(output);
        Process::start(&mut command)
    }
}

/// Where etcd says in its log that clients reach it.
fn client_address(log: &str) -> Option<String> {
    let line = log.lines().find(|line| line.contains("serving client traffic"))?;
    let line: serde_json::Value = serde_json::from_str(line).ok()?;
    Some(line.get("address")?.as_str()?.to_owned())
}
