//! `safepoint static-pod`: static pods on this machine, and their roll-outs through the cluster.
//!
//! On the machine the agent is asked, by the static pod's own name. Through the cluster it is the StaticPod object, by the
//! object's name.

mod here;
mod manifest;
mod there;

use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::via::{Access, Here};
use crate::problem::Done;

const LIST_EXAMPLES: &str = "Examples:
  # the static pods of this machine, and what waits for them
  safepoint static-pod list

  # how far the roll-outs of the fleet are
  safepoint static-pod list --cluster";

const STATUS_EXAMPLES: &str = "Examples:
  # what is in place, what waits and why, and what became of the last swap
  safepoint static-pod status kube-system/nginx

  # what became of each node
  safepoint static-pod status kube-system/nginx --cluster";

const UPGRADE_EXAMPLES: &str = "Examples:
  # apply what lies ready, also offline; if nothing does, what the cluster wants
  safepoint static-pod upgrade kube-system/nginx

  # another manifest, from a file
  safepoint static-pod upgrade kube-system/nginx -f nginx.yaml

  # pull its images and lay it ready for later
  safepoint static-pod upgrade kube-system/nginx -f nginx.yaml --stage";

const ROLLBACK_EXAMPLES: &str = "Examples:
  # on every node: the template of an earlier revision becomes the one that is wanted
  safepoint static-pod rollback kube-system/nginx --to bcdfghjklmnp

  # on this machine alone, to the manifest before
  safepoint static-pod rollback kube-system/nginx --local";

const HISTORY_EXAMPLES: &str = "Examples:
  # the manifests that were good on this machine
  safepoint static-pod history kube-system/nginx

  # the revisions that the cluster keeps
  safepoint static-pod history kube-system/nginx --cluster";

const INSTALL_EXAMPLES: &str = "Examples:
  # from a file
  safepoint static-pod install kube-system/nginx -f nginx.yaml

  # as the StaticPod object of the cluster wants it
  safepoint static-pod install kube-system/nginx";

const PAUSE_EXAMPLES: &str = "Examples:
  # stop, look, and go on
  safepoint static-pod pause kube-system/nginx
  safepoint static-pod status kube-system/nginx --cluster
  safepoint static-pod resume kube-system/nginx";

const UNINSTALL_EXAMPLES: &str = "Examples:
  # take it away, and bring it back
  safepoint static-pod uninstall kube-system/nginx
  safepoint static-pod rollback kube-system/nginx --local";

/// What can be done to static pods.
#[derive(Subcommand, Debug)]
pub(crate) enum StaticPodCommand {
    /// List static pods: of this machine, or the roll-outs of the cluster.
    #[command(after_help = LIST_EXAMPLES)]
    List(ListArgs),
    /// Show one static pod: what is in place, what waits and why, what became of the last swap.
    #[command(after_help = STATUS_EXAMPLES)]
    Status(OneArgs),
    /// Apply what waits for a static pod on this machine, or another manifest.
    ///
    /// Where nothing waits, it is what the cluster's StaticPod wants, if that leaves the moment to the node's owner (OTA).
    ///
    /// It waits until the new pod has been ready for a while, or the old one is back. Refused while the node is frozen or
    /// somebody holds it; what is staged stays.
    #[command(after_help = UPGRADE_EXAMPLES)]
    Upgrade(UpgradeArgs),
    /// Go back to an earlier revision, on every node or on this machine alone.
    #[command(after_help = ROLLBACK_EXAMPLES)]
    Rollback(RollbackArgs),
    /// Start no further upgrade of a roll-out. Those under way are finished.
    #[command(after_help = PAUSE_EXAMPLES)]
    Pause(ThereArgs),
    /// Go on with a roll-out that was paused.
    #[command(after_help = PAUSE_EXAMPLES)]
    Resume(ThereArgs),
    /// List what can be gone back to.
    #[command(after_help = HISTORY_EXAMPLES)]
    History(OneArgs),
    /// Put a static pod on this machine that is not there.
    #[command(after_help = INSTALL_EXAMPLES)]
    Install(InstallArgs),
    /// Take a static pod from this machine. Its manifest is kept: a rollback brings it back.
    #[command(after_help = UNINSTALL_EXAMPLES)]
    Uninstall(HereArgs),
}

