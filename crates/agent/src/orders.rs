//! What the cluster orders, through the NodeGate of this node.
//!
//! An order in `spec.orders` is an act: it is decided once, however often it is delivered, and its answer is kept in the
//! same write as the decision. `spec.freeze` is a state: the node is frozen while it is there. A freeze whose lease has
//! ended is not taken again under the same id, so that it was taken is kept too.
//!
//! A NodeGate that is not there says nothing, and one that was made anew takes nothing back that another one ordered:
//! whoever deletes a resource definition by mistake must not open a fleet. An order `thaw` ends such a freeze.

mod translate;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use safepoint_api::node_gate::{Freeze, NodeGateSpec, OrderAnswer};
use safepoint_core::{Answer, Ask, Effect, Hold, HoldId, HoldKind, Holder, Origin, Refusal, Span};
use safepoint_nodeapi::parse::OF_CLUSTER;
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use tokio::sync::broadcast::error::RecvError;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::cluster::{Cluster, Query, Resource};
use crate::keeper::{self, Asking, Desk};
use crate::uplink::feed::{Feed, News};
use crate::uplink::metadata;
pub(crate) use translate::kept_answer;

/// The name of the module.
pub(crate) const NAME: &str = "orders";
/// How long a node may take to settle if the order does not say.
const SETTLE: Span = Span::from_mins(10);
/// After a refusal the node tries to freeze again this much later.
const RETRY: Duration = Duration::from_secs(30);
/// Under this and its id it is kept who ordered a freeze and that it was acknowledged.
const TAKEN: &str = "freeze/";
/// Under this and its id the answer to an order is kept.
pub(crate) const ANSWER: &str = "order/";

/// The orders as a module.
pub(crate) struct Orders {
    pub(crate) node: String,
    pub(crate) cluster: Cluster,
    pub(crate) desk: Desk,
    pub(crate) obeyed: watch::Sender<Obeyed>,
}

/// What has become of the orders.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Obeyed {
    /// Of which NodeGate: one that was made anew has no status yet.
    pub(crate) gate: String,
    /// The generation of the spec that has been obeyed; none as long as there is no NodeGate.
    pub(crate) generation: Option<i64>,
    pub(crate) answers: Vec<OrderAnswer>,
}

/// The NodeGate as it is followed.
#[derive(Clone, PartialEq, Debug)]
struct Ordered {
    uid: String,
    generation: Option<i64>,
    spec: NodeGateSpec,
    /// The orders that were answered, as the cluster shows it: a second memory, for a node that has lost its own.
    answered: BTreeSet<String>,
}

/// What is kept of a freeze that was ordered.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
struct Taken {
    /// By the NodeGate with this uid.
    gate: String,
    /// Whether it was acknowledged.
    frozen: bool,
}

/// Where a node's gate is.
pub(crate) fn resource() -> Resource {
    use safepoint_api::names::safepoint::{GROUP, VERSION};
    Resource::of_group(GROUP, VERSION, "nodegates")
}

// === impl Orders ===

