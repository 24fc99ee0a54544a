//! Kubernetes Events on what the gate does, and the same for listeners on the machine.
//!
//! Events are for people who look at the right moment. They are posted in order as long as the cluster answers; of those
//! that cannot be posted, the newest are kept.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use jiff::Timestamp as Moment;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use safepoint_api::local::{Notice, NoticeKind};
use safepoint_core::{Alarm, Effect, Gate, GrantEnd, HeldBy, Key, Kind, Mode, Timestamp};
use safepoint_supervisor::{Ctx, Fault, Module, Spec};
use serde_json::{Value, json};
use tokio::sync::broadcast;

use super::{Patience, written};
use crate::cluster::{Cluster, Resource};
use crate::faults;
use crate::keeper::{self, Desk};
use crate::link::Link;

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
}

/// Something to tell.
struct Told {
    kind: NoticeKind,
    /// What it is about; the node where it is about no object.
    key: Option<Key>,
    subject: String,
    reason: &'static str,
    warning: bool,
    message: String,
}

// === impl Events ===

impl Module for Events {
    fn spec(&self) -> Spec {
        Spec::new(NAME).after([keeper::NAME])
    }

    async fn run(&self, ctx: Ctx) -> Result<(), Fault> {
        faults::misbehave(&ctx).await?;
        let mut effects = self.desk.effects();
        let mut link = self.link.watch();
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
        let looked = self.desk.look(move |gate, _| (told(gate, &effect), gate.wall())).await;
        let (told, at) = looked.map_err(Fault::transient)?;
        if let Some((told, uid)) = told {
            waiting.push_back(self.event(&told, uid.as_deref(), at));
            // The first may be on its way.
            while waiting.len() > KEPT {
                waiting.remove(1);
            }
            self.notify(at, told.kind, told.subject, told.message);
        }
        Ok(())
    }

    fn notify(&self, at: Timestamp, kind: NoticeKind, subject: String, message: String) {
        let at = Time(Moment::from_millisecond(at.0).unwrap_or_default());
        // Nobody may be listening.
        let _ = self.notices.send(Notice { at, kind, subject, message });
    }

    fn event(&self, told: &Told, uid: Option<&str>, at: Timestamp) -> Value {
        let involved = match &told.key {
            // The cluster knows a static pod by its mirror, and the gate's uid of it is none of the cluster's.
            Some(key) if key.kind == Kind::StaticPod => {
                let name = format!("{}-{}", key.name, self.node);
                json!({"apiVersion": "v1", "kind": "Pod", "namespace": *key.namespace, "name": name})
            }
            Some(key) => {
                json!({"apiVersion": "v1", "kind": kind(key.kind), "namespace": *key.namespace, "name": *key.name, "uid": uid})
            }
            None => json!({"apiVersion": "v1", "kind": "Node", "name": self.node, "uid": self.node}),
        };
        let namespace = told.key.as_ref().map_or("default", |key| &key.namespace);
        let name = told.key.as_ref().map_or(self.node.as_str(), |key| &key.name);
        json!({
            "apiVersion": "v1", "kind": "Event",
            "metadata": {"namespace": namespace, "generateName": format!("{name}.")},
            "involvedObject": involved,
            "reason": told.reason, "message": told.message, "type": if told.warning { "Warning" } else { "Normal" },
            "source": {"component": "safepoint", "host": self.node},
            "reportingComponent": "safepoint.dev/agent", "reportingInstance": self.node,
            "firstTimestamp": written(at), "lastTimestamp": written(at), "count": 1,
        })
    }
}

const fn kind(kind: Kind) -> &'static str {
    match kind {
        Kind::Pod | Kind::StaticPod => "Pod",
        Kind::ConfigMap => "ConfigMap",
        Kind::Secret => "Secret",
    }
}

/// What an effect is to people, and the uid of what it is about.
fn told(gate: &Gate, effect: &Effect) -> Option<(Told, Option<String>)> {
    let of = |key: &Key, kind, reason, warning, message: String| {
        let slot = gate.slots().get(key);
        let uid = slot.and_then(|slot| slot.versions().last()).map(|version| version.uid.to_string());
        let subject = key.to_string();
        Some((Told { kind, key: Some(key.clone()), subject, reason, warning, message }, uid))
    };
    let of_node = |kind, subject: String, reason, warning, message: String| {
        Some((Told { kind, key: None, subject, reason, warning, message }, None))
    };
    match effect {
        Effect::Held { by: HeldBy::Predecessor, .. } => None,
        Effect::Held { key, .. } => {
            of(key, NoticeKind::Held, "UpgradeHeld", false, gate.explain(key).to_string())
        }
        Effect::NoLongerHeld { key } => of(
            key,
            NoticeKind::NoLongerHeld,
            "UpgradeNoLongerHeld",
            false,
            format!("{key} is held no longer"),
        ),
        Effect::Admit(change) => {
            let message = format!("{} of {} admitted", word(change.kind), change.key);
            of(&change.key, NoticeKind::Admitted, "ChangeAdmitted", false, message)
        }
        Effect::ModeIs(mode) => {
            let reason = match mode {
                Mode::Open => "GateOpen",
                Mode::Freezing => "GateFreezing",
                Mode::Frozen => "GateFrozen",
                Mode::Thawing => "GateThawing",
            };
            of_node(NoticeKind::Mode, "node".into(), reason, false, format!("the node is {mode}"))
        }
        Effect::GrantClosed(workload, end) => {
            let (reason, message) = match end {
                GrantEnd::Settled => {
                    ("ReleaseSettled", format!("{workload} has settled on what was released"))
                }
                GrantEnd::Expired => {
                    ("ReleaseExpired", format!("the release of {workload} ended before it had settled"))
                }
            };
            of_node(
                NoticeKind::ReleaseClosed,
                workload.to_string(),
                reason,
                *end == GrantEnd::Expired,
                message,
            )
        }
        Effect::Alarm(alarm) => {
            let (subject, reason, message) = match alarm {
                Alarm::Orphaned(id) => (
                    id.to_string(),
                    "HoldOrphaned",
                    format!("hold {id} has lost its holder and stays; somebody has to look"),
                ),
                Alarm::Overridden(id) => {
                    (id.to_string(), "HoldOverridden", format!("hold {id} was overridden"))
                }
                Alarm::ReleaseExpired(workload) => (
                    workload.to_string(),
                    "ReleaseExpired",
                    format!("the release of {workload} ended before it had settled"),
                ),
            };
            of_node(NoticeKind::Alarm, subject, reason, true, message)
        }
        Effect::Discard { .. } | Effect::Answer(..) | Effect::Relist => None,
    }
}

const fn word(change: safepoint_core::ChangeKind) -> &'static str {
    match change {
        safepoint_core::ChangeKind::Stop => "the end",
        safepoint_core::ChangeKind::Update => "the update",
        safepoint_core::ChangeKind::Start => "the start",
    }
}
