//! How an agent is asked, and how its answer is printed: the options that the commands share.

use std::path::PathBuf;

use clap::Args;
use safepoint_api::Span;
use safepoint_api::node_gate::{OnExpiry, Override};
use safepoint_sdk::Client;

use crate::cluster::Cluster;
use crate::problem::Problem;
use crate::show::Format;

const HEADING: &str = "How to ask and how to print";

/// How to reach the agent of this machine.
#[derive(Args, Clone, Debug)]
pub(crate) struct Socket {
    /// The agent's socket. Left out: `./.safepoint/agent.sock` if there is one, else `/run/safepoint/agent.sock`.
    #[arg(long, value_name = "PATH", env = "SAFEPOINT_SOCKET", hide_env_values = true, help_heading = HEADING)]
    socket: Option<PathBuf>,
}

/// On this machine only.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = HEADING)]
pub(crate) struct Here {
    #[command(flatten)]
    socket: Socket,
    /// How to print.
    #[arg(short, long, value_enum, value_name = "FORMAT", default_value_t)]
    pub(crate) output: Format,
    /// Say nothing but what was asked for.
    #[arg(short, long)]
    pub(crate) quiet: bool,
}

/// On this machine, or through the cluster on any node.
#[derive(Args, Clone, Debug)]
pub(crate) struct Via {
    #[command(flatten)]
    pub(crate) here: Here,
    /// Ask through the cluster, by the NodeGate of this node, instead of the agent of this machine.
    #[arg(long, value_name = "NODE", help_heading = HEADING)]
    pub(crate) node: Option<String>,
    #[command(flatten)]
    pub(crate) access: Access,
}

/// How to reach a cluster.
#[derive(Args, Clone, Debug)]
pub(crate) struct Access {
    /// The kubeconfig for asking through the cluster. Left out: $KUBECONFIG, `./.safepoint/kubeconfig` if there is one,
    /// else `~/.kube/config`.
    #[arg(long, value_name = "FILE", help_heading = HEADING)]
    pub(crate) kubeconfig: Option<PathBuf>,
}

/// Sets the other side's hold aside.
#[derive(Args, Clone, Debug)]
pub(crate) struct OverrideArgs {
    /// Set aside what the other side holds, the cluster's from here, the machine's from there. Say why: it is logged first.
    #[arg(long = "override", value_name = "REASON")]
    pub(crate) reason: Option<String>,
    /// For how long the other side's hold is set aside; after that it is in force again.
    #[arg(long = "for", value_name = "TIME", default_value = "10m", requires = "reason")]
    pub(crate) length: Span,
}

/// Where to ask.
pub(crate) enum Reached {
    Here(Client),
    There(Box<Cluster>),
}

/// What happens when a hold's time is over.
#[derive(Clone, Copy, PartialEq, Eq, Debug, clap::ValueEnum)]
pub(crate) enum Expiry {
    /// The hold stays, marked orphaned, with an alarm.
    Stay,
    /// The hold ends unless a safety signal objects, and an agent cannot be given any yet.
    ThawIfSafe,
}

// === impl Socket ===

impl Socket {
    pub(crate) fn client(&self) -> Client {
        self.socket.as_ref().map_or_else(Client::new, Client::at)
    }
}

// === impl Here ===

impl Here {
    pub(crate) fn client(&self) -> Client {
        self.socket.client()
    }

    /// Says to a person what was done. Scripts read what is printed instead.
    pub(crate) fn tell(&self, what: &str) {
        if !self.quiet {
            anstream::eprintln!("{what}");
        }
    }
}

// === impl Via ===

impl Via {
    pub(crate) async fn reach(&self) -> Result<Reached, Problem> {
        Ok(match &self.node {
            None => Reached::Here(self.here.client()),
            Some(node) => {
                Reached::There(Box::new(Cluster::connect(node, &self.access, self.here.quiet).await?))
            }
        })
    }
}

// === impl OverrideArgs ===

impl OverrideArgs {
    pub(crate) fn asked(&self) -> Option<Override> {
        self.reason.as_ref().map(|reason| Override { reason: reason.clone(), duration: self.length })
    }
}

impl From<Expiry> for OnExpiry {
    fn from(expiry: Expiry) -> Self {
        match expiry {
            Expiry::Stay => Self::Stay,
            Expiry::ThawIfSafe => Self::ThawIfSafe,
        }
    }
}
