//! `safepoint hub`: the cluster side, against any Kubernetes.

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use clap::Args;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Client, Config as KubeConfig};
use safepoint_daemon::supervise;
use safepoint_dashboard::{Certificate, Dashboard};
use safepoint_hub::{Address, Definitions, Features, Hub, Options, Tasks};
use safepoint_supervisor::{Config, Supervisor};

/// The Service in front of the hub where nothing else is said.
const SERVICE: &str = "safepoint-hub";

/// What `safepoint hub` was asked for.
#[derive(Args, Debug)]
pub(crate) struct HubArgs {
    /// The kubeconfig of the cluster. Left out: the hub runs in the cluster, as the service account of its pod.
    #[arg(long, value_name = "FILE", env = "SAFEPOINT_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// The namespace of the hub: its certificate and its lease are kept there, and its pods are never held.
    #[arg(long, value_name = "NAMESPACE", default_value = "safepoint-system", env = "SAFEPOINT_NAMESPACE")]
    namespace: String,
    /// Where the webhooks are listened for.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:8443")]
    webhook_address: SocketAddr,
    /// How the API server reaches the webhooks: a URL, to which their paths are added.
    #[arg(long, value_name = "URL", conflicts_with = "webhook_service")]
    webhook_url: Option<String>,
    /// How the API server reaches the webhooks: a Service of the hub's namespace, on port 443. In a cluster it is
    /// `safepoint-hub` unless said otherwise.
    #[arg(long, value_name = "NAME")]
    webhook_service: Option<String>,
    /// Where `/healthz`, `/readyz` and `/metrics` answer, without TLS.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "0.0.0.0:8081")]
    health_address: SocketAddr,
    /// The name under which this hub is elected among several. No two may have the same. Left out: the machine's name and
    /// something random.
    #[arg(long, value_name = "ID")]
    name: Option<String>,
    /// The image that the upgrade tasks of static pods run. Left out: that of the hub's own pod.
    #[arg(long, value_name = "IMAGE", env = "SAFEPOINT_TASK_IMAGE")]
    task_image: Option<String>,
    /// Features of the pod lifecycle, such as `GraceDeleteWebhook=true`: deletions and evictions of pods that take part go
    /// through it.
    #[arg(long, value_name = "NAME=true|false,…", default_value = "", hide_default_value = true)]
    feature_gates: Features,
    /// Where the dashboard is looked at. Left out: there is none. Without a certificate it has to be on the loopback, where
    /// `kubectl port-forward` reaches it.
    #[arg(long, value_name = "ADDRESS:PORT")]
    dashboard_address: Option<SocketAddr>,
    /// The certificate of the dashboard, as PEM, with those that it rests on. It is read again when it changes.
    #[arg(long, value_name = "FILE", requires_all = ["dashboard_key", "dashboard_address"])]
    dashboard_certificate: Option<PathBuf>,
    /// The key of that certificate, as PEM.
    #[arg(long, value_name = "FILE", requires = "dashboard_certificate")]
    dashboard_key: Option<PathBuf>,
}

pub(crate) const EXAMPLES: &str = "Examples:
  # in a cluster, as a Deployment of two replicas behind the Service safepoint-hub
  safepoint hub

  # beside a cluster: the API server calls this machine
  safepoint hub --kubeconfig ~/.kube/config --webhook-url https://192.0.2.7:8443

  # with the dashboard, for whoever may forward a port: kubectl port-forward deploy/safepoint-hub 8080 -n safepoint-system
  safepoint hub --dashboard-address 127.0.0.1:8080

  # deletions of pods with a lifecycle go through it
  safepoint hub --feature-gates GraceDeleteWebhook=true

Environment:
  SAFEPOINT_LOG  what to log to standard error, for example `info` or `safepoint_hub=debug` (default: warn)";

/// Runs until it is told to stop. `age` says how long the process has been running.
pub(crate) fn run(args: &HubArgs, age: impl Fn() -> Duration) -> Result<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start")?;
    runtime.block_on(serve(args, age))
}

