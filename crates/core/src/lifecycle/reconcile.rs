//! What the controller does when it looks at a pod: what rules allow, what the webhook missed, and the gate.
//!
//! The controller grants (pre-checked, post-checked), and then takes every step that follows, so that one write does what
//! the reference implementation does in three. Two things are never in one write, because a driver may die in between
//! its two halves: that the gate closes, and that an operation may act because it is closed.

use std::collections::BTreeSet;

use super::Lifecycle;
use super::changes::Changes;
use super::guard::Guard;
use super::rules::{RuleStates, StageState};
use super::view::{Expectations, Operation, View};
use super::words::{Label, LabelKey, Mark, Nanos, OperationId};
use crate::text::Text;

/// Declarations are taken out of the annotation only where they speak of these: nothing is known of other kinds.
const PRUNED_KIND: &str = "Service/";

// === impl Lifecycle ===

impl Lifecycle {
    /// What is to be written on a pod now. `gone` are the declarers of finalizers (`<Kind>/<namespace>/<name>`) that no
    /// longer exist or no longer select the pod.
    pub fn reconcile(self, view: &View, rules: &RuleStates, gone: &BTreeSet<Text>, now: Nanos) -> Changes {
        if !view.controlled || view.deleting {
            return Changes::default();
        }
        let mut next = view.clone();
        prune(&mut next, gone);
        mend(&mut next, now);
        self.settle(&mut next, now);
        // The rules were asked about what the view has. What settling has only just asked for, they have not seen.
        let asked = |next: &View, id: &OperationId, label| {
            let key = LabelKey::Operation(id.clone(), label);
            let same = next.get(&key) == view.get(&key) || !self.guards(Guard::GrantWhatWasAsked);
            same && next.get(&key).is_some()
        };
        let ids: Vec<OperationId> = next.operations.keys().cloned().collect();
        for id in &ids {
            let may_begin = rules.pre_check == StageState::Passed && !self.is_registering(&next);
            if may_begin && asked(&next, id, Label::PreCheck) {
                permit(&mut next, id, now);
            }
            if rules.post_check == StageState::Passed && asked(&next, id, Label::PostCheck) {
                next.set(&LabelKey::Operation(id.clone(), Label::PostChecked), Some(now.text()));
            }
        }
        self.settle(&mut next, now);
        if next.is_gated() {
            next.gate.condition = self.wanted_gate(&next).or(next.gate.condition);
        }
        Changes::between(view, &next)
    }

    fn is_registering(self, view: &View) -> bool {
        view.is_registering() && self.guards(Guard::WaitForRegistration)
    }

    /// Whether the gate is to be open. `None`: it stays as it is.
    fn wanted_gate(self, view: &View) -> Option<bool> {
        let mut operations = view.operations.values();
        let closed = match self.guards(Guard::KeepTheGateClosed) {
            true => operations.any(Operation::keeps_out_of_service),
            false => operations.any(|operation| operation.has(Label::Preparing)),
        };
        if closed {
            // It may have become ready since it was permitted, while the controller was away.
            return (!self.is_registering(view)).then_some(false);
        }
        let completing = view.operations.values().any(|operation| operation.has(Label::Completing));
        let busy = view.operations.values().any(Operation::keeps_out_of_service);
        // A pod that is to stay offline is not brought into service, nor taken out of it.
        (completing || !(busy || view.has(Mark::StayOffline))).then_some(true)
    }
}

/// Permits an operation that waits. One without a type waits for ever: there could be no permission for it.
fn permit(next: &mut View, id: &OperationId, now: Nanos) {
    let waiting = next.operations.get(id).filter(|operation| operation.is_waiting());
    if let Some(kind) = waiting.and_then(Operation::kind) {
        next.set(&LabelKey::Operation(id.clone(), Label::PreChecked), Some(now.text()));
        next.permissions.entry(kind).or_insert_with(|| now.text());
    }
}

/// Makes labels go together that contradict each other, as after a write that passed the webhook by. Labels of an id that
/// is no operation, and permissions that nobody has, go anyway.
fn mend(next: &mut View, now: Nanos) {
    let View { operations, permissions, .. } = next;
    for operation in operations.values_mut().filter(|operation| operation.is_alive()) {
        let acted = operation.has(Label::Operated) && !operation.has(Label::Operating);
        if acted && !operation.has(Label::DoneOperationType) {
            let kind = operation.get(Label::OperationType).cloned();
            operation.put(Label::DoneOperationType, Some(kind.unwrap_or_default()));
        } else if !operation.has(Label::Operated) {
            operation.remove(Label::DoneOperationType);
        }
        let kind = operation.kind();
        let permitted = kind.as_ref().map_or(!permissions.is_empty(), |kind| permissions.contains_key(kind));
        if !operation.has(Label::PreChecked) || permitted {
            continue;
        }
        match kind {
            // It is past what the permission was for.
            _ if !operation.has(Label::Operating) => operation.remove(Label::PreChecked),
            // The rules were not asked about what it is.
            _ if !operation.has(Label::Operate) => operation.remove_ours(),
            // It may be acting: the pod must not come back under it.
            Some(kind) => drop(permissions.insert(kind, now.text())),
            None => {}
        }
    }
}

fn prune(next: &mut View, gone: &BTreeSet<Text>) {
    let dead: Vec<Text> = next
        .missing()
        .map(|(who, _)| who.clone())
        .filter(|who| who.starts_with(PRUNED_KIND) && gone.contains(who))
        .collect();
    if let Expectations::Declared(declared) = &mut next.expectations {
        declared.retain(|who, _| !dead.contains(who));
    }
}

impl View {
    /// What an operation controller writes to begin.
    pub fn begin(&mut self, id: &str, kind: &str, now: Nanos) {
        self.set(&LabelKey::Operation(id.into(), Label::Operating), Some(now.text()));
        self.set(&LabelKey::Operation(id.into(), Label::OperationType), Some(kind.into()));
    }

    /// What an operation controller writes when it has acted.
    pub fn finish(&mut self, id: &str) {
        self.set(&LabelKey::Operation(id.into(), Label::Operating), None);
    }

    /// What an operation controller writes to cancel.
    pub fn undo(&mut self, id: &str, kind: &str) {
        self.set(&LabelKey::Operation(id.into(), Label::UndoOperationType), Some(kind.into()));
    }
}
