//! One question to a container.

use std::{process::Stdio, time::Duration};

use rustix::process::{Pid, Signal, kill_process_group};
use tokio::net::TcpStream;

use crate::{
    durable,
    http::{self, Request},
    record::{RUN, Run, RunFolder},
    spec::{Container, Handler},
};

/// A probe that is ready to be asked.
pub(crate) enum Asked {
    Exec { command: Vec<String>, folder: RunFolder },
    Http(Request),
    Tcp { host: String, port: u16 },
}

// === impl Asked ===

impl Asked {
    /// `None` for what the check of the manifest refuses.
    pub(crate) fn of(handler: &Handler, container: &Container, folder: &RunFolder) -> Option<Self> {
        if let Some(exec) = &handler.exec {
            return Some(Self::Exec { command: exec.command.clone(), folder: folder.clone() });
        }
        if let Some(get) = &handler.http_get {
            return Some(Self::Http(Request::of(get, container.port(&get.port)?)));
        }
        let tcp = handler.tcp_socket.as_ref()?;
        let host = if tcp.host.is_empty() { "127.0.0.1".to_owned() } else { tcp.host.clone() };
        Some(Self::Tcp { host, port: container.port(&tcp.port)? })
    }

    /// Asks once. The error is for people.
    pub(crate) async fn ask(&self, timeout: Duration) -> Result<(), String> {
        match self {
            Self::Exec { command, folder } => exec(command, folder, timeout).await,
            Self::Http(request) => match tokio::time::timeout(timeout, http::get(request, true)).await {
                Ok(Ok(_)) => Ok(()),
                Ok(Err(error)) => Err(error.to_string()),
                Err(_) => Err(format!("no answer within {timeout:?}")),
            },
            Self::Tcp { host, port } => {
                match tokio::time::timeout(timeout, TcpStream::connect((host.as_str(), *port))).await {
                    Ok(Ok(stream)) => {
                        // As with HTTP: nothing is left in TIME_WAIT.
                        let _ = stream.set_zero_linger();
                        Ok(())
                    }
                    Ok(Err(error)) => Err(format!("cannot connect to {host}:{port}: {error}")),
                    Err(_) => Err(format!("no connection within {timeout:?}")),
                }
            }
        }
    }
}

/// Runs a command as the container would: its variables, its folder, its user. They are read when they are
/// needed, which is cheaper than to keep them for every container.
async fn exec(argv: &[String], folder: &RunFolder, timeout: Duration) -> Result<(), String> {
    let run: Run = match durable::read_json(&folder.path(RUN)) {
        Ok(Some(run)) => run,
        Ok(None) => return Err("the run is gone".into()),
        Err(error) => return Err(error.to_string()),
    };
    let Some((program, arguments)) = argv.split_first() else { return Err("there is no command".into()) };
    let mut command = tokio::process::Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(run.env)
        .current_dir(run.cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .kill_on_drop(true);
    if let Some(group) = run.group {
        command.gid(group);
    }
    if let Some(user) = run.user {
        command.uid(user);
    }
    let mut child = command.spawn().map_err(|error| format!("cannot run {program:?}: {error}"))?;
    let group = child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?));
    match tokio::time::timeout(timeout, child.wait()).await {
        Ok(Ok(status)) if status.success() => Ok(()),
        Ok(Ok(status)) => Err(format!("{program:?} ended with {status}")),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => {
            // Not only the command: what it started as well. It has not been waited for, so the number is its own.
            if let Some(group) = group {
                let _ = kill_process_group(group, Signal::KILL);
            }
            let _ = child.wait().await;
            Err(format!("{program:?} did not end within {timeout:?}"))
        }
    }
}
