//! `safepoint release`: let pending upgrades through.

use std::collections::BTreeSet;

use clap::Args;
use safepoint_api::local::{Release, Released};
use safepoint_api::{WorkloadRef, node_gate};
use safepoint_sdk::Client;

use super::names::{Named, named};
use super::via::{OverrideArgs, Reached, Via};
use crate::cluster::{Act, Cluster};
use crate::problem::{Done, Exit, Problem};
use crate::show::words;

pub(super) const EXAMPLES: &str = "Examples:
  # a workload
  safepoint release deployment/web -n shop

  # the workload of a pod, old or new
  safepoint release shop/web-1

  # everything on this node that waits
  safepoint release --all

  # only the revision that was looked at
  safepoint release deployment/web --revision 5d8f7c

  # on another node, through the cluster
  safepoint release daemonset/camera --node rover-7";

#[derive(Args, Debug)]
pub(crate) struct ReleaseArgs {
    /// What to release: a workload as KIND/NAME, or a pod as NAME or NAMESPACE/NAME.
    #[arg(value_name = "WORKLOAD|POD", required_unless_present = "all", conflicts_with = "all")]
    what: Vec<String>,
    /// Everything on the node that waits.
    #[arg(long)]
    all: bool,
    /// The namespace.
    #[arg(short, long)]
    namespace: Option<String>,
    /// Only this revision, as `safepoint changes` shows it. Left out: the one that is pending.
    #[arg(long, conflicts_with = "all")]
    revision: Option<String>,
    #[command(flatten)]
    overriding: OverrideArgs,
    #[command(flatten)]
    via: Via,
}

pub(crate) async fn release(args: ReleaseArgs) -> Done {
    let namespace = args.namespace.as_deref();
    let named: Vec<Named> = args.what.iter().map(|what| named(what, namespace)).collect::<Result<_, _>>()?;
    let released = match args.via.reach().await? {
        Reached::Here(client) => here(&client, named, &args).await?,
        Reached::There(cluster) => there(&cluster, named, &args).await?,
    };
    let names = |released: &Released| released.workloads.iter().map(words::workload).collect();
    args.via.here.output.show(&released, names, |released, _| {
        let done = released.workloads.iter().map(|of| format!("released {}\n", words::workload(of)));
        let kept = released.held.iter();
        let kept = kept.map(|kept| {
            format!("{} stays held by {}\n", words::workload(&kept.workload), kept.holds.join(", "))
        });
        done.chain(kept).collect()
    })?;
    match released.workloads.is_empty() {
        false => Ok(()),
        true if released.held.is_empty() => Err(Problem::new(Exit::Refused, "nothing waits")),
        true => Err(Problem::new(Exit::Refused, "nothing was released: holds stand against it")
            .hint("their holders drop them, `safepoint unhold ID` does, or release with --override")),
    }
}

async fn here(client: &Client, named: Vec<Named>, args: &ReleaseArgs) -> Result<Released, Problem> {
    let (revision, override_) = (args.revision.clone(), args.overriding.asked());
    let asked = Release { revision, override_, ..Release::default() };
    if args.all {
        return Ok(client.release(&Release { node: true, ..asked }).await?);
    }
    let mut all = Released { workloads: Vec::new(), held: Vec::new() };
    for named in named {
        let asked = match named {
            Named::Pod(pod) => Release { pod: Some(pod), ..asked.clone() },
            Named::Workload(workload) => Release { workload: Some(workload), ..asked.clone() },
        };
        let released = client.release(&asked).await?;
        all.workloads.extend(released.workloads);
        all.held.extend(released.held);
    }
    Ok(all)
}

/// An order for each; the node answers with a sentence, and what was named is what was released.
async fn there(cluster: &Cluster, named: Vec<Named>, args: &ReleaseArgs) -> Result<Released, Problem> {
    let status = cluster.status().await?;
    let waiting = status.held.iter().filter_map(|held| held.workload.clone());
    let named = match args.all {
        true => waiting.collect::<BTreeSet<WorkloadRef>>().into_iter().map(Named::Workload).collect(),
        false => named,
    };
    let mut all = Released { workloads: Vec::new(), held: Vec::new() };
    for named in named {
        let of_pod = |held: &&node_gate::HeldChange| matches!(&named, Named::Pod(pod) if pod.namespace == held.namespace && pod.name == held.name);
        let workload = match &named {
            Named::Workload(workload) => Some(workload.clone()),
            Named::Pod(_) => status.held.iter().find(of_pod).and_then(|held| held.workload.clone()),
        };
        let (pod, of) = match named {
            Named::Pod(pod) => (Some(pod), None),
            Named::Workload(workload) => (None, Some(workload)),
        };
        let fallback = pod.as_ref().map(|pod| WorkloadRef {
            kind: "Pod".to_owned(),
            namespace: pod.namespace.clone(),
            name: pod.name.clone(),
            ordinal: None,
        });
        let release = node_gate::Release { workload: of, pod, revision: args.revision.clone() };
        cluster.order(Act::Release(release), args.overriding.asked()).await?;
        all.workloads.extend(workload.or(fallback));
    }
    Ok(all)
}
