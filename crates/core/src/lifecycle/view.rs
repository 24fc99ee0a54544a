//! What the lifecycle sees of a pod.
//!
//! A driver makes a [`View`] of a pod and nothing else of the pod comes here, so nothing else can be touched. What is
//! malformed is a value: a pod with a broken annotation can still be seen, explained and deleted.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::words::{
    CONTROL, CONTROL_ON, Label, LabelKey, Mark, Nanos, OperationId, OperationType,
    PROTECTION_FINALIZER_PREFIX,
};
use crate::text::Text;
use crate::workload::Labels;

/// A pod, as far as the lifecycle is concerned.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct View {
    /// Whether the pod takes part at all.
    pub controlled: bool,
    /// Labels under ids. An id may be here with labels that do not make it an operation; see [`Operation::is_alive`].
    pub operations: BTreeMap<OperationId, Operation>,
    /// Permissions, by type of operation.
    pub permissions: BTreeMap<OperationType, Text>,
    /// Labels that the pod has once.
    pub marks: BTreeMap<Mark, Text>,
    /// Keys that have a prefix of ours and no name, or more than one.
    pub invalid: BTreeSet<Text>,
    /// Finalizers that must be there before the pod is in service.
    pub expectations: Expectations,
    /// All finalizers, in their order.
    pub finalizers: Vec<Text>,
    /// The readiness gate of the lifecycle.
    pub gate: ServiceGate,
    /// Whether the pod is ready, as the kubelet says.
    pub ready: bool,
    /// Whether the pod is terminating.
    pub deleting: bool,
    /// When a deletion was put off last: the annotation's value.
    pub put_off: Option<Text>,
}

/// The labels of one id.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct Operation([Option<Text>; Label::ALL.len()]);

/// The annotation that declares finalizers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub enum Expectations {
    /// Who (`<Kind>/<namespace>/<name>`) has to have which finalizer there. Empty where there is no annotation.
    Declared(BTreeMap<Text, Text>),
    /// It cannot be read; the error says why. Nobody knows what it expects, so it is not met.
    Malformed(Text),
}

/// The readiness gate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug, Serialize, Deserialize)]
pub struct ServiceGate {
    /// Whether the pod's spec has it.
    pub declared: bool,
    /// Its condition, if there is one.
    pub condition: Option<bool>,
}

// === impl View ===

impl View {
    /// What the labels of a pod say. The rest is for the driver to fill in.
    #[must_use]
    pub fn of(labels: &Labels) -> Self {
        let mut view = Self {
            controlled: labels.get(CONTROL).is_some_and(|value| &**value == CONTROL_ON),
            ..Self::default()
        };
        for (key, value) in labels {
            match LabelKey::parse(key) {
                Ok(Some(key)) => view.set(&key, Some(value.clone())),
                Ok(None) => {}
                Err(key) => drop(view.invalid.insert(key)),
            }
        }
        view
    }

    /// The ids that are operations, with their labels.
    pub fn alive(&self) -> impl Iterator<Item = (&OperationId, &Operation)> {
        self.operations.iter().filter(|(_, operation)| operation.is_alive())
    }

    /// The finalizers of cooperation controllers.
    pub fn protections(&self) -> impl Iterator<Item = &Text> {
        self.finalizers.iter().filter(|finalizer| finalizer.starts_with(PROTECTION_FINALIZER_PREFIX))
    }

    /// Whether the pod can be taken out of service. One that was created before it took part has no gate.
    #[must_use]
    pub const fn is_gated(&self) -> bool {
        self.gate.declared || self.gate.condition.is_some()
    }

    /// Whether this label is on the pod.
    #[must_use]
    pub fn has(&self, mark: Mark) -> bool {
        self.marks.contains_key(&mark)
    }

    /// Whether somebody wishes the pod deleted through the lifecycle.
    #[must_use]
    pub fn is_wished_gone(&self) -> bool {
        self.has(Mark::ToDelete) || self.has(Mark::ToDeleteOld)
    }

    /// Declared finalizers that are not there, by who declared them.
    pub fn missing(&self) -> impl Iterator<Item = (&Text, &Text)> {
        let declared = match &self.expectations {
            Expectations::Declared(declared) => Some(declared),
            Expectations::Malformed(_) => None,
        };
        declared.into_iter().flatten().filter(|(_, finalizer)| !self.finalizers.contains(finalizer))
    }

    /// Whether every declared finalizer is there.
    #[must_use]
    pub fn is_registered(&self) -> bool {
        matches!(self.expectations, Expectations::Declared(_)) && self.missing().next().is_none()
    }

