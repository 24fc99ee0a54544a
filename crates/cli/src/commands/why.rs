//! `safepoint why POD`: the sentence, who holds, and what would let it through.

use clap::Args;
use safepoint_api::PodRef;
use safepoint_api::local::{Verdict, Why};
use safepoint_api::node_gate::NodeGateStatus;

use super::names;
use super::via::{Reached, Via};
use crate::problem::{Done, Exit, Problem};
use crate::show::{age, style, tables, words};

pub(super) const EXAMPLES: &str = "Examples:
  # a pod in namespace `default`
  safepoint why web-1

  # a pod elsewhere
  safepoint why -n shop web-1
  safepoint why shop/web-1

  # what is true of it, in one word
  safepoint why shop/web-1 -o json | jq -r .verdict";

#[derive(Args, Debug)]
pub(crate) struct WhyArgs {
    /// The pod: NAME or NAMESPACE/NAME.
    pod: String,
    /// Its namespace.
    #[arg(short, long)]
    namespace: Option<String>,
    #[command(flatten)]
    via: Via,
}

pub(crate) async fn why(args: WhyArgs) -> Done {
    let pod = names::pod(&args.pod, args.namespace.as_deref())?;
    let why = match args.via.reach().await? {
        Reached::Here(client) => client.why(&pod.namespace, &pod.name).await?,
        Reached::There(cluster) => from_afar(&pod, cluster.status().await?, cluster.node())?,
    };
    let name = |why: &Why| vec![format!("{:?}", why.verdict)];
    args.via.here.output.show(&why, name, |why, wide| {
        let mut text = format!("{}\n", words::clean(&why.sentence));
        if !why.holds.is_empty() {
            text.push_str(&format!("\n{}Holds{:#}\n", style::HEADING, style::HEADING));
            text.push_str(&tables::holds(&why.holds, wide, age::now()).text());
        }
        if !why.until.is_empty() {
            let heading = if why.until.len() == 1 {
                "What would let it through"
            } else {
                "All of these have to happen"
            };
            text.push_str(&format!("\n{}{heading}{:#}\n", style::HEADING, style::HEADING));
            text.extend(why.until.iter().map(|step| format!("- {}\n", words::clean(step))));
        }
        text
    })
}

/// The cluster knows what is held and why, and nothing about what is not.
fn from_afar(pod: &PodRef, status: NodeGateStatus, node: &str) -> Result<Why, Problem> {
    let PodRef { namespace, name } = pod.clone();
    let mut held = status.held.into_iter();
    let change = held.find(|held| held.namespace == namespace && held.name == name).ok_or_else(|| {
        let message = format!("pod {namespace}/{name} does not wait on {node}, as far as the cluster knows");
        Problem::new(Exit::NotFound, message).hint("`safepoint changes --node` lists what does")
    })?;
    let holds = status.holds.into_iter().filter(|hold| change.held_by.contains(&hold.id)).collect();
    let (verdict, sentence) = (Verdict::Held, change.why.clone());
    Ok(Why { namespace, name, verdict, sentence, change: Some(change), holds, until: Vec::new() })
}
