//! The agents of a simulated fleet: each says how its gate is, and freezes its node when the cluster asks for it.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::{Api, Patch, PatchParams};
use kube::{Client, ResourceExt};
use safepoint_api::NodeGate;
use safepoint_api::node_gate::{
    GateState, Hold, NodeGateStatus, OrderAnswer, OrderPhase, Origin, Scope, ScopeKind,
};
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::time::sleep;

use super::AT_ONCE;
use super::machine::Machines;
use crate::backoff::Backoff;
use crate::clock::Clock;

/// All agents.
pub(super) struct Agents<'a> {
    client: &'a Client,
    machines: &'a Machines,
    clock: &'a Clock,
    /// The gates of the machines, by their numbers.
    gates: Mutex<HashMap<usize, Seen>>,
    /// All gates are made at once, and not all are answered at once.
    turns: Semaphore,
}

/// A gate as it was last seen.
struct Seen {
    gate: NodeGate,
    /// Somebody brings its status up to date.
    settling: bool,
}

// === impl Agents ===

impl<'a> Agents<'a> {
    pub(super) fn new(client: &'a Client, machines: &'a Machines, clock: &'a Clock) -> Self {
        Self { client, machines, clock, gates: Mutex::default(), turns: Semaphore::new(AT_ONCE) }
    }

    /// Sees a gate. A number: nobody settles that machine's gate yet.
    pub(super) fn see(&self, gate: NodeGate) -> Option<usize> {
        let number = self.machines.number(&gate.name_any())?;
        let frozen = gate.spec.freeze.is_some();
        let settling = {
            let mut gates = lock(&self.gates);
            let settling = gates.get(&number).is_some_and(|seen| seen.settling);
            gates.insert(number, Seen { gate, settling: true });
            settling
        };
        self.machines.with(number, |machine| machine.frozen = frozen);
        (!settling).then_some(number)
    }

    /// A gate is gone, and with it the wish to freeze. The hub makes another one.
    pub(super) fn gone(&self, gate: &NodeGate) {
        let Some(number) = self.machines.number(&gate.name_any()) else { return };
        lock(&self.gates).remove(&number);
        self.machines.with(number, |machine| machine.frozen = false);
    }

    /// Answers until there is nothing left to say. A node that is away says nothing.
    pub(super) async fn settle(&self, number: usize) {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(5));
        while let Some(gate) = self.wait_for_news(number).await {
            let busy = self.machines.with(number, |machine| machine.busy);
            let turn = self.turns.acquire().await;
            let told = tell(self.client, &gate, busy, self.clock).await;
            drop(turn);
            match told {
                // What was written comes back as an event; until then it is not to be written again.
                Ok(Some(written)) => self.note(number, &gate, written),
                Ok(None) => {}
                Err(kube::Error::Api(status)) if status.code == 404 => self.gone(&gate),
                Err(error) => {
                    tracing::debug!(%error, "a simulated node tries again");
                    sleep(backoff.next()).await;
                }
            }
        }
    }

    /// The gate, when it has to be answered. None: it is answered, or gone.
    async fn wait_for_news(&self, number: usize) -> Option<NodeGate> {
        loop {
            self.machines.until(number, |machine| machine.ready).await;
            let busy = self.machines.with(number, |machine| machine.busy);
            let gate = {
                let mut gates = lock(&self.gates);
                let seen = gates.get_mut(&number)?;
                let answered = answer(&seen.gate, busy, self.clock.now()).is_none();
                // A freeze that waits for a task is not answered for good.
                seen.settling = !answered || (busy && seen.gate.spec.freeze.is_some());
                if !seen.settling {
                    return None;
                }
                if !answered {
                    return Some(seen.gate.clone());
                }
                seen.gate.resource_version()
            };
            let changed = || {
                let gates = lock(&self.gates);
                gates.get(&number).is_none_or(|seen| seen.gate.resource_version() != gate)
            };
            self.machines.until(number, |machine| !machine.busy || changed()).await;
        }
    }

    /// Takes what was written for what is seen, unless something newer has been seen meanwhile.
    fn note(&self, number: usize, of: &NodeGate, written: NodeGate) {
        if let Some(seen) = lock(&self.gates).get_mut(&number)
            && seen.gate.resource_version() == of.resource_version()
        {
            seen.gate = written;
        }
    }
}

/// Says how a gate is, where its status does not say it yet.
pub(super) async fn tell(
    client: &Client,
    gate: &NodeGate,
    busy: bool,
    clock: &Clock,
) -> Result<Option<NodeGate>, kube::Error> {
    let Some(status) = answer(gate, busy, clock.now()) else { return Ok(None) };
    let gates: Api<NodeGate> = Api::all(client.clone());
    let change = Patch::Merge(json!({ "status": status }));
    gates.patch_status(&gate.name_any(), &PatchParams::default(), &change).await.map(Some)
}

