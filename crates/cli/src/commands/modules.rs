//! `safepoint modules`: the parts of the agent.

use clap::{Args, Subcommand};
use safepoint_api::local::ModuleList;

use super::via::{Reached, Via};
use crate::problem::{Done, Problem};
use crate::show::{age, tables};

pub(super) const EXAMPLES: &str = "Examples:
  # all of them, with their restarts and last failures
  safepoint modules

  # start one afresh
  safepoint modules restart uplink";

#[derive(Args, Debug)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ModulesArgs {
    #[command(subcommand)]
    command: Option<ModulesCommand>,
    #[command(flatten)]
    via: Via,
}

#[derive(Subcommand, Debug)]
enum ModulesCommand {
    /// Start a part of the agent afresh. What it holds or has released stays as it is.
    Restart {
        /// Its name, as `safepoint modules` shows it.
        name: String,
        #[command(flatten)]
        here: super::via::Here,
    },
}

pub(crate) async fn modules(args: ModulesArgs) -> Done {
    if let Some(ModulesCommand::Restart { name, here }) = args.command {
        here.client().restart_module(&name).await?;
        here.tell(&format!("restarting {name}"));
        return Ok(());
    }
    let list = match args.via.reach().await? {
        Reached::Here(client) => client.modules().await?,
        Reached::There(cluster) => ModuleList { items: cluster.status().await?.modules },
    };
    if list.items.is_empty() {
        return Err(Problem::failed("the agent has not reported any modules"));
    }
    let names = |list: &ModuleList| list.items.iter().map(|module| module.name.clone()).collect();
    args.via.here.output.show(&list, names, |list, _| tables::modules(&list.items, age::now()).text())
}
