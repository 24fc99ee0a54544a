//! The arguments of `safepoint up`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;
use safepoint_daemon::NodeArgs;

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
    /// Play a small story: a pod `rover` at version 1, then version 2 pushed, and held.
    #[arg(long)]
    pub(crate) demo: bool,
}

pub(crate) const EXAMPLES: &str = "Examples:
  # run, with everything in ./.safepoint
  safepoint up

  # the same, with something to play with
  safepoint up --demo

  # look at it from another terminal
  safepoint status
  safepoint why rover
  kubectl --kubeconfig ./.safepoint/kubeconfig get pods

  # keep the data elsewhere, on any free port
  safepoint up --data /var/lib/safepoint --listen 127.0.0.1:0

Environment:
  SAFEPOINT_LOG  what to log to standard error, for example `info` or `safepoint_agent=debug` (default: warn)";