/// What an agent has to write about its gate, where the status does not say it yet.
fn answer(gate: &NodeGate, busy: bool, now: Timestamp) -> Option<Value> {
    let said = gate.status.clone().unwrap_or_default();
    let next = status(gate, &said, busy, now);
    if next == said {
        return None;
    }
    // What is left out of a merge stays as it was.
    let mut change = json!({"holder": null, "reason": null, "holds": null, "orders": null});
    let next = serde_json::to_value(next).ok()?;
    change.as_object_mut()?.extend(next.as_object()?.clone());
    Some(change)
}

fn status(gate: &NodeGate, said: &NodeGateStatus, busy: bool, now: Timestamp) -> NodeGateStatus {
    let state = match (&gate.spec.freeze, busy) {
        (None, _) => GateState::Open,
        (Some(_), true) => GateState::Freezing,
        (Some(_), false) => GateState::Frozen,
    };
    let since = said.since.clone().filter(|_| said.state == Some(state)).unwrap_or(Time(now));
    let hold = gate.spec.freeze.as_ref().map(|freeze| {
        let id = freeze.id.as_ref().map_or_else(|| "cluster".to_owned(), |id| format!("cluster.{id}"));
        let known = said.holds.iter().find(|hold| hold.id == id);
        Hold {
            id,
            holder: freeze.holder.clone().unwrap_or_else(|| "hub".to_owned()),
            origin: Origin::Remote,
            reason: freeze.reason.clone(),
            scope: Scope {
                kind: ScopeKind::Node,
                namespace: None,
                workload: None,
                pod: None,
                selector: None,
            },
            since: known.map_or(Time(now), |hold| hold.since.clone()),
            expires: None,
            on_expiry: None,
            orphaned: false,
            suspended_until: None,
        }
    });
    let orders = gate.spec.orders.iter().map(|order| {
        let known = said.orders.iter().find(|answer| answer.id == order.id);
        known.cloned().unwrap_or_else(|| OrderAnswer {
            id: order.id.clone(),
            phase: OrderPhase::Refused,
            reason: Some("Simulated".to_owned()),
            message: "a simulated node holds nothing that could be released or thawed by an order".to_owned(),
            at: Time(now),
        })
    });
    NodeGateStatus {
        observed_generation: gate.metadata.generation,
        state: Some(state),
        since: Some(since),
        holder: hold.as_ref().map(|hold| hold.holder.clone()),
        reason: hold.as_ref().map(|hold| hold.reason.clone()),
        orders: orders.collect(),
        holds: hold.into_iter().collect(),
        agent_version: Some("simulated".to_owned()),
        ..NodeGateStatus::default()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every change under these locks is whole.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use safepoint_api::node_gate::{Freeze, NodeGateSpec, Order, Thaw};

    use super::*;

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    fn gate(freeze: Option<Freeze>) -> NodeGate {
        NodeGate::new("sim-00001", NodeGateSpec { freeze, ..NodeGateSpec::default() })
    }

    /// The gate with the answer in its status, as the API has it after the merge.
    fn answered(mut gate: NodeGate, busy: bool) -> NodeGate {
        let change = answer(&gate, busy, NOW).expect("something is to be said");
        let mut status = serde_json::to_value(gate.status.unwrap_or_default()).unwrap();
        json_patch(&mut status, change);
        gate.status = Some(serde_json::from_value(status).unwrap());
        assert_eq!(answer(&gate, busy, NOW), None, "it is said once");
        gate
    }

    fn json_patch(status: &mut Value, change: Value) {
        let Value::Object(change) = change else { panic!("{change}") };
        for (field, value) in change {
            match value {
                Value::Null => drop(status.as_object_mut().unwrap().remove(&field)),
                value => status[field] = value,
            }
        }
    }

    #[test]
    fn a_gate_that_nobody_freezes_is_open() {
        let status = answered(gate(None), true).status.unwrap();
        assert_eq!((status.state, status.holder), (Some(GateState::Open), None));
    }

    #[test]
    fn a_freeze_waits_for_the_task_and_leaves_nothing_behind() {
        let frozen = answered(gate(Some(Freeze::new("harvest"))), true);
        assert_eq!(frozen.status.as_ref().unwrap().state, Some(GateState::Freezing));
        let mut frozen = answered(frozen, false);
        let status = frozen.status.as_ref().unwrap();
        assert_eq!(status.state, Some(GateState::Frozen));
        assert_eq!((status.holder.as_deref(), status.reason.as_deref()), (Some("hub"), Some("harvest")));
        assert_eq!(status.holds[0].id, "cluster");
        frozen.spec.freeze = None;
        let status = answered(frozen, false).status.unwrap();
        assert_eq!((status.state, status.holder, status.holds), (Some(GateState::Open), None, vec![]));
    }

    #[test]
    fn an_order_is_refused_with_its_reason() {
        let mut gate = gate(None);
        let thaw = Some(Thaw::default());
        gate.spec.orders =
            vec![Order { id: "a".into(), expires: None, release: None, thaw, override_: None }];
        let mut gate = answered(gate, false);
        assert_eq!(gate.status.as_ref().unwrap().orders[0].phase, OrderPhase::Refused);
        gate.spec.orders.clear();
        assert!(answered(gate, false).status.unwrap().orders.is_empty());
    }
}
