//! Through the cluster: the NodeGate of a node instead of its socket.
//!
//! What is read is the gate's own report. What is asked is written into the spec and answered in the status: a freeze is a
//! state that stays in the spec, an order is an act with an id. An order is taken out again once it was answered, and also
//! when nobody waits for the answer any more: a machine that comes home next week must not obey what was meant today.

mod connect;
mod freeze;
mod wait;

use std::time::Duration;

use kube::Api;
use kube::api::{Patch, PatchParams};
use safepoint_api::NodeGate;
use safepoint_api::node_gate::{NodeGateStatus, Order, OrderAnswer, OrderPhase, Override, Release, Thaw};
use serde_json::{Value, json};

use crate::problem::{Exit, Problem};
pub(crate) use connect::{client, problem};
pub(crate) use freeze::Freezing;

/// How long a node may take to answer. One that is connected takes a second or two.
const ANSWER: Duration = Duration::from_secs(60);
/// How often a write is tried again that somebody else's came before.
const TRIES: usize = 5;
/// As whom the fields are owned.
const MANAGER: &str = "safepoint-cli";

/// The gate of one node, as the cluster sees it.
pub(crate) struct Cluster {
    gates: Api<NodeGate>,
    node: String,
    quiet: bool,
}

/// Something to do once.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Release(Release),
    Thaw(Thaw),
}

// === impl Cluster ===

impl Cluster {
    pub(crate) fn node(&self) -> &str {
        &self.node
    }

    /// The NodeGate as it is.
    pub(crate) async fn gate(&self) -> Result<NodeGate, Problem> {
        let found = self.gates.get_opt(&self.node).await.map_err(|error| connect::problem(&error))?;
        found.ok_or_else(|| {
            Problem::new(Exit::NotFound, format!("the cluster has no NodeGate {}", self.node))
                .hint("no agent has reported from a node of that name: `kubectl get nodegates` lists those that have")
        })
    }

    /// What the node says of itself.
    pub(crate) async fn status(&self) -> Result<NodeGateStatus, Problem> {
        self.gate().await?.status.ok_or_else(|| {
            Problem::failed(format!("{} has not reported yet", self.node))
                .hint("its agent has not connected since its NodeGate was made")
        })
    }

    /// Orders something, and waits for the answer.
    pub(crate) async fn order(&self, act: Act, override_: Option<Override>) -> Result<OrderAnswer, Problem> {
        let id = format!("cli-{}", made_up());
        let (release, thaw) = match act {
            Act::Release(release) => (Some(release), None),
            Act::Thaw(thaw) => (None, Some(thaw)),
        };
        // It has no `expires`: a machine whose clock nobody has set would have to refuse it.
        let order = Order { id: id.clone(), expires: None, release, thaw, override_ };
        self.change(|gate| {
            let mut orders = gate.spec.orders.clone();
            orders.push(order.clone());
            Ok(json!({ "orders": orders }))
        })
        .await?;
        let answer = self.answer(&id).await;
        // Answered or given up, it has done its work; whoever reads the spec need not wonder about it.
        let _ = self
            .change(|gate| {
                let orders: Vec<&Order> = gate.spec.orders.iter().filter(|order| order.id != id).collect();
                Ok(json!({ "orders": orders }))
            })
            .await;
        let answer = answer?;
        match answer.phase {
            OrderPhase::Obeyed => Ok(answer),
            OrderPhase::Refused | OrderPhase::Vetoed => {
                let exit = match answer.reason.as_deref() {
                    Some("NotFound") => Exit::NotFound,
                    _ => Exit::Refused,
                };
                let problem = Problem::new(exit, format!("{}: {}", self.node, answer.message));
                Err(match answer.phase {
                    OrderPhase::Vetoed => {
                        problem.hint("--override REASON sets the machine's hold aside for a while")
                    }
                    OrderPhase::Obeyed | OrderPhase::Refused => problem,
                })
            }
        }
    }

    /// Changes the spec, on top of what it is now: somebody else's change in between is never overwritten.
    async fn change(&self, with: impl Fn(&NodeGate) -> Result<Value, Problem>) -> Result<NodeGate, Problem> {
        let mut tried = 0;
        loop {
            tried += 1;
            let gate = self.gate().await?;
            let version = &gate.metadata.resource_version;
            let patch = json!({ "metadata": { "resourceVersion": version }, "spec": with(&gate)? });
            let params = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
            match self.gates.patch(&self.node, &params, &Patch::Merge(&patch)).await {
                Ok(changed) => return Ok(changed),
                Err(kube::Error::Api(status)) if status.code == 409 && tried < TRIES => {}
                Err(error) => return Err(connect::problem(&error)),
            }
        }
    }
}

/// A name that nobody has used.
pub(crate) fn made_up() -> String {
    uuid::Uuid::new_v4().simple().to_string().chars().take(12).collect()
}
