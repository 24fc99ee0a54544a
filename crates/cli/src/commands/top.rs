//! `safepoint top`: one node or the fleet, as it changes.

use clap::Args;
use kube::Api;
use kube::api::ListParams;
use safepoint_api::NodeGate;

use super::via::{Access, Socket};
use crate::cluster::{Cluster, client, problem};
use crate::problem::{Done, Exit, Problem};
use crate::show::age;
use crate::top::{self, Here, Model, Subject, What};

pub(super) const EXAMPLES: &str = "Examples:
  # the node of this machine
  safepoint top

  # every node of the cluster, and the roll-outs of static pods
  safepoint top --fleet

  # one node, through the cluster
  safepoint top --node rover-7

Keys:
  arrows, PgUp, PgDn, Home, End   move
  Enter                           why, and what to type
  /                               show only rows with these words
  s                               the next order of nodes
  Esc                             back
  ?                               all keys
  q                               quit";

#[derive(Args, Debug)]
pub(crate) struct TopArgs {
    /// Every node of the cluster, instead of the node of this machine.
    #[arg(long, conflicts_with = "node")]
    fleet: bool,
    /// One node, through the cluster.
    #[arg(long, value_name = "NODE")]
    node: Option<String>,
    #[command(flatten)]
    socket: Socket,
    #[command(flatten)]
    access: Access,
}

pub(crate) async fn top(args: TopArgs) -> Done {
    if !top::is_there() {
        let problem = Problem::usage("`safepoint top` needs a terminal for its input and its output");
        return Err(problem.hint(match args.fleet {
            true => "for a script: `kubectl get nodegates,staticpods -A -o json`",
            false => "for a script: `safepoint status -o json`",
        }));
    }
    // Who cannot be reached at the beginning is told of as by every other command; who goes away later comes back.
    let (subject, first, news) = match (args.fleet, &args.node) {
        (true, _) => {
            let client = client(&args.access).await?;
            let one = Api::<NodeGate>::all(client.clone()).list(&ListParams::default().limit(1)).await;
            one.map_err(|error| watching(problem(&error)))?;
            (Subject::Fleet(Box::default()), What::Fleet, top::cluster(client, None))
        }
        (false, Some(node)) => {
            Cluster::connect(node, &args.access, true).await?.gate().await.map_err(watching)?;
            let news = top::cluster(client(&args.access).await?, Some(node));
            (Subject::Fleet(Box::default()), What::Machine(node.as_str().into()), news)
        }
        (false, None) => {
            let client = args.socket.client();
            let here = Here::new(client.status().await?);
            (Subject::Here(Box::new(here)), What::Here, top::agent(client))
        }
    };
    let mut model = Model::new(subject, first, crate::called::name(), age::now());
    model.coloured = std::env::var_os("NO_COLOR").is_none_or(|set| set.is_empty());
    top::run(model, news).await
}

/// What is watched takes other rights than what is ordered.
fn watching(problem: Problem) -> Problem {
    match problem.exit {
        Exit::Failed => problem.hint("the kubeconfig's user needs to list and watch nodegates.safepoint.dev, staticpods.safepoint.dev and nodes"),
        _ => problem,
    }
}
