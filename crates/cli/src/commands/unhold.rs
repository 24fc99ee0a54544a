//! `safepoint unhold ID`: hold no longer.

use clap::Args;
use safepoint_api::local::{HoldDropped, Overriding};
use safepoint_api::node_gate::Thaw;

use super::via::{OverrideArgs, Reached, Via};
use crate::cluster::Act;
use crate::problem::Done;

pub(super) const EXAMPLES: &str = "Examples:
  # `safepoint holds` lists them
  safepoint unhold stocktaking

  # put a hold of the cluster's out of force for ten minutes
  safepoint unhold cluster.lift-42 --override \"the robot blocks an exit\" --for 10m

  # end a freeze that was taken on another node, against its holder's will
  safepoint unhold freeze-root-1a2b3c --node rover-7 --override \"recall of the firmware\" --for 10m";

#[derive(Args, Debug)]
pub(crate) struct UnholdArgs {
    /// The hold's name, as `safepoint holds` shows it.
    id: String,
    #[command(flatten)]
    overriding: OverrideArgs,
    #[command(flatten)]
    via: Via,
}

pub(crate) async fn unhold(args: UnholdArgs) -> Done {
    let override_ = args.overriding.asked();
    let output = args.via.here.output;
    match args.via.reach().await? {
        Reached::Here(client) => {
            let dropped = client.drop_hold(&args.id, &Overriding { override_ }).await?;
            let name = |dropped: &HoldDropped| vec![dropped.id.clone()];
            output.show(&dropped, name, |dropped, _| match &dropped.suspended_until {
                None => format!("dropped {}\n", dropped.id),
                Some(until) => format!("{} is out of force until {}\n", dropped.id, until.0),
            })
        }
        Reached::There(cluster) => {
            let thaw = Thaw { holds: Some(vec![args.id.clone()]) };
            let answer = cluster.order(Act::Thaw(thaw), override_).await?;
            output.show(&answer, |_| vec![args.id.clone()], |answer, _| format!("{}\n", answer.message))
        }
    }
}
