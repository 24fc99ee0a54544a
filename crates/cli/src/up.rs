//! `safepoint up`: everything in one process, on one machine.
//!
//! The agent and the hub talk to the embedded API without a socket between them, each with its own rights: the agent is a
//! node and may do what a node may.

mod demo;

use std::fs;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result};
use axum::Router;
use axum::body::Body;
use http_body_util::BodyExt;
use kube::Client;
use safepoint_agent::{Agent, Answering, BoxError, Cluster};
use safepoint_apiserver::{Api, Options, Server, ServerOptions, User};
use safepoint_daemon::{options, supervise};
use safepoint_dashboard::Dashboard;
use safepoint_hub::simulated::{self, Fleet};
use safepoint_hub::{Definitions, Hub, Placement, Tasks};
use safepoint_supervisor::{Config, Ctx, Fault, Module, Spec, Supervisor};
use tower::ServiceExt;

use crate::args::up::UpArgs;

/// Where the dashboard is if nobody says and nobody else is there.
const DASHBOARD: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 7080);
/// The name of the module that serves the API.
const API: &str = "apiserver";

/// Runs until it is told to stop. `age` says how long the process has been running.
pub(crate) fn run(args: &UpArgs, age: impl Fn() -> Duration) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(serve(args, age))
}

async fn serve(args: &UpArgs, age: impl Fn() -> Duration) -> Result<()> {
    if !args.listen.ip().is_loopback() {
        eprintln!(
            "warning: {} can be reached from other machines: everybody with a token gets in",
            args.listen
        );
    }
    let mut api_options = Options::new(&args.data);
    if !args.listen.ip().is_unspecified() {
        api_options.names.push(args.listen.ip().to_string());
    }
    let api = Api::open(api_options).await?;
    // Bound here and not in the module: whether the address is free is the first thing to know, and to say.
    let server = Server::bind(api.clone(), &ServerOptions { listen: args.listen }).await?;
    let (url, address) = (server.url(), server.address());
    let kubeconfig = api.admin_kubeconfig(&url)?;
    let admin = Client::new(api.router(User::admin()), "default");
    let mut places = Places { url, kubeconfig, node: None, dashboard: None };
    let mut builder = Supervisor::builder(Config::default())
        .record_failures_in(&args.data)
        .module(ApiModule { api: api.clone(), address, first: Mutex::new(Some(server)) });
    let (mut agent, mut hubs) = (None, None);
    if !args.api_only {
        let name = args.node.name().map_err(anyhow::Error::msg)?;
        let cluster = in_process(api.router(User::of_node(&name)));
        let mut options = options(&args.node, &args.data.join("agent"), cluster)?;
        let data = std::path::absolute(&args.data).context("cannot tell where the data folder is")?;
        options.socket = data.join("agent.sock");
        options.manifests.rules = args.rules.rules();
        // Its webhooks are called on the loopback, as they would be from another machine.
        let program = std::env::current_exe().context("cannot tell which program this is")?;
        let task =
            [program.as_path(), "static-pod-upgrade".as_ref(), "--agent-socket".as_ref(), &options.socket];
        let hub = Hub::bind(safepoint_hub::Options {
            after: Some(API),
            // Tasks run on the node of this machine, as processes like all its pods.
            tasks: Tasks::Processes(task.map(|word| word.to_string_lossy().into_owned()).into()),
            features: args.feature_gates,
            ..safepoint_hub::Options::new(admin.clone())
        })?;
        let (with_hub, hub) = hub.register(builder)?;
        let registered;
        (builder, registered) =
            Agent::new(options).register(with_hub.module(Placement { client: admin.clone(), after: API }));
        hubs = Some(hub);
        if let Some(nodes) = args.simulated() {
            let fleet = simulated::Options {
                static_pods: if args.demo { vec![demo::beacon()] } else { Vec::new() },
                after: Some(API),
                ..simulated::Options::new(nodes)
            };
            builder = builder.module(Fleet::new(admin.clone(), fleet));
        }
        let dashboard = dashboard(args.dashboard_address, &api, &admin, &places.kubeconfig)?;
        places.dashboard = Some(dashboard.url());
        builder = dashboard.register(builder);
        places.node = Some((name, args.data.join("agent.sock")));
        agent = Some(registered);
    }
    let supervisor = builder.build()?;
    if let Some(agent) = agent {
        agent.supervised_by(supervisor.handle());
    }
    if let Some(hub) = hubs {
        hub.supervised_by(supervisor.handle());
    }
    supervise(supervisor, || async {
        // Nobody may be reading; that is no reason to stop.
        let _ = places.greet(age());
        if args.demo
            && let Err(error) = demo::play(&admin, &places.kubeconfig, args.simulated()).await
        {
            eprintln!("error: the demo cannot go on: {error:#}");
        }
    })
    .await?;
    let running = fs::read_dir(args.data.join("agent/runtime/pods")).map_or(0, Iterator::count);
    if running > 0 {
        println!(
            "stopped; {running} pods run on, and the next `safepoint up` takes them up again (to end them: kubectl delete pod)"
        );
    }
    Ok(())
}

