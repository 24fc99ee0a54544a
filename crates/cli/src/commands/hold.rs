//! `safepoint hold`: keep changes back.

use clap::{ArgGroup, Args};
use safepoint_api::Span;
use safepoint_api::local::{HoldTaken, TakeHold};
use safepoint_api::node_gate::{Lease, Scope};
use safepoint_sdk::scope;

use super::names;
use super::via::{Expiry, Here};
use crate::problem::{Done, Problem};
use crate::show::{age, tables, words};

pub(super) const EXAMPLES: &str = "Examples:
  # nothing on this machine changes until `safepoint unhold`
  safepoint hold --node --reason \"crane lift in hall 3\"

  # one workload, for half an hour
  safepoint hold --workload deployment/arm -n robot --reason calibration --for 30m

  # everything with a label, wherever it is
  safepoint hold --selector app=camera --reason recording

  # a namespace, under a name of one's own
  safepoint hold --namespace shop --id stocktaking --reason stocktaking";

#[derive(Args, Debug)]
pub(crate) struct HoldArgs {
    #[command(flatten)]
    scope: ScopeArgs,
    /// Why, in words for the person who asks why nothing happens.
    #[arg(long)]
    reason: String,
    /// How long, such as 45s, 30m or 1h30m. Left out: until it is dropped.
    #[arg(long = "for", value_name = "TIME")]
    length: Option<Span>,
    /// What happens when the time is over.
    #[arg(long, value_enum, value_name = "WHAT", default_value = "thaw-if-safe", requires = "length")]
    on_expiry: Expiry,
    /// The hold's name. Left out, the agent makes one up and it is printed.
    #[arg(long)]
    id: Option<String>,
    /// Who holds, in a word that means something to an operator. Left out, it is the user.
    #[arg(long = "as", value_name = "NAME")]
    holder: Option<String>,
    #[command(flatten)]
    here: Here,
}

/// What is held.
#[derive(Args, Clone, Debug, Default)]
#[command(group = ArgGroup::new("what").args(["pod", "workload", "selector", "whole"]))]
pub(crate) struct ScopeArgs {
    /// One pod: NAME or NAMESPACE/NAME.
    #[arg(long)]
    pod: Option<String>,
    /// Every pod of a workload: KIND/NAME, such as deployment/web; sts/db#2 is one replica.
    #[arg(long, value_name = "KIND/NAME")]
    workload: Option<String>,
    /// Every pod with these labels, written as for kubectl.
    #[arg(long, short = 'l', value_name = "LABELS")]
    selector: Option<String>,
    /// Everything on the node.
    #[arg(long = "node", id = "whole")]
    node: bool,
    /// The namespace of the pod, workload or labels; alone, everything in it.
    #[arg(short, long)]
    namespace: Option<String>,
}

// === impl ScopeArgs ===

impl ScopeArgs {
    /// What is meant; none if nothing was said.
    pub(crate) fn read(&self) -> Result<Option<Scope>, Problem> {
        let namespace = self.namespace.as_deref();
        Ok(Some(match (&self.pod, &self.workload, &self.selector) {
            (Some(pod), ..) => {
                let pod = names::pod(pod, namespace)?;
                scope::pod(pod.namespace, pod.name)
            }
            (_, Some(workload), _) => {
                let of = names::workload(workload, namespace)?;
                let mut scope = scope::workload(&*of.kind, &*of.namespace, &*of.name);
                scope.workload = Some(of);
                scope
            }
            (.., Some(selector)) => Scope { namespace: self.namespace.clone(), ..scope::selector(selector) },
            _ if self.node && namespace.is_some() => {
                return Err(Problem::usage("--node is everything on the node: it goes with no --namespace"));
            }
            _ if self.node => scope::node(),
            _ => match namespace {
                Some(namespace) => scope::namespace(namespace),
                None => return Ok(None),
            },
        }))
    }
}

pub(crate) async fn hold(args: HoldArgs) -> Done {
    let scope = args.scope.read()?.ok_or_else(|| {
        Problem::usage("say what to hold: --pod, --workload, --selector, --namespace or --node")
            .hint("`safepoint hold --help` has examples")
    })?;
    let lease = args.length.map(|duration| Lease { duration, on_expiry: args.on_expiry.into() });
    let asked = TakeHold { id: args.id, holder: args.holder, reason: args.reason, scope, lease };
    let taken = args.here.client().take_hold(&asked).await?;
    let name = |taken: &HoldTaken| vec![taken.hold.id.clone()];
    args.here.output.show(&taken, name, |taken, _| {
        let mut text = format!("holding {} as {}\n", words::scope(&taken.hold.scope), taken.hold.id);
        if !taken.in_flight.is_empty() {
            text.push_str("\nThis was under way and may have been caught half done:\n");
            text.push_str(&tables::blockers(&taken.in_flight, age::now()).text());
        }
        text
    })
}
