//! The status of the pods: how they do, that an upgrade of theirs is held, and that they are gone.
//!
//! The condition `HeldUpgrade` is written when it begins or ends to be true and at no other time, however slow the link
//! is: what the API shows and what was written last both count as written.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use safepoint_api::names::kubeedge::condition::{HELD_UPGRADE, MESSAGE_ACTIVE, REASON_ACTIVE};
use safepoint_api::names::safepoint::REASON_RELEASED;
use safepoint_core::{Gate, HeldBy, Key, Kind, Timestamp, Uid};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde_json::{Map, Value, json};

use super::{BREATH, Patience, Statuses, something, written};
use crate::cluster::{CallError, Cluster, Patch, Resource};
use crate::faults;
use crate::keeper::{self, Desk};
use crate::link::Link;
use crate::seen::{SeenPod, SeenPods};

/// The name of the module.
pub(crate) const NAME: &str = "pod-status";
/// The condition's message once nothing is held any more.
const MESSAGE_RELEASED: &str = "Pod upgrade is no longer held at the edge.";
/// So many writes are under way at once.
const AT_ONCE: usize = 8;

/// The module.
pub(crate) struct PodStatuses {
    pub(crate) cluster: Cluster,
    pub(crate) desk: Desk,
    pub(crate) link: Link,
    pub(crate) seen: Arc<SeenPods>,
    pub(crate) statuses: Arc<Statuses>,
}

/// What was last written of one pod.
#[derive(Clone, Default, Debug)]
struct Sent {
    status: Option<Arc<str>>,
    held: Option<bool>,
    /// The members that the status had: those that go must be taken out by name.
    members: BTreeSet<String>,
}

/// Something to write.
#[derive(Debug)]
enum Write {
    Status {
        uid: Uid,
        key: Key,
        change: Value,
        sent: Sent,
    },
    /// It shall end, and the cluster has only been asked for that and put it off.
    Delete {
        uid: Uid,
        key: Key,
    },
    /// It has ended.
    End {
        uid: Uid,
        key: Key,
    },
}

// === impl PodStatuses ===

impl Module for PodStatuses {
    fn spec(&self) -> Spec {
        Spec::new(NAME).after([keeper::NAME])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        faults::misbehave(&ctx).await?;
        let (mut seen, mut statuses) = (self.seen.changes(), self.statuses.changes());
        let (mut effects, mut starts, mut link) =
            (self.desk.effects(), self.desk.starts(), self.link.watch());
        let mut sent: BTreeMap<Uid, Sent> = BTreeMap::new();
        let mut patience = Patience::default();
        ctx.ready();
        loop {
            // Nobody would answer, and a call that hangs would keep the others waiting.
            if self.link.now().connected {
                tokio::select! {
                    done = self.round(&mut sent) => patience.note(done?),
                    () = ctx.cancelled() => return Ok(()),
                }
            }
            tokio::select! {
                changed = seen.changed(), if patience.is_well() => changed.map_err(Fault::transient)?,
                changed = statuses.changed(), if patience.is_well() => changed.map_err(Fault::transient)?,
                more = something(&mut effects), if patience.is_well() => if !more { return Ok(()) },
                changed = link.changed() => changed.map_err(Fault::transient)?,
                changed = starts.changed() => if changed.is_err() { return Ok(()) },
                () = patience.wait() => {}
                () = ctx.cancelled() => return Ok(()),
            }
            tokio::time::sleep(BREATH).await;
            while effects.try_recv().is_ok() {}
        }
    }
}

impl PodStatuses {
    /// Writes what is not written yet. False: something of it has to be tried again.
    async fn round(&self, sent: &mut BTreeMap<Uid, Sent>) -> Result<bool, Fault> {
        let seen = self.seen.all();
        let going: Vec<Uid> =
            seen.iter().filter(|(_, pod)| pod.deleting).map(|(uid, _)| uid.clone()).collect();
        let looked = self
            .desk
            .look(|gate, _| (held_pods(gate), ended_pods(gate, going), ending_pods(gate), gate.wall()))
            .await;
        let (held, ended, ending, now) = looked.map_err(Fault::transient)?;
        sent.retain(|uid, _| seen.contains_key(uid));
        let mut writes: Vec<Write> = Vec::new();
        for (uid, pod) in &seen {
            if ended.contains(uid) {
                writes.push(Write::End { uid: uid.clone(), key: pod.key.clone() });
            } else {
                if ending.contains(uid) && !pod.deleting {
                    writes.push(Write::Delete { uid: uid.clone(), key: pod.key.clone() });
                }
                let before = sent.get(uid).cloned().unwrap_or_default();
                writes.extend(self.status_of(uid, pod, held.contains(uid), &before, now));
            }
        }
        let mut all_done = true;
        let mut waiting = writes.into_iter();
        let mut under_way: FuturesUnordered<_> =
            waiting.by_ref().take(AT_ONCE).map(|write| self.carry_out(write)).collect();
        while let Some((write, done)) = under_way.next().await {
            all_done &= note(write, &done, sent);
            under_way.extend(waiting.next().map(|write| self.carry_out(write)));
        }
        Ok(all_done)
    }