impl Module for Orders {
    fn spec(&self) -> Spec {
        Spec::new(NAME).after([keeper::NAME])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        let feed = Feed::new(self.cluster.clone(), resource(), Query::field("metadata.name", &self.node));
        let (tell, mut told) = watch::channel(None);
        let stop = ctx.token();
        ctx.spawn("feed", async move {
            tokio::select! {
                ended = follow(feed, tell) => ended,
                () = stop.cancelled() => Ok(()),
            }
        });
        let mut effects = self.desk.effects();
        let mut starts = self.desk.starts();
        ctx.ready();
        let mut tried = None;
        loop {
            let ordered = told.borrow_and_update().clone();
            if let Some(ordered) = ordered {
                self.obey(&ctx, &ordered, &mut tried).await?;
                self.tell(&ordered).await?;
            }
            tokio::select! {
                changed = told.changed() => changed.map_err(Fault::transient)?,
                changed = starts.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                }
                closed = mode_changed(&mut effects) => if closed { return Ok(()) },
                () = tokio::time::sleep(RETRY) => {}
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

/// Waits until a freeze may have begun or ended. True: the gate is gone for good.
async fn mode_changed(effects: &mut tokio::sync::broadcast::Receiver<std::sync::Arc<Effect>>) -> bool {
    loop {
        match effects.recv().await.as_deref() {
            Ok(Effect::ModeIs(_)) | Err(RecvError::Lagged(_)) => return false,
            Ok(_) => {}
            Err(RecvError::Closed) => return true,
        }
    }
}

/// The newest spec. It stays what it was while the cluster is away, and when the NodeGate is gone.
async fn follow(mut feed: Feed, tell: watch::Sender<Option<Ordered>>) -> Result<(), Fault> {
    loop {
        let found = match feed.next().await {
            News::Listed(gates) => gates.into_iter().next(),
            News::Changed(gate) => Some(gate),
            News::Gone(_) | News::Live | News::Lost(_) => None,
        };
        let Some(mut gate) = found else { continue };
        let (uid, generation) = (metadata(&gate, "uid").to_owned(), gate["metadata"]["generation"].as_i64());
        let orders = gate["status"]["orders"].as_array().into_iter().flatten();
        let answered = orders.filter_map(|order| order["id"].as_str().map(str::to_owned)).collect();
        let spec = match gate["spec"].take() {
            Value::Null => Ok(NodeGateSpec::default()),
            spec => serde_json::from_value(spec),
        };
        match spec {
            Ok(spec) => drop(tell.send_replace(Some(Ordered { uid, generation, spec, answered }))),
            Err(error) => {
                tracing::error!(%error, "the orders in the NodeGate cannot be read; what was ordered before stands");
            }
        }
    }
}

impl Orders {
    async fn obey(
        &self,
        ctx: &Ctx,
        ordered: &Ordered,
        tried: &mut Option<(HoldId, Instant)>,
    ) -> Result<(), Fault> {
        let spec = &ordered.spec;
        let (holds, others, kept) = self
            .desk
            .look(|gate, journal| {
                let (remote, others) = apart(gate.holds());
                (remote, others, journal.answers())
            })
            .await
            .map_err(Fault::transient)?;
        let kept: BTreeMap<String, Vec<u8>> = kept.map_err(Fault::transient)?.into_iter().collect();
        let wanted = spec.freeze.as_ref().map(|freeze| free(&hold_id(freeze), &others, &kept));
        if let Some((freeze, id)) = self.freeze_or_thaw(ordered, wanted.as_ref(), &holds, &kept).await?
            && tried.as_ref().is_none_or(|(tried, at)| *tried != id || at.elapsed() >= RETRY)
        {
            *tried = Some((id.clone(), Instant::now()));
            self.take(ctx, freeze, &id);
        }
        for order in &spec.orders {
            if kept.contains_key(&format!("{ANSWER}{}", order.id)) {
                continue;
            }
            if ordered.answered.contains(&order.id) {
                let answer =
                    translate::not_understood("it was answered before this node lost its record".into());
                self.desk
                    .keep(vec![(format!("{ANSWER}{}", order.id), Some(answer))])
                    .await
                    .map_err(Fault::transient)?;
                continue;
            }
            let asking = translate::order(order);
            match asking {
                Ok(asking) => drop(self.desk.ask(asking).await.map_err(Fault::transient)?),
                Err(problem) => {
                    let answer = translate::not_understood(problem);
                    self.desk
                        .keep(vec![(format!("{ANSWER}{}", order.id), Some(answer))])
                        .await
                        .map_err(Fault::transient)?;
                }
            }
        }
        self.forget(spec, wanted.as_ref(), &holds, &kept).await
    }

    /// Tells what was answered.
    async fn tell(&self, ordered: &Ordered) -> Result<(), Fault> {
        let kept = self.desk.look(|_, journal| journal.answers()).await.map_err(Fault::transient)?;
        let kept = kept.map_err(Fault::transient)?;
        let answers = kept.iter().filter_map(|(name, kept)| translate::answer_of(name, kept)).collect();
        let next = Obeyed { gate: ordered.uid.clone(), generation: ordered.generation, answers };
        self.obeyed.send_if_modified(|obeyed| std::mem::replace(obeyed, next.clone()) != next);
        Ok(())
    }

    /// Answers to orders that were taken out are of no use to anybody.
    async fn forget(
        &self,
        spec: &NodeGateSpec,
        wanted: Option<&HoldId>,
        holds: &BTreeMap<HoldId, Hold>,
        kept: &BTreeMap<String, Vec<u8>>,
    ) -> Result<(), Fault> {
        let orders: BTreeSet<String> =
            spec.orders.iter().map(|order| format!("{ANSWER}{}", order.id)).collect();
        let freeze = wanted.map(|id| format!("{TAKEN}{id}"));
        let stale = kept.keys().filter(|name| match name.starts_with(TAKEN) {
            true => {
                freeze.as_ref() != Some(*name) && !holds.keys().any(|id| **name == format!("{TAKEN}{id}"))
            }
            false => name.starts_with(ANSWER) && !orders.contains(*name),
        });
        let stale: Vec<_> = stale.map(|name| (name.clone(), None)).collect();
        match stale.is_empty() {
            true => Ok(()),
            false => self.desk.keep(stale).await.map_err(Fault::transient),
        }
    }

    /// Ends what is wanted no longer. Returns the freeze that is wanted and does not stand.
    async fn freeze_or_thaw<'a>(
        &self,
        ordered: &'a Ordered,
        wanted: Option<&HoldId>,
        holds: &BTreeMap<HoldId, Hold>,
        kept: &BTreeMap<String, Vec<u8>>,
    ) -> Result<Option<(&'a Freeze, HoldId)>, Fault> {
        let freeze = ordered.spec.freeze.as_ref();
        let taken_of = |id: &HoldId| -> Option<Taken> {
            serde_json::from_slice(kept.get(&format!("{TAKEN}{id}"))?).ok()
        };
        let mut missing = None;
        if let (Some(freeze), Some(id)) = (freeze, wanted) {
            let known = taken_of(id);
            let was_frozen = known.as_ref().is_some_and(|known| known.frozen);
            let hold = holds.get(id);
            let is_frozen = hold.is_some_and(|hold| hold.kind == HoldKind::Freeze);
            // Before it is taken: whoever takes it back must be known even if nothing else is.
            let taken = Taken { gate: ordered.uid.clone(), frozen: was_frozen || is_frozen };
            if known.as_ref() != Some(&taken) {
                let row = serde_json::to_vec(&taken).map_err(Fault::transient)?;
                self.desk.keep(vec![(format!("{TAKEN}{id}"), Some(row))]).await.map_err(Fault::transient)?;
            }
            match hold {
                Some(hold) => self.lengthen(freeze, id, hold).await?,
                // Its lease has ended.
                None if freeze.lease.is_some() && was_frozen => {}
                None => missing = Some((freeze, id.clone())),
            }
        }
        // The new one stands before the old one goes: nothing slips through between.
        let of_another =
            |id: &HoldId| wanted.is_none() && taken_of(id).is_some_and(|taken| taken.gate != ordered.uid);
        let stale: BTreeSet<HoldId> =
            holds.keys().filter(|id| Some(*id) != wanted && !of_another(id)).cloned().collect();
        if !stale.is_empty() && wanted.is_none_or(|id| holds.contains_key(id)) {
            let asking = remote(holder(freeze), Ask::ThawOnly(stale));
            self.desk.ask(asking).await.map_err(Fault::transient)?;
        }
        Ok(missing)
    }

    /// Asks for the freeze. The answer may take as long as the node takes to settle; other orders do not wait for it.
    fn take(&self, ctx: &Ctx, freeze: &Freeze, id: &HoldId) {
        let ask = Ask::Freeze {
            id: id.clone(),
            reason: freeze.reason.as_str().into(),
            lease: freeze.lease.as_ref().map(translate::lease),
            settle: freeze.deadline.map_or(SETTLE, translate::span),
            keep_barrier: freeze.hold_barrier,
        };
        let (desk, asking, stop) = (self.desk.clone(), remote(holder(Some(freeze)), ask), ctx.token());
        ctx.spawn("freeze", async move {
            // Told or not: what the node does is in its status, and it is tried again.
            tokio::select! {
                answer = desk.ask(asking) => {
                    if let Ok(Answer::Refused(refusal)) = answer
                        && !matches!(refusal, Refusal::Unsettled { .. })
                    {
                        tracing::warn!(?refusal, "the freeze that the cluster ordered was refused");
                    }
                }
                () = stop.cancelled() => {}
            }
            Ok(())
        });
    }

    /// A longer lease under the same id extends the freeze, and one that is gone from the order leaves it without end.
    async fn lengthen(&self, freeze: &Freeze, id: &HoldId, hold: &Hold) -> Result<(), Fault> {
        let ask = match (freeze.lease.as_ref().map(translate::lease), hold.lease) {
            (Some(lease), Some(known)) if lease.length > known.length => {
                Ask::Renew { id: id.clone(), length: Some(lease.length) }
            }
            (None, Some(_)) if hold.kind == HoldKind::Freeze => Ask::Freeze {
                id: id.clone(),
                reason: freeze.reason.as_str().into(),
                lease: None,
                settle: SETTLE,
                keep_barrier: freeze.hold_barrier,
            },
            _ => return Ok(()),
        };
        self.desk.ask(remote(hold.holder.clone(), ask)).await.map(drop).map_err(Fault::transient)
    }
}

fn holder(freeze: Option<&Freeze>) -> Holder {
    let name = freeze.and_then(|freeze| freeze.holder.as_deref()).unwrap_or("hub");
    Holder { name: name.into(), origin: Origin::Remote }
}

fn remote(caller: Holder, ask: Ask) -> Asking {
    Asking { caller, known_as: None, order: None, over: None, ask, keep_answer: None }
}

/// The freezes that the cluster has ordered, and the names of all other holds.
fn apart(holds: &BTreeMap<HoldId, Hold>) -> (BTreeMap<HoldId, Hold>, BTreeSet<HoldId>) {
    let is_ordered = |hold: &Hold| hold.holder.origin == Origin::Remote && hold.is_freeze();
    let (ordered, others): (Vec<_>, Vec<_>) = holds.iter().partition(|(_, hold)| is_ordered(hold));
    let ordered = ordered.into_iter().map(|(id, hold)| (id.clone(), hold.clone())).collect();
    (ordered, others.into_iter().map(|(id, _)| id.clone()).collect())
}

/// The name of a freeze. No program on the machine can choose it.
fn hold_id(freeze: &Freeze) -> HoldId {
    match &freeze.id {
        Some(id) => HoldId::from(format!("{OF_CLUSTER}.{id}")),
        None => HoldId::from(OF_CLUSTER),
    }
}

/// The name under which a freeze can be taken: its own. Where a hold of the machine has that since before it was refused to
/// programs, one that neither side can choose: nobody keeps the cluster from freezing. What has begun under one name goes on
/// under it.
fn free(id: &HoldId, others: &BTreeSet<HoldId>, kept: &BTreeMap<String, Vec<u8>>) -> HoldId {
    let more = (2..=others.len() + 2).map(|number| HoldId::from(format!("{id}~{number}")));
    let names: Vec<HoldId> =
        std::iter::once(id.clone()).chain(more).filter(|name| !others.contains(name)).collect();
    let begun = names.iter().find(|name| kept.contains_key(&format!("{TAKEN}{name}")));
    begun.or(names.first()).unwrap_or(id).clone()
}

#[cfg(test)]
mod tests;
