//! `safepoint node freeze|unfreeze [NODE]`: the whole node, here or through the cluster.

use std::future::Future;
use std::time::Duration;

use clap::{Args, Subcommand};
use safepoint_api::Span;
use safepoint_api::local::{FreezeState, Overriding, TakeFreeze};
use safepoint_api::node_gate::{GateState, Lease};
use safepoint_sdk::{Client, Error};

use super::via::{Access, Expiry, Here, OverrideArgs};
use crate::cluster::{Cluster, Freezing};
use crate::problem::{Done, Exit, Problem};
use crate::show::progress::{Progress, settling};

/// How often a node that settles is looked at.
const PACE: Duration = Duration::from_secs(1);

const FREEZE_EXAMPLES: &str = "Examples:
  # this node, now or not at all
  safepoint node freeze --reason \"crane lift in hall 3\"

  # wait for what is under way, ten minutes at most
  safepoint node freeze --reason \"crane lift\" --when-settled --deadline 10m

  # another node, through the cluster, for half an hour
  safepoint node freeze rover-7 --reason \"crane lift\" --for 30m

  # keep everything back at once, whatever is half done; it is frozen once it has settled
  safepoint node freeze --hold-barrier --reason emergency";

const UNFREEZE_EXAMPLES: &str = "Examples:
  # end every freeze that was taken on this machine
  safepoint node unfreeze

  # also set the cluster's aside, for an hour
  safepoint node unfreeze --override \"the robot blocks an exit\" --for 1h

  # end the cluster's freeze of another node
  safepoint node unfreeze rover-7";

#[derive(Subcommand, Debug)]
pub(crate) enum NodeCommand {
    /// Freeze a node: nothing on it changes any more.
    ///
    /// First a barrier goes up: nothing new is let through, and what is under way may finish. The node is frozen once
    /// nothing is half done. If it does not settle in time the freeze is refused, with everything that stands against it.
    #[command(after_help = FREEZE_EXAMPLES)]
    Freeze(FreezeArgs),
    /// End the freezes of a node.
    ///
    /// What was missed is then applied, the newest only. Here and in the cluster each ends its own freezes; --override sets
    /// the other's aside for a while.
    #[command(after_help = UNFREEZE_EXAMPLES)]
    Unfreeze(UnfreezeArgs),
}

#[derive(Args, Debug)]
pub(crate) struct FreezeArgs {
    /// The node, through the cluster. Left out, it is the node of this machine.
    node: Option<String>,
    /// Why, in words for the person who asks why nothing happens.
    #[arg(long, default_value = "frozen by hand, no reason given")]
    reason: String,
    /// How long, such as 45s, 30m or 1h30m. Left out: until it is ended.
    #[arg(long = "for", value_name = "TIME")]
    length: Option<Span>,
    /// What happens when the time is over.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "thaw-if-safe", requires = "length")]
    on_expiry: Expiry,
    /// Wait for the node to settle, instead of being refused at once if something is half done.
    #[arg(long)]
    when_settled: bool,
    /// How long to wait for it; 10m with --when-settled if nothing is said.
    #[arg(long, value_name = "TIME")]
    deadline: Option<Span>,
    /// Keep the barrier up although the freeze was refused; the node is frozen once it settles.
    #[arg(long)]
    hold_barrier: bool,
    /// The freeze's name. Left out, one is made up.
    #[arg(long)]
    id: Option<String>,
    /// Who freezes, in a word that means something to an operator. Left out, it is the user.
    #[arg(long = "as", value_name = "NAME")]
    holder: Option<String>,
    #[command(flatten)]
    here: Here,
    #[command(flatten)]
    access: Access,
}

#[derive(Args, Debug)]
pub(crate) struct UnfreezeArgs {
    /// The node, through the cluster. Left out, it is the node of this machine.
    node: Option<String>,
    #[command(flatten)]
    overriding: OverrideArgs,
    #[command(flatten)]
    here: Here,
    #[command(flatten)]
    access: Access,
}

pub(crate) async fn freeze(args: FreezeArgs) -> Done {
    let lease = args.length.map(|duration| Lease { duration, on_expiry: args.on_expiry.into() });
    let patient = args.when_settled.then(|| Span::try_from(Duration::from_secs(600)).ok()).flatten();
    let deadline = args.deadline.or(patient);
    let (id, holder, reason, here) = (args.id, args.holder, args.reason, args.here);
    let Some(node) = args.node else {
        // Named here, so that it can be taken back by somebody who does not want to wait any longer.
        let id = id.unwrap_or_else(|| format!("freeze-{}", safepoint_orders::made_up()));
        let hold_barrier = args.hold_barrier;
        let freeze = TakeFreeze { id: Some(id.clone()), holder, reason, lease, deadline, hold_barrier };
        let client = here.client();
        let frozen = tokio::select! {
            frozen = watched(&client, Progress::new(here.quiet), client.freeze(&freeze)) => frozen?,
            _ = tokio::signal::ctrl_c() => {
                client.drop_hold(&id, &Overriding::default()).await?;
                return Err(Problem::failed("interrupted; the freeze was taken back"));
            }
        };
        return show(&here, &frozen, |frozen| format!("frozen as {}", frozen.id.as_deref().unwrap_or("-")));
    };
    let cluster = Cluster::connect(&node, &args.access, here.quiet).await?;
    let freezing = Freezing { id, holder, reason, lease, deadline, hold_barrier: args.hold_barrier };
    let gate = cluster.freeze(freezing).await?;
    let name = |_: &_| vec![format!("node/{node}")];
    here.output.show(&gate, name, |_, _| format!("{node} is frozen\n"))
}

pub(crate) async fn unfreeze(args: UnfreezeArgs) -> Done {
    let override_ = args.overriding.asked();
    let here = args.here;
    let Some(node) = args.node else {
        let state = here.client().thaw(&Overriding { override_ }).await?;
        show(&here, &state, |state| match state.state {
            GateState::Open => "open".to_owned(),
            GateState::Thawing => "thawing: what was missed is being applied, the newest only".to_owned(),
            GateState::Freezing | GateState::Frozen => "still frozen".to_owned(),
        })?;
        return match state
            .holds
            .iter()
            .map(|hold| format!("{} ({})", hold.holder, hold.id))
            .reduce(|a, b| a + ", " + &b)
        {
            None => Ok(()),
            Some(by) => Err(Problem::new(Exit::Refused, format!("the node stays frozen by {by}"))
                .hint("take the freeze out of its NodeGate, or set it aside with --override")),
        };
    };
    let cluster = Cluster::connect(&node, &args.access, here.quiet).await?;
    let gate = cluster.unfreeze(override_).await?;
    here.output.show(&gate, |_| vec![format!("node/{node}")], |_, _| format!("{node} is not frozen\n"))
}

fn show(here: &Here, state: &FreezeState, words: impl FnOnce(&FreezeState) -> String) -> Done {
    let name = |state: &FreezeState| vec![state.id.clone().unwrap_or_else(|| format!("{:?}", state.state))];
    here.output.show(state, name, |state, _| words(state) + "\n")
}

/// Waits for a freeze, and says meanwhile what it waits for.
pub(super) async fn watched<T>(
    client: &Client,
    mut progress: Progress,
    freezing: impl Future<Output = Result<T, Error>>,
) -> Result<T, Error> {
    let look = async {
        loop {
            tokio::time::sleep(PACE).await;
            if let Ok(state) = client.freeze_state().await {
                progress.say(&settling(&state.blockers));
            }
        }
    };
    tokio::select! {
        frozen = freezing => frozen,
        () = look => unreachable!("it looks for ever"),
    }
}
