//! Through the cluster: the NodeGate of a node instead of its socket.
//!
//! What is read is the gate's own report. What is asked is written by `safepoint_orders`, as the dashboard does it too; here it is
//! waited for, and told in the words of a command.

mod connect;
mod freeze;
mod wait;

use safepoint_api::NodeGate;
use safepoint_api::node_gate::{NodeGateStatus, OrderAnswer, OrderPhase, Override};
use safepoint_orders::{Gate, made_up};

use crate::problem::{Exit, Problem};
pub(crate) use connect::{asked, client, problem};
pub(crate) use freeze::Freezing;
pub(crate) use safepoint_orders::Act;

/// As whom the fields are owned.
pub(crate) const MANAGER: &str = "safepoint-cli";

/// The gate of one node, as the cluster sees it.
pub(crate) struct Cluster {
    gate: Gate,
    quiet: bool,
}

// === impl Cluster ===

impl Cluster {
    pub(crate) fn node(&self) -> &str {
        self.gate.node()
    }

    /// The NodeGate as it is.
    pub(crate) async fn gate(&self) -> Result<NodeGate, Problem> {
        self.gate.read().await.map_err(|error| asked(&error))
    }

    /// What the node says of itself.
    pub(crate) async fn status(&self) -> Result<NodeGateStatus, Problem> {
        self.gate().await?.status.ok_or_else(|| {
            Problem::failed(format!("{} has not reported yet", self.node()))
                .hint("its agent has not connected since its NodeGate was made")
        })
    }

    /// Orders something, and waits for the answer.
    pub(crate) async fn order(&self, act: Act, override_: Option<Override>) -> Result<OrderAnswer, Problem> {
        let id = format!("cli-{}", made_up());
        self.gate.give(&id, act, override_).await.map_err(|error| asked(&error))?;
        let answer = self.answer(&id).await;
        // Answered or given up, it has done its work.
        let _ = self.gate.take_out(&id).await;
        let answer = answer?;
        match answer.phase {
            OrderPhase::Obeyed => Ok(answer),
            OrderPhase::Refused | OrderPhase::Vetoed => {
                let exit = match answer.reason.as_deref() {
                    Some("NotFound") => Exit::NotFound,
                    _ => Exit::Refused,
                };
                let problem = Problem::new(exit, format!("{}: {}", self.node(), answer.message));
                Err(match answer.phase {
                    OrderPhase::Vetoed => {
                        problem.hint("--override REASON sets the machine's hold aside for a while")
                    }
                    OrderPhase::Obeyed | OrderPhase::Refused => problem,
                })
            }
        }
    }
}
