//! Kubernetes Events on what the gate does, and the same for listeners on the machine.
//!
//! What the gate does to an object is told about that object, what it does to the machine about the Node, and what goes into the
//! audit log about the NodeGate, with who and why. Events are for people who look at the right moment. They are posted in order
//! as long as the cluster answers; of those that cannot be posted, the newest are kept.

mod allowance;
mod told;

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp as Moment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use safepoint_api::local::{Notice, NoticeKind};
use safepoint_api::names::safepoint::{GROUP, VERSION};
use safepoint_core::{Effect, Kind, Timestamp};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};

use super::{Patience, written};
use crate::cluster::{Cluster, Resource};
use crate::faults;
use crate::keeper::{self, Desk};
use crate::link::Link;
use crate::local;
use crate::orders::Obeyed;
use allowance::Allowance;
use told::{About, Told};

/// The name of the module.
pub(crate) const NAME: &str = "events";
/// So many wait at most.
const KEPT: usize = 256;

/// The module.
pub(crate) struct Events {
    pub(crate) node: String,
    pub(crate) cluster: Cluster,
    pub(crate) desk: Desk,
    pub(crate) link: Link,
    pub(crate) notices: broadcast::Sender<Notice>,
    /// Which NodeGate there is.
    pub(crate) obeyed: watch::Receiver<Obeyed>,
}

/// What of the audit log has been told.
struct Record {
    up_to: u64,
    allowance: Allowance,
}

// === impl Events ===

impl Module for Events {
    fn spec(&self) -> Spec {
        Spec::new(NAME).after([keeper::NAME])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        faults::misbehave(&ctx).await?;
        let mut effects = self.desk.effects();
        let (mut link, mut recorded) = (self.link.watch(), self.desk.recorded());
        let last = self.desk.look(|_, journal| journal.log(u64::MAX, 0).map(|page| page.last)).await;
        let last = last.map_err(Fault::transient)?.map_err(Fault::transient)?;
        let mut record = Record { up_to: last, allowance: Allowance::default() };
        let mut waiting: VecDeque<Value> = VecDeque::new();
        let mut posting: Option<Pin<Box<dyn Future<Output = bool> + Send>>> = None;
        let mut patience = Patience::default();
        ctx.ready();
        loop {
            if posting.is_none() && patience.is_well() && self.link.now().connected {
                let cluster = self.cluster.clone();
                let next = waiting.front().cloned();
                posting =
                    next.map(|event| Box::pin(async move { post(&cluster, event).await }) as Pin<Box<_>>);
            }
            // One that is on its way stays so: sent twice it would be there twice.
            let posted = async {
                match posting.as_mut() {
                    Some(posting) => posting.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                effect = effects.recv() => match effect {
                    Ok(effect) => self.tell(&effect, &mut waiting).await?,
                    Err(broadcast::error::RecvError::Lagged(missed)) => tracing::warn!(missed, "too many events at once"),
                    Err(broadcast::error::RecvError::Closed) => return Ok(()),
                },
                changed = recorded.changed() => {
                    if changed.is_err() {
                        return Ok(());
                    }
                    self.tell_record(&mut record, &mut waiting).await?;
                }
                changed = link.changed() => {
                    changed.map_err(Fault::transient)?;
                    patience.worked();
                    let now = link.borrow_and_update().clone();
                    let message = now.message.unwrap_or_else(|| "the cluster can be reached".to_owned());
                    let at = self.desk.look(|gate, _| gate.wall()).await.map_err(Fault::transient)?;
                    self.notify(at, NoticeKind::Uplink, "uplink".to_owned(), message);
                }
                done = posted => {
                    posting = None;
                    patience.note(done);
                    if done {
                        waiting.pop_front();
                    }
                }
                () = patience.wait() => patience.worked(),
                () = ctx.cancelled() => return Ok(()),
            }
        }
    }
}

/// Posts an event. True: it needs no second attempt.
async fn post(cluster: &Cluster, event: Value) -> bool {
    let namespace = event["metadata"]["namespace"].as_str().unwrap_or("default");
    match cluster.create(&Resource::core_in(namespace, "events"), &event).await {
        Ok(_) => true,
        Err(error) => {
            tracing::debug!(%error, "cannot post an event");
            error.is_final()
        }
    }
}

impl Events {
    async fn tell(&self, effect: &Arc<Effect>, waiting: &mut VecDeque<Value>) -> Result<(), Fault> {
        let effect = Arc::clone(effect);
        let looked = self.desk.look(move |gate, _| (Told::of(gate, &effect), gate.wall())).await;
        let (told, at) = looked.map_err(Fault::transient)?;
        if let Some((kind, told)) = told {
            put(waiting, self.event(&told, at));
            self.notify(at, kind, told.subject, told.message);
        }
        Ok(())
    }

