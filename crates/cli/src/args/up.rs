//! The arguments of `safepoint up`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use safepoint_daemon::{NodeArgs, RulesArgs};
use safepoint_hub::Features;

/// What `safepoint up` was asked for.
#[derive(Args, Debug)]
pub(crate) struct UpArgs {
    /// The folder that keeps everything: objects, certificates, kubeconfigs, the journal and the pods. Made if it is not
    /// there.
    #[arg(long, value_name = "DIR", default_value = "./.safepoint", env = "SAFEPOINT_DATA")]
    pub(crate) data: PathBuf,
    /// The address of the Kubernetes API. Port 0 lets the system pick one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7443", env = "SAFEPOINT_LISTEN")]
    pub(crate) listen: SocketAddr,
    #[command(flatten)]
    pub(crate) node: NodeArgs,
    /// Only the Kubernetes API: no node, no placement, no definitions.
    #[arg(long, conflicts_with = "demo")]
    pub(crate) api_only: bool,
    /// Where the dashboard is looked at, on the loopback. Left out: 127.0.0.1:7080, or any other port if that one is taken.
    #[arg(long, value_name = "ADDRESS:PORT", conflicts_with = "api_only", env = "SAFEPOINT_DASHBOARD")]
    pub(crate) dashboard_address: Option<SocketAddr>,
    /// Play a small story: a pod `rover` at version 1, then version 2 pushed, and held; and a static pod `beacon` that rolls
    /// over a few simulated nodes.
    #[arg(long)]
    pub(crate) demo: bool,
    /// Add so many simulated nodes: they run nothing, and do with static pods what real ones would. Left out: 8 with `--demo`,
    /// else none.
    #[arg(long, value_name = "N", conflicts_with = "api_only", value_parser = clap::value_parser!(u32).range(0..=20_000))]
    pub(crate) nodes: Option<u32>,
    /// Features of the pod lifecycle, such as `GraceDeleteWebhook=true`.
    #[arg(
        long,
        value_name = "NAME=true|false,…",
        default_value = "",
        hide_default_value = true,
        conflicts_with = "api_only"
    )]
    pub(crate) feature_gates: Features,
    /// When the pod of a new manifest is good.
    #[command(flatten)]
    pub(crate) rules: RulesArgs,
}

// === impl UpArgs ===

impl UpArgs {
    /// How many nodes are simulated, if any are.
    pub(crate) fn simulated(&self) -> Option<usize> {
        let nodes = self.nodes.unwrap_or(if self.demo { DEMO_NODES } else { 0 });
        usize::try_from(nodes).ok().filter(|nodes| *nodes > 0)
    }
}

/// Enough to see a window slide.
const DEMO_NODES: u32 = 8;

pub(crate) const EXAMPLES: &str = "Examples:
  # run, with everything in ./.safepoint
  safepoint up

  # the same, with something to play with
  safepoint up --demo

  # the same, with a static pod that rolls over two hundred simulated nodes
  safepoint up --demo --nodes 200

  # look at it from another terminal
  safepoint status
  safepoint why rover
  kubectl --kubeconfig ./.safepoint/kubeconfig get pods

  # keep the data elsewhere, on any free port
  safepoint up --data /var/lib/safepoint --listen 127.0.0.1:0

Environment:
  SAFEPOINT_LOG  what to log to standard error, for example `info` or `safepoint_agent=debug` (default: warn)";
