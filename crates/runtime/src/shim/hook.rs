//! Lifecycle hooks, run by the shim so that they outlive the runtime like everything else of a container.

use std::{
    io,
    os::unix::process::CommandExt,
    pin::Pin,
    process::{Command, Stdio},
    time::Duration,
};

use rustix::process::WaitStatus;
use tokio::sync::oneshot;

use crate::{
    http::{self, Request},
    record::Run,
    spec::Handler,
};

/// A hook under way.
pub(super) struct Hook {
    /// The process to be reaped for it, and who waits for its end.
    process: Option<(i32, oneshot::Sender<WaitStatus>)>,
    /// Ends with the hook; the error is for people.
    pub(super) end: Pin<Box<dyn Future<Output = Result<(), String>>>>,
}

impl Hook {
    pub(super) fn start(name: &'static str, handler: &Handler, run: &Run) -> Self {
        if let Some(exec) = &handler.exec {
            return match command(&exec.command, run) {
                Ok(pid) => {
                    let (sender, receiver) = oneshot::channel();
                    Self { process: Some((pid, sender)), end: Box::pin(judge(name, receiver)) }
                }
                Err(error) => {
                    Self::ended(Err(format!("the {name} hook {:?} cannot run: {error}", exec.command)))
                }
            };
        }
        if let Some(sleep) = handler.sleep {
            let nap = tokio::time::sleep(Duration::from_secs(sleep.seconds));
            return Self {
                process: None,
                end: Box::pin(async {
                    nap.await;
                    Ok(())
                }),
            };
        }
        if let Some(get) = &handler.http_get {
            let request = Request::of(
                get,
                match &get.port {
                    crate::spec::PortRef::Number(port) => *port,
                    // Names were resolved when the run was written.
                    crate::spec::PortRef::Name(_) => 0,
                },
            );
            return Self {
                process: None,
                end: Box::pin(async move {
                    match http::get(&request, false).await {
                        Ok(_) => Ok(()),
                        Err(error) => Err(format!("the {name} hook failed: {error}")),
                    }
                }),
            };
        }
        Self::ended(Ok(()))
    }

    fn ended(result: Result<(), String>) -> Self {
        Self { process: None, end: Box::pin(std::future::ready(result)) }
    }

    /// Tells the hook of a process that ended, if it was its own.
    pub(super) fn reaped(&mut self, pid: i32, status: WaitStatus) {
        if let Some((_, sender)) = self.process.take_if(|(mine, _)| *mine == pid) {
            let _ = sender.send(status);
        }
    }

    /// The process group of the hook, to be ended with it.
    pub(super) fn process(&self) -> Option<i32> {
        self.process.as_ref().map(|(pid, _)| *pid)
    }
}

async fn judge(name: &'static str, status: oneshot::Receiver<WaitStatus>) -> Result<(), String> {
    match status.await {
        Ok(status) if status.exit_status() == Some(0) => Ok(()),
        Ok(status) => match status.exit_status() {
            Some(code) => Err(format!("the {name} hook ended with code {code}")),
            None => Err(format!("the {name} hook was killed")),
        },
        Err(_) => Err(format!("the {name} hook was given up")),
    }
}

fn command(argv: &[String], run: &Run) -> io::Result<i32> {
    let (program, arguments) = argv.split_first().ok_or_else(|| io::Error::other("there is no command"))?;
    let mut command = Command::new(program);
    command
        .args(arguments)
        .env_clear()
        .envs(run.env.iter().map(|(name, value)| (name, value)))
        .current_dir(&run.cwd)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0);
    if let Some(group) = run.group {
        command.gid(group);
    }
    if let Some(user) = run.user {
        command.uid(user);
    }
    i32::try_from(command.spawn()?.id()).map_err(io::Error::other)
}
