//! `safepoint up`: everything in one process, on one machine.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use safepoint_apiserver::{Api, Options, Server, ServerOptions};
use safepoint_supervisor::{Config, Ctx, Exit, Fault, Module, Spec, Supervisor};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// What `safepoint up` was asked for.
pub(crate) struct Up {
    pub(crate) data: PathBuf,
    pub(crate) listen: SocketAddr,
}

/// Runs until it is told to stop. `age` says how long the process has been running.
pub(crate) fn run(up: &Up, age: impl Fn() -> Duration) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(serve(up, age))
}

async fn serve(up: &Up, age: impl Fn() -> Duration) -> Result<()> {
    if !up.listen.ip().is_loopback() {
        eprintln!(
            "warning: {} can be reached from other machines: everybody with a token gets in",
            up.listen
        );
    }
    let mut options = Options::new(&up.data);
    if !up.listen.ip().is_unspecified() {
        options.names.push(up.listen.ip().to_string());
    }
    let api = Api::open(options).await?;
    // Bound here and not in the module: whether the address is free is the first thing to know, and to say.
    let server = Server::bind(api.clone(), &ServerOptions { listen: up.listen }).await?;
    let (url, address) = (server.url(), server.address());
    let kubeconfig = api.admin_kubeconfig(&url)?;
    let module = ApiModule { api, address, first: Mutex::new(Some(server)) };
    let supervisor = Supervisor::builder(Config::default()).module(module).build()?;

    let stop = CancellationToken::new();
    let mut health = supervisor.handle().health();
    let announce = async {
        if health.wait_for(|health| health.ready).await.is_ok() {
            // Nobody may be reading; that is no reason to stop.
            let _ = greet(&url, &kubeconfig, age());
        }
        std::future::pending::<()>().await;
    };
    let supervised = supervisor.run(stop.clone());
    tokio::pin!(supervised, announce);
    let mut asked = Interrupts::new()?;
    let exit = tokio::select! {
        exit = &mut supervised => exit,
        () = &mut announce => unreachable!("it waits for ever"),
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
        Exit::Stopped => Ok(()),
        other => bail!("the API could not be kept running ({other:?}); see the log above"),
    }
}

fn greet(url: &str, kubeconfig: &Path, age: Duration) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "Kubernetes API  {url}")?;
    writeln!(out, "kubeconfig      {}", kubeconfig.display())?;
    writeln!(out, "try             kubectl --kubeconfig {} get namespaces", kubeconfig.display())?;
    writeln!(out, "ready in {} ms", age.as_millis())?;
    out.flush()
}

/// The embedded API as a module: it is restarted on the same address if it ends.
struct ApiModule {
    api: Api,
    address: SocketAddr,
    /// The socket that was bound before anything else, for the first run.
    first: Mutex<Option<Server>>,
}

impl Module for ApiModule {
    fn spec(&self) -> Spec {
        Spec::new("apiserver").critical()
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let first = self.first.lock().ok().and_then(|mut first| first.take());
        let server = match first {
            Some(server) => server,
            None => Server::bind(self.api.clone(), &ServerOptions { listen: self.address })
                .await
                .map_err(Fault::transient)?,
        };
        ctx.ready();
        server.run(ctx.token()).await;
        Ok(())
    }
}

/// Ctrl-C and the signal of init.
struct Interrupts {
    interrupt: tokio::signal::unix::Signal,
    terminate: tokio::signal::unix::Signal,
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
