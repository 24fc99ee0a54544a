//! The real binary as a process: started, found by what it prints, and killed.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail, ensure};

/// How much of its log a failure shows.
const TAIL: usize = 25;

/// A running `safepoint up`.
pub(crate) struct Server {
    child: Child,
    /// Kept open after the greeting: a server whose output nobody takes is not what is tested here.
    output: BufReader<ChildStdout>,
    log: PathBuf,
    pub(crate) url: String,
}

impl Server {
    /// Starts it and does not wait for anything.
    pub(crate) fn spawn(data: &Path) -> Result<Server> {
        let log = data.with_extension("log");
        let errors = File::options().create(true).append(true).open(&log).context("cannot write the log")?;
        let mut child = Command::new(env!("CARGO_BIN_EXE_safepoint"))
            .args(["up", "--api-only", "--listen", "127.0.0.1:0", "--data"])
            .arg(data)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .context("cannot start the server")?;
        let output = BufReader::new(child.stdout.take().context("the output is piped")?);
        Ok(Server { child, output, log, url: String::new() })
    }

    /// Starts it and waits until it says that it is ready.
    pub(crate) fn start(data: &Path) -> Result<Server> {
        let mut server = Server::spawn(data)?;
        loop {
            let mut line = String::new();
            if server.output.read_line(&mut line)? == 0 {
                let status = server.child.wait()?;
                bail!("the server did not start ({status}){}", server.tail());
            }
            if let Some(url) = line.strip_prefix("Kubernetes API") {
                server.url = url.trim().to_owned();
            }
            if line.starts_with("ready in") {
                ensure!(!server.url.is_empty(), "the server is ready and has not said where");
                return Ok(server);
            }
        }
    }

    /// Whether it ended by itself, and how.
    pub(crate) fn ended(&mut self) -> Result<Option<String>> {
        let status = self.child.try_wait().context("cannot ask after the server")?;
        Ok(status.map(|status| format!("{status}{}", self.tail())))
    }

    /// Kills it, with a signal that it cannot notice.
    pub(crate) fn kill(mut self) -> Result<()> {
        self.child.kill().context("cannot kill the server")?;
        self.child.wait().context("the killed server does not end")?;
        Ok(())
    }

    fn tail(&self) -> String {
        let log = fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        format!("; the end of its log:\n  {}", lines[lines.len().saturating_sub(TAIL)..].join("\n  "))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Both fail only for a process that has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