#[derive(Args, Debug)]
pub(crate) struct ListArgs {
    /// Ask the cluster, instead of the agent of this machine.
    #[arg(long)]
    cluster: bool,
    #[command(flatten)]
    here: Here,
    #[command(flatten)]
    access: Access,
}

#[derive(Args, Debug)]
pub(crate) struct OneArgs {
    /// The static pod: NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAMESPACE/NAME")]
    pod: String,
    /// Ask the cluster, instead of the agent of this machine.
    #[arg(long)]
    cluster: bool,
    #[command(flatten)]
    here: Here,
    #[command(flatten)]
    access: Access,
}

#[derive(Args, Debug)]
pub(crate) struct UpgradeArgs {
    /// The static pod: NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAMESPACE/NAME")]
    pod: String,
    /// Another manifest. Left out: what waits is applied, or what the cluster's StaticPod wants.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// Only pull its images and lay it ready.
    #[arg(long, requires = "file")]
    stage: bool,
    /// Do not wait for the outcome.
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    here: Here,
}

#[derive(Args, Debug)]
pub(crate) struct RollbackArgs {
    /// The static pod: NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAMESPACE/NAME")]
    pod: String,
    /// The revision to go back to. Left out: the one before.
    #[arg(long = "to", value_name = "REVISION")]
    revision: Option<String>,
    /// On this machine alone. The cluster may bring its own revision again.
    #[arg(long)]
    local: bool,
    #[command(flatten)]
    here: Here,
    #[command(flatten)]
    access: Access,
}

#[derive(Args, Debug)]
pub(crate) struct ThereArgs {
    /// The StaticPod object: NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAMESPACE/NAME")]
    pod: String,
    #[command(flatten)]
    here: Here,
    #[command(flatten)]
    access: Access,
}

#[derive(Args, Debug)]
pub(crate) struct InstallArgs {
    /// The static pod: NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAMESPACE/NAME")]
    pod: String,
    /// Its manifest. Left out: as the cluster's StaticPod object of this name wants it.
    #[arg(short, long, value_name = "FILE")]
    file: Option<PathBuf>,
    /// The name of the manifest's file in the kubelet's folder. Left out: that of the pod, or what the object says.
    #[arg(long, value_name = "NAME")]
    manifest: Option<String>,
    /// Do not wait for the outcome.
    #[arg(long)]
    no_wait: bool,
    #[command(flatten)]
    here: Here,
    #[command(flatten)]
    access: Access,
}

#[derive(Args, Debug)]
pub(crate) struct HereArgs {
    /// The static pod: NAME or NAMESPACE/NAME.
    #[arg(value_name = "NAMESPACE/NAME")]
    pod: String,
    #[command(flatten)]
    here: Here,
}

/// Carries a command out.
pub(crate) async fn static_pod(command: StaticPodCommand) -> Done {
    match command {
        StaticPodCommand::List(args) if args.cluster => there::list(&args).await,
        StaticPodCommand::List(args) => here::list(&args).await,
        StaticPodCommand::Status(args) if args.cluster => there::status(&args).await,
        StaticPodCommand::Status(args) => here::status(&args).await,
        StaticPodCommand::Upgrade(args) => here::upgrade(args).await,
        StaticPodCommand::Rollback(args) if args.local => here::rollback(args).await,
        StaticPodCommand::Rollback(args) => there::rollback(args).await,
        StaticPodCommand::Pause(args) => there::pause(&args, true).await,
        StaticPodCommand::Resume(args) => there::pause(&args, false).await,
        StaticPodCommand::History(args) if args.cluster => there::history(&args).await,
        StaticPodCommand::History(args) => here::history(&args).await,
        StaticPodCommand::Install(args) => here::install(args).await,
        StaticPodCommand::Uninstall(args) => here::uninstall(args).await,
    }
}
