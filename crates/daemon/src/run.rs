//! The agent from its start to its end.

use std::ffi::OsString;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, anyhow};
use safepoint_agent::{Agent, Cluster, MachineClock, Options};
use safepoint_api::names::safepoint::environment::LOG;
use safepoint_relay::{Kubeconfig, Upstream};
use safepoint_supervisor::{Config, Supervisor};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

use crate::args::AgentArgs;
use crate::node::NodeArgs;
use crate::supervise::supervise;

/// Becomes a shim, if that is what this process was started for. To be called before anything else: there is one of these for
/// every container, and it must stay small.
pub fn shim() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    words.next().filter(|word| word == "shim")?;
    words.next().map(|folder| safepoint_runtime::shim(Path::new(&folder)))
}

/// Logs go to standard error: standard output is for what was asked for. `SAFEPOINT_LOG` says what.
pub fn log() {
    let asked = std::env::var(LOG).unwrap_or_default();
    let quiet = Targets::new().with_default(LevelFilter::WARN);
    let filter = asked.parse::<Targets>().ok().filter(|_| !asked.is_empty()).unwrap_or(quiet);
    let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_target(false);
    tracing_subscriber::registry().with(lines.with_filter(filter)).init();
}

/// Runs until it is told to stop. `age` says how long the process has been running.
///
/// # Errors
///
/// If it cannot be started, or cannot be kept running.
pub fn run(args: &AgentArgs, age: impl Fn() -> Duration) -> Result<()> {
    // One worker: the agent shares a small machine with what it protects, and what blocks has threads of its own.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(4)
        .enable_all()
        .build()
        .context("cannot start")?;
    runtime.block_on(serve(args, age))
}

async fn serve(args: &AgentArgs, age: impl Fn() -> Duration) -> Result<()> {
    let kubeconfig = Kubeconfig::read(&args.kubeconfig)?;
    let upstream = Upstream::new(&kubeconfig, &args.server)?;
    let mut options = options(&args.node, &args.data, Cluster::new(upstream.clone()))?;
    if let Some(door) = args.door.door(&options.data, &kubeconfig, &upstream)? {
        options.door = door;
    }
    options.manifests = args.manifests.options(&args.door);
    options.upstream = Some(upstream);
    if let Some(socket) = &args.listen_socket {
        options.socket.clone_from(socket);
    }
    let (node, socket) = (options.node.clone(), options.socket.clone());
    let builder = Supervisor::builder(Config::default()).record_failures_in(&args.data);
    let (builder, registered) = Agent::new(options).register(builder);
    let supervisor = builder.build()?;
    registered.supervised_by(supervisor.handle());
    supervise(supervisor, || async {
        // Nobody may be reading; that is no reason to stop.
        let _ = greet(&node, &socket, age());
    })
    .await
}

fn greet(node: &str, socket: &Path, age: Duration) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "node            {node}")?;
    writeln!(out, "node API        {}", socket.display())?;
    writeln!(out, "ready in {} ms", age.as_millis())?;
    out.flush()
}

/// An agent as the command line wants it.
///
/// # Errors
///
/// If the node has no usable name.
pub fn options(args: &NodeArgs, data: &Path, cluster: Cluster) -> Result<Options> {
    // Not the path of the program: it may be replaced by a newer one while pods run.
    let shim: Vec<OsString> = vec!["/proc/self/exe".into(), "shim".into()];
    let data = std::path::absolute(data).context("cannot tell where the data folder is")?;
    let name = args.name().map_err(|problem| anyhow!(problem))?;
    let mut options = Options::new(name, data, cluster, shim);
    options.group.clone_from(&args.group);
    options.compat = args.compat.iter().map(|compat| (compat.0, compat.1)).collect();
    options.clock = Arc::new(MachineClock::new(args.trust_clock));
    Ok(options)
}