    /// Whether cooperation controllers may still be on their way to switch on: the pod is ready, the gate lets it be, and
    /// a declared finalizer has not come yet. An operation that began now could not tell that from switched off.
    #[must_use]
    pub fn is_registering(&self) -> bool {
        self.ready && self.gate.condition != Some(false) && !self.is_registered()
    }

    /// The value of a label.
    #[must_use]
    pub fn get(&self, key: &LabelKey) -> Option<&Text> {
        match key {
            LabelKey::Operation(id, label) => self.operations.get(id)?.get(*label),
            LabelKey::Permission(kind) => self.permissions.get(kind),
            LabelKey::Mark(mark) => self.marks.get(mark),
        }
    }

    /// Sets a label, or takes it off.
    pub fn set(&mut self, key: &LabelKey, value: Option<Text>) {
        match (key, value) {
            (LabelKey::Operation(id, label), value) => {
                let operation = self.operations.entry(id.clone()).or_default();
                operation.put(*label, value);
                if operation.is_empty() {
                    self.operations.remove(id);
                }
            }
            (LabelKey::Permission(kind), Some(value)) => drop(self.permissions.insert(kind.clone(), value)),
            (LabelKey::Permission(kind), None) => drop(self.permissions.remove(kind)),
            (LabelKey::Mark(mark), Some(value)) => drop(self.marks.insert(*mark, value)),
            (LabelKey::Mark(mark), None) => drop(self.marks.remove(mark)),
        }
    }

    /// Every label of ours that is on the pod.
    pub fn labels(&self) -> impl Iterator<Item = (LabelKey, &Text)> {
        let operations = self.operations.iter().flat_map(|(id, operation)| {
            operation.labels().map(|(label, value)| (LabelKey::Operation(id.clone(), label), value))
        });
        let permissions =
            self.permissions.iter().map(|(kind, value)| (LabelKey::Permission(kind.clone()), value));
        let marks = self.marks.iter().map(|(mark, value)| (LabelKey::Mark(*mark), value));
        operations.chain(permissions).chain(marks)
    }
}

// === impl Operation ===

impl Operation {
    /// The value of a label.
    #[must_use]
    pub const fn get(&self, label: Label) -> Option<&Text> {
        self.0[label as usize].as_ref()
    }

    /// Whether the label is there.
    #[must_use]
    pub const fn has(&self, label: Label) -> bool {
        self.get(label).is_some()
    }

    /// Since when a label is there, if its value says so.
    #[must_use]
    pub fn since(&self, label: Label) -> Option<Nanos> {
        Nanos::parse(self.get(label)?)
    }

    /// What it does. A value without text is no type: there could be no permission for it.
    #[must_use]
    pub fn kind(&self) -> Option<OperationType> {
        self.get(Label::OperationType).filter(|kind| !kind.is_empty()).cloned().map(OperationType)
    }

    /// Whether the id is an operation. Other labels alone are left over, or somebody's mistake.
    #[must_use]
    pub const fn is_alive(&self) -> bool {
        self.has(Label::Operating) || self.has(Label::Operate) || self.has(Label::Operated)
    }

    /// Whether it has begun and waits for its pre-check. The pod is still in service for all it cares.
    #[must_use]
    pub const fn is_waiting(&self) -> bool {
        self.has(Label::Operating) && !self.has(Label::PreChecked)
    }

    /// Whether it has passed its pre-check and not finished.
    #[must_use]
    pub const fn is_busy(&self) -> bool {
        self.has(Label::Operating) && self.has(Label::PreChecked)
    }

    /// Whether it needs the pod out of service: from its pre-check on, until all are completing.
    #[must_use]
    pub const fn keeps_out_of_service(&self) -> bool {
        self.is_busy() || (self.is_alive() && !self.is_waiting() && !self.has(Label::Completing))
    }

    /// Every label that is there.
    pub fn labels(&self) -> impl Iterator<Item = (Label, &Text)> {
        Label::ALL.into_iter().filter_map(|label| Some((label, self.get(label)?)))
    }

    pub(crate) const fn is_empty(&self) -> bool {
        let mut index = 0;
        while index < self.0.len() {
            if self.0[index].is_some() {
                return false;
            }
            index += 1;
        }
        true
    }

    pub(crate) fn put(&mut self, label: Label, value: Option<Text>) {
        self.0[label as usize] = value;
    }

    pub(crate) fn remove(&mut self, label: Label) {
        self.put(label, None);
    }

    pub(crate) fn has_ours(&self) -> bool {
        self.labels().any(|(label, _)| label.is_ours())
    }

    pub(crate) fn remove_ours(&mut self) {
        Label::ALL.into_iter().filter(|label| label.is_ours()).for_each(|label| self.remove(label));
    }
}

impl Default for Expectations {
    fn default() -> Self {
        Self::Declared(BTreeMap::new())
    }
}
