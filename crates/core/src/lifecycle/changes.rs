//! What is to be written on a pod.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::view::{Expectations, View};
use super::words::LabelKey;
use crate::text::Text;

/// The difference between a pod and the pod as it should be. Empty: nothing is to be written.
///
/// Where the gate's condition changes, all of it can go in one write to `pods/status`, which stores metadata too. A driver
/// that writes twice writes the metadata first: a gate that is late is closed late or opened late, and both are safe.
#[derive(Clone, PartialEq, Eq, Default, Debug, Serialize, Deserialize)]
#[must_use = "what was decided has to be written"]
pub struct Changes {
    /// Labels to set, and labels to take off.
    pub labels: BTreeMap<LabelKey, Option<Text>>,
    /// Whether to add the readiness gate to the spec. Only while the pod is created.
    pub declare_gate: bool,
    /// What the gate's condition becomes, in the status.
    pub gate: Option<bool>,
    /// Who to take out of the annotation that declares finalizers.
    pub prune: BTreeSet<Text>,
    /// What the annotation about a deletion that was put off becomes.
    pub put_off: Option<Option<Text>>,
}

// === impl Changes ===

impl Changes {
    /// What has to be written to make one view into the other.
    pub fn between(before: &View, after: &View) -> Self {
        let gone = before.labels().filter(|(key, _)| after.get(key).is_none()).map(|(key, _)| (key, None));
        let come = after
            .labels()
            .filter(|(key, value)| before.get(key) != Some(value))
            .map(|(key, value)| (key, Some(value.clone())));
        let prune = match (&before.expectations, &after.expectations) {
            (Expectations::Declared(before), Expectations::Declared(after)) => {
                before.keys().filter(|who| !after.contains_key(*who)).cloned().collect()
            }
            _ => BTreeSet::new(),
        };
        Self {
            labels: gone.chain(come).collect(),
            declare_gate: after.gate.declared && !before.gate.declared,
            gate: after.gate.condition.filter(|_| before.gate.condition != after.gate.condition),
            prune,
            put_off: (before.put_off != after.put_off).then(|| after.put_off.clone()),
        }
    }

    /// Whether there is nothing to write.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// The same, without what goes to the status: what is left when a driver dies between two writes.
    pub fn without_gate(mut self) -> Self {
        self.gate = None;
        self
    }
}

impl View {
    /// The pod after the write.
    pub fn apply(&mut self, changes: &Changes) {
        for (key, value) in &changes.labels {
            self.set(key, value.clone());
        }
        self.gate.declared |= changes.declare_gate;
        self.gate.condition = changes.gate.or(self.gate.condition);
        if let Expectations::Declared(declared) = &mut self.expectations {
            declared.retain(|who, _| !changes.prune.contains(who));
        }
        if let Some(put_off) = &changes.put_off {
            self.put_off.clone_from(put_off);
        }
    }
}
