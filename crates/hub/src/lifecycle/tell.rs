//! What `kubectl describe pod` tells: an Event when the gate is written, when an operation takes too long, and when the pod is
//! deleted. An Event is named by what it tells, so that a hub that starts anew tells nothing twice.

use std::hash::{DefaultHasher, Hash, Hasher};

use jiff::Timestamp;
use kube::Client;
use safepoint_api::names::kusionstack::{EVENT_POD_DELETION, EVENT_SERVICE_READY};
use safepoint_core::Text;
use safepoint_core::lifecycle::{Alarm, Explanation, Label, OperationId, Phase, View};

use super::known::{Key, Known};
use super::words::EVENT_OVERDUE;
use crate::event::{self, Told};

/// Something to tell about a pod.
#[derive(Debug)]
pub(super) struct News {
    pub(super) key: Key,
    pub(super) uid: Text,
    reason: &'static str,
    warning: bool,
    text: String,
    /// What makes it one Event.
    digest: u64,
}

// === impl News ===

impl News {
    fn new(key: &Key, uid: &Text, reason: &'static str, text: String, what: impl Hash) -> Self {
        let mut hasher = DefaultHasher::new();
        (uid, reason, what).hash(&mut hasher);
        Self { key: key.clone(), uid: uid.clone(), reason, warning: false, text, digest: hasher.finish() }
    }

    /// The gate was written.
    pub(super) fn gate(key: &Key, known: &Known, open: bool, why: &Explanation) -> Self {
        let how = if known.gate.condition.is_some() { "update" } else { "append" };
        let gate = if open { "True" } else { "False" };
        let text = format!("{how} service readiness gate to: {gate}; {why}");
        Self::new(key, &known.uid, EVENT_SERVICE_READY, text, (open, &known.version))
    }

    /// The pod was deleted.
    pub(super) fn deleted(key: &Key, uid: &Text) -> Self {
        Self::new(key, uid, EVENT_POD_DELETION, "Deleted pod".to_owned(), ())
    }

    /// An operation takes too long.
    pub(super) fn overdue(key: &Key, known: &Known, view: &View, alarm: &Alarm, why: &Explanation) -> Self {
        let what = late(view, alarm);
        Self { warning: true, ..Self::new(key, &known.uid, EVENT_OVERDUE, why.to_string(), what) }
    }

    /// Tells it. One that is lost is a pity and nothing more: the labels say the same.
    pub(super) async fn tell(self, client: Client, now: Timestamp) {
        let Self { key, uid, reason, warning, text, digest } = self;
        let about = event::about("v1", "Pod", &key.namespace, &key.name, &uid);
        let told = Told { about, story: format!("{digest:016x}"), reason, warning, text };
        if let Err(error) = told.tell(&client, now).await {
            tracing::debug!(%error, reason, "an event is lost");
        }
    }
}

/// What makes an alarm one: whose operation is late in which phase, and since when it is in it.
pub(super) type Late = (OperationId, Phase, Option<Text>);

/// Which alarm it is.
pub(super) fn late(view: &View, alarm: &Alarm) -> Late {
    (alarm.id.clone(), alarm.phase, entered(view, &alarm.id, alarm.phase))
}

/// Since when an operation is in its phase, as its labels have it.
fn entered(view: &View, id: &OperationId, phase: Phase) -> Option<Text> {
    let label = match phase {
        Phase::PreCheck => Label::PreCheck,
        Phase::Preparing => Label::Preparing,
        Phase::Operating => Label::Operate,
        Phase::PostCheck => Label::PostCheck,
        _ => Label::Completing,
    };
    view.operations.get(id)?.get(label).cloned()
}
