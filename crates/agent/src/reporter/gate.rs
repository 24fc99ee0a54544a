//! The status of the NodeGate: what the gate does and why, in the cluster's sight.

use std::sync::Arc;
use std::time::Duration;

use safepoint_api::node_gate::NodeGateStatus;
use safepoint_nodeapi::view;
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde_json::{Value, json};
use tokio::sync::watch;

use super::{Patience, something};
use crate::cluster::{CallError, Cluster, Patch};
use crate::keeper::{self, Desk};
use crate::link::Link;
use crate::orders::{self, Obeyed};
use crate::overseer::Overseer;

/// The name of the module.
pub(crate) const NAME: &str = "gate-status";
/// Changes come in bursts, and a fleet has many nodes: no more than one write in this time. Whoever looks at a screen is to see
/// what is held within a second.
const PACE: Duration = Duration::from_millis(500);

/// What the status has only at times. What is left out of a merge patch stays as it was, so these are taken out by name.
const AT_TIMES: [&str; 13] = [
    "observedGeneration",
    "state",
    "since",
    "holder",
    "reason",
    "holds",
    "blockers",
    "held",
    "grants",
    "orders",
    "modules",
    "agentVersion",
    "conditions",
];

/// The module.
pub(crate) struct GateStatus {
    pub(crate) node: String,
    pub(crate) cluster: Cluster,
    pub(crate) desk: Desk,
    pub(crate) link: Link,
    pub(crate) obeyed: watch::Receiver<Obeyed>,
    pub(crate) overseer: Arc<Overseer>,
}

// === impl GateStatus ===

impl Module for GateStatus {
    fn spec(&self) -> Spec {
        Spec::new(NAME).after([keeper::NAME])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let (mut effects, mut starts, mut link) =
            (self.desk.effects(), self.desk.starts(), self.link.watch());
        let (mut obeyed, mut health) = (self.obeyed.clone(), self.overseer.changes()?);
        let mut changes = self.desk.changes();
        let (mut of, mut last) = (String::new(), None);
        let mut patience = Patience::default();
        ctx.ready();
        loop {
            if self.link.now().connected {
                tokio::select! {
                    done = self.write(&mut of, &mut last) => patience.note(done?),
                    () = ctx.cancelled() => return Ok(()),
                }
            }
            tokio::time::sleep(PACE).await;
            tokio::select! {
                more = something(&mut effects), if patience.is_well() => if !more { return Ok(()) },
                changed = starts.changed() => if changed.is_err() { return Ok(()) },
                changed = changes.changed(), if patience.is_well() => if changed.is_err() { return Ok(()) },
                changed = link.changed() => {
                    changed.map_err(Fault::transient)?;
                    // Somebody may have changed it meanwhile.
                    last = None;
                }
                changed = obeyed.changed() => changed.map_err(Fault::transient)?,
                changed = health.changed(), if patience.is_well() => changed.map_err(Fault::transient)?,
                () = patience.wait() => {}
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

impl GateStatus {
    /// Writes the status if it is news. False: it has to be tried again.
    async fn write(&self, of: &mut String, last: &mut Option<NodeGateStatus>) -> Result<bool, Fault> {
        let mut next = self.desk.look(|gate, _| view::gate_status(gate)).await.map_err(Fault::transient)?;
        let obeyed = self.obeyed.borrow().clone();
        if *of != obeyed.gate {
            (*of, *last) = (obeyed.gate.clone(), None);
        }
        (next.observed_generation, next.orders) = (obeyed.generation, obeyed.answers);
        next.modules = self.overseer.modules();
        next.agent_version = Some(env!("CARGO_PKG_VERSION").to_owned());
        let Some(next) = view::news(last.as_ref(), view::limited(next)) else { return Ok(true) };
        match self.patch(&next).await {
            Ok(()) => {
                *last = Some(next);
                Ok(true)
            }
            // The hub makes it when it sees the node.
            Err(error) if error.code() == Some(404) => Ok(false),
            Err(error) => {
                tracing::warn!(%error, "cannot write the status of the NodeGate");
                Ok(false)
            }
        }
    }

    async fn patch(&self, status: &NodeGateStatus) -> Result<(), CallError> {
        let mut status =
            serde_json::to_value(status).map_err(|error| CallError::Garbled(error.to_string()))?;
        if let Value::Object(members) = &mut status {
            for name in AT_TIMES {
                members.entry(name).or_insert(Value::Null);
            }
        }
        let resource = orders::resource().named(&self.node).part("status");
        self.cluster.patch(&resource, Patch::Merge, &json!({"status": status})).await.map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_the_status_may_leave_out_is_taken_out_by_name() {
        let gate = &safepoint_api::crds()[0];
        let schema = serde_json::to_value(&gate.spec.versions[0].schema).unwrap();
        let all =
            schema["openAPIV3Schema"]["properties"]["status"]["properties"].as_object().unwrap().clone();
        let always = serde_json::to_value(NodeGateStatus::default()).unwrap();
        let left_out: Vec<&String> = all.keys().filter(|name| always.get(name.as_str()).is_none()).collect();
        assert_eq!(left_out.len(), AT_TIMES.len());
        assert!(left_out.iter().all(|name| AT_TIMES.contains(&name.as_str())), "{left_out:?}");
    }
}
