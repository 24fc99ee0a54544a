//! Runs a supervisor until somebody asks it to stop.

use std::future::Future;

use anyhow::{Context, Result, bail};
use safepoint_supervisor::{Exit, Supervisor};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// Runs all modules. `ready` is called once, when every critical module works; what it returns runs beside them.
///
/// # Errors
///
/// If a module that the process cannot do without cannot be kept running.
pub async fn supervise<F>(supervisor: Supervisor, ready: impl FnOnce() -> F) -> Result<()>
where
    F: Future<Output = ()>,
{
    let stop = CancellationToken::new();
    let mut health = supervisor.handle().health();
    let announce = async {
        if health.wait_for(|health| health.ready).await.is_ok() {
            ready().await;
        }
        std::future::pending::<()>().await;
    };
    let systemd = safepoint_agent::tell_systemd(supervisor.handle());
    let supervised = supervisor.run(stop.clone());
    tokio::pin!(supervised, announce, systemd);
    let mut asked = Interrupts::new()?;
    let exit = tokio::select! {
        exit = &mut supervised => exit,
        () = &mut announce => unreachable!("it waits for ever"),
        () = &mut systemd => unreachable!("it waits for ever"),
        () = asked.next() => {
            stop.cancel();
            tokio::select! {
                exit = &mut supervised => exit,
                // Who asks twice does not want to wait.
                () = asked.next() => bail!("stopped at once, at the second signal; nothing that was acknowledged is lost"),
            }
        }
    };
    match exit {
        Exit::Stopped | Exit::Completed => Ok(()),
        Exit::Escalated { module, cause } => {
            bail!(
                "{module} cannot be kept running: {cause}\nhint: the pods run on; `SAFEPOINT_LOG=info` shows more"
            )
        }
    }
}

/// Ctrl-C and the signal of init.
struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    fn new() -> Result<Interrupts> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Interrupts {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