    /// Tells what has gone into the audit log since.
    async fn tell_record(&self, record: &mut Record, waiting: &mut VecDeque<Value>) -> Result<(), Fault> {
        loop {
            let after = record.up_to;
            let page = self.desk.look(move |_, journal| journal.log(after, KEPT)).await;
            let lines = page.map_err(Fault::transient)?.map_err(Fault::transient)?.lines;
            if lines.is_empty() {
                return Ok(());
            }
            for line in lines {
                record.up_to = line.number;
                let at = line.line.at.at;
                if let Some(left_out) = record.allowance.take(at) {
                    let told = Told::recorded(&local::line(line), left_out);
                    put(waiting, self.event(&told, at));
                }
            }
        }
    }

    fn notify(&self, at: Timestamp, kind: NoticeKind, subject: String, message: String) {
        let at = Time(Moment::from_millisecond(at.0).unwrap_or_default());
        // Nobody may be listening.
        let _ = self.notices.send(Notice { at, kind, subject, message });
    }

    fn event(&self, told: &Told, at: Timestamp) -> Value {
        let involved = match &told.about {
            // The cluster knows a static pod by its mirror, and the gate's uid of it is none of the cluster's.
            About::Object(key, _) if key.kind == Kind::StaticPod => {
                let name = format!("{}-{}", key.name, self.node);
                json!({"apiVersion": "v1", "kind": "Pod", "namespace": *key.namespace, "name": name})
            }
            About::Object(key, uid) => {
                json!({"apiVersion": "v1", "kind": kind(key.kind), "namespace": *key.namespace, "name": *key.name, "uid": uid})
            }
            About::Node => json!({"apiVersion": "v1", "kind": "Node", "name": self.node, "uid": self.node}),
            About::Gate => {
                let uid = Some(self.obeyed.borrow().gate.clone()).filter(|uid| !uid.is_empty());
                json!({"apiVersion": format!("{GROUP}/{VERSION}"), "kind": "NodeGate", "name": self.node, "uid": uid})
            }
        };
        let (namespace, name) = match &told.about {
            About::Object(key, _) => (&*key.namespace, &*key.name),
            About::Node | About::Gate => ("default", self.node.as_str()),
        };
        json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"namespace": namespace, "generateName": format!("{name}.")},
            "involvedObject": involved,
            "reason": told.reason, "message": told.message, "type": if told.is_warning { "Warning" } else { "Normal" },
            "source": {"component": "safepoint", "host": self.node},
            "reportingComponent": "safepoint.dev/agent", "reportingInstance": self.node,
            "firstTimestamp": written(at), "lastTimestamp": written(at), "count": 1,
        })
    }
}

/// One more waits; of too many, the oldest goes.
fn put(waiting: &mut VecDeque<Value>, event: Value) {
    waiting.push_back(event);
    // The first may be on its way.
    while waiting.len() > KEPT {
        waiting.remove(1);
    }
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Pod | Kind::StaticPod => "Pod",
        Kind::ConfigMap => "ConfigMap",
        Kind::Secret => "Secret",
    }
}
