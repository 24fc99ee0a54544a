//! The gate of one node, as the cluster sees it.
//!
//! What is asked is written into the spec and answered in the status: a freeze is a state that stays in the spec, an order is an
//! act with an id. An order is taken out again once it was answered, and also when nobody waits for the answer any more: a
//! machine that comes home next week must not obey what was meant today.

use std::time::Duration;

use kube::api::{Patch, PatchParams};
use kube::{Api, Client};
use safepoint_api::NodeGate;
use safepoint_api::node_gate::{Freeze, Order, OrderAnswer, Override, Release, Thaw};
use serde_json::{Value, json};
use tokio::time::Instant;

use crate::{Error, freeze};

/// How long a node may take to answer. One that is connected takes a second or two.
pub const ANSWER: Duration = Duration::from_secs(60);
/// How often a write is tried again that somebody else's came before.
const TRIES: usize = 5;
/// How often the cluster is asked. A node writes its status once a second at most.
const PACE: Duration = Duration::from_millis(500);

/// The gate of one node.
#[derive(Clone)]
pub struct Gate {
    gates: Api<NodeGate>,
    node: String,
    manager: &'static str,
}

/// Something to do once.
#[derive(Clone, PartialEq, Debug)]
pub enum Act {
    /// Let an upgrade through.
    Release(Release),
    /// End freezes that were taken on the node.
    Thaw(Thaw),
}

// === impl Gate ===

impl Gate {
    /// The gate of this node. `manager` is as whom the fields are owned.
    #[must_use]
    pub fn new(client: Client, node: impl Into<String>, manager: &'static str) -> Self {
        Self { gates: Api::all(client), node: node.into(), manager }
    }

    /// The node.
    #[must_use]
    pub fn node(&self) -> &str {
        &self.node
    }

    /// The NodeGate as it is.
    ///
    /// # Errors
    ///
    /// If there is none, or the cluster does not show it.
    pub async fn read(&self) -> Result<NodeGate, Error> {
        let found = self.gates.get_opt(&self.node).await?;
        found.ok_or_else(|| Error::NoGate { node: self.node.clone() })
    }

    /// Wants the node frozen.
    ///
    /// # Errors
    ///
    /// If another freeze is there already.
    pub async fn freeze(&self, freeze: &Freeze) -> Result<NodeGate, Error> {
        self.change(|gate| freeze::wish(gate, freeze)).await
    }

    /// Takes a freeze out, if it is still this one.
    ///
    /// # Errors
    ///
    /// If the cluster does not take it.
    pub async fn withdraw(&self, id: &str) -> Result<NodeGate, Error> {
        let ours = |gate: &NodeGate| {
            gate.spec.freeze.as_ref().is_some_and(|freeze| freeze.id.as_deref() == Some(id))
        };
        self.change(|gate| Ok(if ours(gate) { json!({ "freeze": null }) } else { json!({}) })).await
    }

    /// Takes the cluster's freeze out, whichever it is.
    ///
    /// # Errors
    ///
    /// If the cluster does not take it.
    pub async fn unfreeze(&self) -> Result<NodeGate, Error> {
        self.change(|_| Ok(json!({ "freeze": null }))).await
    }

    /// Gives an order under this id. Whoever gives it also takes it out: [`Gate::take_out`].
    ///
    /// # Errors
    ///
    /// If the cluster does not take it.
    pub async fn give(&self, id: &str, act: Act, override_: Option<Override>) -> Result<NodeGate, Error> {
        let (release, thaw) = match act {
            Act::Release(release) => (Some(release), None),
            Act::Thaw(thaw) => (None, Some(thaw)),
        };
        // It has no `expires`: a machine whose clock nobody has set would have to refuse it.
        let order = Order { id: id.to_owned(), expires: None, release, thaw, override_ };
        self.change(|gate| {
            let mut orders = gate.spec.orders.clone();
            orders.push(order.clone());
            Ok(json!({ "orders": orders }))
        })
        .await
    }

    /// Takes an order out: answered or given up, whoever reads the spec need not wonder about it.
    ///
    /// # Errors
    ///
    /// If the cluster does not take it.
    pub async fn take_out(&self, id: &str) -> Result<NodeGate, Error> {
        self.change(|gate| {
            let orders: Vec<&Order> = gate.spec.orders.iter().filter(|order| order.id != id).collect();
            Ok(json!({ "orders": orders }))
        })
        .await
    }

    /// Looks at the NodeGate until there is something to see; none when the time is over. `look` also says what is waited for,
    /// and `say` hears it.
    ///
    /// # Errors
    ///
    /// If the cluster does not show it.
    pub async fn wait_for<T>(
        &self,
        patience: Duration,
        mut look: impl FnMut(&NodeGate) -> Result<T, String>,
        mut say: impl FnMut(&str),
    ) -> Result<Option<T>, Error> {
        let until = Instant::now() + patience;
        loop {
            match look(&self.read().await?) {
                Ok(seen) => return Ok(Some(seen)),
                Err(waiting) => say(&waiting),
            }
            if Instant::now() >= until {
                return Ok(None);
            }
            tokio::time::sleep(PACE).await;
        }
    }

    /// What the node answers to an order; none if it has not answered in time.
    ///
    /// # Errors
    ///
    /// If the cluster does not show it.
    pub async fn answer(&self, id: &str, say: impl FnMut(&str)) -> Result<Option<OrderAnswer>, Error> {
        let look = |gate: &NodeGate| {
            let answers = gate.status.iter().flat_map(|status| &status.orders);
            let answer = answers.into_iter().find(|answer| answer.id == id);
            answer.cloned().ok_or_else(|| format!("waiting for {} to answer", self.node))
        };
        self.wait_for(ANSWER, look, say).await
    }

    /// Changes the spec, on top of what it is now: somebody else's change in between is never overwritten.
    async fn change(&self, with: impl Fn(&NodeGate) -> Result<Value, Error>) -> Result<NodeGate, Error> {
        let mut tried = 0;
        loop {
            tried += 1;
            let gate = self.read().await?;
            let version = &gate.metadata.resource_version;
            let patch = json!({ "metadata": { "resourceVersion": version }, "spec": with(&gate)? });
            let params =
                PatchParams { field_manager: Some(self.manager.to_owned()), ..PatchParams::default() };
            match self.gates.patch(&self.node, &params, &Patch::Merge(&patch)).await {
                Ok(changed) => return Ok(changed),
                Err(kube::Error::Api(status)) if status.code == 409 && tried < TRIES => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

/// Whether the node has seen the spec of this generation.
#[must_use]
pub fn has_seen(gate: &NodeGate, generation: Option<i64>) -> bool {
    let observed = gate.status.as_ref().and_then(|status| status.observed_generation);
    observed.zip(generation).is_some_and(|(observed, generation)| observed >= generation)
}

/// A name that nobody has used.
#[must_use]
pub fn made_up() -> String {
    uuid::Uuid::new_v4().simple().to_string().chars().take(12).collect()
}