    fn status_of(
        &self,
        uid: &Uid,
        pod: &SeenPod,
        held: bool,
        before: &Sent,
        now: Timestamp,
    ) -> Option<Write> {
        let reported = self.statuses.get(pod.mirror_of.as_ref().unwrap_or(uid));
        let mut next = before.clone();
        let mut status = Map::new();
        let mut conditions = Vec::new();
        if let Some(reported) = &reported
            && before.status.as_deref() != Some(reported)
        {
            let members: Map<String, Value> = serde_json::from_str(reported).unwrap_or_default();
            next.members = members.keys().cloned().collect();
            for gone in before.members.difference(&next.members) {
                status.insert(gone.clone(), Value::Null);
            }
            status.extend(members);
            conditions =
                status.remove("conditions").and_then(|it| it.as_array().cloned()).unwrap_or_default();
            next.status = Some(Arc::clone(reported));
        }
        let known = before.held.or(pod.held);
        if held != known.unwrap_or(false) {
            conditions.push(held_condition(held, now));
            next.held = Some(held);
        }
        if !conditions.is_empty() {
            status.insert("conditions".into(), Value::Array(conditions));
        }
        if status.is_empty() {
            return None;
        }
        let change = json!({"metadata": {"uid": uid.as_str()}, "status": status});
        Some(Write::Status { uid: uid.clone(), key: pod.key.clone(), change, sent: next })
    }

    async fn carry_out(&self, write: Write) -> (Write, Result<Value, CallError>) {
        let done = match &write {
            Write::Status { key, change, .. } => {
                self.cluster.patch(&resource(key).part("status"), Patch::Strategic, change).await
            }
            Write::Delete { uid, key } => {
                let options = json!({"apiVersion": "v1", "kind": "DeleteOptions",
                    "preconditions": {"uid": uid.as_str()}});
                self.cluster.delete(&resource(key), &options).await
            }
            Write::End { uid, key } => {
                let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": 0,
                    "preconditions": {"uid": uid.as_str()}});
                self.cluster.delete(&resource(key), &options).await
            }
        };
        (write, done)
    }
}

/// Whether that is settled.
fn note(write: Write, done: &Result<Value, CallError>, sent: &mut BTreeMap<Uid, Sent>) -> bool {
    match done {
        Ok(_) => {}
        // What is gone, or is another one by now, needs to hear nothing.
        Err(CallError::Refused { code: 404, .. }) => {}
        Err(CallError::Refused { code: 409, message, .. }) if message.contains("UID") => {}
        Err(error) => {
            tracing::warn!(%error, "the cluster does not take what this node says of a pod; it is tried again");
            return false;
        }
    }
    if let Write::Status { uid, sent: now, .. } = write {
        sent.insert(uid, now);
    }
    true
}

fn resource(key: &Key) -> Resource {
    Resource::core_in(&key.namespace, "pods").named(&key.name)
}

fn held_condition(held: bool, now: Timestamp) -> Value {
    let (status, reason, message) = match held {
        true => ("True", REASON_ACTIVE, MESSAGE_ACTIVE),
        false => ("False", REASON_RELEASED, MESSAGE_RELEASED),
    };
    json!({"type": HELD_UPGRADE, "status": status, "reason": reason, "message": message, "lastTransitionTime": written(now)})
}

/// Those of them that are gone from this machine or never came to it. The cluster waits to hear that from their node.
fn ended_pods(gate: &Gate, going: Vec<Uid>) -> BTreeSet<Uid> {
    let there: BTreeSet<&Uid> = gate
        .slots()
        .values()
        .filter_map(|slot| slot.applied.as_ref())
        .map(|applied| &applied.version.uid)
        .collect();
    going.into_iter().filter(|uid| gate.is_buried(uid) && !there.contains(uid)).collect()
}

/// The pods whose end has been let through.
fn ending_pods(gate: &Gate) -> BTreeSet<Uid> {
    let ending = gate.slots().iter().filter(|(key, slot)| key.kind == Kind::Pod && slot.is_ending());
    ending.filter_map(|(_, slot)| Some(slot.applied.as_ref()?.version.uid.clone())).collect()
}

/// The pods of which a change is held: both the one that runs and the one that would follow it. That something has to end
/// first is order and not a hold.
pub(crate) fn held_pods(gate: &Gate) -> BTreeSet<Uid> {
    let mut held = BTreeSet::new();
    let mut configs: BTreeSet<&Key> = BTreeSet::new();
    for key in gate.pending() {
        let Some(slot) = gate.slots().get(key) else { continue };
        if slot.held.is_none_or(|held| held.by == HeldBy::Predecessor) {
            continue;
        }
        match key.kind {
            Kind::ConfigMap | Kind::Secret => drop(configs.insert(key)),
            Kind::Pod | Kind::StaticPod => held.extend(slot.versions().map(|version| version.uid.clone())),
        }
    }
    if !configs.is_empty() {
        for applied in gate.slots().values().filter_map(|slot| slot.applied.as_ref()) {
            if applied.version.uses.iter().any(|key| configs.contains(key)) {
                held.insert(applied.version.uid.clone());
            }
        }
    }
    held
}