async fn serve(args: &HubArgs, age: impl Fn() -> Duration) -> Result<()> {
    let config = cluster(args.kubeconfig.as_deref()).await?;
    let url = config.cluster_url.to_string();
    // What people ask for through the dashboard goes through here, each with a token of their own.
    let mut nobody = config.clone();
    nobody.auth_info = AuthInfo::default();
    let client = Client::try_from(config).context("cannot call the cluster")?;
    let name = args.name.clone().unwrap_or_else(unique_name);
    let hub = Hub::bind(Options {
        namespace: args.namespace.clone(),
        listen: args.webhook_address,
        address: address(args)?,
        elected_as: Some(name.clone()),
        health: Some(args.health_address),
        critical: true,
        tasks: Tasks::Image(args.task_image.clone()),
        features: args.feature_gates,
        ..Options::new(client.clone())
    })?;
    let dashboard = dashboard(args, client, nobody)?;
    let looked_at = dashboard.as_ref().map(Dashboard::url);
    let (webhooks, health) = (hub.address(), hub.health_address().unwrap_or(args.health_address));
    let (builder, registered) = hub.register(Supervisor::builder(Config::default()))?;
    let builder = match dashboard {
        Some(dashboard) => dashboard.register(builder),
        None => builder,
    };
    let supervisor = builder.build()?;
    registered.supervised_by(supervisor.handle());
    supervise(supervisor, || async {
        // Nobody may be reading; that is no reason to stop.
        let _ = greet(&url, &name, webhooks, health, looked_at.as_deref(), age());
    })
    .await
}

/// The dashboard, where one is asked for.
fn dashboard(args: &HubArgs, client: Client, nobody: KubeConfig) -> Result<Option<Dashboard>> {
    let Some(listen) = args.dashboard_address else { return Ok(None) };
    let files = args.dashboard_certificate.clone().zip(args.dashboard_key.clone());
    let options = safepoint_dashboard::Options {
        client,
        door: Client::try_from(nobody).context("cannot call the cluster")?,
        listen,
        certificate: files.map(|(chain, key)| Certificate { chain, key }),
        after: vec![Definitions::NAME],
        token_hint: "`kubectl create token NAME -n NAMESPACE` makes one for a service account.".to_owned(),
    };
    Ok(Some(Dashboard::bind(options)?))
}

/// How the cluster is reached.
async fn cluster(kubeconfig: Option<&Path>) -> Result<KubeConfig> {
    let Some(file) = kubeconfig else {
        return KubeConfig::incluster().context(
            "this is no pod of a cluster: say where the cluster is with --kubeconfig, or use `safepoint up`",
        );
    };
    let read = || format!("cannot read {}", file.display());
    let kubeconfig = Kubeconfig::read_from(file).with_context(read)?;
    KubeConfig::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.with_context(read)
}

/// How the API server reaches the hub.
fn address(args: &HubArgs) -> Result<Address> {
    Ok(match (&args.webhook_url, &args.webhook_service) {
        (Some(url), _) => Address::Url(url.clone()),
        (None, Some(service)) => Address::Service(service.clone()),
        (None, None) if args.kubeconfig.is_none() => Address::Service(SERVICE.to_owned()),
        (None, None) => bail!(
            "the API server has to reach the webhooks: say how, with --webhook-url or --webhook-service"
        ),
    })
}

fn unique_name() -> String {
    let host = std::env::var("HOSTNAME").ok().filter(|host| !host.is_empty());
    let random = uuid::Uuid::new_v4().simple().to_string();
    format!("{}-{}", host.as_deref().unwrap_or("hub"), &random[..8])
}

fn greet(
    url: &str,
    name: &str,
    webhooks: SocketAddr,
    health: SocketAddr,
    dashboard: Option<&str>,
    age: Duration,
) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "cluster         {url}")?;
    writeln!(out, "hub             {name}")?;
    writeln!(out, "webhooks        {webhooks}")?;
    writeln!(out, "health          http://{health}/readyz")?;
    if let Some(dashboard) = dashboard {
        writeln!(out, "dashboard       {dashboard}")?;
    }
    writeln!(out, "ready in {} ms", age.as_millis())?;
    out.flush()
}
