//! `safepoint status`, `changes` and `holds`: what is true now.

use clap::Args;
use safepoint_api::local::{ChangeList, HoldList};

use super::via::{Here, Reached, Via};
use crate::problem::Done;
use crate::show::age;
use crate::show::tables::{self, Page};

pub(super) const STATUS_EXAMPLES: &str = "Examples:
  # the node of this machine
  safepoint status

  # with every module and who holds from where
  safepoint status -o wide

  # another node, through the cluster
  safepoint status --node rover-7

  # in a script: is anything held?
  safepoint status -o json | jq .heldCount";

pub(super) const CHANGES_EXAMPLES: &str = "Examples:
  # what waits, and for whom
  safepoint changes

  # with the reason for each
  safepoint changes -o wide

  # of another node, through the cluster
  safepoint changes --node rover-7";

pub(super) const HOLDS_EXAMPLES: &str = "Examples:
  # who holds, what, since when and until when
  safepoint holds

  # the ids alone
  safepoint holds -o name";

#[derive(Args, Debug)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    via: Via,
}

#[derive(Args, Debug)]
pub(crate) struct ChangesArgs {
    #[command(flatten)]
    via: Via,
}

#[derive(Args, Debug)]
pub(crate) struct HoldsArgs {
    #[command(flatten)]
    via: Via,
}

pub(crate) async fn status(StatusArgs { via }: StatusArgs) -> Done {
    let output = via.here.output;
    match via.reach().await? {
        Reached::Here(client) => output.show(
            &client.status().await?,
            |status| vec![format!("node/{}", status.node)],
            |status, wide| {
                let (uplink, pods) = (Some(&status.uplink), Some(status.pods));
                tables::page(&Page { node: &status.node, uplink, pods, gate: &status.gate }, wide)
            },
        ),
        Reached::There(cluster) => output.show(
            &cluster.gate().await?,
            |_| vec![format!("node/{}", cluster.node())],
            |gate, wide| {
                let gate = &gate.status.clone().unwrap_or_default();
                tables::page(&Page { node: cluster.node(), uplink: None, pods: None, gate }, wide)
            },
        ),
    }
}

pub(crate) async fn changes(ChangesArgs { via }: ChangesArgs) -> Done {
    let list = match via.reach().await? {
        Reached::Here(client) => client.changes().await?,
        Reached::There(cluster) => ChangeList { items: cluster.status().await?.held },
    };
    if list.items.is_empty() && via.here.output.is_for_people() {
        via.here.tell("Nothing waits.");
        return Ok(());
    }
    let name = |list: &ChangeList| {
        let items = list.items.iter();
        items.map(|held| format!("{}/{}/{}", held.kind.to_lowercase(), held.namespace, held.name)).collect()
    };
    via.here.output.show(&list, name, |list, wide| tables::changes(&list.items, wide, age::now()).text())
}

pub(crate) async fn holds(HoldsArgs { via }: HoldsArgs) -> Done {
    let list = match via.reach().await? {
        Reached::Here(client) => client.holds().await?,
        Reached::There(cluster) => HoldList { items: cluster.status().await?.holds },
    };
    show_holds(&via.here, &list)
}

fn show_holds(here: &Here, list: &HoldList) -> Done {
    if list.items.is_empty() && here.output.is_for_people() {
        here.tell("Nobody holds.");
        return Ok(());
    }
    let names = |list: &HoldList| list.items.iter().map(|hold| hold.id.clone()).collect();
    here.output.show(list, names, |list, wide| tables::holds(&list.items, wide, age::now()).text())
}
