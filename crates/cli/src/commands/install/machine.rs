//! What an installation asks of the machine beside its files: its services, its agent, and its cluster.
//!
//! Tests play the machine; [`System`] is the real one.

use std::path::{Path, PathBuf};
use std::time::Duration;

use safepoint_api::node_gate::ModuleState;
use safepoint_sdk::Client;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::process::Command;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{sleep, timeout};

use super::node::{Heard, NodeApi};
use super::plan::{AGENT_UNIT, Action};

/// The module of the agent that the kubelet speaks to.
const DOOR: &str = "kubelet-door";
/// How often something is looked at that is waited for.
const LOOK: Duration = Duration::from_millis(500);
/// How long systemctl may take, beside what is waited for: a service may need its time to start.
const SYSTEMCTL: Duration = Duration::from_secs(180);
/// How many lines of a log are shown.
const LINES: &str = "20";

/// The machine, as far as it is not files.
pub(super) trait Machine {
    /// Does something, or waits for something. What is worth knowing meanwhile is told.
    async fn act(&mut self, action: &Action, tell: &mut dyn FnMut(&str)) -> Result<(), String>;
    /// The last lines of the log of the service that an action was about.
    async fn log_of(&mut self, action: &Action) -> Option<String>;
}

/// This machine.
pub(super) struct System {
    pub(super) socket: PathBuf,
    /// A kubeconfig that leads to the cluster itself, as the node.
    pub(super) kubeconfig: PathBuf,
    pub(super) node: String,
    pub(super) unit: String,
    pub(super) patience: Duration,
}

// === impl System ===

impl Machine for System {
    async fn act(&mut self, action: &Action, tell: &mut dyn FnMut(&str)) -> Result<(), String> {
        let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
        let mut terminate = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
        let mut hangup = signal(SignalKind::hangup()).map_err(|error| error.to_string())?;
        tokio::select! {
            done = self.carry_out(action, tell) => done,
            _ = interrupt.recv() => Err("interrupted".to_owned()),
            _ = terminate.recv() => Err("interrupted".to_owned()),
            _ = hangup.recv() => Err("the terminal is gone".to_owned()),
        }
    }

    async fn log_of(&mut self, action: &Action) -> Option<String> {
        let unit = match action {
            Action::Enable | Action::Start | Action::Remove | Action::AwaitAgent | Action::AwaitWatch => {
                AGENT_UNIT
            }
            Action::Restart { .. } | Action::AwaitNode => &self.unit,
            Action::CheckNode | Action::Reload => return None,
        };
        let mut command = Command::new("journalctl");
        command.args(["--no-pager", "--lines", LINES, "--output", "cat", "--unit", unit]);
        let output = timeout(Duration::from_secs(10), command.output()).await.ok()?.ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim_end().to_owned();
        (!text.is_empty()).then(|| format!("the last lines of {unit}:\n{text}"))
    }
}

impl System {
    async fn carry_out(&mut self, action: &Action, tell: &mut dyn FnMut(&str)) -> Result<(), String> {
        match action {
            Action::Reload | Action::Enable | Action::Start | Action::Remove | Action::Restart { .. } => {
                systemctl(&action.systemctl()).await
            }
            Action::CheckNode => self.check_node(tell).await,
            Action::AwaitAgent => self.await_agent().await,
            Action::AwaitNode => self.await_node().await,
            Action::AwaitWatch => self.await_watch().await,
        }
    }

    async fn check_node(&self, tell: &mut dyn FnMut(&str)) -> Result<(), String> {
        let api = NodeApi::new(&self.kubeconfig, &self.node).await?;
        let heard = api.ask().await?;
        if let Some(warning) = api.rights().await {
            tell(&format!("warning: {warning}"));
        }
        match heard.ready {
            true => Ok(()),
            false => Err(format!("the node {} is not ready as it is; see to that first", self.node)),
        }
    }

    async fn await_agent(&self) -> Result<(), String> {
        let mut last = "it does not answer".to_owned();
        let looking = async {
            loop {
                match readyz(&self.socket).await {
                    Ok(()) => return,
                    Err(why) => last = why,
                }
                sleep(LOOK).await;
            }
        };
        let done = timeout(self.patience, looking).await;
        done.map_err(|_| format!("not within {:?}: {last} ({})", self.patience, self.socket.display()))
    }

    /// The old process was gone when the restart was done, so whatever is renewed from now on the new one renews.
    async fn await_node(&self) -> Result<(), String> {
        let api = NodeApi::new(&self.kubeconfig, &self.node).await?;
        let mut last = "nothing was heard of it".to_owned();
        let looking = async {
            let mut first: Option<Heard> = None;
            loop {
                match api.ask().await {
                    Err(why) => last = why,
                    Ok(now) => {
                        let is_renewed = first.as_ref().is_some_and(|first| first.renewed != now.renewed);
                        if now.ready && is_renewed {
                            return;
                        }
                        last = match now.ready {
                            true => "its lease is not renewed".to_owned(),
                            false => "it is not ready".to_owned(),
                        };
                        first.get_or_insert(now);
                    }
                }
                sleep(LOOK).await;
            }
        };
        let done = timeout(self.patience, looking).await;
        done.map_err(|_| format!("the node {} was not ready within {:?}: {last}", self.node, self.patience))
    }

    async fn await_watch(&self) -> Result<(), String> {
        let client = Client::at(&self.socket);
        let mut last = "the agent does not answer".to_owned();
        let looking = async {
            loop {
                match client.modules().await {
                    Err(error) => last = error.to_string(),
                    Ok(list) => match list.items.iter().find(|module| module.name == DOOR) {
                        Some(door) if door.state == ModuleState::Ready => return,
                        Some(door) => {
                            last = door.message.clone().unwrap_or_else(|| format!("it is {:?}", door.state));
                        }
                        None => last = "the agent was started without the kubelet's door".to_owned(),
                    },
                }
                sleep(LOOK).await;
            }
        };
        let done = timeout(self.patience, looking).await;
        done.map_err(|_| format!("not within {:?}: {last}", self.patience))
    }
}

async fn systemctl(words: &[&str]) -> Result<(), String> {
    let mut command = Command::new("systemctl");
    command.args(words).stdin(std::process::Stdio::null()).kill_on_drop(true);
    let output =
        timeout(SYSTEMCTL, command.output()).await.map_err(|_| "systemctl does not come back".to_owned())?;
    let output = output
        .map_err(|error| format!("cannot run systemctl: {error}; this needs a machine with systemd"))?;
    match output.status.success() {
        true => Ok(()),
        false => {
            let said = String::from_utf8_lossy(&output.stderr).trim().to_owned();
            Err(format!("systemctl {} failed ({}): {said}", words.join(" "), output.status))
        }
    }
}

/// Whether the agent says that it is ready; if not, what it says.
async fn readyz(socket: &Path) -> Result<(), String> {
    let ask = async {
        let mut stream = UnixStream::connect(socket).await?;
        stream.write_all(b"GET /readyz HTTP/1.1\r\nHost: agent\r\nConnection: close\r\n\r\n").await?;
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).await?;
        std::io::Result::Ok(String::from_utf8_lossy(&answer).into_owned())
    };
    let answer = timeout(Duration::from_secs(5), ask).await.map_err(|_| "it does not answer".to_owned())?;
    let answer = answer.map_err(|error| format!("it does not answer: {error}"))?;
    match answer.starts_with("HTTP/1.1 200") {
        true => Ok(()),
        false => {
            let not_ready = answer.lines().filter(|line| line.starts_with("[-]"));
            Err(not_ready.collect::<Vec<_>>().join(", "))
        }
    }
}