/// The dashboard. Its own port is picked if nobody names one and the usual one is taken.
fn dashboard(
    asked: Option<SocketAddr>,
    api: &Api,
    admin: &Client,
    kubeconfig: &Path,
) -> Result<Dashboard, safepoint_dashboard::StartError> {
    let options = |listen| safepoint_dashboard::Options {
        client: admin.clone(),
        door: Client::new(api.guarded_router(), "default"),
        listen,
        certificate: None,
        after: vec![Definitions::NAME],
        token_hint: format!("It is in {}, behind `token:`.", kubeconfig.display()),
    };
    match asked {
        Some(listen) => Dashboard::bind(options(listen)),
        None => Dashboard::bind(options(DASHBOARD))
            .or_else(|_| Dashboard::bind(options(SocketAddr::new(DASHBOARD.ip(), 0)))),
    }
}

/// The embedded API as the agent's cluster.
fn in_process(router: Router) -> Cluster {
    Cluster::new(move |request: http::Request<_>| -> Answering {
        let router = router.clone();
        Box::pin(async move {
            let answer = router.oneshot(request.map(Body::new)).await?;
            Ok(answer.map(|body| body.map_err(BoxError::from).boxed_unsync()))
        })
    })
}

/// Where everything is.
struct Places {
    url: String,
    kubeconfig: PathBuf,
    /// The node and its socket, where there is one.
    node: Option<(String, PathBuf)>,
    /// Where the dashboard is looked at, where there is one.
    dashboard: Option<String>,
}

impl Places {
    fn greet(&self, age: Duration) -> io::Result<()> {
        let Self { url, kubeconfig, node, dashboard } = self;
        let mut out = io::stdout().lock();
        writeln!(out, "Kubernetes API  {url}")?;
        writeln!(out, "kubeconfig      {}", kubeconfig.display())?;
        if let Some((node, socket)) = node {
            writeln!(
                out,
                "node            {node} (pods run as processes of this machine; nothing is isolated)"
            )?;
            writeln!(out, "node API        {}", socket.display())?;
            writeln!(out, "try             safepoint status{}", flag(socket))?;
        }
        if let Some(dashboard) = dashboard {
            writeln!(out, "dashboard       {dashboard} (sign in with the token in the kubeconfig)")?;
        }
        writeln!(out, "and             kubectl --kubeconfig {} get namespaces", kubeconfig.display())?;
        writeln!(out, "ready in {} ms", age.as_millis())?;
        out.flush()
    }
}

/// What a command needs to find the socket: nothing where it is in its usual place.
fn flag(socket: &Path) -> String {
    match socket == Path::new("./.safepoint/agent.sock") {
        true => String::new(),
        false => format!(" --socket {}", socket.display()),
    }
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
        Spec::new(API).critical()
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
